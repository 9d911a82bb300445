package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl/internal/git"
	"pawl/internal/judge"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// StaysError reports that the baseline could not be written.
type StaysError struct{ Err error }

// Error says why.
func (e *StaysError) Error() string { return "baseline stays: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StaysError) Unwrap() error { return e.Err }

// moved is a judged row and the move of the baseline that it causes.
type moved struct {
	*judged
	move *result.Moved // nil: nothing
}

// move makes a version the baseline if it is provably faster, or the first of its name. Without
// --update-baseline it only says so. The error is a StaysError.
func (c *check) move(ctx context.Context, rows []*judged) ([]*moved, error) {
	c.report.Finished = time.Now().UTC() // the baseline stores this time
	who := ratchet.Who(ctx, c.Spec.Dir)
	var out []*moved
	byClass := map[string][]*moved{}
	for _, j := range rows {
		m := &moved{judged: j}
		out = append(out, m)
		if ctx.Err() != nil {
			continue
		}
		write := false
		if m.move, write = c.offer(j); write {
			byClass[j.class] = append(byClass[j.class], m)
		}
	}
	var stays error
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		moving := byClass[class]
		err := c.store.Update(ctx, class, func(file *ratchet.File) error {
			for _, m := range moving {
				c.moveOne(file, m, who)
			}
			return nil
		})
		if err == nil {
			continue
		}
		stays = errors.Join(stays, err)
		for _, m := range moving {
			if m.move.Refused == "" {
				m.move.Done, m.move.ToS, m.move.Refused, m.move.Hint = false, 0, err.Error(), ""
			}
		}
		c.warn("baseline", "", "baseline stays: %v", err)
	}
	if stays != nil {
		return out, &StaysError{stays}
	}
	return out, nil
}

// offer decides how a row moves the baseline, and whether to write the move.
func (c *check) offer(j *judged) (m *result.Moved, write bool) {
	if j.fault != nil || j.verdict == result.Incorrect || j.dropped {
		return nil, false
	}
	if j.already() {
		if j.timing == nil || j.accepted { // the latter says so itself
			return nil, false
		}
		m = j.movedFrom(j.entries.base)
		m.Already = true
		return m, false
	}
	if !j.bestLost && (j.timing == nil || !c.stuck(j) && !judge.Moves(j.evidence(j.state, c.gate), j.verdict, j.entries.counts == nil)) {
		return nil, false
	}
	m = j.movedFrom(j.entries.counts)
	m.Anchor, m.Asked = j.bestLost, c.Update
	hint := "--update-baseline makes it the best-known version"
	if j.bestLost {
		hint = "--update-baseline binds the baseline to this commit"
	}
	why, remedy := c.unfit(j)
	switch commit := c.report.Commit; {
	case why != "":
		m.Refused, m.Hint = why, remedy
	case c.Update:
		return m, true
	case commit == nil:
		return nil, false // the report says that there is no repository
	case commit.Dirty:
		m.Uncommitted, m.Hint = true, "commit it; then "+hint
	default:
		m.Hint = hint
	}
	return m, false
}

// movedFrom returns a move away from an entry, or from nothing.
func (j *judged) movedFrom(e *ratchet.Entry) *result.Moved {
	if e == nil {
		return &result.Moved{}
	}
	m := &result.Moved{From: e.Commit}
	if j.solves(e) {
		m.FromS = e.MedianMS / 1e3
	}
	return m
}

// already reports whether this branch has already made the row the baseline, in another commit than
// the base's.
func (j *judged) already() bool {
	e := j.entries
	return j.isBranch() && (e.base == nil || e.base.Commit != e.branch.Commit) && !(j.bestLost && e.counts.Commit == e.branch.Commit)
}

// stuck reports whether a row that should move the baseline cannot show that it is faster than the
// best-known version, because that version could not be built or has other sizes.
func (c *check) stuck(j *judged) bool {
	wanted := j.verdict == result.Improvement || j.verdict == result.Incomparable && c.Update
	return wanted && j.entries.counts != nil && j.best != nil && j.best.absent() && !j.isBest
}

// unfit says why a row cannot become the baseline, however fast it is, and what to do about it; ""
// when nothing prevents it.
func (c *check) unfit(j *judged) (why, hint string) {
	name := j.candidate.Name()
	anew := fmt.Sprintf("pawl baseline accept %s --reason … makes this one the best-known; pawl baseline reset %s --reason … starts over", name, name)
	switch {
	case c.stuck(j):
		why, hint = "can no longer be built", anew
		switch {
		case j.best.otherProblem:
			why = "solved a different problem"
		case !j.best.lostForGood():
			why, hint = "was not available this time", "run pawl check again where it is available; "+hint
		}
		return fmt.Sprintf("the best-known version (commit %s) %s", git.Short(j.entries.counts.Commit), why), hint
	case j.draftBest:
		return fmt.Sprintf("the baseline names commit %s, and this kernel is still a draft in the pawl.yaml of that commit", git.Short(j.entries.counts.Commit)), anew
	case len(c.loose) > 0:
		return c.looseFiles() + ": the commit alone cannot be built", "git add and commit, then measure again"
	case !j.bestLost && j.slowTail(c.gate) != "":
		return j.slowTail(c.gate), "see the distribution in report.html; pawl baseline accept --reason makes it the best-known version anyway"
	case j.bestLost && c.Fork:
		return "the change comes from a fork: its check does not move the baseline", "run pawl check --update-baseline after the merge"
	case j.bestLost: // its answers were verified when it became the baseline
		return "", ""
	}
	const anyway = "pawl baseline accept --reason makes it the best-known version anyway"
	if why = c.unjudged(j); why != "" {
		_, remedy := c.noOracle(j.built)
		return why, remedy + "; " + anyway
	}
	if why = c.unproven(j); why != "" {
		hint = anyway
	}
	return why, hint
}

