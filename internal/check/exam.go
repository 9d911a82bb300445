package check

import (
	"context"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/lab"
	"pawl/internal/verify"
)

// instances are those of candidate, reference and rival.
func (x *exam) instances(k *contest) [3]*spec.Instance {
	out := [3]*spec.Instance{k.candidate.Instance}
	if x.reference != nil {
		out[1] = x.reference.Instance
	}
	if x.rival != nil {
		out[2] = x.rival.Instance
	}
	return out
}

// examRoom keeps the cells of an examination open for the next config of the same
// kernel: starting them takes longer than what they are for. Nothing is measured
// meanwhile.
type examRoom struct {
	open   *lab.Examiner
	kernel *spec.Kernel
	beside time.Duration // spent on neighbours of its configs
}

// examiner looks at a contest's candidate; nil: at what it has produced before.
func (r *examRoom) examiner(ctx context.Context, c *check, k *contest, candidate *lab.Job) *lab.Examiner {
	x := k.exam
	if r.open != nil && r.open.Fits(x.answers, candidate, x.reference, x.rival) {
		r.open.Succeed(candidate)
		return r.open
	}
	_ = r.close(ctx) // what the candidates' cells had to say has been heard
	largest := int64(0)
	for _, other := range c.contests {
		if other.row.Kernel == k.row.Kernel && other.candidate.Instance != nil {
			largest = max(largest, other.candidate.Instance.Footprint)
		}
	}
	if r.kernel != k.candidate.Variant.Kernel {
		r.kernel, r.beside = k.candidate.Variant.Kernel, 0
	}
	r.open = c.lab.NewExaminer(x.answers, candidate, x.reference, x.rival, largest, c.Duet.Seed)
	return r.open
}

// leave ends a contest's examination, and returns what only closing its cell brings
// to light. Device code may have the next one in the same cell, since it takes nothing
// along; whatever went wrong, in any of the cells, ends them all.
func (r *examRoom) leave(ctx context.Context, k *contest, failed bool) error {
	if failed {
		return r.close(ctx)
	}
	if k.candidate.Variant.Kernel.DeviceCode() {
		return nil
	}
	return r.open.Renew(context.WithoutCancel(ctx), nil)
}

// close ends all cells, and returns what only closing the candidate's brings to light.
func (r *examRoom) close(ctx context.Context) error {
	if r.open == nil {
		return nil
	}
	err := r.open.Close(context.WithoutCancel(ctx))
	r.open = nil
	return err
}

// excuse looks at the answers of what a change is slower than: a version that is wrong
// is no measure of anything.
func (c *check) excuse(ctx context.Context, k *contest) {
	x := k.exam
	if k.row.Verdict != result.Regression || x == nil || x.err != nil || x.answers.Oracle == nil {
		return
	}
	for _, o := range k.playing {
		if o.side.Change == nil {
			continue
		}
		examiner := c.lab.NewExaminer(x.answers, o.job, x.reference, x.rival, o.job.Instance.Footprint, c.Duet.Seed)
		one := lab.NewCase("config", o.job.Instance.Config, c.Duet.Seed)
		one.Batch = verifyBatch
		instances := x.instances(k)
		instances[0] = o.job.Instance
		bench, err := examiner.Bench(ctx, instances)
		if err == nil {
			_, err = bench.Try(ctx, one, verify.Trial{})
		}
		_ = examiner.Close(context.WithoutCancel(ctx))
		if err == nil && one.Reason != "" && ctx.Err() == nil {
			o.side.Change = nil
			o.side.Reason = append(o.side.Reason, "the "+string(o.side.Role)+" version gives wrong answers: "+one.Reason)
		}
	}
	k.judge(c.gate)
}
