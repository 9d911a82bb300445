package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
)

func TestUnpairedVerdict(t *testing.T) {
	slower, faster := []result.Reason{result.Slower}, []result.Reason{result.Faster}
	for _, test := range []struct {
		name              string
		change, delta     float64
		apart, equivalent bool
		want              result.Verdict
		reasons           []result.Reason
	}{
		{"slower beyond the gate", 0.031, 1, true, false, result.Regression, nil},
		{"slower beyond the gate, small effect: a regression all the same", 0.031, 0.1, true, false, result.Regression, nil},
		{"slower beyond the gate, intervals overlap", 0.2, 1, false, false, result.Inconclusive, nil},
		{"slower by the gate", 0.03, 1, true, false, result.Maintained, slower},
		{"slower inside the gate", 0.001, 1, true, false, result.Maintained, slower},
		{"faster beyond the claim", -0.101, -0.3, true, false, result.Improvement, nil},
		{"faster beyond the claim, effect too small", -0.101, -0.29, true, false, result.Maintained, faster},
		{"faster beyond the claim, intervals overlap", -0.3, -1, false, false, result.Inconclusive, nil},
		{"faster by the claim", -0.1, -1, true, false, result.Maintained, faster},
		{"faster, but no claim", -0.05, -1, true, false, result.Maintained, faster},
		{"shown to be equal", 0.001, 0, false, true, result.Maintained, nil},
		{"neither equal nor different", 0.001, 0, false, false, result.Inconclusive, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			verdict, reasons := unpairedVerdict(&result.Change{Median: test.change, Delta: test.delta}, test.apart, test.equivalent, spec.DefaultGate)
			if verdict != test.want || !slices.Equal(reasons, test.reasons) {
				t.Errorf("got %s %v, want %s %v", verdict, reasons, test.want, test.reasons)
			}
		})
	}
}

func TestPairedVerdict(t *testing.T) {
	slower, faster := []result.Reason{result.Slower}, []result.Reason{result.Faster}
	for _, test := range []struct {
		name              string
		low, median, high float64
		want              result.Verdict
		reasons           []result.Reason
	}{
		{"narrow and slower", 0.030, 0.031, 0.032, result.Regression, nil},
		{"narrow, its middle inside", 0.027, 0.029, 0.031, result.Maintained, slower},
		{"narrow and faster", -0.052, -0.051, -0.050, result.Improvement, nil},
		{"narrow, not faster enough", -0.051, -0.049, -0.047, result.Maintained, faster},
		{"narrow around 0", -0.001, 0.001, 0.003, result.Maintained, nil},
		{"wide, all of it slower", 0.08, 0.10, 0.12, result.Regression, nil},
		{"wide, reaching into the gate", 0.02, 0.06, 0.10, result.Inconclusive, nil},
		{"wide, all of it faster", -0.12, -0.10, -0.08, result.Improvement, nil},
		{"wide, faster or not", -0.08, -0.06, -0.04, result.Inconclusive, nil},
		{"wide, all of it inside", -0.02, 0, 0.02, result.Maintained, nil},
		{"wide, inside and slower", 0.005, 0.015, 0.025, result.Maintained, slower},
		{"wide over everything", -0.2, 0, 0.2, result.Inconclusive, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &result.Change{Low: test.low, Median: test.median, High: test.high}
			c.Exact = c.HalfWidth() <= narrow
			verdict, reasons := pairedVerdict(c, spec.DefaultGate)
			if verdict != test.want || !slices.Equal(reasons, test.reasons) {
				t.Errorf("got %s %v, want %s %v", verdict, reasons, test.want, test.reasons)
			}
		})
	}
}

// The least two-sided p of n and m samples is 2 over (n+m over n).
func TestEnough(t *testing.T) {
	for _, test := range []struct {
		n, m int
		want bool
	}{
		{0, 5, false},
		{1, 1_000_000, false}, // one sample says nothing, however many the other list has
		{2, 2, false},         // p ≥ 0.333
		{2, 7, false},         // p ≥ 0.056
		{2, 8, true},          // p ≥ 0.044
		{3, 3, false},         // p ≥ 0.1
		{3, 4, false},         // p ≥ 0.057
		{3, 5, true},          // p ≥ 0.036
		{4, 4, true},          // p ≥ 0.029
		{1_000_000, 1_000_000, true},
	} {
		if got, back := enough(test.n, test.m), enough(test.m, test.n); got != test.want || back != test.want {
			t.Errorf("%d and %d: %v, %v", test.n, test.m, got, back)
		}
	}
}

