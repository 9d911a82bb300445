package trial

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pawl/internal/dtype"
	"pawl/internal/formula"
	"pawl/internal/oracle"
	"pawl/internal/spec"
)

// operation is what a kernel computes, as far as its oracle says: the name of a built-in reference,
// also if a kernel in between is judged by it. For these operations, and not for others, it is
// known how far the answers of an honest kernel are from the true ones for unusual inputs.
type operation struct {
	name     string         // "" for a Python function, or no oracle at all
	formulas []formula.Part // of elementwise, one for each output
	rtol     float64
}

// The operations.
const (
	attention       = "attention"
	attentionCausal = "attention_causal"
	elementwise     = "elementwise"
	gemm            = "gemm"
	layernorm       = "layernorm"
	maximum         = "max"
	softmax         = "softmax"
	sum             = "sum"
)

func operationOf(s *spec.Spec, k *spec.Kernel) operation {
	for range s.Kernels { // oracles may name each other in a circle
		switch {
		case k.Oracle == nil:
			return operation{}
		case k.Oracle.Elementwise != "":
			op := operation{name: elementwise}
			for _, f := range oracle.Formulas(k.Oracle.Elementwise) {
				if expr, err := formula.Parse(f.Expression); err == nil {
					op.formulas = append(op.formulas, expr.Root())
				}
			}
			return op
		case k.Oracle.Kernel == "":
			return operation{name: k.Oracle.Builtin}
		}
		if k = s.Kernel(k.Oracle.Kernel); k == nil {
			return operation{}
		}
	}
	return operation{}
}

// values returns the distributions that the operation is tried with. It leaves out those that make
// honest kernels fail: sums of many equal numbers round in one direction, and an unknown operation
// may grow with its inputs in any way.
func (op operation) values() []string {
	switch op.name {
	case gemm, softmax, attention, attentionCausal:
		return []string{"positive", "large", "tiny", "outliers", "rows"}
	case layernorm:
		return []string{"positive", "large", "tiny", "outliers", "equal"}
	case maximum:
		return []string{"positive", "negative", "large", "tiny", "outliers", "rows"}
	case sum:
		return []string{"positive", "large", "tiny", "outliers"}
	case elementwise:
		return []string{"positive", "negative", "large", "tiny", "rows"}
	}
	return []string{"positive", "tiny"}
}

// degree returns the power with which the outputs grow with the inputs that change.
func (op operation) degree(changed []int) int {
	switch op.name {
	case gemm:
		return min(2, len(changed))
	case sum, maximum, attention, attentionCausal:
		return 1
	}
	return 0
}

// parts are the names by which built-in references know inputs whose order matters.
var parts = map[string][][]string{
	attention:       {{"q", "query"}, {"k", "key"}, {"v", "value"}},
	attentionCausal: {{"q", "query"}, {"k", "key"}, {"v", "value"}},
	gemm:            {{"a", "a_t", "at", "a_transposed", "lhs"}, {"b", "b_t", "bt", "b_transposed", "rhs"}},
}

// inputs returns the floating-point buffers that a kernel reads: first those whose role follows
// from their name, then the others in order, and last those that it also writes.
func (op operation) inputs(in *spec.Instance) []int { return op.read(in, dtype.Type.Float) }

// read returns the buffers of certain types that a kernel reads, in that order.
func (op operation) read(in *spec.Instance, wanted func(dtype.Type) bool) []int {
	var list []int
	for i, a := range in.Args {
		if a.Buffer && a.Role.Read() && wanted(a.DType) {
			list = append(list, i)
		}
	}
	rank := func(i int) int {
		for n, names := range parts[op.name] {
			if slices.Contains(names, strings.ToLower(in.Args[i].Name)) {
				return n
			}
		}
		if in.Args[i].Role == spec.RoleInOut {
			return 4
		}
		return 3
	}
	slices.SortStableFunc(list, func(a, b int) int { return rank(a) - rank(b) })
	return list
}

