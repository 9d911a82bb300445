package check

import (
	"context"
	"fmt"
	"slices"

	"pawl/internal/judge"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
)

// played is a row that was measured, unless something prevented it.
type played struct {
	*verified
	state
	kept  []measure.Kept // outputs of timed samples
	match *measure.Match // nil: it had no opponent
	play  *result.Play   // the report's record of the match
	tried bool           // there was a cell for it
}

// groupsOf groups the rows that can share cells, in their order: their versions load the same
// artifacts.
func groupsOf(rows []*verified) [][]*verified {
	return grouped(rows, func(v *verified) string {
		id := fmt.Sprintf("%s\x00%t\x00%t\x00%t\x00%s", v.candidate.Variant.Kernel.Name, v.incorrect, v.unchanged, v.alone, v.candidate.Key())
		if v.fault != nil || v.alone { // what a row leaves for its judge must not wait for others
			id += "\x00" + v.candidate.Config.Name
		}
		return id + v.sides.id()
	})
}

// partyMost is how many rows share cells at most: they are judged together, and an interrupt leaves
// all of them undecided.
const partyMost = 16

// parties joins groups that can share cells: device code cannot reach the process that launches it,
// and the change is nobody's who must be kept from other kernels.
func (c *check) parties(groups [][]*verified) [][]*verified {
	var out [][]*verified
	var party []*verified
	for _, group := range groups {
		switch {
		case c.Fork || !group[0].sociable():
			out = append(out, group)
			continue
		case len(party) > 0 && len(party)+len(group) > partyMost:
			out, party = append(out, party), nil
		}
		party = append(party, group...)
	}
	if len(party) > 0 {
		out = append(out, party)
	}
	return out
}

// sociable reports whether a row can share its cells with other kernels.
func (v *verified) sociable() bool {
	playing := v.playing()
	return v.fault == nil && !v.incorrect && !v.alone && len(playing) > 0 && v.candidate.Variant.Kernel.DeviceCode() &&
		!slices.ContainsFunc(playing, func(s *side) bool { return !s.job.Variant.Kernel.DeviceCode() })
}

// mixed reports whether rows of several kernels share cells.
func mixed(party []*verified) bool { return len(groupsOf(party)) > 1 }

// id is equal for sides that load the same artifacts.
func (s sides) id() string {
	id := ""
	for _, one := range s.playing() {
		id += "\x00" + one.job.Key() + "\x00" + string(one.role)
	}
	return id
}

// grouped groups values by id, in their order.
func grouped[Value any](values []Value, id func(Value) string) [][]Value {
	var out [][]Value
	index := map[string]int{}
	for _, v := range values {
		at, known := index[id(v)]
		if !known {
			at = len(out)
			index[id(v)] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], v)
	}
	return out
}

// count finds out how many rows are measured, for those who wait.
func (c *check) count(rows []*verified) {
	c.total = 0
	for _, v := range rows {
		if v.isMeasured() {
			c.total++
		}
	}
}

// isMeasured reports whether a row takes time to measure: nothing is left to find out about unchanged
// code and wrong answers.
func (v *verified) isMeasured() bool {
	return v.fault == nil && !v.incorrect && (v.alone || len(v.playing()) > 0)
}

// play plays the matches of a group's rows, where they need one.
func (c *check) play(ctx context.Context, group []*verified) []*played {
	var rows []*played
	for _, v := range group {
		rows = append(rows, &played{verified: v, state: v.state})
	}
	switch first := rows[0]; {
	case first.fault != nil || first.incorrect:
	case first.alone:
		for _, p := range rows {
			c.measure(ctx, p)
		}
	case len(first.playing()) > 0:
		if c.playMatches(ctx, rows); !mixed(group) {
			c.playOn(ctx, rows)
		}
	}
	return rows
}

// playMatches plays the duets or trios of rows that share their cells to their end.
func (c *check) playMatches(ctx context.Context, group []*played) {
	host := c.lab.NewHost()
	var duels []*lab.Duel
	for _, p := range group {
		before := *p
		match := host.Admit(p.candidate.Name(), p.contestants())
		duels = append(duels, &lab.Duel{Match: match, Settle: func() result.Verdict {
			*p = c.settle(ctx, before, match)
			verdict, _ := judge.Provisional(p.evidence(p.state, c.gate))
			return verdict
		}})
	}
	lab.PlayOut(ctx, host, duels, c.duet(group[0].planned), func(m *measure.Match, p measure.Progress) {
		c.run.Emit(run.Event{Kind: run.Measure, Row: m.Name, Done: int(c.done.Load()), Total: c.total, Samples: p.Samples, MedianS: p.Median, HalfWidth: p.HalfWidth})
	})
}

