package verify

import (
	"context"
	"slices"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// forgotten finds out, for wrong outputs of a case, whether the reference has an answer for them at
// all: it has none for an inout argument that it neither returns nor changes. It may rightly leave
// some data unchanged, such as zeros that are doubled; so it is also asked with other data in that
// argument.
func (b *Bench) forgotten(ctx context.Context, c *result.Case) error {
	a := b.reference
	if a == nil || b.Oracle.Earlier {
		return nil
	}
	doubtful := func(to int) bool {
		arg := b.problem.Args[to]
		return arg.Role == string(spec.RoleInOut) &&
			slices.ContainsFunc(c.Outputs, func(e result.OutputError) bool { return e.Name == arg.Name && e.Wrong > 0 }) &&
			slices.ContainsFunc(a.last, func(w wire.Buffer) bool { return w.Arg == to && !w.Returned })
	}
	if !slices.ContainsFunc(a.last, func(w wire.Buffer) bool { return doubtful(w.Arg) }) {
		return nil
	}
	same, err := b.unchanged(ctx, a.last, b.problem.Args, c.Batch)
	if err != nil {
		return &OracleError{Err: err}
	}
	same = slices.DeleteFunc(same, func(to int) bool { return !doubtful(to) })
	for _, to := range same {
		if leaves, err := b.leaves(ctx, to, c.Batch); err == nil && leaves {
			return &OracleError{Err: result.Faultf(result.CauseOracle, "the oracle neither returned nor changed %s, which is inout; return it, or write it in place", b.problem.Args[to].Name).
				WithHint("docs/python.md says what an oracle may return")}
		}
	}
	return nil
}

// unchanged returns the inout arguments that answers leave unchanged.
func (b *Bench) unchanged(ctx context.Context, answers []wire.Buffer, args []wire.Arg, batch int) ([]int, error) {
	m := b.question(nil, batch, 0, oracle.Tolerance{})
	m.Args, m.Want, m.Unchanged = args, answers, true
	reply, err := b.Judge.Judge(ctx, m)
	if err != nil {
		return nil, err
	}
	return reply.Unchanged, nil
}

// leaves reports whether the reference leaves an argument unchanged that holds ordinary random
// numbers. Integers may be indices into other arguments, and stay as they are.
func (b *Bench) leaves(ctx context.Context, to, batch int) (bool, error) {
	if !dtype.Type(b.problem.Args[to].DType).Float() {
		return true, nil
	}
	a := b.reference
	b.reference = nil // its cell has other data after this
	problem, args := *a.problem, slices.Clone(b.problem.Args)
	problem.Args = slices.Clone(problem.Args)
	args[to].Init, args[to].Params = "", nil
	for from, ours := range a.outputs {
		if ours == to {
			problem.Args[from].Init, problem.Args[from].Params = "", nil
		}
	}
	a.problem, a.prepared, a.last = &problem, false, nil
	answers, err := a.answer(ctx, batch, 0)
	if err != nil {
		return false, err
	}
	same, err := b.unchanged(ctx, answers, args, batch)
	return slices.Contains(same, to), err
}
