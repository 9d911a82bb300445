package tune

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/stat"
)

// energyRounds is how often the sides of a duet of energy take turns.
const energyRounds = 6

// energyDuet is about how long a duet of energy takes.
const energyDuet = 7 * time.Second

// energyTime returns about how long the duets of energy of a finalist take.
func (t *tune) energyTime() time.Duration {
	if t.Objective == Time {
		return 0
	}
	return energyDuet * time.Duration(len(t.configs))
}

// energyExact is the half-width, in log-ratio, below which an interval of energy is exact: counters are
// coarse.
const energyExact = 0.02

// playEnergy plays duets of energy: finalist and defaults in turns, each in stretches that the counter
// resolves. One pair of stretches is one pair.
func (t *tune) playEnergy(ctx context.Context, all []*finalist) {
	total, done := len(all)*len(t.configs), 0
	for _, f := range all {
		for _, m := range f.matches {
			t.run.Emit(run.Event{Kind: run.Measure, Row: m.jobs[0].Name() + " " + f.variant.Name(), Done: done, Total: total})
			done++
			if ctx.Err() != nil {
				return
			}
			if m.fault != nil {
				continue
			}
			var change *result.Change
			if change, m.fault = t.duetOfEnergy(ctx, m.jobs[:2]); t.Objective == Both {
				m.joules = change
				continue
			}
			m.jobs, m.roles, m.change = m.jobs[:2], m.roles[:2], change
		}
	}
}

func (t *tune) duetOfEnergy(ctx context.Context, jobs []*lab.Job) (*result.Change, *result.Fault) {
	leases, errs := t.lab.LeaseAll(ctx, jobs)
	err := errors.Join(errs...)
	var joules [][]float64
	if err == nil {
		var sides []measure.Side
		for i, job := range jobs {
			sides = append(sides, measure.Side{Cell: leases[i].Cell, Instance: job.Instance, Symbols: job.Artifact.Symbols})
		}
		joules, err = measure.SideJoules(ctx, sides, t.Measure, energyRounds)
	}
	for i, lease := range leases {
		if lease != nil {
			_ = lease.Close(context.WithoutCancel(ctx), jobs[i], nil)
		}
	}
	if err != nil {
		return nil, jobs[0].FaultOf("measure", err)
	}
	for _, side := range joules {
		if len(side) < 2 || slices.Min(side) <= 0 {
			return nil, jobs[0].FaultOf("measure", result.Faultf(result.CauseUnsupported, "the energy counter did not advance between stretches of launches"))
		}
	}
	logs := make([]float64, len(joules[0]))
	for i := range logs {
		logs[i] = math.Log(joules[0][i] / joules[1][i])
	}
	middle := stat.Mean(logs)
	half := stat.TQuantile(0.975, float64(len(logs)-1)) * stat.Std(logs) / math.Sqrt(float64(len(logs)))
	return &result.Change{
		Median: math.Expm1(middle), Low: math.Expm1(middle - half), High: math.Expm1(middle + half), Paired: true, Pairs: len(logs),
		Delta: stat.SignDelta(logs), Exact: half <= energyExact, Confirmed: true, Stopped: "width",
	}, nil
}