func (c *check) looseFiles() string {
	return strings.Join(c.loose[:min(len(c.loose), 3)], ", ") + " not in git"
}

// unrecorded says why no commit holds the measured code, so that no row can become the baseline; "" when
// one does.
func (c *check) unrecorded() string {
	switch commit := c.report.Commit; {
	case commit == nil:
		return "there is no commit to rebuild it from"
	case len(c.loose) > 0:
		return c.looseFiles() + "; git add and commit, then run this again"
	case commit.Dirty:
		return fmt.Sprintf("files have changed since commit %s; commit them, then run this again", git.Short(commit.SHA))
	}
	return ""
}

// unjudged says why no oracle has judged a row that needs one to become the baseline; "" when one
// has, or none is needed.
func (c *check) unjudged(j *judged) string {
	v := j.verification
	missing, _ := c.noOracle(j.built)
	switch {
	case j.first != nil && j.first.Cause == result.CauseTimeout:
		return "" // unproven says more
	case j.unsteady:
		return "its answers were not verified: " + missing + ", and the base version's answers differ from launch to launch"
	case v == nil || v.Passed == 0:
		return "its answers were not verified: " + missing + " and there is no earlier version"
	case j.entries.counts == nil && j.exam.Oracle == nil:
		return missing + ": its answers were only compared with the previous version's"
	}
	return ""
}

// noOracle says who has no oracle for a row, and what to do about it. The base's oracle counts, so
// that nobody proves a change by an oracle of that change.
func (c *check) noOracle(b *built) (who, remedy string) {
	if b.candidate.Variant.Kernel.Oracle == nil || c.report.Base == nil {
		return "the kernel has no oracle", "give it an oracle: in pawl.yaml"
	}
	who = fmt.Sprintf("the base (%s, %s) has no oracle for it yet", c.report.Base.Ref, git.Short(c.report.Base.SHA))
	return who, "this commit's oracle counts once it is the base: run pawl check --update-baseline after the next commit"
}

// slowTail names the opponent against which the slowest tenth of the row's launches is slower than
// the gate allows; "" if there is none.
func (j *judged) slowTail(gate spec.Gate) string {
	for _, o := range j.playing() {
		if judge.SlowTail(gate, o.evidence(j.candidate)) {
			t := o.change.Tail
			return fmt.Sprintf("the slowest tenth of its launches is slower than that of the %s version: P90 %s → %s", o.role, unit.Duration(t.BeforeS), unit.Duration(t.AfterS))
		}
	}
	return ""
}

// unproven says why a row's answers are not verified well enough for it to become the baseline; ""
// when they are.
func (c *check) unproven(j *judged) string {
	v := j.verification
	switch {
	case j.first != nil && j.first.Cause == result.CauseTimeout:
		return "it did not end in time when it was first verified"
	case j.exam.byChange:
		return "its answers were verified by its own oracle, because the base's could not be used"
	case v.Integrity != result.Clean:
		return "its result is " + string(v.Integrity)
	case c.inspects(j.verdict) && rightTimedSamples(v) < inspectedSamples:
		return fmt.Sprintf("%d of its timed samples could be verified; at least %d are needed", rightTimedSamples(v), inspectedSamples)
	case c.tooFewAnew(j) != "":
		return c.tooFewAnew(j)
	case c.Fork && j.candidate.Record.Trust != trustHarness:
		return "the change comes from a fork and shares its cell's address space: its results do not move the baseline"
	}
	return ""
}

// trustHarness marks cells whose candidate cannot reach the code that measures it.
const trustHarness = "harness"

// moveOne moves a row's entry, and records the outcome.
func (c *check) moveOne(file *ratchet.File, m *moved, who string) {
	row := m.row()
	candidate := ratchet.CandidateOf(c.report, row, file.Entry(row.Kernel, row.Config), who)
	candidate.Class = m.class
	var entry *ratchet.Entry
	var err error
	if m.bestLost {
		entry, err = file.Anchor(candidate, fmt.Sprintf("commit %s can no longer be built, and this is the same version", git.Short(m.entries.counts.Commit)))
	} else {
		if m.match != nil { // so that luck does not accumulate
			candidate = candidate.Remeasured(m.match.Remeasured(0))
		}
		entry, err = file.Move(candidate)
	}
	var refused *ratchet.Refusal
	switch {
	case err == nil:
		m.move.Done, m.move.ToS = true, entry.MedianMS/1e3
	case errors.As(err, &refused):
		m.move.Refused, m.move.Hint = refused.Why, refused.Hint
	default:
		m.move.Refused = err.Error()
	}
}
