package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"pawl/internal/diag"
	"pawl/internal/judge"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// measured is a row, or a rival of one, and what is known of it.
type measured struct {
	*lab.Job
	rivals       []*measured
	exam         *exam          // for a row with rivals
	fault        *result.Fault  // why it has no (trustworthy) number
	timing       *result.Timing // nil: there is no sample
	ratio        *result.Ratio  // for a rival: its time over the row's
	verification *result.Verification
	device       string // UUID of the GPU, where several shared the rows
	tried        bool   // there was a worker for it
	notes        []result.Warning
}

// sides returns the row itself and its rivals.
func (m *measured) sides() []*measured { return append([]*measured{m}, m.rivals...) }

// fail records why a side has no (trustworthy) number.
func (m *measured) fail(stage string, err error) { m.fault = m.FaultOf(stage, err) }

// forget drops what was found with a worker that was lost.
func (m *measured) forget() {
	for _, side := range m.sides() {
		side.fault, side.timing, side.ratio, side.verification = side.Record.Fault, nil, nil, nil
		side.device, side.tried, side.notes = "", false, nil
	}
}

// measure measures one row in fresh cells.
func (b *bench) measure(ctx context.Context, room *examRoom, m *measured, startErr error, done, total int) {
	if ctx.Err() != nil {
		m.fail("measure", context.Canceled)
		return
	}
	if startErr != nil {
		m.fail("load", startErr)
		return
	}
	kind := run.Measure
	if m.exam != nil {
		kind = run.Verify // an oracle on the processor may take longer than all samples
	}
	b.run.Emit(run.Event{Kind: kind, Row: m.Name(), Done: done, Total: total})
	if _, err := room.lane.Client(ctx); err != nil {
		m.fail("load", err)
		return
	}
	b.takeTurns(ctx, room, m, func(p measure.Progress) {
		b.run.Emit(run.Event{
			Kind: run.Measure, Row: m.Name(), Done: done, Total: total,
			Samples: p.Samples, MedianS: p.Median, HalfWidth: p.HalfWidth,
		})
	})
	for _, side := range m.sides() {
		side.tried = true
		if side.fault != nil {
			continue
		}
		roofed := room.lane.HoldAgainstRoof(side.Job, side.timing)
		side.timing, side.notes = roofed.Timing, append(side.notes, roofed.Warnings...)
		if side.verification != nil {
			side.verification.Suspect(roofed.Findings...)
		}
		if roofed.Fault != nil {
			side.fail("measure", roofed.Fault)
		}
	}
}

// takeTurns opens a cell for the row and each of its rivals, compares their answers,
// lets them take turns, and closes the cells. A rival that fails does not stop the
// others.
func (b *bench) takeTurns(ctx context.Context, room *examRoom, m *measured, progress func(measure.Progress)) {
	lane := room.lane
	waiting := slices.DeleteFunc(m.sides(), func(side *measured) bool { return side.fault != nil })
	var jobs []*lab.Job
	for _, side := range waiting {
		jobs = append(jobs, side.Job)
	}
	leases, openErrs := lane.LeaseAll(ctx, jobs)
	var open []*measured
	var leased []*lab.Lease
	var sides []measure.Side
	for i, side := range waiting {
		if openErrs[i] != nil {
			side.fail("load", openErrs[i])
			continue
		}
		if err := room.examine(ctx, m, side, leases[i], b.Measure.Seed); err != nil {
			side.fail("verify", lane.Return(ctx, leases[i], side.Job, err))
			continue
		}
		open, leased = append(open, side), append(leased, leases[i])
		sides = append(sides, measure.Side{Cell: leases[i].Cell, Instance: side.Instance, Symbols: side.Artifact.Symbols})
	}
	if len(open) == 0 {
		return
	}
	timings, ratios, errs := measure.Turns(ctx, sides, b.Measure, progress)
	for i, side := range open {
		if len(timings[i].Samples.Seconds) > 0 {
			side.timing = timings[i]
		}
		if err := lane.Return(ctx, leased[i], side.Job, errs[i]); err != nil {
			side.fail("measure", err)
		}
		if i > 0 && open[0] == m {
			side.ratio = ratios[i-1]
		}
	}
}

// row returns the report's row, with its rivals. It is called when all rows are done: a fault of a
// side may come to light after its turns, when its cell is closed.
func (b *bench) row(m *measured) *result.Row {
	row := m.Row()
	row.Fault = cmp.Or(m.fault, m.Record.Fault)
	row.Verdict = judge.OfFault(row.Fault)
	row.Device, row.Timing, row.Verification = m.device, m.Timed(m.timing), m.verification
	row.Warnings = append(row.Warnings, m.notes...)
	if m.tried {
		row.Warnings = append(row.Warnings, b.lab.Doubts(m.Job, row.Timing, b.Spec.Gate.CV)...)
	}
	for i, other := range m.rivals {
		rival := &result.Rival{Label: b.Against[i], Row: b.row(other)}
		if row.Fault == nil && rival.Row.Fault == nil { // a side that failed is neither faster nor slower
			rival.Ratio = other.ratio
		}
		row.Rivals = append(row.Rivals, rival)
	}
	return row
}

// plan resolves every selected kernel on every selected config.
func (b *bench) plan() ([]*measured, error) {
	used := make([]bool, len(b.Set))
	var rows []*measured
	for _, s := range spec.Without(b.run.Selections, b.run.Patterns, spec.IsReference) {
		variant := s.Kernel.Default()
		for i, set := range b.Set {
			if !slices.ContainsFunc(s.Kernel.Params, func(p *spec.Param) bool { return p.Name == set.Name }) {
				continue
			}
			used[i] = true
			var err error
			if variant, err = variant.With(set.Name, set.Value); err != nil {
				return nil, err
			}
		}
		rivals, err := b.rivals(s.Kernel)
		if err != nil {
			return nil, err
		}
		answers, unknown := b.answers(s.Kernel)
		for _, config := range s.Configs {
			p := &measured{Job: lab.NewJob(b.Spec.Dir, variant, config)}
			for _, rival := range rivals {
				p.rivals = append(p.rivals, &measured{Job: rival.Job(b.Spec.Dir, config)})
			}
			if len(rivals) > 0 {
				p.exam = &exam{unknown: unknown}
				if answers != nil {
					p.exam.Exam = answers.On(config)
				}
			}
			rows = append(rows, p)
		}
	}
	for i, set := range b.Set {
		if !used[i] {
			names := paramNames(b.run.Selections)
			if len(names) == 0 {
				return nil, fmt.Errorf("--set %s: no selected kernel has params", set.Name)
			}
			return nil, fmt.Errorf("no selected kernel has a param %q (%s)", set.Name, diag.Meant(set.Name, names))
		}
	}
	return rows, nil
}

// rivals finds the rivals that a kernel is measured against.
func (b *bench) rivals(k *spec.Kernel) ([]*lab.Rival, error) {
	var out []*lab.Rival
	for _, name := range b.Against {
		found, err := lab.FindRival(b.Spec, k, name)
		if err != nil {
			return nil, err
		}
		out = append(out, found)
	}
	return out, nil
}

func paramNames(selections []spec.Selection) []string {
	var names []string
	for _, s := range selections {
		for _, p := range s.Kernel.Params {
			names = append(names, p.Name)
		}
	}
	return names
}
