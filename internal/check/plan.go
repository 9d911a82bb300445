package check

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"pawl/internal/git"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stand"
)

// plan resolves every selected row and the versions it plays against.
func (c *check) plan(ctx context.Context) error {
	selections, err := c.Spec.Select(c.Patterns)
	if err != nil {
		return err
	}
	for _, s := range selections {
		class := c.stand.ClassOf(ctx, c.Spec.Dir, s.Kernel)
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
	job := stand.NewJob(c.Spec.Dir, k.Default(), at)
	if at != own && !sameVars(at, own) {
		message := fmt.Sprintf("this change gives %s other values; it is judged by those of the base", own.Name)
		if job.Instance == nil { // what the base's values mean, the candidate no longer knows
			job = stand.NewJob(c.Spec.Dir, k.Default(), own)
			message = fmt.Sprintf("the base's values of %s make no sense here any more; this change's own are used", own.Name)
		}
		job.Row.Warnings = append(job.Row.Warnings, result.Warning{Code: "config", Message: message})
	}
	job.Row.Class = class
	c.fillAsBase(job)
	x := &contest{row: job.Row, candidate: job, class: class}
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
	if x.best = c.bestOf(ctx, x.entry, k.Name, at); x.best != nil {
		x.best.side.StoredS = x.entry.MedianMS / 1e3
	}
	return x
}

// fillAsBase gives a version's inputs the contents that the base's file says: a
// change does not choose the data it is judged on.
func (c *check) fillAsBase(job *stand.Job) {
	if c.base == nil || job.Instance == nil {
		return
	}
	theirs := kernel(c.base.spec, job.Row.Kernel)
	if theirs == nil {
		return
	}
	for i := range job.Instance.Args {
		arg := &job.Instance.Args[i]
		for _, other := range theirs.Args {
			if other.Name != arg.Name || other.DType != arg.DType || !arg.Buffer || other.Role != arg.Role || reflect.DeepEqual(other.Init, arg.Init) {
				continue
			}
			arg.Init = other.Init
			job.Row.Warnings = append(job.Row.Warnings, result.Warning{Code: "init", Message: fmt.Sprintf("%s is filled as the base says, not as this change does", arg.Name)})
		}
	}
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
	job := stand.NewJob(v.tree.Folder, variant, at)
	job.Beside = true
	return &opponent{side: &result.Side{Role: role, Commit: v.sha, Row: job.Row}, job: job}
}

// bestOf is the best-known version, from the commit and with the params that the
// baseline names.
func (c *check) bestOf(ctx context.Context, entry *ratchet.Entry, name string, at *spec.Config) *opponent {
	if entry == nil {
		return nil
	}
	missing := func(format string, args ...any) *opponent {
		return &opponent{side: &result.Side{Role: result.Best, Commit: entry.Commit, Reason: []string{fmt.Sprintf(format, args...)}}}
	}
	v, err := c.at(ctx, entry.Commit)
	if err != nil {
		text := err.Error()
		if hint := hintOf(err); hint != "" {
			text += " (" + hint + ")"
		}
		return missing("the best-known version cannot be rebuilt: %s", text)
	}
	k := kernel(v.spec, name)
	if k == nil {
		why := v.why
		if why == "" {
			why = "it has no kernel " + name
		}
		return missing("the best-known version cannot be rebuilt from %s: %s", git.Short(entry.Commit), why)
	}
	variant := k.Default()
	for param, value := range entry.Params {
		with, err := variant.With(param, value)
		if err != nil {
			return missing("the best-known version cannot be rebuilt from %s: %s", git.Short(entry.Commit), firstLine(err))
		}
		variant = with
	}
	return newOpponent(result.Best, v, variant, at)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
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

// jobs are all versions that must be built.
func (k *contest) jobs() []*stand.Job {
	out := []*stand.Job{k.candidate}
	for _, o := range []*opponent{k.base, k.best} {
		if o != nil && o.job != nil {
			out = append(out, o.job)
		}
	}
	return out
}

// pair decides, once identities are known, who plays. What is to be the first
// baseline of its name is measured also when it is unchanged.
func (k *contest) pair(first bool) {
	k.gone = k.best != nil && k.best.missing() && k.row.Identity != "" && k.entry.Identity == k.row.Identity
	if k.bestIsBase() || k.gone && k.base != nil {
		k.best = nil
	}
	for _, o := range []*opponent{k.base, k.best} {
		if o != nil && !(k.gone && o == k.best) { // nobody need build it: here it is
			k.row.Sides = append(k.row.Sides, o.side)
		}
	}
	for _, o := range []*opponent{k.base, k.best} {
		if o == nil || o.job == nil {
			continue
		}
		if fault := o.job.Row.Fault; fault != nil {
			o.side.Reason = append(o.side.Reason, fmt.Sprintf("the %s version cannot be had: %s", o.side.Role, fault.Message))
		} else if o.job.Row.Identity != k.row.Identity {
			k.playing = append(k.playing, o)
		}
	}
	if k.row.Fault != nil {
		k.playing = nil
		k.row.Plan = "nothing: it cannot be built"
		return
	}
	if k.mine != nil && k.mine.Identity == k.row.Identity {
		var move ratchet.Move
		if move, k.accepted = k.mine.AcceptedSince(k.former); k.accepted {
			k.row.Warnings = append(k.row.Warnings, result.Warning{
				Code: "accepted", Message: fmt.Sprintf("accepted by %s: %s", orSomebody(move.Who), move.Reason),
			})
		}
	}
	if unchanged(k.base, k.row) || k.base == nil && (k.gone || unchanged(k.best, k.row)) {
		k.playing, k.alone = nil, first
		if k.row.Verdict, k.row.Plan = result.Unchanged, "nothing: unchanged"; first {
			k.row.Plan = "measure alone: unchanged, and the first baseline"
		}
		return
	}
	var against []string
	for _, o := range k.playing {
		against = append(against, fmt.Sprintf("%s %s", o.side.Role, git.Short(o.side.Commit)))
	}
	k.alone = len(against) == 0
	if k.row.Plan = "measure alone"; !k.alone {
		k.row.Plan = "play against " + strings.Join(against, " and ")
	}
}

func orSomebody(who string) string {
	if who == "" {
		return "somebody"
	}
	return who
}

// bestIsBase tells whether the base is the best-known version: by the baseline's
// own word where that version cannot be rebuilt, as after a squash merge, whose
// commit nobody has.
func (k *contest) bestIsBase() bool {
	if k.base == nil || k.best == nil || k.base.job == nil || k.base.job.Row.Identity == "" {
		return false
	}
	identity := k.base.job.Row.Identity
	if k.best.missing() {
		return k.entry.Identity == identity
	}
	return k.best.job.Row.Identity == identity
}

// missing tells whether a version cannot be had.
func (o *opponent) missing() bool { return o.job == nil || o.job.Row.Fault != nil }

func unchanged(o *opponent, row *result.Row) bool {
	return o != nil && o.job != nil && o.job.Row.Fault == nil && o.job.Row.Identity == row.Identity && row.Identity != ""
}