// playOn lets matches with one of two opponents failed start again without it.
func (c *check) playOn(ctx context.Context, group []*played) {
	var again []*played
	for _, p := range group {
		if left, others := p.withoutFailed(); others {
			p.sides = left
			again = append(again, p)
		}
	}
	for _, left := range grouped(again, func(p *played) string { return p.sides.id() }) {
		c.playMatches(ctx, left)
		c.playOn(ctx, left)
	}
}

// contestants returns the candidate and the versions that it plays against.
func (p *played) contestants() []*lab.Job {
	jobs := []*lab.Job{p.candidate}
	for _, s := range p.playing() {
		jobs = append(jobs, s.job)
	}
	return jobs
}

// withoutFailed takes a failed opponent out of a match, and reports whether another opponent is
// left. The measurements made beside the failed one decide nothing: a version that ends its cell
// may have disturbed the others before.
func (s sides) withoutFailed() (left sides, others bool) {
	playing := s.playing()
	sound := slices.DeleteFunc(slices.Clone(playing), (*side).absent)
	if len(sound) == 0 || len(sound) == len(playing) {
		return s, false
	}
	return s.each(func(one *side) *side {
		out := *one
		out.plays = one.plays && !one.absent()
		return &out
	}), true
}

// settle returns the row as the match has found it so far; before is the row when the match began.
func (c *check) settle(ctx context.Context, before played, m *measure.Match) played {
	p := before
	p.kept, p.match, p.tried = m.Kept(), m, true
	timings := m.Timings()
	took := func(i int, before *result.Timing) *result.Timing {
		if i < len(timings) && len(timings[i].Samples.Seconds) > 0 {
			return timings[i]
		}
		return before
	}
	p.timing = took(0, p.timing)
	roles := []result.Role{""}
	index := map[result.Role]int{}
	for i, o := range before.playing() {
		roles = append(roles, o.role)
		index[o.role] = i + 1
	}
	p.play = m.Record(roles, c.duet(p.planned).Floor)
	err := m.Err()
	if ctx.Err() != nil && (err != nil || m.Stopped == "") {
		err = &measure.SideError{Err: context.Canceled} // nobody's fault
	}
	guilty := measure.SideOf(err)
	p.sides = before.each(func(s *side) *side {
		i, plays := index[s.role]
		if !plays {
			return s
		}
		o := *s
		o.timing, o.change = took(i, s.timing), m.Change(i, roles, c.duet(p.planned))
		if err == nil || guilty <= 0 {
			return &o
		}
		o.change = nil // the remaining sides play again
		if i != guilty {
			return &o
		}
		o.fault = o.job.FaultOf("measure", err)
		return o.with("the " + string(o.role) + " version cannot be measured: " + o.fault.Message)
	})
	if err != nil && guilty <= 0 {
		p.fault = p.candidate.FaultOf("measure", err)
	}
	return p
}

// measure measures a row that has no opponent.
func (c *check) measure(ctx context.Context, p *played) {
	job := p.candidate
	if ctx.Err() != nil {
		p.fault = job.FaultOf("measure", context.Canceled)
		return
	}
	leases, errs := c.lab.LeaseAll(ctx, []*lab.Job{job})
	if errs[0] != nil {
		p.fault = job.FaultOf("load", errs[0])
		return
	}
	p.tried = true
	opts := c.Duet.Options
	opts.OnKept = func(found []measure.Kept) { p.kept = found }
	sides := []measure.Side{{Cell: leases[0].Cell, Instance: job.Instance, Symbols: job.Artifact.Symbols}}
	timings, _, failed := measure.Turns(ctx, sides, opts, func(m measure.Progress) {
		c.run.Emit(run.Event{Kind: run.Measure, Row: job.Name(), Done: int(c.done.Load()), Total: c.total, Samples: m.Samples, MedianS: m.Median, HalfWidth: m.HalfWidth})
	})
	if len(timings[0].Samples.Seconds) > 0 {
		p.timing = timings[0]
	}
	if err := c.lab.Return(ctx, leases[0], job, failed[0]); err != nil {
		p.fault = job.FaultOf("measure", err)
	}
}
