package check

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"pawl/internal/git"
	"pawl/internal/lab"
	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// built is a row whose versions are built, so that its opponents are known.
type built struct {
	*planned
	state
	unchanged bool   // same code as the base
	alone     bool   // it is measured without an opponent
	plan      string // what is done with the row
	accepted  bool   // somebody has accepted that it may be slower
	isBest    bool   // the candidate is the best-known version, and the commit that the baseline names could not be built
	bestLost  bool   // and that commit is lost for good

	acceptedElsewhere *side // the version this branch's baseline names, where the base does not have it and the row is other code
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
		first := c.Update && x.entries.counts == nil && !x.dropped // the first baseline of its name is measured even if the code is unchanged
		b := x.pair(elsewhere[i], first)
		if b.unchanged {
			b.notes = append(b.notes, c.noteNewOracle(x)...)
		}
		out = append(out, b)
	}
	return out
}

// jobs lists all versions that must be built before the opponents are known.
func (x *planned) jobs() []*lab.Job {
	out := []*lab.Job{x.candidate}
	for _, o := range x.versions.all() {
		if o.job != nil {
			out = append(out, o.job)
		}
	}
	return out
}

// buildAccepted builds the versions that the branch's own entries name, for rows whose code differs
// from the entry's: another compiler may have made different code from the same sources.
func (c *check) buildAccepted(ctx context.Context, rows []*planned) []*side {
	found := make([]*side, len(rows))
	var jobs []*lab.Job
	for i, x := range rows {
		branch, base, identity := x.entries.branch, x.entries.base, x.candidate.Identity()
		switch {
		case branch == nil || base != nil && base.Commit == branch.Commit: // the base has this version
		case identity == "" || x.candidate.Is(branch.Identity):
		case branch == x.entries.counts:
			found[i] = x.versions.best
		default:
			if found[i] = c.bestOf(ctx, branch, x.candidate.Variant.Kernel.Name, x.config); found[i].job != nil {
				jobs = append(jobs, found[i].job)
			}
		}
	}
	if len(jobs) > 0 {
		_ = c.lab.Build(ctx, jobs) // the error is about the worker, which is running
	}
	return found
}

// pair decides, once identities are known, which versions play.
func (x *planned) pair(elsewhere *side, first bool) *built {
	b := &built{planned: x, state: state{fault: x.candidate.Record.Fault}, acceptedElsewhere: elsewhere}
	entry, best := x.entries.counts, x.versions.best
	b.isBest = best != nil && best.missing() && x.candidate.Is(entry.Identity)
	b.bestLost = b.isBest && best.lostForGood()
	b.sides = x.versions.withBuilds()
	if b.best != nil {
		b.best.storedS = x.storedS()
	}
	if x.bestIsBase() {
		b.base.known, b.best = entry.Commit, nil
	}
	if b.bestLost && b.base != nil {
		b.best = nil
	}
	for _, s := range b.all() {
		s.plays = b.fault == nil && !s.absent() && !s.is(x.candidate)
	}
	if b.fault != nil {
		b.plan = "nothing: the kernel does not build"
		return b
	}
	b.findAccepted()
	if b.base.is(x.candidate) || b.base == nil && (b.isBest || b.best.is(x.candidate)) {
		b.unchanged, b.alone = true, first
		for _, s := range b.all() {
			s.plays = false
		}
		if b.plan = "nothing: unchanged"; first {
			b.plan = "measure alone: unchanged, and the first baseline"
		}
		return b
	}
	b.noteWholeFile()
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

// noteWholeFile says that a neighbour in the same file may be all that has changed.
func (b *built) noteWholeFile() {
	if b.base == nil || b.base.missing() || b.base.job.Artifact.Code == b.candidate.Artifact.Code {
		return
	}
	why := cmp.Or(b.candidate.Artifact.WholeFile, b.base.job.Artifact.WholeFile)
	if b.shared && !b.candidate.Variant.Kernel.DeviceCode() {
		why = "only CUDA kernels of one file are told apart"
	}
	if why != "" {
		b.notes = append(b.notes, result.Warning{
			Code:    "whole-file",
			Message: fmt.Sprintf("any change in %s counts as a change of this kernel: %s", b.candidate.Variant.Kernel.Source, why),
			Hint:    "put the kernel into a file of its own",
		})
	}
}

// withBuilds returns copies of the sides that know how they were built.
func (s sides) withBuilds() sides {
	return s.each(func(planned *side) *side {
		one := *planned
		if one.job != nil && one.job.Record.Fault != nil {
			one.fault = one.job.Record.Fault
			return one.with(one.unavailable())
		}
		return &one
	})
}

// unavailable says why a version cannot be measured, in the compiler's own words, because no other
// row shows them.
func (s *side) unavailable() string {
	why := fmt.Sprintf("the %s version is not available: %s", s.role, s.job.Record.Fault.Message)
	if words := firstError(s.job.Record.Build); words != "" {
		why += ": " + words
	}
	return why
}

// firstError returns the line of a compiler's output that names an error, else the first line; ""
// where there is no output.
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

// bestIsBase reports whether the base is the best-known version. Where that version cannot be
// rebuilt, it trusts the baseline's entry: after a squash merge, for example, nobody has the
// commit.
func (x *planned) bestIsBase() bool {
	base, best := x.versions.base, x.versions.best
	if base == nil || best == nil || base.job == nil || base.job.Identity() == "" {
		return false
	}
	if best.missing() {
		return base.job.Is(x.entries.counts.Identity)
	}
	return best.job.Identity() == base.job.Identity()
}

// isBranch reports whether the row is the version that the branch's own entry names. Another
// compiler makes different code from it, so the row also counts if it equals the entry's commit,
// built here.
func (b *built) isBranch() bool {
	branch := b.entries.branch
	switch {
	case branch == nil || b.candidate.Identity() == "":
		return false
	case b.candidate.Is(branch.Identity):
		return true
	}
	return b.acceptedElsewhere != nil && b.acceptedElsewhere.is(b.candidate) && b.solves(branch)
}

// findAccepted finds out whether a slowdown of this row is intended: the branch has accepted it
// with a reason, and the base does not have that accept.
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
		b.notes = append(b.notes, result.Warning{Code: "accepted", Message: fmt.Sprintf("accepted by %s: %s", cmp.Or(move.Who, "somebody"), move.Reason)})
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
		Message: fmt.Sprintf("accepted by %s for a build with %s; this build uses %s, and commit %s cannot be rebuilt to compare", cmp.Or(move.Who, "somebody"), then, now, git.Short(branch.Commit)),
		Hint:    "run pawl baseline accept --reason on a machine with this compiler",
	})
}