// stats summarises as compare does with many benchmarks.
func stats(samples []float64) result.Stats {
	s := stat.Summarize(samples)
	low, high := stat.BootstrapMedianExact(samples)
	return result.Stats{Count: s.Count, Median: s.Median, Low: low, High: high}
}

func unpaired(a, b []float64) (*result.Change, result.Verdict, []result.Reason) {
	return Unpaired(a, b, stats(a), stats(b), spec.DefaultGate)
}

// noisy draws times around a median.
func noisy(n int, median, spread float64, seed uint64) []float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	out := make([]float64, n)
	for i := range out {
		out[i] = median * math.Exp(spread*random.NormFloat64())
	}
	return out
}

func TestUnpaired(t *testing.T) {
	for _, test := range []struct {
		name   string
		a, b   []float64
		want   result.Verdict
		reason []result.Reason
	}{
		{"5% slower", noisy(100, 1, 0.01, 1), noisy(100, 1.05, 0.01, 2), result.Regression, nil},
		{"12% faster", noisy(100, 1, 0.01, 1), noisy(100, 0.88, 0.01, 2), result.Improvement, nil},
		{"6% faster", noisy(100, 1, 0.01, 1), noisy(100, 0.94, 0.01, 2), result.Maintained, []result.Reason{result.Faster}},
		{"2% slower", noisy(100, 1, 0.01, 1), noisy(100, 1.02, 0.01, 2), result.Maintained, []result.Reason{result.Slower}},
		{"the same", noisy(100, 1, 0.01, 1), noisy(100, 1, 0.01, 2), result.Maintained, nil},
		{"too noisy to say", noisy(30, 1, 0.3, 3), noisy(30, 1.05, 0.3, 5), result.Inconclusive, nil},
		{"one sample", []float64{1}, noisy(100, 2, 0.01, 2), result.Inconclusive, []result.Reason{result.TooFew}},
		{"three and three, far apart", []float64{1, 1.1, 1.2}, []float64{2, 2.1, 2.2}, result.Inconclusive, []result.Reason{result.TooFew}},
		{"four and four, far apart", []float64{1, 1.1, 1.2, 1.3}, []float64{2, 2.1, 2.2, 2.3}, result.Regression, nil},
		{"two that happen to be slow", []float64{1.2, 1.3}, append(noisy(90, 1, 0.01, 1), slices.Repeat([]float64{1.4}, 20)...), result.Inconclusive, nil},
		{"two states, medians in different ones", append(noisy(52, 1, 0.002, 1), noisy(48, 1.1, 0.002, 2)...), append(noisy(48, 1, 0.002, 3), noisy(52, 1.1, 0.002, 4)...), result.Inconclusive, nil},
		{"all equal", []float64{1, 1, 1, 1, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 1, 1, 1, 1}, result.Maintained, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, verdict, reasons := unpaired(test.a, test.b)
			if verdict != test.want || !slices.Equal(reasons, test.reason) {
				t.Errorf("got %s %v, want %s %v: %+v, p %v", verdict, reasons, test.want, test.reason, c, *c.P)
			}
			if c.Paired || c.U == nil || c.P == nil {
				t.Errorf("not that of two lists: %+v", c)
			}
		})
	}
}

func TestUnpairedNumbers(t *testing.T) {
	a, b := []float64{1, 2, 3, 4, 5, 6}, []float64{2, 4, 6, 8, 10, 12}
	c, _, _ := Unpaired(a, b, result.Stats{Median: 3.5, Low: 2, High: 5}, result.Stats{Median: 7, Low: 4, High: 10}, spec.DefaultGate)
	// scipy 1.17: mannwhitneyu([1…6], [2, 4…12]) has the statistic 7.5; its pairs
	// are larger in 27, equal in 3, smaller in 6. The median of all 36 differences
	// is 3.5 by numpy.
	u := 7.5
	want := &result.Change{Median: 1, Low: 4.0/5 - 1, High: 10.0/2 - 1, Delta: 21.0 / 36, Shift: 3.5, U: &u}
	if diff := cmp.Diff(want, c, cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-12 }), cmp.FilterPath(
		func(p cmp.Path) bool { return p.String() == "P" }, cmp.Ignore())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Exchanging the lists reverses the verdict, and no unit changes a verdict.
