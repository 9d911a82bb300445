package check

import (
	"context"
	"fmt"
	"strings"

	"pawl/internal/git"
	"pawl/internal/lab"
	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// built is a row whose versions are built, so that it is known who plays.
type built struct {
	*planned
	sides
	unchanged bool   // from the base
	alone     bool   // it is measured without anybody to play against
	plan      string // what is done with the row
	accepted  bool   // somebody has said that it may be slower
	isBest    bool   // it is the best-known version, and the commit that the baseline names could not be built
	bestLost  bool   // nor will it ever be

	acceptedElsewhere *opponent // the version this branch's baseline names, where the base does not have it and the row is other code
	notes             []result.Warning
}

// build builds all versions and decides who plays.
func (c *check) build(ctx context.Context, rows []*planned) []*built {
	var jobs []*lab.Job
	for _, x := range rows {
		jobs = append(jobs, x.jobs()...)
	}
	if err := c.lab.Build(ctx, jobs); err != nil {
		for _, x := range rows {
			if x.candidate.Record.Fault == nil {
				x.candidate.Record.Fault = x.candidate.FaultOf("load", err)
			}
		}
	}
	elsewhere := c.buildAccepted(ctx, rows)
	c.consult(rows)
	var out []*built
	for i, x := range rows {
		first := c.Update && x.entries.counts == nil && !x.dropped // the first baseline of its name is measured also when it is unchanged
		out = append(out, x.pair(elsewhere[i], first))
	}
	return out
}

// jobs are all versions that must be built to know who plays.
func (x *planned) jobs() []*lab.Job {
	out := []*lab.Job{x.candidate}
	for _, o := range []*opponent{x.versions.base, x.versions.best} {
		if o != nil && o.job != nil {
			out = append(out, o.job)
		}
	}
	return out
}

// buildAccepted builds what the branch's own entries name, for rows that are other code:
// another compiler may have made that of the same sources.
func (c *check) buildAccepted(ctx context.Context, rows []*planned) []*opponent {
	found := make([]*opponent, len(rows))
	var jobs []*lab.Job
	for i, x := range rows {
		branch, base, identity := x.entries.branch, x.entries.base, x.candidate.Identity()
		switch {
		case branch == nil || base != nil && base.Commit == branch.Commit: // the base knows it
		case identity == "" || branch.Identity == identity:
		case branch == x.entries.counts:
			found[i] = x.versions.best
		default:
			if found[i] = c.bestOf(ctx, branch, x.candidate.Variant.Kernel.Name, x.config); found[i].job != nil {
				jobs = append(jobs, found[i].job)
			}
		}
	}
	if len(jobs) > 0 {
		_ = c.lab.Build(ctx, jobs) // the error is for the worker, which is there
	}
	return found
}

// pair decides, once identities are known, who plays.
func (x *planned) pair(elsewhere *opponent, first bool) *built {
	b := &built{planned: x, acceptedElsewhere: elsewhere}
	entry, best := x.entries.counts, x.versions.best
	b.isBest = best != nil && best.missing() && x.candidate.Identity() != "" && entry.Identity == x.candidate.Identity()
	b.bestLost = b.isBest && best.lostForGood()
	b.base, b.best = x.versions.base.side(), best.side()
	if b.best != nil {
		b.best.storedS = x.storedS()
	}
	if x.bestIsBase() {
		b.base.known, b.best = entry.Commit, nil
	}
	if b.bestLost && b.base != nil {
		b.best = nil
	}
	for _, s := range []*side{b.base, b.best} {
		if s != nil {
			s.plays = x.candidate.Record.Fault == nil && !s.absent() && !s.is(x.candidate)
		}
	}
	if x.candidate.Record.Fault != nil {
		b.plan = "nothing: it cannot be built"
		return b
	}
	b.findAccepted()
	if b.base.same(x.candidate) || b.base == nil && (b.isBest || b.best.same(x.candidate)) {
		b.unchanged, b.alone = true, first
		b.sides = b.each(func(s *side) *side {
			s.plays = false
			return s
		})
		if b.plan = "nothing: unchanged"; first {
			b.plan = "measure alone: unchanged, and the first baseline"
		}
		return b
	}
	var against []string
	for _, s := range b.playing() {
		against = append(against, fmt.Sprintf("%s %s", s.role, git.Short(s.commit)))
	}
	b.alone = len(against) == 0
	if b.plan = "measure alone"; !b.alone {
		b.plan = "play against " + strings.Join(against, " and ")
	}
	return b
}

// same reports whether a side is there and is the candidate itself.
func (s *side) same(candidate *lab.Job) bool { return s != nil && s.is(candidate) }

// side is an opponent before anything is measured.
func (o *opponent) side() *side {
	if o == nil {
		return nil
	}
	s := &side{opponent: o}
	if o.why != "" {
		s.reasons = []string{o.why}
	}
	if o.job != nil && o.job.Record.Fault != nil {
		s.fault = o.job.Record.Fault
		s.reasons = append(s.reasons, o.unavailable())
	}
	return s
}

// unavailable says why a version cannot be measured, with the compiler's own words:
// its row is shown nowhere else.
func (o *opponent) unavailable() string {
	why := fmt.Sprintf("the %s version cannot be had: %s", o.role, o.job.Record.Fault.Message)
	if words := firstError(o.job.Record.Build); words != "" {
		why += ": " + words
	}
	return why
}

// firstError is the line of a compiler's output that names an error, else its first;
// "" where there is none.
func firstError(b *result.Build) string {
	if b == nil {
		return ""
	}
	first := ""
	for line := range strings.Lines(b.Output) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "error") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	return first
}

