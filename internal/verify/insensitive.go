package verify

import (
	"context"
	"math"
	"slices"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// insensitive returns the finding about a kernel that gives one answer to the data of a batch and
// of the next, close enough to both right answers. Where the right answers are equal, as the
// maximum of many small numbers mostly is, no kernel could give another: then the finding depends
// on whether it still gives that answer where it is wrong.
func (b *Bench) insensitive(ctx context.Context, batch int, got []wire.Buffer) ([]result.Finding, error) {
	alike, err := b.alike(ctx, batch, batch+1)
	if err != nil {
		return nil, err
	}
	message := "different inputs have different right answers, but this kernel gives bit-identical ones: they are within the tolerance of both, so a kernel that writes them without computing would pass"
	if alike {
		if constant, err := b.constant(ctx, batch, got); err != nil || !constant {
			return nil, err
		}
		message = "it gives the bit-identical answer to inputs from the middle of their range, where that answer is wrong"
	}
	return suspect(Insensitive, "%s", message), nil
}

// alike reports whether the right answers to the data of two batches are or may be equal, at the
// precision of the candidate's outputs.
func (b *Bench) alike(ctx context.Context, batch, other int) (bool, error) {
	theirs, err := b.want(ctx, other, 0)
	if err != nil {
		return false, err
	}
	m := b.question(theirs, batch, 0, oracle.Tolerance{})
	m.Other = &other
	if m.Want, err = b.want(ctx, batch, 0); err != nil {
		return false, err
	}
	reply, err := b.Judge.Judge(ctx, m)
	if err != nil {
		return false, &OracleError{Err: err}
	}
	if !slices.ContainsFunc(reply.Outputs, func(e result.OutputError) bool { return e.Wrong > 0 }) {
		return true, nil
	}
	vary, err := b.otherBits(ctx, batch) // then nobody can say
	return vary != nil, err
}

// constant reports whether the answer that is right for the inputs' whole range is also given, bit
// by bit, for its middle, and is wrong there. The next launch needs Prepare.
func (b *Bench) constant(ctx context.Context, batch int, got []wire.Buffer) (bool, error) {
	middle := *b
	middle.reference, middle.rival = nil, nil
	var narrower bool
	if middle.problem.Args, narrower = narrowed(b.problem.Args); !narrower {
		return false, nil
	}
	b.prepared, b.reference, b.rival = false, nil, nil // the cells hold the other problem
	if _, err := b.Candidate.Cell.Prepare(ctx, middle.problem); err != nil {
		return false, err
	}
	same, err := middle.Produce(ctx, batch)
	if err != nil || differs(got, same) >= 0 {
		return false, err
	}
	_, why, err := middle.wrong(ctx, same, batch, 0, b.Tolerance)
	return why != "", err
}

// narrowed returns arguments whose inputs come from the middle of their range, so that a kernel
// that handles the whole range handles them; false: there is none.
func narrowed(args []wire.Arg) (out []wire.Arg, some bool) {
	out = slices.Clone(args)
	for i, a := range args {
		if !read(a) {
			continue
		}
		fill := fillOf(a)
		switch p := fill.Args; fill.Kind {
		case oracle.Uniform:
			quarter := (p[1] - p[0]) / 4
			fill.Args = []float64{p[0] + quarter, p[1] - quarter}
		case oracle.Integers:
			quarter := (p[1] - p[0]) / 4
			fill.Args = []float64{math.Ceil(p[0] + quarter), math.Floor(p[1] - quarter)}
		case oracle.Normal:
			fill.Args = []float64{p[0], p[1] / 4}
		}
		if slices.Equal(fill.Args, fillOf(a).Args) || oracle.CheckFill(dtype.Type(a.DType), fill) != nil {
			continue
		}
		out[i].Init, out[i].Params, some = fill.Kind, fill.Args, true
	}
	return out, some
}

// drawn reports whether other batches have other data.
func (b *Bench) drawn() bool {
	return slices.ContainsFunc(b.problem.Args, func(a wire.Arg) bool {
		if !read(a) {
			return false
		}
		fill := fillOf(a)
		if fill.Kind == oracle.Integers && len(fill.Args) == 2 && fill.Args[0] == fill.Args[1] {
			return false
		}
		_, changes := oracle.Changing(fill)
		return changes
	})
}

func read(a wire.Arg) bool { return a.Buffer && (a.Role == "in" || a.Role == "inout") }

func fillOf(a wire.Arg) oracle.Fill {
	if a.Init == "" {
		return oracle.Defaults(dtype.Type(a.DType))
	}
	return oracle.Fill{Kind: a.Init, Args: a.Params}
}
