package check

import (
	"slices"

	"pawl/internal/judge"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// Every stage's value adds to the one before what the stage has learnt of its row. This file alone
// turns these values into the rows of the report.

// rowsOf returns the rows of the report, as far as a stage knows them.
func rowsOf[Stage interface{ row() *result.Row }](stages []Stage) []*result.Row {
	var rows []*result.Row
	for _, s := range stages {
		rows = append(rows, s.row())
	}
	return rows
}

func (b *built) row() *result.Row {
	row := b.candidate.Row()
	row.Class, row.Dropped, row.Plan = b.class, b.dropped, b.plan
	row.Warnings = slices.Concat(b.planned.notes, row.Warnings, b.notes)
	row.Sides = b.sides.rows(b.bestLost)
	row.Verdict = judge.Unmeasured(b.evidence(spec.Gate{}))
	return row
}

func (j *judged) row() *result.Row {
	row := j.built.row()
	row.Fault, row.Timing, row.Verification = j.fault, j.candidate.Timed(j.timing), j.verification
	row.Verdict, row.Reasons = j.verdict, j.reasons
	row.Sides = j.sides.rows(j.bestLost)
	row.Warnings = slices.Concat(row.Warnings, j.verified.notes, j.notes)
	return row
}

func (m *moved) row() *result.Row {
	row := m.judged.row()
	row.Moved = m.move
	return row
}

func (e *explained) row() *result.Row {
	row := e.moved.row()
	row.History = e.history
	row.Warnings = append(row.Warnings, e.notes...)
	return row
}

// rows returns the sides as the report names them. A best-known version that is lost is left out:
// nobody need build it, since the candidate is that version.
func (s sides) rows(bestLost bool) []*result.Side {
	var out []*result.Side
	if s.base != nil {
		out = append(out, s.base.row())
	}
	if s.best != nil && !bestLost {
		out = append(out, s.best.row())
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
func (b *built) evidence(gate spec.Gate) judge.Case {
	return evidence(b, gate, b.candidate.Record.Fault, false, b.sides)
}

// evidence returns what the verdict depends on.
func (j *judged) evidence(gate spec.Gate) judge.Case {
	return evidence(j.built, gate, j.fault, j.incorrect, j.sides)
}

func evidence(b *built, gate spec.Gate, fault *result.Fault, incorrect bool, of sides) judge.Case {
	best := of.best.evidence(b.candidate)
	if best != nil && b.isBest {
		best.Same = true
	}
	return judge.Case{
		Gate: gate, Fault: fault, Incorrect: incorrect, Accepted: b.accepted, Draft: b.draft,
		Base: of.base.evidence(b.candidate), Best: best,
	}
}
