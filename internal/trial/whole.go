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

// wholeInputs returns the integer buffers that a kernel reads, in the order of inputs.
func (op operation) wholeInputs(in *spec.Instance) []int {
	return op.read(in, func(t dtype.Type) bool { return !t.Float() })
}

// allWhole reports whether a kernel reads only whole numbers.
func (op operation) allWhole(in *spec.Instance) bool {
	return len(op.inputs(in)) == 0 && len(op.wholeInputs(in)) > 0
}

var (
	errBounds   = errors.New("the size of its answers is unknown")
	errNegative = errors.New("its answers may be negative, but its types are unsigned")
)

// Up to 2⁵−1: less would not be wider than what inputs hold by themselves.
const fewestBits = 5

// farApart fills integer inputs with whole numbers as far apart as the operation tolerates: their
// default values are so few that a table of them, or a narrower type, gives every answer. No
// partial result exceeds the type that C would compute it in, nor float64, in which the oracle
// computes.
func (op operation) farApart(in *spec.Instance) (contents, error) {
	list, out := op.wholeInputs(in), output(in)
	switch {
	case op.name == "":
		return contents{}, errUnknown
	case len(outputs(in)) != 1:
		return contents{}, errSeveral
	case op.name == maximum:
		return op.farMaximum(in, list[0], out)
	case op.name != gemm && op.name != sum && op.name != elementwise:
		return contents{}, errRounds
	case op.name == elementwise && slices.ContainsFunc(op.formulas, func(f formula.Part) bool { return f.Uses("-") }) && op.unsigned(in, append(list, out)):
		return contents{}, errNegative
	}
	widest := 1
	for _, i := range list {
		widest = max(widest, min(30, in.Args[i].DType.Integers()))
	}
	for ; widest >= fewestBits; widest-- {
		c, ok := op.upTo(in, list, math.Ldexp(1, widest)-1)
		if !ok {
			return contents{}, errOwn
		}
		inside, err := op.inside(c, in, out)
		if err != nil {
			return contents{}, err
		}
		if inside {
			return c, c.check(in)
		}
	}
	return contents{}, errRoom
}

// upTo returns contents of whole numbers up to greatest, within the types' ranges and where the
// file has no init; false: it has one everywhere.
func (op operation) upTo(in *spec.Instance, list []int, greatest float64) (contents, bool) {
	c := plain()
	c.exact = true
	for _, i := range list {
		if in.Args[i].Init.Kind == "" {
			low, high := in.Args[i].DType.Range()
			c.args[i] = oracle.Fill{Kind: oracle.Integers, Args: []float64{max(low, -greatest), min(high, greatest)}}
		}
	}
	c.describe(list)
	return c, len(c.args) > 0
}

// inside reports whether all results computed from contents fit.
func (op operation) inside(c contents, in *spec.Instance, out int) (bool, error) {
	filled := *in
	filled.Args = slices.Clone(in.Args)
	c.apply(&filled)
	list := op.wholeInputs(&filled)
	// C computes in int what is narrower.
	arithmetic, greatest := math.Inf(1), 0.0
	for _, i := range list {
		_, high := filled.Args[i].DType.Range()
		arithmetic = min(arithmetic, max(math.MaxInt32, high))
		greatest = max(greatest, integerReach(filled.Args[i]))
	}
	_, limit := filled.Args[out].DType.Range()
	limit = min(limit, math.Ldexp(1, filled.Args[out].DType.Integers()), 1<<53)
	if op.name == elementwise {
		reach, ok := op.formulaReach(&filled, 0)
		if !ok {
			return false, errBounds
		}
		return reach <= min(limit, arithmetic), nil
	}
	extra, whole := scalars(in)
	if !whole {
		return false, errRounds
	}
	for _, a := range in.Args {
		if v, ok := a.Scalar.Float(); !a.Buffer && ok && !a.DType.Float() && (strings.EqualFold(a.Name, "alpha") || strings.EqualFold(a.Name, "beta")) {
			extra *= max(1, math.Abs(v))
		}
	}
	reach, _ := op.reach(&filled, greatest, extra)
	return reach <= limit && (op.name != gemm || greatest*greatest <= arithmetic), nil
}

// farMaximum uses nearly all numbers that the types have.
func (op operation) farMaximum(in *spec.Instance, from, to int) (contents, error) {
	if in.Args[from].Init.Kind != "" {
		return contents{}, errOwn
	}
	low, high := in.Args[from].DType.Range()
	least, most := in.Args[to].DType.Range()
	bound := math.Ldexp(1, min(53, in.Args[to].DType.Integers()))
	f := oracle.Fill{Kind: oracle.Integers, Args: []float64{max(low, least, -bound), min(high, most, bound)}}
	return exactly(in, from, f)
}

func (op operation) unsigned(in *spec.Instance, list []int) bool {
	return slices.ContainsFunc(list, func(i int) bool {
		low, _ := in.Args[i].DType.Range()
		return low == 0
	})
}
