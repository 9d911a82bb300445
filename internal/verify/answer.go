package verify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"

	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// answerer is another implementation that computes outputs on the candidate's data.
type answerer struct {
	side  Side
	bench *Bench
	rival bool // its error is the yardstick for the candidate's

	problem  *wire.Prepare
	outputs  map[int]int // its arguments that are outputs → the candidate's
	prepared bool
	last     []wire.Buffer
	batch    int
	steps    int

	before *answerer // its answers on the previous bench; nil: none
}

// answer runs it on the data of a batch and returns its outputs under the numbers of the
// candidate's arguments.
func (a *answerer) answer(ctx context.Context, batch, steps int) ([]wire.Buffer, error) {
	if a.last != nil && a.batch == batch && a.steps == steps {
		return a.last, nil
	}
	if a.problem == nil {
		problem, err := a.match()
		if err != nil {
			return nil, err
		}
		a.problem = problem
		if a.asked(batch, steps) {
			a.last, a.batch, a.steps = a.before.last, batch, steps
		}
		a.before = nil
		if a.last != nil {
			return a.last, nil
		}
	}
	if !a.prepared {
		problem := *a.problem
		problem.Seed, problem.Batch, problem.DeadlineS = a.bench.Seed, batch, a.bench.patience()
		if _, err := a.side.Cell.Prepare(ctx, problem); err != nil {
			return nil, err
		}
		a.prepared = true
	}
	reply, err := a.side.Cell.Produce(ctx, wire.Produce{Batch: batch, Steps: steps, DeadlineS: a.bench.patience()})
	if err != nil {
		return nil, err
	}
	var out []wire.Buffer
	for _, b := range reply.Outputs {
		if to, wanted := a.outputs[b.Arg]; wanted {
			own := a.problem.Args[b.Arg].DType
			out = append(out, wire.Buffer{Arg: to, SHA256: b.SHA256, DType: cmp.Or(b.DType, own), Returned: b.Returned})
			if a.rival && b.DType != "" && b.DType != own {
				return nil, &result.Fault{
					Cause: result.CauseOracle, Message: fmt.Sprintf("it returns %s as %s, the kernel has %s", a.problem.Args[b.Arg].Name, b.DType, own),
					Hint: "its error is the measure of the kernel's: it must have the same precision",
				}
			}
		}
	}
	a.last, a.batch, a.steps = out, batch, steps
	return out, nil
}

// answered returns the answerer if it has an answer, else nil: so that no answerer keeps all
// earlier ones alive.
func (a *answerer) answered() *answerer {
	if a == nil || a.last == nil {
		return nil
	}
	return a
}

// asked reports whether the last question on the previous bench was the same: about the same data,
// for the same outputs.
func (a *answerer) asked(batch, steps int) bool {
	was := a.before
	return was != nil && was.batch == batch && was.steps == steps && was.side.Cell == a.side.Cell && was.bench.Seed == a.bench.Seed &&
		reflect.DeepEqual(was.problem, a.problem) && maps.Equal(was.outputs, a.outputs)
}

