package check

import (
	"context"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"pawl/internal/lab"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// planned is one row to come: the candidate, and the versions to compare it with.
type planned struct {
	index     int // position among the rows
	candidate *lab.Job
	class     string
	dropped   bool         // only the base has the config
	config    *spec.Config // the config that the opponents play: the base's, where it has one of that name
	versions  sides        // as they are planned: nobody has built them
	entries   entries
	draft     bool // in the base, or in the best-known version's commit, the kernel is only a draft
	draftBest bool // in the best-known version's commit it is a draft
	shared    bool // other kernels are in its source file
	planNotes []result.Warning
}

// baselines are the baselines of a device class, by origin.
type baselines struct {
	counts *ratchet.File // the one that judges the row
	branch *ratchet.File // as this change has it
	base   *ratchet.File // as the base has it
}

// entries are a row's entries in the baselines above.
type entries struct{ counts, branch, base *ratchet.Entry }

// of returns the entries of a row; nil where there is none.
func (b baselines) of(kernel, config string) entries {
	entry := func(f *ratchet.File) *ratchet.Entry {
		if f == nil {
			return nil
		}
		return f.Entry(kernel, config)
	}
	return entries{entry(b.counts), entry(b.branch), entry(b.base)}
}

// plan resolves every selected row and the versions it plays against.
func (c *check) plan(ctx context.Context) ([]*planned, error) {
	var rows []*planned
	for _, s := range spec.Without(c.run.Selections, c.Patterns, c.untimed) {
		class := c.lab.ClassOf(ctx, c.Spec.Dir, s.Kernel)
		if err := c.loadBaseline(ctx, class); err != nil {
			return nil, err
		}
		for _, config := range c.withBase(s) {
			x := c.planRow(ctx, s.Kernel, config, class)
			if x.candidate.Instance != nil {
				c.largest[s.Kernel.Name] = max(c.largest[s.Kernel.Name], x.candidate.Instance.Footprint)
			}
			x.index = len(rows)
			rows = append(rows, x)
		}
	}
	c.noteRemoved()
	return rows, nil
}

// untimed reports whether a kernel is there for others. The base must agree: a change does not pass by making a
// reference of the kernel that it makes slower.
func (c *check) untimed(k *spec.Kernel) bool {
	before := c.base.kernel(k.Name)
	return k.Reference && (before == nil || before.Reference)
}

// withBase returns a selection's configs and, where all configs of the kernel were selected, those
// that only the base has: a change does not pass by dropping the config that it makes slower.
func (c *check) withBase(s spec.Selection) []*spec.Config {
	configs := slices.Clip(s.Configs)
	other := c.base.kernel(s.Kernel.Name)
	if other == nil || len(s.Configs) < len(s.Kernel.Configs) {
		return configs
	}
	for _, theirs := range other.Configs {
		if s.Kernel.Config(theirs.Name) == nil {
			configs = append(configs, theirs)
		}
	}
	return configs
}

// noteRemoved says which kernels of the base no longer exist.
func (c *check) noteRemoved() {
	if c.base == nil || len(c.Patterns) > 0 {
		return
	}
	for _, k := range c.base.spec.Kernels {
		if c.Spec.Kernel(k.Name) == nil {
			c.warn("removed", "a renamed kernel starts over; pawl baseline reset removes the entry of the old name", "this change removes kernel %s of the base", k.Name)
		}
	}
}

// planRow resolves one row.
func (c *check) planRow(ctx context.Context, k *spec.Kernel, own *spec.Config, class string) *planned {
	x := &planned{class: class, config: own, dropped: k.Config(own.Name) == nil, entries: c.baselines[class].of(k.Name, own.Name)}
	if theirs := c.base.kernel(k.Name).Config(own.Name); theirs != nil {
		x.config = theirs
	}
	x.shared = slices.ContainsFunc(c.Spec.Kernels, func(other *spec.Kernel) bool { return other != k && path.Clean(other.Source) == path.Clean(k.Source) })
	x.resolve(c.Spec.Dir, k, own)
	var theirs []*spec.Arg // a change does not choose the data it is judged on
	if before := c.base.kernel(k.Name); before != nil {
		theirs = before.Args
	}
	for _, name := range fill(x.candidate.Instance, theirs) {
		x.note("init", "", "%s is filled as the base's pawl.yaml says, not as this change's does", name)
	}
	x.versions.base = c.sizedLike(x, c.baseOf(k.Name, x.config))
	x.versions.best = c.bestOf(ctx, x.entries.counts, k.Name, x.config)
	c.noteDrafts(x, k.Name, own.Name)
	c.dropDraftBest(x, k.Name)
	x.versions.best = c.sizedLike(x, x.versions.best)
	if best := x.versions.best; best != nil && best.job != nil { // the best-known version plays on the base's data, not on that of its own commit
		fill(best.job.Instance, k.Args)
		fill(best.job.Instance, theirs)
	}
	return x
}

// resolve finds the candidate's problem. It takes the base's values of the config, where the
// candidate can resolve them.
func (x *planned) resolve(dir string, k *spec.Kernel, own *spec.Config) {
	x.candidate = lab.NewJob(dir, k.Default(), x.config)
	if x.config != own && !sameVars(x.config, own) {
		message := fmt.Sprintf("this change gives config %s different values; it is judged with the base's values", own.Name)
		if x.candidate.Instance == nil { // the candidate no longer knows the names in the base's config
			x.candidate = lab.NewJob(dir, k.Default(), own)
			message = fmt.Sprintf("the base's values of config %s no longer apply to this kernel; this change's own are used", own.Name)
		}
		x.note("config", "", "%s", message)
	}
	if x.dropped {
		x.note("config", "a renamed config starts over; pawl baseline reset removes the entry of the old name",
			"this change removes config %s; it is judged with the base's config, and does not become the baseline", own.Name)
	}
}

// note adds a warning about the row.
func (x *planned) note(code, hint, format string, args ...any) {
	x.planNotes = append(x.planNotes, result.Warning{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// sizedLike returns the side if it solves the candidate's problem, else a side without a job that
// says it solves another.
func (c *check) sizedLike(x *planned, o *side) *side {
	in := x.candidate.Instance
	if o == nil || o.job == nil || in == nil || in.Config == x.config || sameSizes(o.job.Instance, in) {
		return o
	}
	reason := fmt.Sprintf("the %s version solves a different problem: config %s has different sizes there", o.role, x.candidate.Config.Name)
	return &side{role: o.role, commit: o.commit, otherProblem: true, reasons: []string{reason}}
}

func sameVars(a, b *spec.Config) bool {
	return slices.EqualFunc(a.Vars, b.Vars, func(v, w spec.Var) bool { return v.Name == w.Name && v.Value.String() == w.Value.String() })
}

// solves reports whether an entry is about the row's problem: its config may have had other values
// at the time.
func (x *planned) solves(e *ratchet.Entry) bool { return maps.Equal(e.Vars, x.candidate.Vars()) }

// storedS returns the stored time of the best-known version in seconds; 0: it is not known, or of
// another problem.
func (x *planned) storedS() float64 {
	if e := x.entries.counts; e != nil && x.solves(e) {
		return e.MedianMS / 1e3
	}
	return 0
}

// loadBaseline reads a class's baseline twice: the base's, which judges the rows, and the
// candidate's, in which a slowdown may have been accepted.
func (c *check) loadBaseline(ctx context.Context, class string) error {
	if _, known := c.baselines[class]; known {
		return nil
	}
	var lost []string
	if c.Update && !c.PlanOnly {
		var err error
		if lost, err = c.store.Recover(ctx, class); err != nil && ctx.Err() == nil {
			c.warn("samples", "", "samples of the baseline cannot be restored: %v", err)
		}
	}
	branch, err := c.store.Load(class)
	if err != nil {
		return err
	}
	c.noteBare(branch, lost)
	found := baselines{branch, branch, branch}
	if c.report.Base != nil {
		theirs, err := c.store.LoadAt(ctx, c.report.Base.SHA, class)
		switch {
		case err != nil:
			c.warn("baseline", "pawl baseline verify says more", "the baseline of %s cannot be used: %v", c.report.Base.Ref, err)
		case c.Update:
			found.base = theirs
		default:
			// Where the base has none, the candidate's own is better than nothing: it can
			// only make its gate tighter.
			counts := *theirs
			counts.Entries = maps.Clone(branch.Entries)
			maps.Copy(counts.Entries, theirs.Entries)
			found.base, found.counts = theirs, &counts
		}
	}
	c.baselines[class] = found
	return nil
}

// noteBare says which entries have lost their samples. Nothing is judged by such entries.
func (c *check) noteBare(branch *ratchet.File, lost []string) {
	hint := "pawl check --update-baseline restores them from git's history"
	if len(lost) > 0 {
		hint = fmt.Sprintf("git's history does not have them either; pawl baseline reset %s --reason …, then pawl check --update-baseline, measures them again", lost[0])
	}
	if bare := branch.Bare(); len(bare) > 0 {
		c.warn("samples", hint, "the baseline has lost the samples of %s", strings.Join(bare[:min(len(bare), 3)], ", "))
	}
}

// sameSizes reports whether two versions read and write the same numbers of elements. A version
// that could not be resolved counts as the same, because it has its own error.
func sameSizes(a, b *spec.Instance) bool {
	return a == nil || b == nil || maps.Equal(elements(a), elements(b))
}

func elements(in *spec.Instance) map[spec.Role]int64 {
	out := map[spec.Role]int64{}
	for _, arg := range in.Args {
		out[arg.Role] += arg.Elements
	}
	delete(out, spec.RoleScratch)
	return out
}

// fill gives a version's buffers the contents of another version's arguments of the same names, and
// returns the names of the buffers whose contents differed. An argument in the same place under
// another name may mean something else: an index filled like a different argument would crash a
// correct kernel.
func fill(in *spec.Instance, as []*spec.Arg) []string {
	if in == nil {
		return nil
	}
	var changed []string
	for i := range in.Args {
		arg := &in.Args[i]
		at := slices.IndexFunc(as, func(other *spec.Arg) bool { return other.Name == arg.Name })
		if at < 0 || !arg.Buffer || as[at].DType != arg.DType || as[at].Role != arg.Role || reflect.DeepEqual(as[at].Init, arg.Init) {
			continue
		}
		arg.Init = as[at].Init
		changed = append(changed, arg.Name)
	}
	return changed
}