func TestUnpairedSymmetry(t *testing.T) {
	times := rapid.SliceOfN(rapid.Float64Range(0.9, 1.1), 1, 40)
	rapid.Check(t, func(t *rapid.T) {
		a, b := times.Draw(t, "a"), times.Draw(t, "b")
		there, verdict, reasons := unpaired(a, b)
		back, _, _ := unpaired(b, a)
		if (there.Low > 0) != (back.High < 0) || (there.High < 0) != (back.Low > 0) {
			t.Fatalf("apart one way only: %+v, %+v", there, back)
		}
		if math.Abs(there.Delta+back.Delta) > 1e-12 || math.Abs(*there.P-*back.P) > 1e-9 || math.Abs(there.Shift+back.Shift) > 1e-12 {
			t.Fatalf("not mirrored: %+v, %+v", there, back)
		}
		if !(there.Low <= there.Median && there.Median <= there.High) {
			t.Fatalf("the change lies outside of its interval: %+v", there)
		}
		for _, list := range [][]float64{a, b} {
			for i := range list {
				list[i] *= 1.0 / 1024
			}
		}
		if _, v, r := unpaired(a, b); v != verdict || !slices.Equal(r, reasons) {
			t.Fatalf("%s %v, and in another unit %s %v", verdict, reasons, v, r)
		}
	})
}

// Lists of the same code are almost never called slower or faster, at any length.
func TestUnpairedFalseAlarms(t *testing.T) {
	for _, n := range []int{4, 5, 6, 10, 30} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			const rounds = 400
			alarms := 0
			for i := range uint64(rounds) {
				if _, v, _ := unpaired(noisy(n, 1, 0.1, 2*i), noisy(n, 1, 0.1, 2*i+1)); v == result.Regression || v == result.Improvement {
					alarms++
				}
			}
			if alarms > rounds*5/100 {
				t.Errorf("%d of %d", alarms, rounds)
			}
		})
	}
}

func TestPaired(t *testing.T) {
	// Both sides share a drift of 30% that would hide any difference between lists.
	turns := func(n int, factor, spread float64) (a, b []float64) {
		a, b = noisy(n, 1, spread, 1), noisy(n, factor, spread, 2)
		for i := range a {
			drift := 1 + 0.3*math.Sin(float64(i)/float64(n)*6)
			a[i] *= drift
			b[i] *= drift
		}
		return a, b
	}
	for _, test := range []struct {
		name           string
		n              int
		factor, spread float64
		want           result.Verdict
		reason         []result.Reason
	}{
		{"4% slower", 200, 1.04, 0.005, result.Regression, nil},
		{"6% faster", 200, 0.94, 0.005, result.Improvement, nil},
		{"2% slower", 200, 1.02, 0.005, result.Maintained, []result.Reason{result.Slower}},
		{"2% faster", 200, 0.98, 0.005, result.Maintained, []result.Reason{result.Faster}},
		{"the same", 200, 1, 0.005, result.Maintained, nil},
		{"few pairs, 20% slower", 10, 1.2, 0.005, result.Regression, nil},
		{"too noisy to say", 20, 1.05, 0.2, result.Inconclusive, nil},
		{"seven pairs", 7, 2, 0.005, result.Inconclusive, []result.Reason{result.TooFew}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := turns(test.n, test.factor, test.spread)
			c, verdict, reasons := Paired(a, b, spec.DefaultGate)
			if verdict != test.want || !slices.Equal(reasons, test.reason) {
				t.Errorf("got %s %v, want %s %v: %+v", verdict, reasons, test.want, test.reason, c)
			}
			if !c.Paired || c.Pairs != test.n || c.U != nil || !(c.Low <= c.Median && c.Median <= c.High) {
				t.Errorf("not that of a duet: %+v", c)
			}
		})
	}
	if c, verdict, _ := Paired([]float64{1}, []float64{2}, spec.DefaultGate); verdict != result.Inconclusive || math.Abs(c.Median-1) > 1e-12 {
		t.Errorf("one pair: %s, %+v", verdict, c)
	}
}

func TestCut(t *testing.T) {
	for n, want := range map[int][]int{
		8: {2, 2, 2, 2}, 11: {2, 3, 3, 3}, 24: {6, 6, 6, 6}, 25: {5, 5, 5, 5, 5}, 50: {5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, 1000: {100, 100, 100, 100, 100, 100, 100, 100, 100, 100},
	} {
		var got []int
		for _, s := range cut(make([]float64, n)) {
			got = append(got, len(s))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
}
