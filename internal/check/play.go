package check

import (
	"context"
	"errors"

	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/stand"
)

// play lets every contest that needs it play. Contests whose versions load the
// same artifacts share their cells.
func (c *check) play(ctx context.Context) {
	done := 0
	report := func(k *contest) {
		done++
		c.run.Emit(run.Event{Kind: run.RowDone, Row: k.row.Name(), Fault: k.row.Fault, MedianS: median(k.row), Done: done, Total: len(c.contests)})
	}
	for _, group := range c.groups() {
		switch {
		case group[0].row.Verdict == result.Unchanged || group[0].row.Fault != nil:
		case len(group[0].playing) == 0:
			for _, k := range group {
				c.alone(ctx, k)
			}
		default:
			c.playGroup(ctx, group, done)
		}
		for _, k := range group {
			report(k)
		}
	}
}

// groups are contests that can share cells, in the report's order.
func (c *check) groups() [][]*contest {
	var out [][]*contest
	index := map[string]int{}
	for _, k := range c.contests {
		id := k.row.Kernel + "\x00" + string(k.row.Verdict) + "\x00" + k.row.Key
		if k.row.Fault != nil {
			id += "\x00" + k.row.Config
		}
		for _, o := range k.playing {
			id += "\x00" + o.job.Row.Key + "\x00" + string(o.side.Role)
		}
		at, known := index[id]
		if !known {
			at = len(out)
			index[id] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], k)
	}
	return out
}

// playGroup plays duets or trios: a first set of cells; a second one for what
// would fail a change or move the baseline; once more with a double budget where
// the first did not decide.
func (c *check) playGroup(ctx context.Context, group []*contest, done int) {
	first := group[0]
	jobs := []*stand.Job{first.candidate}
	for _, o := range first.playing {
		jobs = append(jobs, o.job)
	}
	host := c.stand.NewHost(jobs)
	var matches []*measure.Match
	for _, k := range group {
		k.match = &measure.Match{Name: k.row.Name(), Sides: []measure.Entrant{{Instance: k.candidate.Instance, Symbols: k.candidate.Artifact.Symbols}}}
		for _, o := range k.playing {
			k.match.Sides = append(k.match.Sides, measure.Entrant{Instance: o.job.Instance, Symbols: o.job.Artifact.Symbols})
		}
		matches = append(matches, k.match)
	}
	progress := func(m *measure.Match, p measure.Progress) {
		c.run.Emit(run.Event{Kind: run.Measure, Row: m.Name, Done: done, Total: len(c.contests), Samples: p.Samples, MedianS: p.Median, HalfWidth: p.HalfWidth})
	}
	play := func(chosen []*contest, set int, opts measure.DuetOptions) {
		var some []*measure.Match
		for _, k := range chosen {
			some = append(some, k.match)
		}
		if len(some) > 0 && ctx.Err() == nil {
			measure.Play(ctx, some, host, set, opts, progress)
		}
		for _, k := range chosen {
			c.settle(k)
		}
	}
	play(group, 0, c.Duet)
	var unsure []*contest
	for _, k := range group {
		if k.row.Verdict == result.Inconclusive {
			unsure = append(unsure, k)
		}
	}
	longer := c.Duet
	longer.Budget *= 2
	if len(unsure) > 0 {
		play(unsure, 0, longer)
	}
	var weighty []*contest
	for _, k := range group {
		if judge.Confirm(k.row.Verdict) {
			weighty = append(weighty, k)
		}
	}
	if len(weighty) > 0 {
		play(weighty, 1, c.Duet)
	}
	for _, k := range group {
		for _, job := range k.jobs() {
			c.stand.HoldAgainstRoof(job)
		}
		c.stand.Doubt(k.candidate, c.gate.CV)
	}
}

// settle takes down what a match found and judges it, as far as it is known.
func (c *check) settle(k *contest) {
	m := k.match
	timings := m.Timings()
	roles := []result.Role{""}
	for _, o := range k.playing {
		roles = append(roles, o.side.Role)
	}
	for i, t := range timings {
		if len(t.Samples.Seconds) == 0 {
			continue
		}
		if i == 0 {
			k.row.Timing = t
		} else {
			k.playing[i-1].job.Row.Timing = t
		}
	}
	for i, o := range k.playing {
		o.side.Change = m.Change(i+1, roles, c.Duet)
	}
	if side, err := m.Err(); err != nil {
		if side > 0 {
			o := k.playing[side-1]
			o.job.Fail("measure", err)
			o.side.Change = nil
			o.side.Reason = append(o.side.Reason, "the "+string(o.side.Role)+" version cannot be measured: "+o.job.Row.Fault.Message)
		} else {
			k.candidate.Fail("measure", err)
		}
	}
	k.judge(c.gate)
}

// alone measures a row that has nothing to play against.
func (c *check) alone(ctx context.Context, k *contest) {
	if ctx.Err() != nil {
		k.candidate.Fail("measure", context.Canceled)
		return
	}
	client, err := c.stand.Living(ctx)
	if err != nil {
		k.candidate.Fail("load", err)
		return
	}
	seats, errs := c.stand.Seats(ctx, client, []*stand.Job{k.candidate})
	if errs[0] != nil {
		k.candidate.Fail("load", errs[0])
		return
	}
	sides := []measure.Side{{Cell: seats[0].Cell, Instance: k.candidate.Instance, Symbols: k.candidate.Artifact.Symbols}}
	timings, _, failed := measure.Turns(ctx, sides, c.Duet.Options, func(p measure.Progress) {
		c.run.Emit(run.Event{Kind: run.Measure, Row: k.row.Name(), Total: len(c.contests), Samples: p.Samples, MedianS: p.Median, HalfWidth: p.HalfWidth})
	})
	if len(timings[0].Samples.Seconds) > 0 {
		k.row.Timing = timings[0]
	}
	if err := errors.Join(c.stand.Leave(ctx, seats[0], k.candidate, failed[0])); err != nil {
		k.candidate.Fail("measure", err)
	}
	c.stand.HoldAgainstRoof(k.candidate)
	c.stand.Doubt(k.candidate, c.gate.CV)
}

func median(row *result.Row) float64 {
	if row.Timing == nil {
		return 0
	}
	return row.Timing.Stats.Median
}
