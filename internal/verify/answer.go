package verify

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"

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
	}
	if a.last != nil && a.batch == batch && a.steps == steps {
		return a.last, nil
	}
	out, err := a.launch(ctx, batch, steps)
	if err != nil {
		return nil, err
	}
	a.last, a.batch, a.steps = out, batch, steps
	return out, nil
}

// launch is answer without what it answered before, which answer goes on to return.
func (a *answerer) launch(ctx context.Context, batch, steps int) ([]wire.Buffer, error) {
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
				return nil, mismatch("the kernel's error is compared with the rival's: both need the same precision",
					"it returns %s as %s, the kernel has %s", a.problem.Args[b.Arg].Name, b.DType, own)
			}
		}
	}
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
	paired, err := pair(theirs, ours, spec.Role.Read)
	if err != nil {
		return nil, err
	}
	for from, to := range paired {
		mine, its := ours.Args[to], theirs.Args[from]
		if mine.DType != its.DType || mine.Elements != its.Elements {
			return nil, mismatch("a reference takes exactly the inputs of the kernel: the same names, types and shapes",
				"its %s is %s%v, the kernel's %s is %s%v", its.Name, its.DType, its.Shape, mine.Name, mine.DType, mine.Shape)
		}
		arg := &problem.Args[from]
		given := a.bench.problem.Args[to]
		arg.Init, arg.Params, arg.Draws, arg.Shared = given.Init, given.Params, to+1, given.Shared
	}
	a.outputs, err = pair(theirs, ours, spec.Role.Written)
	if err != nil {
		return nil, err
	}
	answered := map[int]bool{}
	for from, to := range a.outputs {
		answered[to] = true
		mine, its := ours.Args[to], theirs.Args[from]
		if mine.DType.Float() && !its.DType.Float() {
			return nil, mismatch("a reference with integer outputs cannot judge floating-point answers",
				"its output %s is %s, the kernel's %s is %s", its.Name, its.DType, mine.Name, mine.DType)
		}
		if its.Elements != mine.Elements {
			return nil, mismatch("", "its output %s has shape %v, the kernel's %s %v", its.Name, its.Shape, mine.Name, mine.Shape)
		}
	}
	for i, arg := range ours.Args {
		if arg.Role.Written() && !answered[i] {
			return nil, mismatch("", "it has no output for %s", arg.Name)
		}
	}
	return &problem, nil
}

// mismatch returns the fault of an implementation that cannot answer in place of the kernel.
func mismatch(hint, format string, args ...any) error {
	return result.Faultf(result.CauseOracle, format, args...).WithHint(hint)
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
	buffers := func(in *spec.Instance) []int {
		var list []int
		for i, arg := range in.Args {
			if arg.Buffer && has(arg.Role) {
				list = append(list, i)
			}
		}
		return list
	}
	left, right := buffers(theirs), buffers(ours)
	out := map[int]int{}
	for place, i := range left {
		name := theirs.Args[i].Name
		at := slices.IndexFunc(right, func(j int) bool { return ours.Args[j].Name == name })
		if at < 0 {
			at = place
			if len(left) != len(right) {
				return nil, mismatch("a reference takes the kernel's arguments by their names", "the kernel has no argument %s", name)
			}
		}
		out[i] = right[at]
	}
	return out, nil
}

// argsAs returns the candidate's arguments with the types of this implementation's outputs, to
// judge these in its place.
func (a *answerer) argsAs(args []wire.Arg) []wire.Arg {
	out := slices.Clone(args)
	for from, to := range a.outputs {
		out[to].DType = a.problem.Args[from].DType
	}
	return out
}
