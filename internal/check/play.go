package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/lab"
)

// play lets every contest that needs it play. Contests whose versions load the
// same artifacts share their cells.
func (c *check) play(ctx context.Context) {
	done := 0
	report := func(k *contest) {
		done++
		c.run.Emit(run.Event{Kind: run.RowDone, Row: k.row.Name(), Fault: k.row.Fault, MedianS: median(k.row), Done: done, Total: len(c.contests)})
	}
	for _, group := range groupsOf(c.contests) {
		switch {
		case group[0].row.Fault != nil || group[0].row.Verdict == result.Incorrect:
		case group[0].alone:
			for _, k := range group {
				var room examRoom
				kept := c.measure(ctx, k)
				c.lookAtTiming(k)
				c.lookAtTimed(ctx, k, kept, &room)
				_ = room.close(ctx)
			}
		case len(group[0].playing) > 0:
			c.playGroup(ctx, group, done)
		}
		for _, k := range group {
			report(k)
		}
	}
}

// groupsOf are contests that can share cells, in their order.
func groupsOf(contests []*contest) [][]*contest {
	var out [][]*contest
	index := map[string]int{}
	for _, k := range contests {
		id := fmt.Sprintf("%s\x00%s\x00%t\x00%s", k.row.Kernel, k.row.Verdict, k.alone, k.row.Key)
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

// playGroup plays the contests of a group, and judges them.
func (c *check) playGroup(ctx context.Context, group []*contest, done int) {
	c.playMatches(ctx, group, done)
	var room examRoom
	defer func() { _ = room.close(ctx) }()
	for _, k := range group {
		c.lookAtTiming(k)
		c.lookAtTimed(ctx, k, k.match.Kept(), &room)
		for _, job := range k.jobs() {
			c.lab.HoldAgainstRoof(job)
		}
		k.judge(c.gate)
		c.inspect(ctx, k, &room)
		c.excuse(ctx, k)
		c.lab.Doubt(k.candidate, c.gate.CV)
	}
}

// playMatches plays the duets or trios of contests that share their cells. Where one of
// two opponents fails, the match begins anew without it.
func (c *check) playMatches(ctx context.Context, group []*contest, done int) {
	jobs := []*lab.Job{group[0].candidate}
	for _, o := range group[0].playing {
		jobs = append(jobs, o.job)
	}
	host := c.lab.NewHost(jobs)
	var duels []*lab.Duel
	for _, k := range group {
		host.Admit(k.candidate)
		k.match = &measure.Match{Name: k.row.Name(), Sides: []measure.Entrant{{Instance: k.candidate.Instance, Symbols: k.candidate.Artifact.Symbols}}}
		for _, o := range k.playing {
			host.Admit(o.job)
			k.match.Sides = append(k.match.Sides, measure.Entrant{Instance: o.job.Instance, Symbols: o.job.Artifact.Symbols})
		}
		duels = append(duels, &lab.Duel{Match: k.match, Settle: func() result.Verdict {
			c.settle(ctx, k)
			return k.row.Verdict
		}})
	}
	lab.PlayOut(ctx, host, duels, c.duet(group[0]), func(m *measure.Match, p measure.Progress) {
		c.run.Emit(run.Event{Kind: run.Measure, Row: m.Name, Done: done, Total: len(c.contests), Samples: p.Samples, MedianS: p.Median, HalfWidth: p.HalfWidth})
	})
	var again []*contest
	for _, k := range group {
		if k.row.Sandbox == nil { // what held the cells held all that played in them
			k.row.Trust, k.row.Sandbox, k.row.Flush = jobs[0].Row.Trust, jobs[0].Row.Sandbox, jobs[0].Row.Flush
		}
		if k.leaveOut() {
			again = append(again, k)
		}
	}
	for _, left := range groupsOf(again) {
		c.playMatches(ctx, left, done)
	}
}

// leaveOut takes an opponent that failed out of a contest, and reports whether there is
// another to play against. What was measured beside it decides nothing: a version that
// ends its cell may have disturbed the others before.
func (k *contest) leaveOut() bool {
	left := slices.DeleteFunc(slices.Clone(k.playing), (*opponent).missing)
	if len(left) == 0 || len(left) == len(k.playing) {
		return false
	}
	k.playing = left
	return true
}

// settle takes down what a match found and judges it, as far as it is known: before it is
// confirmed.
func (c *check) settle(ctx context.Context, k *contest) {
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
		o.side.Change = m.Change(i+1, roles, c.duet(k))
	}
	err := m.Err()
	if ctx.Err() != nil && (err != nil || m.Stopped == "") {
		err = &measure.SideError{Err: context.Canceled} // nobody's fault
	}
	side := measure.SideOf(err)
	if err != nil {
		switch {
		case side > 0:
			for _, o := range k.playing { // who is left plays anew
				o.side.Change = nil
			}
			o := k.playing[side-1]
			o.job.Fail("measure", err)
			o.side.Reason = append(o.side.Reason, "the "+string(o.side.Role)+" version cannot be measured: "+o.job.Row.Fault.Message)
		case side < 0 && len(k.playing) > 0 && ctx.Err() == nil: // says nothing of either
			k.candidate.Fail("measure", &result.Fault{
				Cause: result.CauseInternal, Message: "a cell that the versions shared ended, and none of them ends one alone: " + err.Error(),
				Hint: "check it again; compute-sanitizer finds what happens only sometimes",
			})
		default:
			k.candidate.Fail("measure", err)
		}
	}
	k.row.Verdict, k.row.Reasons = judge.Provisional(k.evidence(c.gate))
}

// measure measures a row that has nothing to play against.
func (c *check) measure(ctx context.Context, k *contest) (kept []measure.Kept) {
	if ctx.Err() != nil {
		k.candidate.Fail("measure", context.Canceled)
		return nil
	}
	seats, errs := c.lab.LeaseAll(ctx, []*lab.Job{k.candidate})
	if errs[0] != nil {
		k.candidate.Fail("load", errs[0])
		return nil
	}
	opts := c.Duet.Options
	opts.OnKept = func(found []measure.Kept) { kept = found }
	sides := []measure.Side{{Cell: seats[0].Cell, Instance: k.candidate.Instance, Symbols: k.candidate.Artifact.Symbols}}
	timings, _, failed := measure.Turns(ctx, sides, opts, func(p measure.Progress) {
		c.run.Emit(run.Event{Kind: run.Measure, Row: k.row.Name(), Total: len(c.contests), Samples: p.Samples, MedianS: p.Median, HalfWidth: p.HalfWidth})
	})
	if len(timings[0].Samples.Seconds) > 0 {
		k.row.Timing = timings[0]
	}
	if err := errors.Join(c.lab.Return(ctx, seats[0], k.candidate, failed[0])); err != nil {
		k.candidate.Fail("measure", err)
	}
	c.lab.HoldAgainstRoof(k.candidate)
	c.lab.Doubt(k.candidate, c.gate.CV)
	return kept
}

func median(row *result.Row) float64 {
	if row.Timing == nil {
		return 0
	}
	return row.Timing.Stats.Median
}