// match gives its inputs the candidate's data, and pairs the outputs: by name where the names
// agree, else in order.
func (a *answerer) match() (*wire.Prepare, error) {
	problem := worker.Problem(a.side.Instance, a.side.Symbols)
	problem.Pin, problem.Copies, problem.Reference = false, 1, true
	theirs, ours := a.side.Instance, a.bench.Candidate.Instance
	paired, err := pair(theirs, ours, func(r spec.Role) bool { return r == spec.RoleIn || r == spec.RoleInOut })
	if err != nil {
		return nil, err
	}
	for from, to := range paired {
		mine, its := ours.Args[to], theirs.Args[from]
		if mine.DType != its.DType || mine.Elements != its.Elements {
			return nil, &result.Fault{
				Cause: result.CauseOracle, Message: fmt.Sprintf("its %s is %s%v, the kernel's %s is %s%v", its.Name, its.DType, its.Shape, mine.Name, mine.DType, mine.Shape),
				Hint: "a reference takes the very inputs of the kernel: the same names, types and shapes",
			}
		}
		arg := &problem.Args[from]
		arg.Init, arg.Params, arg.Draws = a.bench.problem.Args[to].Init, a.bench.problem.Args[to].Params, to+1
	}
	a.outputs, err = pair(theirs, ours, func(r spec.Role) bool { return r == spec.RoleOut || r == spec.RoleInOut })
	if err != nil {
		return nil, err
	}
	answered := map[int]bool{}
	for from, to := range a.outputs {
		answered[to] = true
		if mine, its := ours.Args[to], theirs.Args[from]; mine.DType.Float() && !its.DType.Float() {
			return nil, &result.Fault{
				Cause: result.CauseOracle, Message: fmt.Sprintf("its output %s is %s, the kernel's %s is %s", its.Name, its.DType, mine.Name, mine.DType),
				Hint: "whole numbers cannot say what a floating-point answer must be",
			}
		}
		if theirs.Args[from].Elements != ours.Args[to].Elements {
			return nil, &result.Fault{
				Cause:   result.CauseOracle,
				Message: fmt.Sprintf("its output %s has shape %v, the kernel's %s %v", theirs.Args[from].Name, theirs.Args[from].Shape, ours.Args[to].Name, ours.Args[to].Shape),
			}
		}
	}
	for i, arg := range ours.Args {
		if (arg.Role == spec.RoleOut || arg.Role == spec.RoleInOut) && !answered[i] {
			return nil, &result.Fault{Cause: result.CauseOracle, Message: "it has no output for " + arg.Name}
		}
	}
	return &problem, nil
}

// Answers returns why one problem's outputs cannot be the answers to another's; nil: they can.
func Answers(theirs, ours *spec.Instance) error {
	b := &Bench{Candidate: unnamed(ours)}
	b.problem = b.describe()
	_, err := (&answerer{side: unnamed(theirs), bench: b}).match()
	return err
}

// unnamed returns a side that is not built.
func unnamed(in *spec.Instance) Side {
	return Side{Instance: in, Symbols: make([]string, len(in.Launches))}
}

// Answerable returns why a built-in reference or, where that is "", a formula has no answers to a
// problem, whatever its data; nil: it has.
func Answerable(builtin, elementwise string, in *spec.Instance) error {
	values := make([]oracle.Value, len(in.Args))
	for i, arg := range in.Args {
		values[i] = oracle.Value{Name: arg.Name, Role: string(arg.Role), Type: arg.DType, Shape: arg.Shape, Buffer: arg.Buffer}
		values[i].Scalar, _ = arg.Scalar.Float()
	}
	if builtin != "" {
		return oracle.CheckReference(builtin, values)
	}
	return oracle.CheckElementwise(elementwise, values)
}

// pair matches the buffers of two instances whose roles has accepts: index of theirs to index of
// ours.
func pair(theirs, ours *spec.Instance, has func(spec.Role) bool) (map[int]int, error) {
	var left, right []int
	for i, arg := range theirs.Args {
		if arg.Buffer && has(arg.Role) {
			left = append(left, i)
		}
	}
	byName := map[string]int{}
	for i, arg := range ours.Args {
		if arg.Buffer && has(arg.Role) {
			right = append(right, i)
			byName[arg.Name] = i
		}
	}
	out := map[int]int{}
	for place, i := range left {
		if to, named := byName[theirs.Args[i].Name]; named {
			out[i] = to
		} else if len(left) == len(right) {
			out[i] = right[place]
		} else {
			return nil, &result.Fault{
				Cause: result.CauseOracle, Message: fmt.Sprintf("its argument %s is none of the kernel's", theirs.Args[i].Name),
				Hint: "a reference takes the kernel's arguments by their names",
			}
		}
	}
	return out, nil
}

// argsAs returns the candidate's arguments with the types of this implementation's outputs, to
// judge these in its place.
func (a *answerer) argsAs(args []wire.Arg) []wire.Arg {
	out := append([]wire.Arg{}, args...)
	for from, to := range a.outputs {
		out[to].DType = a.problem.Args[from].DType
	}
	return out
}
