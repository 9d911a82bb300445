package check

import (
	"context"
	"time"

	"pawl/internal/lab"
	"pawl/internal/spec"
)

// instances are those of candidate, reference and rival.
func (x *exam) instances(candidate *spec.Instance) [3]*spec.Instance {
	out := [3]*spec.Instance{candidate}
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

// examiner compares the answers of a row's candidate; nil: those that it has produced before.
func (r *examRoom) examiner(ctx context.Context, c *check, v *verified, candidate *lab.Job) *lab.Examiner {
	x := v.exam
	if r.open != nil && r.open.Fits(x.answers, candidate, x.reference, x.rival) {
		r.open.Succeed(candidate)
		return r.open
	}
	_ = r.close(ctx) // what the candidates' cells had to say has been heard
	if r.kernel != v.candidate.Variant.Kernel {
		r.kernel, r.beside = v.candidate.Variant.Kernel, 0
	}
	r.open = c.lab.NewExaminer(x.answers, candidate, x.reference, x.rival, c.largest[r.kernel.Name], c.Duet.Seed)
	return r.open
}

// leave ends a row's examination, and returns what only closing its cell brings
// to light. Device code may have the next one in the same cell, since it takes nothing
// along; whatever went wrong, in any of the cells, ends them all.
func (r *examRoom) leave(ctx context.Context, candidate *lab.Job, failed bool) error {
	if failed {
		return r.close(ctx)
	}
	if candidate.Variant.Kernel.DeviceCode() {
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
