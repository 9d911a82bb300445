package trial

import (
	"errors"
	"math"

	"pawl/internal/dtype"
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
	out := output(in)
	if out < 0 || !in.Args[out].DType.Float() {
		return errFollow
	}
	narrowest := in.Args[out].DType
	for _, i := range op.inputs(in) {
		if t := in.Args[i].DType; t.Integers() < narrowest.Integers() {
			narrowest = t
		}
	}
	if narrowest.Size() == 1 {
		return errRoom
	}
	usual, err := op.sampled(in, narrowest, nil)
	if errors.Is(err, errFollow) {
		return err
	}
	if err != nil {
		usual.size = math.Inf(1) // nothing to compare with
	}
	for _, r := range wideRanges {
		c.each(list, oracle.Fill{Kind: oracle.Uniform, Args: []float64{r[0], r[1]}})
		// A tolerance beyond a twentieth of the answers is not granted.
		if s, err := op.sampled(in, narrowest, c.args); err == nil && 40*s.off < s.size {
			c.least, c.atol = 2*s.off, min(32, max(1, s.size/usual.size))
			return nil
		}
	}
	return errWide
}

// sample summarizes a formula at its points.
type sample struct {
	off  float64 // the largest error that rtol does not cover
	size float64 // root mean square of the answers
}

// sampled evaluates the formula at sample points. The error is errFollow where its errors are not known,
// and errWide where an honest kernel may overflow, or where the answer is no number.
func (op operation) sampled(in *spec.Instance, narrowest dtype.Type, fills map[int]oracle.Fill) (sample, error) {
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
		v, ok := a.of(op.formula)
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