// bestIsBase reports whether the base is the best-known version: by the baseline's
// own word where that version cannot be rebuilt, as after a squash merge, whose
// commit nobody has.
func (x *planned) bestIsBase() bool {
	base, best := x.versions.base, x.versions.best
	if base == nil || best == nil || base.job == nil || base.job.Identity() == "" {
		return false
	}
	identity := base.job.Identity()
	if best.missing() {
		return x.entries.counts.Identity == identity
	}
	return best.job.Identity() == identity
}

// isBranch reports whether the row is the version that the branch's own entry names. Another
// compiler makes other code of it, so that its commit, built here, says so too.
func (b *built) isBranch() bool {
	branch, identity := b.entries.branch, b.candidate.Identity()
	switch {
	case branch == nil || identity == "":
		return false
	case branch.Identity == identity:
		return true
	}
	return b.acceptedElsewhere != nil && b.acceptedElsewhere.is(b.candidate) && b.solves(branch)
}

// findAccepted finds out whether a slowdown of this row is meant: the branch has a reasoned
// accept of it that the base does not know.
func (b *built) findAccepted() {
	branch := b.entries.branch
	if branch == nil {
		return
	}
	move, ok := branch.AcceptedSince(b.entries.base)
	if !ok {
		return
	}
	if b.accepted = b.isBranch(); b.accepted {
		b.notes = append(b.notes, result.Warning{Code: "accepted", Message: fmt.Sprintf("accepted by %s: %s", orSomebody(move.Who), move.Reason)})
		return
	}
	b.noteOtherCompiler(branch, move)
}

// noteOtherCompiler says that a slowdown was accepted for another compiler's code.
func (b *built) noteOtherCompiler(branch *ratchet.Entry, move ratchet.Move) {
	then, now := branch.Fingerprint.Compiler, ""
	if b.candidate.Record.Build != nil {
		now = b.candidate.Record.Build.Compiler
	}
	if b.acceptedElsewhere == nil || !b.acceptedElsewhere.missing() || then == now {
		return
	}
	b.notes = append(b.notes, result.Warning{
		Code:    "accept",
		Message: fmt.Sprintf("accepted by %s for a build by %s; this one is by %s, and commit %s cannot be rebuilt to compare", orSomebody(move.Who), then, now, git.Short(branch.Commit)),
		Hint:    "pawl baseline accept --reason, on a machine with this compiler",
	})
}

func orSomebody(who string) string {
	if who == "" {
		return "somebody"
	}
	return who
}