// open returns the inputs that may hold anything: an init in the file says what the kernel is made
// for. For a layernorm only the normalised input counts, for a product its two factors.
func (op operation) open(in *spec.Instance) []int {
	list := op.inputs(in)
	switch op.name {
	case layernorm:
		out := output(in)
		list = slices.DeleteFunc(list, func(i int) bool { return out < 0 || in.Args[i].Elements != in.Args[out].Elements })
		list = list[:min(1, len(list))]
	case gemm:
		list = list[:min(2, len(list))]
	}
	return slices.DeleteFunc(list, func(i int) bool { return in.Args[i].Init.Kind != "" })
}

// closed says why no input is open.
func (op operation) closed(in *spec.Instance) error {
	if slices.ContainsFunc(op.inputs(in), func(i int) bool { return in.Args[i].Init.Kind != "" }) {
		return errOwn
	}
	return errNoFloat
}

// outputs returns the arguments that a kernel writes.
func outputs(in *spec.Instance) []int {
	var list []int
	for i, a := range in.Args {
		if a.Buffer && a.Role.Written() {
			list = append(list, i)
		}
	}
	return list
}

// output returns the first argument that a kernel writes, or -1.
func output(in *spec.Instance) int { return append(outputs(in), -1)[0] }

// terms returns how many products or elements one element of the output is the sum of.
func (op operation) terms(in *spec.Instance) float64 {
	list, out := op.inputs(in), output(in)
	if op.allWhole(in) {
		list = op.wholeInputs(in)
	}
	if len(list) == 0 || out < 0 {
		return 1
	}
	results := float64(in.Args[out].Elements)
	switch {
	case op.name == gemm && len(list) > 1: // M K · K N / M N
		return math.Sqrt(float64(in.Args[list[0]].Elements) * float64(in.Args[list[1]].Elements) / results)
	case op.name == sum:
		return float64(in.Args[list[0]].Elements) / results
	}
	return 1
}

// scalars returns how much larger floating-point scalars may make the outputs; whole reports
// whether all of them are whole numbers.
func scalars(in *spec.Instance) (factor float64, whole bool) {
	factor, whole = 1, true
	for _, a := range in.Args {
		if a.Buffer || a.TensorMap != nil || !a.DType.Float() {
			continue
		}
		v, _ := a.Scalar.Float()
		factor *= max(1, math.Abs(v))
		whole = whole && v == math.Trunc(v)
	}
	return factor, whole
}

// smallestNormals has the types whose least number is not that of f32 and bf16.
var smallestNormals = map[dtype.Type]float64{dtype.F16: 0x1p-14, dtype.E5M2: 0x1p-14, dtype.E4M3: 0x1p-6, dtype.F64: 0x1p-1022}

// smallestNormal returns the least positive number that a type holds in full precision,
// and that hardware which flushes smaller ones to zero leaves alone.
func smallestNormal(t dtype.Type) float64 { return cmp.Or(smallestNormals[t], 0x1p-126) }

var (
	errOwn     = errors.New("its inputs have an init in pawl.yaml, which is kept")
	errNoFloat = errors.New("it has no floating-point input that they apply to")
	errRoom    = errors.New("the range of the element types is too small")
)

// contents is a named distribution applied to an instance.
type contents struct {
	args       map[int]oracle.Fill
	words      string
	atol, rtol float64 // factors of the tolerance
	least      float64 // atol is at least this
	exact      bool    // an honest kernel has no rounding error here
}

// plain returns contents of no arguments yet, with the usual tolerance.
func plain() contents { return contents{args: map[int]oracle.Fill{}, atol: 1, rtol: 1} }

// describe says in words which fills the listed arguments have.
func (c *contents) describe(list []int) {
	var said []string
	for _, i := range list {
		if f, ok := c.args[i]; ok && !slices.Contains(said, words(f)) {
			said = append(said, words(f))
		}
	}
	c.words = strings.Join(said, " and ")
}

// apply gives the arguments their fills and describes them in words.
func (c contents) apply(in *spec.Instance) string {
	for i, f := range c.args {
		in.Args[i].Init = spec.Init{Kind: f.Kind, Args: f.Args}
	}
	return c.words
}

func (c contents) check(in *spec.Instance) error {
	for i, f := range c.args {
		if err := oracle.CheckFill(in.Args[i].DType, f); err != nil {
			return fmt.Errorf("%s: %w", in.Args[i].Name, err)
		}
	}
	return nil
}
