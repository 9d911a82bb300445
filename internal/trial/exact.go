package trial

import (
	"errors"
	"math"
	"slices"
	"strings"

	"pawl/internal/dtype"
	"pawl/internal/formula"
	"pawl/internal/oracle"
	"pawl/internal/spec"
)

// integers fills all inputs with whole numbers so small that no partial sum, in any order and in
// the narrowest type that holds the answer, is ever rounded. Then every bit of the answer is known,
// and a skipped tile, a race or a lower precision cannot hide behind a tolerance.
func (op operation) integers(in *spec.Instance) (contents, error) {
	list, out := op.inputs(in), output(in)
	switch {
	case out >= 0 && op.allWhole(in):
		return op.farApart(in)
	case out < 0 || !in.Args[out].DType.Float():
		return contents{}, errWhole
	case len(list) == 0:
		return contents{}, errNoFloat
	case op.name == "":
		return contents{}, errUnknown
	case len(outputs(in)) > 1:
		return contents{}, errSeveral
	case op.name != elementwise && mixed(in):
		return contents{}, errMixed
	}
	switch op.name {
	case attention, attentionCausal:
		return op.evenAttention(in, list, out)
	case maximum:
		return op.distinctMaximum(in, list, out)
	case gemm, sum, elementwise:
	default:
		return contents{}, errRounds
	}
	extra, whole := scalars(in)
	if !whole {
		return contents{}, errRounds
	}
	for _, greatest := range []float64{2, 1} {
		c := plain()
		for _, i := range list {
			f, ok := wholeFill(in.Args[i], greatest)
			if !ok {
				return contents{}, errOwn
			}
			c.args[i] = f
		}
		c.describe(list)
		reach, ok := op.reach(in, greatest, extra)
		if !ok {
			return contents{}, errRounds
		}
		if c.exact = reach <= math.Ldexp(1, in.Args[out].DType.Integers()); c.exact {
			return c, c.check(in)
		}
	}
	return contents{}, errRoom
}

var (
	errRounds  = errors.New("the operation also rounds integers")
	errWhole   = errors.New("its outputs are integers, so every case is exact")
	errUnknown = errors.New("the oracle is not built in, so pawl does not know whether it rounds")
	errSeveral = errors.New("it has several outputs, and one of them may be rounded")
	errMixed   = errors.New("it also reads integers of unknown range")
	errShape   = errors.New("its values have no sequence dimension")
)

// mixed reports whether integers are read as well, whose bounds are not known here.
func mixed(in *spec.Instance) bool {
	return slices.ContainsFunc(in.Args, func(a spec.InstanceArg) bool {
		return a.Buffer && !a.DType.Float() && a.Role.Read()
	})
}

// reach returns a bound of everything that is computed from numbers up to greatest.
func (op operation) reach(in *spec.Instance, greatest, extra float64) (float64, bool) {
	switch op.name {
	case gemm: // an output that is also read is added, once
		return (math.Ceil(op.terms(in))*greatest*greatest + greatest) * extra, true
	case sum:
		return (math.Ceil(op.terms(in))*greatest + greatest) * extra, true
	}
	return op.formulaReach(in, greatest)
}

// formulaReach bounds all formulas of the operation.
func (op operation) formulaReach(in *spec.Instance, greatest float64) (float64, bool) {
	most := 0.0
	for _, f := range op.formulas {
		reach, ok := elementwiseReach(f, in, greatest)
		if !ok {
			return 0, false
		}
		most = max(most, reach)
	}
	return most, len(op.formulas) > 0
}

// elementwiseReach bounds a formula of sums and products: with every minus a plus and
// every number at its greatest, no part of it is larger. Other formulas round.
func elementwiseReach(f formula.Part, in *spec.Instance, greatest float64) (float64, bool) {
	reaches := map[string]float64{}
	for _, a := range in.Args {
		switch v, ok := a.Scalar.Float(); {
		case a.Buffer && a.DType.Float():
			reaches[a.Name] = greatest
		case a.Buffer:
			reaches[a.Name] = integerReach(a)
		case ok:
			reaches[a.Name] = math.Abs(v)
		}
	}
	bound, ok := partReach(f, reaches)
	return bound, ok && !math.IsNaN(bound)
}

func partReach(p formula.Part, reaches map[string]float64) (float64, bool) {
	switch {
	case p.Name != "":
		reach, ok := reaches[p.Name]
		return reach, ok
	case p.Symbol == "":
		value, ok := number(p)
		return math.Abs(value), ok && p.Value.Kind() == formula.KindInt
	}
	x, ok := partReach(p.Operands[0], reaches)
	y := 0.0
	if len(p.Operands) > 1 {
		second := false
		y, second = partReach(p.Operands[1], reaches)
		ok = ok && second
	}
	switch p.Symbol {
	case "+", "-":
		return x + y, ok
	case "*":
		return x * y, ok
	case "max", "min":
		return max(x, y), ok
	case "abs":
		return x, ok
	}
	return 0, false
}

