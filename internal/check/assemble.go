package check

import (
	"slices"

	"pawl/internal/judge"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// Every stage's value adds to the one before what the stage has learnt of its row. This file alone
// turns these values into the rows of the report.

// state is what is known of a row so far. Every stage has its own copy.
type state struct {
	sides
	fault        *result.Fault // the candidate's
	incorrect    bool
	timing       *result.Timing       // nil: there is no sample
	verification *result.Verification // nil: its answers were not verified
	unsteady     bool                 // because the base version, which they were compared with, disagrees with itself
	notes        []result.Warning
}

// rowsOf returns the rows of the report, as far as a stage knows them.
func rowsOf[Stage interface{ row() *result.Row }](stages []Stage) []*result.Row {
	var rows []*result.Row
	for _, s := range stages {
		rows = append(rows, s.row())
	}
	return rows
}

func (b *built) row() *result.Row {
	row := b.rowOf(b.state)
	row.Verdict = judge.Unmeasured(b.evidence(b.state, spec.Gate{}))
	return row
}

func (b *built) rowOf(s state) *result.Row {
	row := b.candidate.Row()
	row.Class, row.Dropped, row.Plan = b.class, b.dropped, b.plan
	row.Fault, row.Timing, row.Verification = s.fault, b.candidate.Timed(s.timing), s.verification
	row.Sides = s.sides.rows(b.bestLost)
	row.Warnings = slices.Concat(b.planNotes, row.Warnings, s.notes)
	return row
}

func (m *moved) row() *result.Row {
	row := m.rowOf(m.state)
	row.Verdict, row.Reasons, row.Needs, row.Moved, row.Play = m.verdict, m.reasons, m.needs, m.move, m.play
	if m.move != nil && m.move.Refused != "" && m.exam != nil && m.exam.answers && m.entries.counts == nil {
		row.Moved = nil // nobody expects a baseline of an oracle
	}
	return row
}

func (e *explained) row() *result.Row {
	row := e.moved.row()
	row.History = e.history
	row.Why = e.why
	return row
}

// rows returns the sides as the report names them. A best-known version that is lost is left out:
// nobody need build it, since the candidate is that version.
func (s sides) rows(bestLost bool) []*result.Side {
	var out []*result.Side
	for _, one := range s.all() {
		if one != s.best || !bestLost {
			out = append(out, one.row())
		}
	}
	return out
}

func (s *side) row() *result.Side {
	out := &result.Side{Role: s.role, Commit: s.commit, Known: s.known, StoredS: s.storedS, Reason: s.reasons, Change: s.change}
	if s.job != nil {
		out.Row = s.job.Row()
		out.Row.Fault, out.Row.Timing = s.fault, s.job.Timed(s.timing)
		out.Row.Verdict = judge.OfFault(s.fault)
		out.Row.Warnings = append(out.Row.Warnings, s.notes...)
	}
	return out
}

// evidence returns what the verdict depends on.
func (b *built) evidence(s state, gate spec.Gate) judge.Case {
	best := s.best.evidence(b.candidate)
	if best != nil && b.isBest {
		best.Same = true
	}
	return judge.Case{
		Gate: gate, Fault: s.fault, Incorrect: s.incorrect, Accepted: b.accepted, Draft: b.draft,
		Base: s.base.evidence(b.candidate), Best: best,
	}
}
