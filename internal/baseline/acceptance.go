package baseline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// acceptance makes rows of a report the baseline, for a reason.
type acceptance struct {
	store  *ratchet.Store
	report *result.Report
	who    string
	reason string
}

// Accepted is a row that has become the baseline.
type Accepted struct {
	Entry    *Entry
	opponent *result.Side // the side it was measured against; nil: none
}

// all accepts the rows of all device classes or, where one is refused, none. It returns what has
// been written, even if a disk then failed.
func (a acceptance) all(ctx context.Context, rows []*result.Row) ([]Accepted, error) {
	byClass := map[string][]*result.Row{}
	for _, row := range rows {
		class := classOf(a.report, row)
		byClass[class] = append(byClass[class], row)
	}
	classes := slices.Sorted(maps.Keys(byClass))
	if err := a.try(classes, byClass); err != nil {
		return nil, err
	}
	var out []Accepted
	for _, class := range classes {
		var here []Accepted
		err := a.store.Update(ctx, class, func(f *ratchet.File) error {
			var problems diag.Errors
			if here, problems = a.in(f, byClass[class]); problems != nil {
				return problems
			}
			return nil
		})
		if err != nil {
			return out, err
		}
		out = append(out, here...)
	}
	return out, nil
}

// try finds out what would be refused. Each class has its own file, and the first is written before
// the second is checked.
func (a acceptance) try(classes []string, rows map[string][]*result.Row) error {
	var problems diag.Errors
	var damaged error
	for _, class := range classes {
		f, err := a.store.Read(class)
		if err != nil {
			return err
		}
		_, refused := a.in(f, rows[class])
		problems = append(problems, refused...)
		if damaged == nil {
			damaged = f.Damaged()
		}
	}
	if problems != nil {
		return problems
	}
	return damaged
}

// in accepts rows in the file of their class, which is not written yet.
func (a acceptance) in(f *ratchet.File, rows []*result.Row) ([]Accepted, diag.Errors) {
	var out []Accepted
	var problems diag.Errors
	for _, row := range rows {
		candidate := ratchet.CandidateOf(a.report, row, f.Entry(row.Kernel, row.Config), a.who)
		entry, err := f.Accept(candidate, a.reason)
		if err != nil {
			problems = append(problems, refusal(err))
			continue
		}
		made := Accepted{Entry: entry}
		for _, side := range row.Sides {
			if side.Change != nil && side.Change == candidate.Change {
				made.opponent = side
			}
		}
		out = append(out, made)
	}
	return out, problems
}

// String says what the entry replaces. It shows the opponent's time in the duet: the stored time is
// of another day, and may contradict the change.
func (a Accepted) String() string {
	m := a.Entry.Moved()
	now := unit.Duration(m.MedianMS / 1e3)
	switch {
	case m.From == nil:
		return now + ", the first of its kind"
	case m.By == ratchet.ByAnchor:
		return fmt.Sprintf("bound to commit %s instead of %s, its time stays: %s", git.Short(m.Commit), git.Short(m.From.Commit), now)
	case m.Change == nil:
		return unit.Pair(m.From.MedianMS/1e3, m.MedianMS/1e3) + ", not measured against each other"
	}
	if a.opponent != nil && a.opponent.Row != nil && a.opponent.Row.Timing != nil && a.opponent.Row.Timing.Stats.Median > 0 {
		now = unit.Pair(a.opponent.Row.Timing.Stats.Median, m.MedianMS/1e3)
	}
	return fmt.Sprintf("%s [%s, %s] against commit %s, %s", unit.Percent(m.Change.Median),
		unit.Percent(m.Change.Low), unit.Percent(m.Change.High), git.Short(m.From.Commit), now)
}

// refusal turns an error of the ratchet into a problem with its hint.
func refusal(err error) *diag.Problem {
	if r, ok := errors.AsType[*ratchet.Refusal](err); ok {
		return &diag.Problem{Message: r.Error(), Hint: r.Hint}
	}
	return &diag.Problem{Message: err.Error()}
}
