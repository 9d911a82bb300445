package oracle_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
)

func TestGemmByHand(t *testing.T) {
	a, b := input("a", shape(2, 2), 1, 2, 3, 4), input("b", shape(2, 2), 5, 6, 7, 8)
	c := inout("c", shape(2, 2), 1, 1, 1, math.NaN())
	zero, half := scalar("beta", dtype.F32, 0), scalar("alpha", dtype.F32, 0.5)
	near(t, "plain", compute(t, "gemm", a, b, output("c", 2, 2))[0], []float64{19, 22, 43, 50})
	near(t, "added to what is there", compute(t, "gemm", a, b, c)[0], []float64{20, 23, 44, math.NaN()})
	near(t, "beta 0 reads nothing", compute(t, "gemm", a, b, c, zero, half)[0], []float64{9.5, 11, 21.5, 25})
	b.Name = "b_t"
	near(t, "transposed by name", compute(t, "gemm", a, b, output("c", 2, 2))[0], []float64{17, 23, 39, 53})
	b.Name = "b"
	near(t, "transposed by a scalar", compute(t, "gemm", a, b, output("c", 2, 2), scalar("trans_a", dtype.I32, 1))[0], []float64{26, 30, 38, 44})
	one := input("c", shape(2, 2), 1, 2, 3, 4)
	near(t, "c is another buffer", compute(t, "gemm", a, b, one, output("d", 2, 2))[0], []float64{20, 24, 46, 54})
}

// A zero times infinity is NaN, as in every kernel.
func TestGemmKeepsSpecials(t *testing.T) {
	inf := math.Inf(1)
	a, b := input("a", shape(2, 2), 0, 1, 1, 1), input("b", shape(2, 1), inf, 2)
	near(t, "0·∞", compute(t, "gemm", a, b, output("c", 2, 1))[0], []float64{math.NaN(), inf})
}

func TestGemmIsWhatIsWrittenDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		defer oracle.Shrink(rapid.SampledFrom(pieces).Draw(t, "shared"), rapid.SampledFrom(pieces).Draw(t, "private"))()
		size := func(name string, most int64) int64 { return rapid.Int64Range(1, most).Draw(t, name) }
		flip := func(name string) bool { return rapid.Bool().Draw(t, name) }
		batch, m, n, k := size("batch", 3), size("m", 150), size("n", 150), size("k", 20)
		if flip("long") {
			m, n, k = size("few rows", 9), size("few columns", 9), size("k", 2000)
		}
		stored := func(name string, rows, columns int64) (oracle.Value, func(batch, i, j int64) float64) {
			batched, swapped := flip(name+" batched"), flip(name+" transposed")
			if swapped {
				name += "_t"
				rows, columns = columns, rows
			}
			size := shape(rows, columns)
			if batched {
				size = shape(batch, rows, columns)
			}
			v := drawn(t, name, size)
			values := read(v.Data)
			return v, func(b, i, j int64) float64 {
				if swapped {
					i, j = j, i
				}
				if batched {
					i += b * rows
				}
				return values[i*columns+j]
			}
		}
		a, atA := stored("a", m, k)
		b, atB := stored("b", k, n)
		c := drawn(t, "c", shape(batch, m, n))
		c.Role = "inout"
		held := read(c.Data)
		var want []float64
		for at := range batch {
			for i := range m {
				for j := range n {
					sum := 0.0
					for l := range k {
						sum += atA(at, i, l) * atB(at, l, j)
					}
					want = append(want, 0.5*sum-3*held[(at*m+i)*n+j])
				}
			}
		}
		near(t, "gemm", compute(t, "gemm", a, b, c, scalar("alpha", dtype.F64, 0.5), scalar("beta", dtype.F64, -3))[0], want)
	})
}

func TestGemmIsLinear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, two := drawn(t, "a", shape(5, 7)), drawn(t, "a2", shape(5, 7))
		b, c := drawn(t, "b", shape(7, 6)), output("c", 5, 6)
		two.Name = "a"
		sums, x, y := read(one.Data), compute(t, "gemm", one, b, c)[0], compute(t, "gemm", two, b, c)[0]
		for i, v := range read(two.Data) {
			sums[i] += 2 * v
		}
		for i := range x {
			x[i] += 2 * y[i]
		}
		near(t, "a + 2·a2", compute(t, "gemm", input("a", shape(5, 7), sums...), b, c)[0], x)
	})
}
