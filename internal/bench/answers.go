package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/verify"
)

// exam holds everything needed to know the right answers of a row and its rivals.
type exam struct {
	lab.Exam
	unknown string // why the right answers are not known; "": they are
}

// answers finds a kernel's oracle, or says why there is none.
func (b *bench) answers(k *spec.Kernel) (found *lab.Answers, unknown string) {
	if k.Oracle == nil {
		return nil, lab.ErrNoOracle.Error()
	}
	found, err := lab.FindAnswers(b.Spec, k)
	if err != nil {
		return nil, err.Error()
	}
	return found, ""
}

// settle finds out, once for a row, whether its oracle can be asked.
func (x *exam) settle(m *measured) bool {
	for _, job := range x.Jobs() {
		if x.unknown == "" && job.Record.Fault != nil {
			x.unknown = fmt.Sprintf("the oracle %s is not available: %s", x.Answers, job.Record.Fault.Message)
		}
	}
	if x.unknown != "" {
		warning := result.Warning{Code: "unverified", Message: "the rivals' answers were not compared: " + x.unknown, Hint: "docs/fuzzing.md lists the oracles"}
		if !slices.Contains(m.notes, warning) {
			m.notes = append(m.notes, warning)
		}
	}
	return x.unknown == ""
}

// examRoom keeps the cells of a lane's oracle open from one row to the next.
type examRoom struct {
	lane *lab.Lab
	open *lab.Examiner
}

func (r *examRoom) close(ctx context.Context) {
	if r.open != nil {
		_ = r.open.Close(context.WithoutCancel(ctx))
		r.open = nil
	}
}

// examine compares the answers of one side of a row with rivals, in that side's cell, with those of
// the oracle of the row's kernel. The error says why the side is not measured.
func (r *examRoom) examine(ctx context.Context, m, side *measured, lease *lab.Lease, seed uint64) error {
	x := m.exam
	if x == nil || !x.settle(m) {
		return nil
	}
	if r.open == nil || !r.open.Fits(x.Exam, nil) {
		r.close(ctx)
		r.open = r.lane.NewExaminer(x.Exam, nil, r.lane.Largest, seed)
	}
	r.open.Borrow(side.Job, lease)
	defer r.open.Return()
	one := lab.NewCase("config", side.Instance.Config, seed, lab.VerifyBatch)
	v := &result.Verification{Oracle: x.Answers.String(), Seed: seed, Cases: []*result.Case{one}}
	side.verification = v
	reason, err := r.compare(ctx, one, x.Instances(side.Instance))
	var own *verify.OracleError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &own):
		v.Skipped++
		one.Skipped = own.Error()
		side.notes = append(side.notes, result.Warning{Code: "unverified", Message: "its answers were not compared: " + one.Skipped})
		return nil
	case err != nil:
		v.Failed++
		return err
	case reason == "":
		v.Passed++
		return nil
	}
	v.Failed++
	one.Reason = reason
	return &result.Fault{
		Stage: "verify", Cause: result.CauseWrong, Message: reason,
		Hint: fmt.Sprintf("the right answers come from %s, the oracle of %s; its tolerance applies", v.Oracle, m.Variant.Kernel.Name),
	}
}

// compare verifies one launch, and says why its outputs are wrong; "" when they are right. The
// error is an *OracleError or the cell's own.
func (r *examRoom) compare(ctx context.Context, one *result.Case, instances [3]*spec.Instance) (reason string, err error) {
	bench, err := r.open.Bench(ctx, instances)
	if err != nil {
		return "", err
	}
	if err := bench.Prepare(ctx); err != nil {
		return "", err
	}
	got, err := bench.Produce(ctx, one.Batch)
	if err != nil {
		return "", err
	}
	if one.Outputs, err = bench.Compare(ctx, got, one.Batch, 0, bench.Tolerance); err != nil {
		return "", err
	}
	return verify.Reason(one.Outputs, bench.Factor), nil
}
