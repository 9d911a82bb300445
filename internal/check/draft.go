package check

import (
	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/spec"
)

// drafts are the parts of an earlier pawl.yaml that still have TODO comments, each with the first
// such comment. A part that was only guessed judges nothing.
type drafts struct {
	kernels map[string]diag.Pos
	configs map[string]diag.Pos
	keys    map[string]diag.Pos // of the top level
}

// finished returns the spec without its drafts.
func finished(s *spec.Spec) (*spec.Spec, drafts) {
	d := drafts{kernels: map[string]diag.Pos{}, configs: map[string]diag.Pos{}, keys: s.Unfinished}
	if len(s.TODOs) == 0 {
		return s, d
	}
	out := *s
	out.Kernels = nil
	for _, k := range s.Kernels {
		if k.TODO.Line > 0 {
			d.kernels[k.Name] = k.TODO
			continue
		}
		own := *k
		own.Configs = d.finishedConfigs(k.Configs)
		out.Kernels = append(out.Kernels, &own)
	}
	out.Configs = d.finishedConfigs(s.Configs)
	return &out, d
}

func (d drafts) finishedConfigs(all []*spec.Config) (out []*spec.Config) {
	for _, c := range all {
		if c.TODO.Line > 0 {
			d.configs[c.Name] = c.TODO
		} else {
			out = append(out, c)
		}
	}
	return out
}

// oracle names a draft that a kernel's right answers or its tolerance come from; "" if there is
// none.
func (d drafts) oracle(k *spec.Kernel) string {
	for _, o := range []*spec.Oracle{k.Oracle, k.Tolerance.Rival} {
		if o != nil && d.kernels[o.Kernel].Line > 0 {
			return o.Kernel
		}
	}
	return ""
}

// baseKeeps reports whether the base decides a top-level key. It does not if the key is a draft.
func (c *check) baseKeeps(key string) bool {
	at, draft := c.base.drafts.keys[key]
	if !draft { // a comment at the version key is about the whole file
		at, draft = c.base.drafts.keys["version"]
	}
	if draft {
		c.warn("draft", "", "%s is a draft in the base: line %d of its pawl.yaml says TODO; this change's own is used", key, at.Line)
	}
	return !draft
}

// noteDrafts says which parts of the base are drafts and so do not judge this row.
func (c *check) noteDrafts(x *planned, name, config string) {
	if c.base == nil {
		return
	}
	if at, is := c.base.drafts.kernels[name]; is {
		x.draft = true
		x.note("draft", "", "the base's pawl.yaml is a draft of %s: line %d says TODO; a draft judges nothing", name, at.Line)
	} else if at, is := c.base.drafts.configs[config]; is {
		x.note("draft", "", "the base's values of %s are a draft: line %d of its pawl.yaml says TODO; this change's own are used", config, at.Line)
	}
}

// dropDraftBest removes a best-known version that is only a draft in its commit.
func (c *check) dropDraftBest(x *planned, name string) {
	entry := x.entries.counts
	if entry == nil || x.versions.best == nil {
		return
	}
	v := c.trees[entry.Commit]
	if v == nil {
		return
	}
	if at, is := v.drafts.kernels[name]; is {
		x.versions.best, x.draftBest, x.draft = nil, true, true
		x.note("draft", "", "the best-known version is not compared with: at %s pawl.yaml is a draft of %s, line %d says TODO", git.Short(entry.Commit), name, at.Line)
	}
}
