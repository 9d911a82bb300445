package check

import (
	"context"
	"errors"
	"fmt"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/stand"
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
			Case: func() *result.Case { return stand.NewCase(result.TimedLane, k.candidate.Instance.Config, c.Duet.Seed) },
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
	c.convict(k)
	k.judge(c.gate)
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
