package check

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/lab"
)

// plan resolves every selected row and the versions it plays against.
func (c *check) plan(ctx context.Context) error {
	selections, err := c.Spec.Select(c.Patterns)
	if err != nil {
		return err
	}
	for _, s := range selections {
		class := c.lab.ClassOf(ctx, c.Spec.Dir, s.Kernel)
		if err := c.loadBaseline(ctx, class); err != nil {
			return err
		}
		for _, own := range c.withBase(s) {
			c.contests = append(c.contests, c.contest(ctx, s.Kernel, own, class))
		}
	}
	c.noteRemoved()
	for _, k := range c.contests {
		c.report.Rows = append(c.report.Rows, k.row)
	}
	return nil
}

// withBase are a selection's configs and, where all of the kernel's were selected,
// those that the base has besides: a change does not pass by dropping the config
// that it makes slower.
func (c *check) withBase(s spec.Selection) []*spec.Config {
	configs := s.Configs
	if c.base == nil || len(s.Configs) < len(s.Kernel.Configs) {
		return configs
	}
	if other := kernel(c.base.spec, s.Kernel.Name); other != nil {
		for _, theirs := range other.Configs {
			if config(s.Kernel, theirs.Name) == nil {
				configs = append(configs[:len(configs):len(configs)], theirs)
			}
		}
	}
	return configs
}

// noteRemoved says which kernels of the base are no more.
func (c *check) noteRemoved() {
	if c.base == nil || len(c.Patterns) > 0 {
		return
	}
	for _, k := range c.base.spec.Kernels {
		if kernel(c.Spec, k.Name) == nil {
			c.warn("removed", "a kernel that has another name now begins anew: pawl baseline reset takes the old one away", "kernel %s of the base is no more", k.Name)
		}
	}
}

// contest resolves one row.
func (c *check) contest(ctx context.Context, k *spec.Kernel, own *spec.Config, class string) *contest {
	at := own
	if c.base != nil {
		if theirs := config(kernel(c.base.spec, k.Name), own.Name); theirs != nil {
			at = theirs
		}
	}
	job := lab.NewJob(c.Spec.Dir, k.Default(), at)
	if at != own && !sameVars(at, own) {
		message := fmt.Sprintf("this change gives %s other values; it is judged by those of the base", own.Name)
		if job.Instance == nil { // what the base's values mean, the candidate no longer knows
			job = lab.NewJob(c.Spec.Dir, k.Default(), own)
			message = fmt.Sprintf("the base's values of %s make no sense here any more; this change's own are used", own.Name)
		}
		job.Row.Warnings = append(job.Row.Warnings, result.Warning{Code: "config", Message: message})
	}
	job.Row.Class = class
	if config(k, own.Name) == nil {
		job.Row.Dropped = true
		job.Row.Warnings = append(job.Row.Warnings, result.Warning{
			Code: "config", Message: fmt.Sprintf("this change has no config %s any more; it is judged by that of the base, and does not become the baseline", own.Name),
			Hint: "a config that has another name now begins anew: pawl baseline reset takes the old one away",
		})
	}
	theirs := c.inputsOfBase(k.Name)
	for _, name := range fill(job.Instance, theirs) {
		job.Row.Warnings = append(job.Row.Warnings, result.Warning{Code: "init", Message: name + " is filled as the base says, not as this change does"})
	}
	x := &contest{row: job.Row, candidate: job, class: class, at: at}
	if file := c.best[class]; file != nil {
		x.entry = file.Entry(k.Name, own.Name)
	}
	if mine := c.mine[class]; mine != nil {
		x.mine = mine.Entry(k.Name, own.Name)
	}
	if former := c.former[class]; former != nil {
		x.former = former.Entry(k.Name, own.Name)
	}
	x.base = c.baseOf(k.Name, at)
	x.best = c.bestOf(ctx, x.entry, k.Name, at)
	c.noteDrafts(x, k.Name, own.Name)
	c.dropDraftBest(x, k.Name)
	if x.best != nil && x.solves(x.entry) {
		x.best.side.StoredS = x.entry.MedianMS / 1e3
	}
	for _, o := range []*opponent{x.base, x.best} {
		if o != nil && o.job != nil && job.Instance != nil && job.Instance.Config != at && !sameSizes(o.job.Instance, job.Instance) {
			o.job, o.side.Row, o.odd = nil, nil, true
			o.side.Reason = append(o.side.Reason, fmt.Sprintf("the %s version solves another problem: %s has other sizes here", o.side.Role, own.Name))
		}
	}
	if x.best != nil && x.best.job != nil { // it plays on their data, not on that of its day
		fill(x.best.job.Instance, k.Args)
		fill(x.best.job.Instance, theirs)
	}
	return x
}

func sameVars(a, b *spec.Config) bool {
	if len(a.Vars) != len(b.Vars) {
		return false
	}
	for i, v := range a.Vars {
		if v.Name != b.Vars[i].Name || v.Value.String() != b.Vars[i].Value.String() {
			return false
		}
	}
	return true
}

// baseOf is the base's version of a kernel; nil where it has none: the kernel is
// new.
func (c *check) baseOf(name string, at *spec.Config) *opponent {
	if c.base == nil {
		return nil
	}
	k := kernel(c.base.spec, name)
	if k == nil {
		return nil
	}
	return newOpponent(result.Base, c.base, k.Default(), at)
}

func newOpponent(role result.Role, v *version, variant spec.Variant, at *spec.Config) *opponent {
	job := lab.NewJob(v.tree.Folder, variant, at)
	job.Beside = true
	return &opponent{side: &result.Side{Role: role, Commit: v.sha, Row: job.Row}, job: job}
}

// loadBaseline reads a class's baseline twice: as the base has it, which is what
// counts, and as the candidate has it, where a slowdown may have been accepted.
func (c *check) loadBaseline(ctx context.Context, class string) error {
	if _, known := c.mine[class]; known {
		return nil
	}
	var lost []string
	if c.Update && !c.PlanOnly {
		var err error
		if lost, err = c.store.Recover(ctx, class); err != nil && ctx.Err() == nil {
			c.warn("samples", "", "samples of the baseline cannot be brought back: %v", err)
		}
	}
	mine, err := c.store.Load(class)
	if err != nil {
		return err
	}
	c.noteBare(mine, lost)
	c.mine[class], c.best[class], c.former[class] = mine, mine, mine
	if c.report.Base == nil {
		return nil
	}
	theirs, err := c.store.LoadAt(ctx, c.report.Base.SHA, class)
	if err != nil {
		c.warn("baseline", "pawl baseline verify says more", "the baseline of %s cannot be used: %v", c.report.Base.Ref, err)
		return nil
	}
	c.former[class] = theirs
	if c.Update {
		return nil
	}
	// Where the base has none, the candidate's own is better than nothing: it can
	// only make its gate tighter.
	best := *theirs
	best.Entries = maps.Clone(mine.Entries)
	maps.Copy(best.Entries, theirs.Entries)
	c.best[class] = &best
	return nil
}

// noteBare says which entries have lost their samples. Nothing is judged by them.
func (c *check) noteBare(mine *ratchet.File, lost []string) {
	hint := "pawl check --update-baseline brings back what git's history has"
	if len(lost) > 0 {
		hint = fmt.Sprintf("git's history has none either; pawl baseline reset %s --reason …, then pawl check --update-baseline, measures anew", lost[0])
	}
	if bare := mine.Bare(); len(bare) > 0 {
		c.warn("samples", hint, "the baseline has lost the samples of %s", strings.Join(bare[:min(len(bare), 3)], ", "))
	}
}
