package check

import (
	"context"
	"time"

	"pawl/internal/lab"
	"pawl/internal/spec"
)

// instances returns the instances of candidate, reference and rival.
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

// examRoom keeps the cells of an examination open for the next config of the same kernel, because
// starting them takes longer than the examination. Nothing is measured meanwhile.
type examRoom struct {
	open   *lab.Examiner
	kernel *spec.Kernel
	beside time.Duration // time spent on neighbouring sizes of the kernel's configs
}

// examiner returns the examiner that compares the answers of a row's candidate. With a nil
// candidate it compares outputs that were produced before.
func (r *examRoom) examiner(ctx context.Context, c *check, v *verified, candidate *lab.Job) *lab.Examiner {
	x := v.exam
	if r.open != nil && r.open.Fits(x.answers, candidate, x.reference, x.rival) {
		r.open.Succeed(candidate)
		return r.open
	}
	_ = r.close(ctx) // the candidates' cells have already reported their faults
	if r.kernel != v.candidate.Variant.Kernel {
		r.kernel, r.beside = v.candidate.Variant.Kernel, 0
	}
	r.open = c.lab.NewExaminer(x.answers, candidate, x.reference, x.rival, c.largest[r.kernel.Name], c.Duet.Seed)
	return r.open
}

// leave ends a row's examination, and returns the error that only closing its cell reveals. Device
// code may use the same cell for the next row, since it keeps nothing; a failure in any of the
// cells closes them all.
func (r *examRoom) leave(ctx context.Context, candidate *lab.Job, failed bool) error {
	if failed {
		return r.close(ctx)
	}
	if candidate.Variant.Kernel.DeviceCode() {
		return nil
	}
	return r.open.Renew(context.WithoutCancel(ctx), nil)
}

// close ends all cells, and returns the error that only closing the candidate's cell reveals.
func (r *examRoom) close(ctx context.Context) error {
	if r.open == nil {
		return nil
	}
	err := r.open.Close(context.WithoutCancel(ctx))
	r.open = nil
	return err
}
