package trial

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/spec"
)

// ErrNoCase is wrapped by errors that say why there is nothing to try.
var ErrNoCase = errors.New("there is no case to try")

// Skip is a trial that cannot be made.
type Skip struct {
	Trial  Trial
	Reason string
}

// most is how many cases one kernel may have: beyond it a run would never end, and the user should
// set sample.
const most = 100_000

// cases returns what the file asks for: the product of the matrix over the variables that
// the kernel uses, or its configs. The notes say what was decided on the way.
func cases(s *spec.Spec, k *spec.Kernel, o Options) (trials []Trial, notes []string, err error) {
	if o.Configs != nil {
		return configs(o.Configs), nil, nil
	}
	if s.Fuzz == nil || s.Fuzz.Matrix == nil {
		return configs(k.Configs), nil, nil
	}
	if len(s.Fuzz.Matrix) == 0 {
		return nil, nil, empty(s.Fuzz.Pos, "the fuzz matrix is empty", "give it variables with values, matrix: {S: [448, 512]}, or leave it out to try the configs")
	}
	axes := used(s.Fuzz.Matrix, k)
	switch judged := judgedBy(s, k); {
	case len(axes) == 0:
		notes = append(notes, fmt.Sprintf("%s uses no variable of the fuzz matrix: its configs are tried", k.Name))
		return configs(k.Configs), notes, nil
	case judged != "":
		notes = append(notes, fmt.Sprintf("%s is the oracle of %s: it is tried at its configs, not on the fuzz matrix", k.Name, judged))
		return configs(k.Configs), notes, nil
	}
	if rest := others(k, axes); len(rest) > 0 {
		notes = append(notes, fmt.Sprintf("not in the fuzz matrix, so taken from config %s: %s", k.Configs[0].Name, Vars(rest)))
	}
	chosen, err := choose(axes, o)
	if err != nil {
		return nil, nil, err
	}
	for _, index := range chosen {
		trials = append(trials, point(k, axes, index))
	}
	return trials, notes, nil
}

func empty(at diag.Pos, message, hint string) error {
	return fmt.Errorf("%w: %w", ErrNoCase, &diag.Problem{Pos: at, Message: message, Hint: hint})
}

func configs(list []*spec.Config) []Trial {
	var trials []Trial
	for _, c := range list {
		trials = append(trials, Trial{Lane: LaneConfig, Vars: c.Vars, Repeats: 1})
	}
	return trials
}

// used returns the axes that mean something to a kernel.
func used(matrix []spec.FuzzAxis, k *spec.Kernel) []spec.FuzzAxis {
	variables := k.Variables()
	return slices.DeleteFunc(slices.Clone(matrix), func(a spec.FuzzAxis) bool { return !slices.Contains(variables, a.Name) })
}

// others returns the variables of the first config that no axis names.
func others(k *spec.Kernel, axes []spec.FuzzAxis) []spec.Var {
	variables := k.Variables()
	return slices.DeleteFunc(slices.Clone(k.Configs[0].Vars), func(v spec.Var) bool {
		return !slices.Contains(variables, v.Name) || slices.ContainsFunc(axes, func(a spec.FuzzAxis) bool { return a.Name == v.Name })
	})
}

// judgedBy names a kernel that uses k as its oracle. Such an oracle is slow on purpose, and has its
// own small configs.
func judgedBy(s *spec.Spec, k *spec.Kernel) string {
	for _, other := range s.Kernels {
		if other.Oracle != nil && other.Oracle.Kernel == k.Name {
			return other.Name
		}
	}
	return ""
}

