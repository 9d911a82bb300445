package check

import (
	"context"
	"errors"
	"fmt"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/lab"
	"pawl/internal/verify"
)

// inspect looks longer at a version that is faster: it may become the baseline, and all
// that comes after it is held against that.
func (c *check) inspect(ctx context.Context, k *contest, room *examRoom) {
	v, x := k.row.Verification, k.exam
	if !c.inspects(k) || v == nil || x == nil || v.Passed == 0 || k.row.Fault != nil || ctx.Err() != nil {
		return
	}
	looked := timedLooksOf(v)
	bench, err := room.examiner(ctx, c, k, k.candidate).Bench(ctx, x.instances(k))
	if err == nil {
		var found []result.Finding
		found, err = bench.Inspect(ctx, verify.Inspection{
			Looks: max(0, inspectLooks-looked), Cache: c.Duet.Cache,
			Case: func() *result.Case { return lab.NewCase(result.TimedLane, k.candidate.Instance.Config, c.Duet.Seed) },
			After: func(one *result.Case) {
				v.Cases = append(v.Cases, one)
				if one.Reason != "" {
					v.Failed++
					return
				}
				c.run.Emit(run.Event{Kind: run.Verify, Row: k.row.Name(), Text: "what is faster is looked at longer", Done: looked, Total: inspectLooks})
				v.Passed++
				looked++
			},
		})
		if last := len(v.Cases) - 1; last >= 0 && v.Cases[last].Reason != "" {
			found = c.unlessMistaken(ctx, k, v.Cases[last], found)
		}
		v.Findings = append(v.Findings, found...)
	}
	if left := room.leave(ctx, k, err != nil || len(v.Findings) > 0); err == nil {
		err = left
	}
	if err != nil && ctx.Err() == nil {
		v.Limits = append(v.Limits, fmt.Sprintf("%d of %d timed samples were looked at: %v", looked, inspectLooks, err))
		var own *verify.OracleError
		if !errors.As(err, &own) {
			k.candidate.Fail("verify", err)
		}
	}
	if why := c.tooFewAnew(k); why != "" {
		v.Limits = append(v.Limits, why)
	}
	c.convict(k)
	k.judge(c.gate)
}

// tooFewAnew says that a row which is faster was timed too seldom on wholly new data, which
// what it gains must be there on; "" where it was often enough. Device code and launchers
// have other data with every request.
func (c *check) tooFewAnew(k *contest) string {
	if !c.inspects(k) || k.row.Cell == spec.CellCUDA {
		return ""
	}
	for _, o := range k.playing {
		if o.missing() {
			continue
		}
		if n := verify.CountAnew(k.row.Timing, o.job.Row.Timing); n < verify.AnewLeast {
			return fmt.Sprintf("%d timed samples on wholly new data could be compared with the %s version's, and %d must be", n, o.side.Role, verify.AnewLeast)
		}
	}
	return ""
}

// inspects tells whether a row is to be looked at longer.
func (c *check) inspects(k *contest) bool {
	return c.Duet.Keep && k.row.Verdict == result.Improvement
}

// timedLooksOf counts the timed samples whose answers were right.
func timedLooksOf(v *result.Verification) int {
	looked := 0
	for _, one := range v.Cases {
		if one.Lane == result.TimedLane && one.Skipped == "" && one.Reason == "" {
			looked++
		}
	}
	return looked
}
