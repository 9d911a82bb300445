package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// version is the project as it was in a commit.
type version struct {
	sha  string
	err  error // why it is not available; all other fields are then empty
	tree *git.Tree
	spec *spec.Spec // without its drafts; nil: there is no spec, or it cannot be read
	why  string     // the reason, if spec is nil

	drafts drafts
}

// findBase finds the version that the candidate is compared with, and takes the gate from it: a
// change must not loosen the gate it has to pass.
func (c *check) findBase(ctx context.Context) error {
	dir := c.Spec.Dir
	_, ok, err := git.Head(ctx, dir)
	if err != nil { // such as a repository that belongs to somebody else: not the same as no repository
		return &diag.Problem{Message: err.Error(), Hint: hintOf(err)}
	}
	if !ok {
		if c.Base != "" {
			return fmt.Errorf("--base %s: there is no git repository with a commit here", c.Base)
		}
		c.withoutGit(ctx, dir)
		return nil
	}
	if c.loose, err = c.run.Loose(ctx); err != nil {
		return err
	}
	find := git.DefaultBase
	if c.Base != "" {
		find = func(ctx context.Context, dir string) (git.Base, error) { return git.NamedBase(ctx, dir, c.Base) }
	}
	base, err := find(ctx, dir)
	if errors.Is(err, git.ErrNoBase) {
		return nil
	}
	if err == nil {
		c.base, err = c.at(ctx, base.SHA)
	}
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case c.Base != "":
			return &diag.Problem{Message: fmt.Sprintf("no base to compare with: %v", err), Hint: baseHint(err)}
		}
		c.warn("base", hintOf(err), "no base to compare with: %v", err)
		return nil
	}
	if base.Guess {
		c.warn("base", "name the base with --base; or fetch the target branch, such as git fetch origin main:refs/remotes/origin/main, so that pawl finds it",
			"the base %s is a guess: this clone does not have the branch that the change will be merged into", base.Ref)
	}
	c.report.Base = &result.BaseRef{Ref: base.Ref, SHA: base.SHA}
	if c.base.spec == nil {
		c.warn("base", "", "%s (%s) has no kernels to compare with: %s", base.Ref, git.Short(base.SHA), c.base.why)
		c.base = nil
		return nil
	}
	if c.base.spec.Gate != c.Spec.Gate && c.baseKeeps("gate") {
		c.gate = c.base.spec.Gate
		c.warn("gate", "", "this change has a different gate; it is judged by the gate of %s", base.Ref)
	}
	return nil
}

// deviceClass returns the class that the project names, if any. It is the base's, since another
// class has another baseline.
func (c *check) deviceClass() string {
	if c.base == nil || c.base.spec.DeviceClass == c.Spec.DeviceClass || !c.baseKeeps("device_class") {
		return c.Spec.DeviceClass
	}
	c.warn("class", "", "this change has a different device_class; the baseline of %s is used", c.report.Base.Ref)
	return c.base.spec.DeviceClass
}

// baseHint says what to do about a base that is not available: its name may be mistyped.
func baseHint(err error) string {
	if missing, ok := errors.AsType[*git.NoCommitError](err); ok && diag.Nearest(missing.Commit, missing.Others) != "" {
		return diag.Meant(missing.Commit, missing.Others)
	}
	return hintOf(err)
}

// withoutGit says what a check cannot do without a commit to start from.
func (c *check) withoutGit(ctx context.Context, dir string) {
	why, hint := "the repository has no commit yet", "make one with git add and git commit"
	switch _, err := git.Root(ctx, dir); {
	case errors.Is(err, git.ErrNoProgram):
		why, hint = "git is not installed", "install git"
	case err != nil:
		why, hint = "this is not a git repository", "make one with git init, git add and git commit"
	}
	c.warn("git", hint, "%s: nothing is compared with an earlier version, and nothing becomes the baseline", why)
}

// at checks a commit out and reads its spec, once: a server that does not answer is also waited for
// only once.
func (c *check) at(ctx context.Context, sha string) (*version, error) {
	if v := c.trees[sha]; v != nil {
		return v, v.err
	}
	tree, err := git.Checkout(ctx, c.Spec.Dir, sha)
	if err != nil {
		c.trees[sha] = &version{sha: sha, err: err}
		return nil, err
	}
	v := &version{sha: sha, tree: tree}
	c.trees[sha] = v
	for _, note := range tree.Notes {
		c.warn("submodule", "", "%s: %s", git.Short(sha), note)
	}
	file := filepath.Join(tree.Folder, filepath.Base(c.Spec.File))
	if v.spec, err = spec.LoadEarlier(file); err == nil {
		v.spec, v.drafts = finished(v.spec)
	} else {
		v.spec, v.why = nil, unreadable(err)
		if _, missing := os.Stat(file); errors.Is(missing, fs.ErrNotExist) {
			v.why = "it has no " + filepath.Base(c.Spec.File)
		}
	}
	return v, nil
}

// unreadable says on one line what is wrong with an earlier commit's file, without the path that it
// was checked out to.
func unreadable(err error) string {
	var path *fs.PathError
	problems := diag.Problems(err)
	switch {
	case errors.As(err, &path):
		return fmt.Sprintf("%s %s: %v", path.Op, filepath.Base(path.Path), path.Err)
	case len(problems) == 0:
		return err.Error()
	}
	first := *problems[0]
	first.Pos.File = filepath.Base(first.Pos.File)
	if more := len(problems) - 1; more > 0 {
		return fmt.Sprintf("%s (and %d more)", first.Error(), more)
	}
	return first.Error()
}

func (c *check) closeTrees() {
	for _, v := range c.trees {
		if v.tree != nil {
			_ = v.tree.Close()
		}
	}
}

// kernel finds a kernel of a version by name; nil: there is none, or no version.
func (v *version) kernel(name string) *spec.Kernel {
	if v == nil {
		return nil
	}
	return v.spec.Kernel(name)
}

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
		x.note("draft", "", "kernel %s is a draft in the base: line %d of its pawl.yaml says TODO; a draft is not compared with", name, at.Line)
	} else if at, is := c.base.drafts.configs[config]; is {
		x.note("draft", "", "config %s is a draft in the base: line %d of its pawl.yaml says TODO; this change's own values are used", config, at.Line)
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
		x.note("draft", "", "the best-known version is not compared with: at commit %s kernel %s is a draft, line %d of pawl.yaml says TODO", git.Short(entry.Commit), name, at.Line)
	}
}
