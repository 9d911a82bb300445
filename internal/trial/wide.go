package trial

import (
	"errors"
	"math"
	"slices"

	"pawl/internal/dtype"
	"pawl/internal/formula"
	"pawl/internal/oracle"
	"pawl/internal/spec"
)

// Ranges of the inputs of a formula, beyond the five standard deviations of normal ones. They end
// where functions built from exponentials still fit f32; the last is for functions without a value
// at or below zero: logarithm, root, inverse.
var wideRanges = [][2]float64{{-30, 30}, {-12, 12}, {0.5, 30}}

// points is the number of points at which a formula is sampled.
const points = 1024

var (
	errFollow = errors.New("the growth of the formula's errors is unknown")
	errWide   = errors.New("correct kernels for the formula may overflow there, or lose all digits")
)

// wide fills the inputs of a formula as widely as an honest kernel tolerates. The allowed error of
// its answers is computed at points of the same distribution.
func (op operation) wide(c *contents, in *spec.Instance, list []int) error {
	written := outputs(in)
	if len(written) == 0 || len(op.formulas) == 0 || slices.ContainsFunc(written, func(i int) bool { return !in.Args[i].DType.Float() }) {
		return errFollow
	}
	narrowest := in.Args[written[0]].DType
	for _, i := range append(op.inputs(in), written...) {
		if t := in.Args[i].DType; t.Integers() < narrowest.Integers() {
			narrowest = t
		}
	}
	if narrowest.Size() == 1 {
		return errRoom
	}
	usual := make([]float64, len(op.formulas)) // sizes of the answers
	for n, f := range op.formulas {
		s, err := op.sampled(f, in, narrowest, nil)
		if errors.Is(err, errFollow) {
			return err
		}
		if usual[n] = s.size; err != nil {
			usual[n] = math.Inf(1) // nothing to compare with
		}
	}
	for _, r := range wideRanges {
		c.each(list, oracle.Fill{Kind: oracle.Uniform, Args: []float64{r[0], r[1]}})
		if op.widened(c, in, narrowest, usual) {
			return nil
		}
	}
	return errWide
}

// widened gives contents the tolerance that all outputs need; false: one of them would need more than
// a twentieth of its answers.
func (op operation) widened(c *contents, in *spec.Instance, narrowest dtype.Type, usual []float64) bool {
	off, least, factor := 0.0, math.Inf(1), 1.0
	for n, f := range op.formulas {
		s, err := op.sampled(f, in, narrowest, c.args)
		if err != nil {
			return false
		}
		off, least, factor = max(off, s.off), min(least, s.size), max(factor, s.size/usual[n])
	}
	if 40*off >= least {
		return false
	}
	c.least, c.atol = 2*off, min(32, factor)
	return true
}

// sample summarizes a formula at its points.
type sample struct {
	off  float64 // the largest error that rtol does not cover
	size float64 // root mean square of the answers
}

// sampled evaluates a formula at sample points. The error is errFollow where its errors are not known,
// and errWide where an honest kernel may overflow, or where the answer is no number.
func (op operation) sampled(f formula.Part, in *spec.Instance, narrowest dtype.Type, fills map[int]oracle.Fill) (sample, error) {
	_, high := narrowest.Range()
	a := arithmetic{unit: math.Ldexp(4, -narrowest.Integers()), limit: high / 2, env: map[string]inexact{}}
	columns := map[string][]float64{}
	for i, arg := range in.Args {
		switch v, ok := arg.Scalar.Float(); {
		case arg.TensorMap != nil:
		case !arg.Buffer && ok:
			a.env[arg.Name] = inexact{v, 0}
		case arg.Buffer && arg.Role.Read():
			columns[arg.Name] = column(arg, fills[i], i)
		}
	}
	var s sample
	for n := range points {
		for name, values := range columns {
			a.env[name] = inexact{values[n], 0}
		}
		v, ok := a.of(f)
		if a.unknown {
			return sample{}, errFollow
		}
		if !ok {
			return sample{}, errWide
		}
		s.off = max(s.off, v.off-op.rtol*math.Abs(v.value))
		s.size += v.value * v.value / points
	}
	s.size = math.Sqrt(s.size)
	return s, nil
}

// column draws values of an argument: of a fill, or else of its own.
func column(a spec.InstanceArg, fill oracle.Fill, number int) []float64 {
	if fill.Kind == "" {
		fill = fillOf(a)
	}
	data := make([]byte, points*a.DType.Size())
	oracle.Generate(data, a.DType, fill, oracle.Key(0, number, 0))
	values := make([]float64, points)
	oracle.Values(values, oracle.Typed[[]byte]{Data: data, Type: a.DType}, 0)
	return values
}
