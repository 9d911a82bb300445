package oracle_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
)

func TestSoftmaxByHand(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	x := inout("x", shape(4, 2), 0, math.Log(3), 1000, 1000, -inf, 0, inf, 0)
	near(t, "in place", compute(t, "softmax", x)[0], []float64{0.25, 0.75, 0.5, 0.5, 0, 1, nan, nan})
}

func TestSoftmaxRowsAreProbabilities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.Int64Range(1, 40).Draw(t, "rows"), rapid.Int64Range(1, 3000).Draw(t, "columns")
		x := drawn(t, "x", shape(rows, columns))
		out := compute(t, "softmax", x, output("out", rows, columns))[0]
		values := read(x.Data)
		for i := range values {
			values[i] += 500
		}
		near(t, "shifted", compute(t, "softmax", input("x", shape(rows, columns), values...), output("out", rows, columns))[0], out)
		for i := range rows {
			sum := 0.0
			for _, p := range out[i*columns : (i+1)*columns] {
				if p < 0 {
					t.Fatalf("a probability of %v", p)
				}
				sum += p
			}
			near(t, "sum of a row", []float64{sum}, []float64{1})
		}
	})
}

func TestLayernormByHand(t *testing.T) {
	x := input("x", shape(1, 2), 1, 3) // mean 2, variance 1
	gamma, beta := input("gamma", shape(2), 10, 20), input("beta", shape(2), 0.5, 0)
	eps := scalar("eps", dtype.F64, 3)
	near(t, "all", compute(t, "layernorm", x, gamma, beta, output("out", 1, 2), eps)[0], []float64{-4.5, 10})
	near(t, "gamma alone", compute(t, "layernorm", x, gamma, output("out", 1, 2), eps)[0], []float64{-5, 10})
	near(t, "by order", compute(t, "layernorm", input("data", shape(1, 2), 1, 3), input("one", shape(2), 10, 20), output("out", 1, 2), eps)[0], []float64{-5, 10})
	near(t, "eps as usual", compute(t, "layernorm", x, output("out", 1, 2))[0], []float64{-1 / math.Sqrt(1+1e-5), 1 / math.Sqrt(1+1e-5)})
}

func TestLayernormHasNoMeanAndUnitVariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.Int64Range(1, 40).Draw(t, "rows"), rapid.Int64Range(2, 3000).Draw(t, "columns")
		x := drawn(t, "x", shape(rows, columns))
		out := compute(t, "layernorm", x, output("out", rows, columns), scalar("eps", dtype.F64, 0))[0]
		for i := range rows {
			sum, squares := 0.0, 0.0
			for _, v := range out[i*columns : (i+1)*columns] {
				sum += v
				squares += v * v
			}
			near(t, "mean and variance", []float64{sum / float64(columns), squares / float64(columns)}, []float64{0, 1})
		}
	})
}

func TestReductionsByHand(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	x := input("x", shape(2, 3), 1, 2, 3, -4, -6, -5)
	near(t, "sum of all", compute(t, "sum", x, output("out", 1))[0], []float64{-9})
	near(t, "sum of rows", compute(t, "sum", x, output("out", 2, 1))[0], []float64{6, -15})
	near(t, "nothing to reduce", compute(t, "sum", x, output("out", 2, 3))[0], read(x.Data))
	near(t, "added to what is there", compute(t, "sum", x, inout("out", shape(2), 10, 20))[0], []float64{16, 5})
	near(t, "by role, not by order", compute(t, "sum", inout("total", shape(1), 10), input("data", shape(2), 1, 2))[0], []float64{13})
	near(t, "max of all", compute(t, "max", x, output("out", 1, 1))[0], []float64{3})
	near(t, "max of rows", compute(t, "max", x, output("out", 2))[0], []float64{3, -4})
	near(t, "max with what is there", compute(t, "max", x, inout("out", shape(2), 2, -1))[0], []float64{3, -1})
	near(t, "NaN stays", compute(t, "max", input("x", shape(3, 2), nan, 1, 1, nan, -inf, -inf), output("out", 3))[0], []float64{nan, nan, -inf})
}

// However many elements, and however they are cut, integers add up exactly.
func TestReductionsAreComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.Int64Range(1, 4).Draw(t, "rows")
		columns := rapid.OneOf(rapid.Int64Range(1, 2000), rapid.Int64Range(1, 200_000)).Draw(t, "columns")
		values, sums, tops := make([]float64, rows*columns), make([]float64, rows), make([]float64, rows)
		for i := range values {
			values[i] = float64(i*7919%1009) - 1e4
			row := int64(i) / columns
			if sums[row] += values[i]; int64(i)%columns == 0 || values[i] > tops[row] {
				tops[row] = values[i]
			}
		}
		x := input("x", shape(rows, columns), values...)
		near(t, "sum", compute(t, "sum", x, output("out", rows))[0], sums)
		near(t, "max", compute(t, "max", x, output("out", rows))[0], tops)
	})
}

func TestElementwiseByHand(t *testing.T) {
	x, y := input("x", shape(2, 2), -1, 2, math.NaN(), math.Inf(1)), inout("y", shape(2, 2), 1, 2, 3, 4)
	one, n := input("one", shape(1), 100), scalar("n", dtype.I64, 3)
	near(t, "relu and more", compute(t, "= max(x, 0) * 2 + y", x, y)[0], []float64{1, 6, math.NaN(), math.Inf(1)})
	near(t, "one element for all", compute(t, "= y + one * n", x, y, one, n)[0], []float64{301, 302, 303, 304})
	near(t, "no input at all", compute(t, "= 1 / 4", output("out", 3))[0], []float64{0.25, 0.25, 0.25})
	many := make([]float64, 70_001)
	for i := range many {
		many[i] = float64(i)
	}
	got := compute(t, "= x + 1", input("x", shape(70_001), many...), output("out", 70_001))[0]
	for i := range many {
		many[i]++
	}
	near(t, "many", got, many)
}

// Several outputs have a formula each, in any order; what one of them is for, another may read as it was.
func TestElementwiseOutputs(t *testing.T) {
	args := []oracle.Value{
		input("x", shape(3), -1, 2, 3), output("low", 3), inout("high", shape(3), 10, 20, 30), input("s", shape(1), 7), output("one", 1),
	}
	const text = "high = high + max(x, 0); one = s * 2; low = min(x, 0) + high"
	if err := oracle.CheckElementwise(text, args); err != nil {
		t.Fatal(err)
	}
	got, err := oracle.Elementwise(text, args)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int][]float64{1: {9, 20, 30}, 2: {10, 22, 33}, 4: {14}} {
		values := make([]float64, len(want))
		oracle.Values(values, oracle.Typed[[]byte]{Data: got[i], Type: dtype.F64}, 0)
		if !slices.Equal(values, want) {
			t.Errorf("%s is %v, want %v", args[i].Name, values, want)
		}
	}
	for wrong, says := range map[string]string{
		"x + 1":                            "expected one output, found 3: low, high, one",
		"low = x; high = x":                "there is no formula for one",
		"low = x; low = x; high = x":       `"x" is for "low", which is no output or has a formula already`,
		"low = x; hi = x; one = s":         `"x" is for "hi"`,
		"low = x; high = low; one = s":     `"low" uses low, which is not a readable argument`,
		"low = x; high = x; one = x":       "x is [3], expected [1] as the output one",
		"low = x == 1; high = x ==; one=s": `"x ==" at character`,
	} {
		if err := oracle.CheckElementwise(wrong, args); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", wrong, err, says)
		}
	}
}
