package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl/internal/dtype"
)

// Value is one argument of a problem. Data holds a buffer's elements before the launch, little-
// endian. The Data of outputs and scratch buffers is ignored.
type Value struct {
	Name   string
	Role   string // of a buffer: in, out, inout, scratch
	Type   dtype.Type
	Shape  []int64
	Data   []byte
	Scalar float64
	Buffer bool
}

// A reference computes in float64 from inputs of any type, so integers are exact
// below 2⁵³ only. Buffers are contiguous and row-major. Inputs are known by their
// usual names, else taken in order; outputs are those with role out and inout.
// Scalars are known by name. One that is not must be an integer (it is taken for a
// size): a floating-point number that is ignored could change every answer.
//
// NaN and infinities go through as IEEE 754 has them, 0·∞ included. What a mask
// hides is not there at all: neither its NaN nor its infinity reaches the output.
type reference struct {
	inputs  []slot
	outputs []slot // the first is the main one, whatever its name
	scalars map[string][]string
	// accumulates says that an inout argument which is no input is what the result
	// is added to; others refuse it.
	accumulates bool
	// plan checks everything but the data, and returns what computes the outputs.
	plan func(p *problem) (compute func(), err error)
}

// slot is a part that an argument plays, and the names it usually has.
type slot struct {
	name     string
	also     []string
	optional bool
}

var references = map[string]reference{
	"attention":        attention(false),
	"attention_causal": attention(true),
	"gemm":             gemm,
	"layernorm":        layernorm,
	"max":              reduction("max"),
	"softmax":          softmax,
	"sum":              reduction("sum"),
}

// CheckReference says whether Reference understands the arguments. It needs no
// Data.
//
// attention is softmax(scale·q·kᵀ)·v of q [B, H, S, D], k [B, G, T, D] and
// v [B, G, T, E] into [B, H, S, E]; B may be more than one dimension or none, and so
// may H with it. (Shapes do not tell [B, S, H, D] apart; it is read as [B, H, S, D].)
// G divides H: query head h reads key head h·G/H. Scale is 1/√D
// unless a scalar scale says otherwise. Causal, by a scalar causal that is not zero
// or as attention_causal, aligns the mask at the bottom right as FlashAttention
// does: query i sees keys j ≤ i + T − S, and a query that sees none gives zeros. A
// second output lse has each row's logarithm of the sum of exponentials.
//
// gemm is alpha·a·b + beta·c of a [M, K] and b [K, N] into [M, N], with equal
// leading dimensions or none for a or b. An input called a_t or b_t, or marked by a
// scalar trans_a or trans_b, is stored transposed; so is one whose shape fits in no
// other way. Alpha is 1 by default; beta is 1 for an inout c or an input c, and c is
// not read when beta is 0.
//
// softmax and layernorm work along the last dimension; layernorm on x and optional
// gamma and beta, with eps of 1e-5 by default, the variance over all columns, and
// optional outputs mean and rstd. sum and max reduce everything into one element,
// else the last dimensions, as many as the output lacks; an inout output takes part
// with what it holds.
func CheckReference(name string, args []Value) error {
	_, _, err := planned(name, args)
	return err
}

// Reference computes the outputs of a problem in float64, little-endian, by the
// number of their argument, on as many processors as GOMAXPROCS allows. What it
// computes is said at CheckReference.
func Reference(name string, args []Value) (map[int][]byte, error) {
	p, compute, err := planned(name, args)
	if err != nil {
		return nil, err
	}
	if err := p.checkData(); err != nil {
		return nil, err
	}
	results := p.allocate()
	compute()
	return results, nil
}

// Terms returns how many numbers an element of the first output of a reference adds up, 0
// where it adds up none or nothing is known of it. It needs no Data.
func Terms(name string, args []Value) int64 {
	p, _, err := planned(name, args)
	if err != nil {
		return 0
	}
	return p.terms
}

func planned(name string, args []Value) (*problem, func(), error) {
	r, ok := references[name]
	switch {
	case name == "elementwise":
		return nil, nil, fmt.Errorf("elementwise needs a formula; write oracle: {elementwise: \"max(x, 0)\"}")
	case !ok:
		known := slices.Sorted(maps.Keys(references))
		return nil, nil, fmt.Errorf("no built-in reference is called %q; there are %s", name, strings.Join(known, ", "))
	}
	p, err := bind(name, r, args)
	if err != nil {
		return nil, nil, err
	}
	compute, err := r.plan(p)
	if err != nil {
		return nil, nil, err
	}
	return p, compute, nil
}