// choose lists the points of the product to try, in order, by their number.
func choose(axes []spec.FuzzAxis, o Options) ([]int64, error) {
	total := int64(1)
	for _, axis := range axes {
		n := int64(len(axis.Values))
		if n == 0 {
			return nil, empty(axis.Pos, axis.Name+" has no values in the fuzz matrix", "give it values, or take it out of the matrix")
		}
		if total > math.MaxInt64/n {
			return nil, &diag.Problem{Pos: axes[0].Pos, Message: "the fuzz matrix has more cases than 64 bits can count"}
		}
		total *= n
	}
	count := total
	if o.Sample > 0 {
		count = min(total, int64(o.Sample))
	}
	if count > most {
		return nil, &diag.Problem{
			Pos: axes[0].Pos, Message: fmt.Sprintf("the fuzz matrix has %d cases, and at most %d are tried in a run", count, most),
			Hint: "draw some of them: fuzz: {matrix: …, sample: 1000}",
		}
	}
	chosen := make([]int64, 0, count)
	if count == total {
		for i := range total {
			chosen = append(chosen, i)
		}
		return chosen, nil
	}
	// Floyd's way: each subset is equally likely, whatever the size of the product.
	random := o.random("sample")
	taken := map[int64]bool{}
	for j := total - count; j < total; j++ {
		pick := random.Int64N(j + 1)
		if taken[pick] {
			pick = j
		}
		taken[pick] = true
		chosen = append(chosen, pick)
	}
	slices.Sort(chosen)
	return chosen, nil
}

// point returns one point of the product; the last axis changes fastest.
func point(k *spec.Kernel, axes []spec.FuzzAxis, index int64) Trial {
	t := Trial{Lane: LaneMatrix, Vars: k.Configs[0].Vars, Repeats: 1}
	for i := len(axes) - 1; i >= 0; i-- {
		n := int64(len(axes[i].Values))
		t = t.With(axes[i].Name, axes[i].Values[index%n])
		index /= n
	}
	return t
}

// random returns a generator for one purpose, so that adding a lane does not change what
// the others draw.
func (o Options) random(purpose string) *rand.Rand {
	stream := uint64(0)
	for _, c := range []byte(purpose) {
		stream = stream<<8 | stream>>56 ^ uint64(c)
	}
	return rand.New(rand.NewPCG(o.Seed, stream))
}

// free returns the variables that pawl's own trials may change: sizes of buffers, and only those
// for which the file itself has several values. A head dimension that is always 64 is often
// compiled in, and a variable that is sometimes no whole number is no size. Where the file has one
// size alone, they are those that the kernel is told.
func free(s *spec.Spec, k *spec.Kernel) (names, fixed, broken []string) {
	for _, name := range k.Sizes() {
		var values []formula.Value
		for _, c := range k.Configs {
			if v, ok := c.Lookup(name); ok {
				values = append(values, v)
			}
		}
		if s.Fuzz != nil {
			for _, axis := range s.Fuzz.Matrix {
				if axis.Name == name {
					values = append(values, axis.Values...)
				}
			}
		}
		switch {
		case !slices.ContainsFunc(values, func(v formula.Value) bool { return v != values[0] }):
			fixed = append(fixed, name)
		case slices.ContainsFunc(values, func(v formula.Value) bool { return v.Kind() != formula.KindInt }):
			broken = append(broken, name)
		default:
			names = append(names, name)
		}
	}
	if len(k.Configs) == 1 && len(names)+len(broken) == 0 {
		names = slices.DeleteFunc(slices.Clone(fixed), func(name string) bool {
			v, _ := k.Configs[0].Lookup(name)
			return v.Kind() != formula.KindInt || !told(s, k, name)
		})
		fixed = slices.DeleteFunc(fixed, func(name string) bool { return slices.Contains(names, name) })
	}
	return names, fixed, broken
}

// told reports whether a kernel learns the value of a variable with every launch, and so does the
// kernel that knows its answers: by a scalar argument, or in Python by the shapes of its arrays.
func told(s *spec.Spec, k *spec.Kernel, name string) bool {
	for range s.Kernels { // oracles may name each other in a circle
		if k.Cell != spec.CellPython && !slices.ContainsFunc(k.Args, func(a *spec.Arg) bool {
			return a.Value != nil && slices.Contains(a.Value.Expr.Names(), name)
		}) {
			return false
		}
		if k.Oracle == nil || k.Oracle.Kernel == "" {
			return true
		}
		if k = s.Kernel(k.Oracle.Kernel); k == nil {
			return false
		}
	}
	return true
}

// reason says why a variant has no instance, in one line.
func reason(k *spec.Kernel, config string, err error) string {
	problems := diag.Problems(err)
	if len(problems) == 0 {
		return err.Error()
	}
	text := strings.TrimPrefix(problems[0].Message, k.Name+"/"+config+": ")
	if problems[0].Hint != "" {
		text += ", " + problems[0].Hint
	}
	return text
}
