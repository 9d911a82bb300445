package oracle_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
)

// Whoever adds one number to the other in float32 is right, whether they are of one sign or
// of both; whoever leaves out one of them is not.
func TestToleranceOverManyTerms(t *testing.T) {
	usual := oracle.Tolerance{Abs: 1e-5, Rel: 1e-5}
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() float64{"normal": r.NormFloat64, "uniform": r.Float64} {
		for _, terms := range []int{16, 512, 4096, 100_000} {
			sums := 200
			if testing.Short() {
				sums = 40
			}
			refused, unnoticed := 0, 0
			tol := usual.Over(int64(terms), dtype.F32, usual.Abs)
			for range sums {
				var sum float32
				exact, last := 0.0, 0.0
				for range terms {
					last = float64(float32(draw()))
					sum += float32(last)
					exact += last
				}
				allowed := tol.Abs + tol.Rel*math.Abs(exact)
				if math.Abs(float64(sum)-exact) > allowed {
					refused++
				}
				if math.Abs(float64(sum)-last-exact) <= allowed {
					unnoticed++
				}
			}
			if refused > 0 {
				t.Errorf("%s: of %d honest sums of %d terms %d are wrong", name, sums, terms, refused)
			}
			if name == "normal" && unnoticed > sums/10 {
				t.Errorf("%s: of %d sums of %d terms %d may lack one of them", name, sums, terms, unnoticed)
			}
		}
	}
	for _, test := range []struct {
		tol   oracle.Tolerance
		terms int64
		t     dtype.Type
		usual float64
		want  oracle.Tolerance
	}{
		{usual, 0, dtype.F32, 1e-5, usual},
		{usual, 16, dtype.F32, 1e-5, usual},
		{usual, 1 << 24, dtype.F32, 1e-5, oracle.Tolerance{Abs: 2, Rel: 0x1p-11}},
		{oracle.Tolerance{Abs: 1e-8, Rel: 1e-5}, 1 << 24, dtype.F32, 1e-5, oracle.Tolerance{Abs: 2e-3, Rel: 0x1p-11}}, // of smaller terms
		{oracle.Tolerance{Abs: 2e-3, Rel: 1e-3}, 1 << 24, dtype.F16, 2e-3, oracle.Tolerance{Abs: 2, Rel: 1e-3}},
		{oracle.Tolerance{Abs: 1e-12, Rel: 1e-12}, 1 << 24, dtype.F64, 1e-12, oracle.Tolerance{Abs: 0x1p-28, Rel: 1e-12}},
		{usual, 1 << 24, dtype.I32, 1e-5, usual},
		{oracle.Tolerance{}, 1 << 24, dtype.F32, 1e-5, oracle.Tolerance{}}, // wants every bit
	} {
		got := test.tol.Over(test.terms, test.t, test.usual)
		if math.Abs(got.Abs-test.want.Abs) > 1e-9*test.want.Abs || got.Rel != test.want.Rel {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}

func TestTerms(t *testing.T) {
	buffer := func(name, role string, shape ...int64) oracle.Value {
		return oracle.Value{Name: name, Role: role, Type: dtype.F32, Shape: shape, Buffer: true}
	}
	for _, test := range []struct {
		oracle string
		args   []oracle.Value
		want   int64
	}{
		{"sum", []oracle.Value{buffer("x", "in", 6, 7), buffer("out", "out", 1)}, 42},
		{"sum", []oracle.Value{buffer("x", "in", 6, 7), buffer("out", "out", 6)}, 7},
		{"max", []oracle.Value{buffer("x", "in", 6, 7), buffer("out", "out", 1)}, 0},
		{"softmax", []oracle.Value{buffer("x", "in", 6, 7), buffer("out", "out", 6, 7)}, 0},
		{"gemm", []oracle.Value{buffer("a", "in", 6, 7), buffer("b", "in", 7, 9), buffer("c", "out", 6, 9)}, 7},
		{"gemm", []oracle.Value{buffer("a", "in", 5, 6, 7), buffer("b_t", "in", 9, 7), buffer("c", "out", 5, 6, 9)}, 7},
		{"gemm", []oracle.Value{buffer("a", "in", 6, 7), buffer("b", "in", 8, 9), buffer("c", "out", 6, 9)}, 0}, // which is no product
		{"nothing", nil, 0},
	} {
		if got := oracle.Terms(test.oracle, test.args); got != test.want {
			t.Errorf("%s of %+v: %d terms, want %d", test.oracle, test.args, got, test.want)
		}
	}
}