func integerReach(a spec.InstanceArg) float64 {
	f := fillOf(a)
	if f.Kind == oracle.Zero {
		return 0
	}
	reach := 0.0
	for _, v := range f.Args {
		reach = max(reach, math.Abs(v))
	}
	if f.Kind == oracle.Iota {
		_, reach = a.DType.Range()
	}
	return reach
}

// fillOf returns what the file fills an argument with.
func fillOf(a spec.InstanceArg) oracle.Fill {
	if a.Init.Kind == "" {
		return oracle.Defaults(a.DType)
	}
	return oracle.Fill{Kind: a.Init.Kind, Args: a.Init.Args}
}

// wholeFill returns whole numbers up to greatest that an argument may hold: an init of its own
// bounds them.
func wholeFill(a spec.InstanceArg, greatest float64) (oracle.Fill, bool) {
	low, high := -greatest, greatest
	switch a.Init.Kind {
	case "", oracle.Normal, oracle.Rows, oracle.Outliers:
	case oracle.Uniform, oracle.Integers:
		low, high = max(low, math.Ceil(a.Init.Args[0])), min(high, math.Floor(a.Init.Args[1]))
	case oracle.Zero:
		low, high = 0, 0
	case oracle.Constant:
		low, high = a.Init.Args[0], a.Init.Args[0]
		if low != math.Trunc(low) || math.Abs(low) > greatest {
			return oracle.Fill{}, false
		}
	default:
		return oracle.Fill{}, false
	}
	return oracle.Fill{Kind: oracle.Integers, Args: []float64{low, high}}, low <= high
}

// evenAttention makes all scores zero by zero queries. Every weight is then exp(0), which is 1 in
// every arithmetic (the PTX manual promises it for ex2 too), and an answer is the mean of whole
// numbers. Where the sequence length is a power of two the mean is exact, and an output narrower
// than f32 has spare bits against an inexact last division. An f32 output must meet a sixteenth of
// its tolerance instead. With a mask rows have any number of keys: it is not tried.
func (op operation) evenAttention(in *spec.Instance, list []int, out int) (contents, error) {
	if len(list) < 3 || op.masked(in) {
		return contents{}, errRounds
	}
	query, value := list[0], in.Args[list[2]]
	switch {
	case in.Args[query].Init.Kind != "":
		return contents{}, errOwn
	case len(value.Shape) < 2:
		return contents{}, errShape
	}
	keys := value.Shape[len(value.Shape)-2]
	answer := in.Args[out].DType
	for _, greatest := range []float64{2, 1} {
		f, ok := wholeFill(value, greatest)
		if !ok {
			return contents{}, errOwn
		}
		c := contents{
			args:  map[int]oracle.Fill{query: {Kind: oracle.Zero, Args: []float64{}}, list[2]: f},
			words: "zero queries, whole values", atol: 1, rtol: 1,
		}
		switch {
		case answer == dtype.F32 || answer == dtype.F64:
			c.atol, c.rtol = 0x1p-4, 0x1p-4
			return c, c.check(in)
		case keys&(keys-1) == 0 && float64(keys)*greatest <= math.Ldexp(1, answer.Integers()):
			c.exact = true
			return c, c.check(in)
		}
	}
	return contents{}, errRoom
}

// masked reports whether the attention has a mask: by its oracle, or by a scalar.
func (op operation) masked(in *spec.Instance) bool {
	for _, a := range in.Args {
		if !a.Buffer && a.TensorMap == nil && strings.Contains(strings.ToLower(a.Name), "causal") {
			if v, ok := a.Scalar.Float(); !ok || v != 0 {
				return true
			}
		}
	}
	return op.name == attentionCausal
}

// distinctMaximum uses as many different numbers as the type has: a maximum is always exact.
func (op operation) distinctMaximum(in *spec.Instance, list []int, out int) (contents, error) {
	a := in.Args[list[0]]
	if a.DType != in.Args[out].DType {
		return contents{}, errRounds
	}
	f, ok := wholeFill(a, math.Ldexp(1, min(24, a.DType.Integers()))-1)
	if !ok {
		return contents{}, errOwn
	}
	return exactly(in, list[0], f)
}

// exactly gives one argument a fill of whole numbers that nothing rounds.
func exactly(in *spec.Instance, arg int, f oracle.Fill) (contents, error) {
	c := plain()
	c.each([]int{arg}, f)
	c.exact = true
	return c, c.check(in)
}
