package trial

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/oracle"
	"pawl/internal/spec"
)

// Fills are the names of distributions that a Trial may have.
var Fills = []string{"positive", "negative", "large", "tiny", "outliers", "rows", "equal", "integers", specials, sparse}

// fill makes a named distribution concrete. It depends on the operation, the types, and the sizes.
func (op operation) fill(name string, in *spec.Instance) (contents, error) {
	if name == "integers" {
		return op.integers(in)
	}
	list := op.open(in)
	if len(list) == 0 {
		return contents{}, op.closed(in)
	}
	c := plain()
	var err error
	switch name {
	case "positive":
		c.each(list, oracle.Fill{Kind: oracle.Uniform, Args: []float64{0, 1}})
	case "negative":
		c.each(list, oracle.Fill{Kind: oracle.Uniform, Args: []float64{-1, 0}})
	case "equal":
		// The mean of a layernorm is off by a rounding of the number itself, and only eps is left
		// of its variance: the smaller the number, the less the error shows.
		value := 1.0
		if op.name == layernorm {
			value = 0x1p-4
		}
		c.each(list, oracle.Fill{Kind: oracle.Constant, Args: []float64{value}})
	case "large":
		err = op.large(&c, in, list)
	case "tiny":
		err = op.tiny(&c, in, list)
	case "outliers":
		err = op.outliers(&c, in, list)
	case "rows":
		op.rows(&c, in, list)
	case specials, sparse:
		op.specialFills(&c, in, list, name)
	default:
		err = fmt.Errorf("unknown distribution %q: expected one of %s", name, strings.Join(Fills, ", "))
	}
	if err != nil {
		return contents{}, err
	}
	return c, c.check(in)
}

// each gives all listed arguments the same fill.
func (c *contents) each(list []int, f oracle.Fill) {
	for _, i := range list {
		c.args[i] = f
	}
	c.words = words(f)
}

func words(f oracle.Fill) string {
	parts := make([]string, len(f.Args))
	for i, a := range f.Args {
		if parts[i] = strconv.FormatFloat(a, 'g', 6, 64); a == math.Trunc(a) && math.Abs(a) <= 1<<53 {
			parts[i] = strconv.FormatFloat(a, 'f', 0, 64)
		}
	}
	return f.Kind + "(" + strings.Join(parts, ", ") + ")"
}

// width returns the number of columns of a buffer.
func width(in *spec.Instance, i int) int64 {
	shape := in.Args[i].Shape
	return shape[len(shape)-1]
}

// large returns a standard deviation that shows overflow. Powers of two only move the
// exponents, so the error of an operation that grows with its inputs grows as they do,
// and the tolerance with it.
func (op operation) large(c *contents, in *spec.Instance, list []int) error {
	normal := func(std float64) oracle.Fill { return oracle.Fill{Kind: oracle.Normal, Args: []float64{0, std}} }
	switch op.name {
	case elementwise:
		return op.wide(c, in, list)
	case softmax:
		// Beyond 88, where exp overflows in f32 unless the greatest is subtracted first.
		c.each(list, normal(32))
		return nil
	case attention, attentionCausal:
		// Scores have a standard deviation of 25, beyond 88 too. They are off by several
		// roundings of such a number, which the exponential makes a relative error.
		for _, i := range list {
			if op.isQueryOrKey(in, i) {
				c.args[i] = normal(5)
			}
		}
		if c.words, c.atol, c.rtol = words(normal(5)), 4, 4; len(c.args) == 0 {
			return errOwn
		}
		return nil
	case layernorm:
		if len(outputs(in)) > 1 {
			return errors.New("the mean, which is an output too, grows with it")
		}
	}
	degree := op.degree(list)
	extra, _ := scalars(in)
	for std := 0x1p10; std >= 4; std /= 2 {
		// Sums practically never exceed eight standard deviations.
		grown := math.Pow(std, float64(degree)) * math.Sqrt(op.terms(in)) * extra * 8
		if degree > 0 && grown > outputLimit(in) || !fits(in, list, 5*std) {
			continue
		}
		c.each(list, normal(std))
		c.atol = math.Pow(std, float64(degree))
		return nil
	}
	return errRoom
}

// tiny keeps clear of numbers that lose bits because they are too small.
func (op operation) tiny(c *contents, in *spec.Instance, list []int) error {
	degree := op.degree(list)
	for std := 0x1p-13; std <= 0x1p-2; std *= 2 {
		grown := math.Pow(std, float64(degree))
		if out := output(in); degree > 0 && out >= 0 && grown < 16*smallestNormal(in.Args[out].DType) {
			continue
		}
		if slices.ContainsFunc(list, func(i int) bool { return std < 4*smallestNormal(in.Args[i].DType) }) {
			continue
		}
		c.each(list, oracle.Fill{Kind: oracle.Normal, Args: []float64{0, std}})
		if !op.isAttention() || op.scalesValues(in, list) {
			c.atol = grown
		}
		return nil
	}
	return errRoom
}

// outliers makes a few columns much larger, like the activations of language models.
func (op operation) outliers(c *contents, in *spec.Instance, list []int) error {
	degree := op.degree(list)
	extra, _ := scalars(in)
	greatest := 16.0
	if op.isAttention() {
		greatest = 4 // where the columns of queries and keys meet, scores grow with its square
	}
	for factor := greatest; factor >= 4; factor /= 2 {
		// One column in 16 is larger: the root mean square grows by a quarter of the factor.
		grown := max(1, math.Pow(factor, float64(degree))/4)
		if degree > 0 && grown*math.Sqrt(op.terms(in))*extra*8 > outputLimit(in) || !fits(in, list, 5*factor) {
			continue
		}
		for _, i := range list {
			c.args[i] = oracle.Fill{Kind: oracle.Outliers, Args: []float64{0, 1, float64(width(in, i)), factor}}
		}
		c.words = fmt.Sprintf("outliers(0, 1, ×%g)", factor)
		if c.atol = grown; op.isAttention() || op.name == maximum {
			c.atol = factor
		}
		return nil
	}
	return errRoom
}

// rows gives every row one number.
func (op operation) rows(c *contents, in *spec.Instance, list []int) {
	for _, i := range list {
		std := 1.0
		if op.isAttention() && op.isQueryOrKey(in, i) {
			std = 0.5 // a score is the product of two of them, times the head dimension
		}
		c.args[i] = oracle.Fill{Kind: oracle.Rows, Args: []float64{0, std, float64(width(in, i))}}
	}
	c.words = "equal rows"
}

func (op operation) isAttention() bool { return op.name == attention || op.name == attentionCausal }

// isQueryOrKey reports whether an argument is one of the first two of an attention's inputs; the
// third has the values.
func (op operation) isQueryOrKey(in *spec.Instance, i int) bool {
	list := op.inputs(in)
	return i == list[0] || len(list) > 1 && i == list[1]
}

func (op operation) scalesValues(in *spec.Instance, list []int) bool {
	return slices.ContainsFunc(list, func(i int) bool { return !op.isQueryOrKey(in, i) })
}

func outputLimit(in *spec.Instance) float64 {
	out := output(in)
	if out < 0 {
		return math.Inf(1)
	}
	_, high := in.Args[out].DType.Range()
	return high
}

func fits(in *spec.Instance, list []int, reach float64) bool {
	return !slices.ContainsFunc(list, func(i int) bool {
		_, high := in.Args[i].DType.Range()
		return reach > high
	})
}
