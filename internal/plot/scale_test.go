package plot

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		name  string
		scale Scale
		most  int
		want  []float64
	}{
		{"from zero", Linear(0, 3.9), 6, []float64{0, 1, 2, 3}},
		{"decimals are exact", Linear(0, 0.65), 8, []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6}},
		{"both signs", Linear(-1.5, 1.5), 4, []float64{-1, 0, 1}},
		{"a narrow range", Linear(1e-3, 1.004e-3), 5, []float64{1e-3, 1.001e-3, 1.002e-3, 1.003e-3, 1.004e-3}},
		{"one decade or two", Log(8, 120), 6, []float64{10, 20, 50, 100}},
		{"threes", Log(5e-6, 1.4e-3), 6, []float64{1e-5, 3e-5, 1e-4, 3e-4, 1e-3}},
		{"decades", Log(0.5, 2e4), 6, []float64{1, 10, 100, 1000, 1e4}},
		{"every other decade", Log(1e-6, 2e4), 6, []float64{1e-6, 1e-4, 1e-2, 1, 1e2, 1e4}},
		{"ratios near 1", Log(0.97, 1.032), 5, []float64{0.98, 1, 1.02}},
		{"ratios", Log(0.75, 5.2), 6, []float64{1, 2, 3, 4, 5}},
		{"none asked for", Linear(0, 1), 0, nil},
		{"no scale", Scale{}, 5, nil},
	} {
		if diff := cmp.Diff(test.want, test.scale.Ticks(test.most)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestFit(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []float64
		log    bool
	}{
		{"times of one size", []float64{1, 19.9}, false},
		{"times far apart", []float64{1, 20.1}, true},
		{"zero has no logarithm", []float64{0, 1000}, false},
		{"nor has less", []float64{-5, 1000}, false},
		{"nothing", nil, false},
		{"no numbers", []float64{math.NaN(), math.Inf(1)}, false},
	} {
		s := Fit(test.values)
		if s.Logarithmic() != test.log {
			t.Errorf("%s: logarithmic %v", test.name, s.Logarithmic())
		}
		if !test.log && !(s.Low() <= 0 && s.High() > 0) {
			t.Errorf("%s: %v to %v leaves zero out", test.name, s.Low(), s.High())
		}
	}
}

func TestRatiosLieEvenlyAroundOne(t *testing.T) {
	s := FitRatios([]float64{2, math.NaN(), -3})
	if one, half, twice := s.At(1), s.At(0.5), s.At(2); half != 0 || one <= 0 || twice >= 1 {
		t.Errorf("0.5, 1, 2 at %v, %v, %v", half, one, twice)
	}
	s = FitRatios([]float64{0.5, 2})
	if left, right := s.At(1)-s.At(0.5), s.At(2)-s.At(1); math.Abs(left-right) > 1e-12 {
		t.Errorf("half is %v away from 1, and twice %v", left, right)
	}
}

var number = rapid.OneOf(
	rapid.Float64Range(-10, 10), rapid.Float64Range(1e-9, 1e-3), rapid.Float64(),
	rapid.SampledFrom(strange),
)

func scales(t *rapid.T) Scale {
	a, b := number.Draw(t, "a"), number.Draw(t, "b")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return Linear(a, b)
	case 1:
		return Log(a, b)
	case 2:
		return Fit([]float64{a, b})
	}
	return FitRatios([]float64{a, b})
}

func TestScaleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scales(t)
		if !usable(s.low) || !(s.low < s.high) || math.IsInf(s.high, 0) || s.log && s.low <= 0 {
			t.Fatalf("scale from %v to %v", s.low, s.high)
		}
		if s.At(s.low) != 0 || s.At(s.high) != 1 {
			t.Fatalf("ends at %v and %v", s.At(s.low), s.At(s.high))
		}
		x, y := number.Draw(t, "x"), number.Draw(t, "y")
		for _, at := range []float64{s.At(x), s.At(y)} {
			if !(at >= 0 && at <= 1) {
				t.Fatalf("position %v", at)
			}
		}
		if x < y && s.At(x) > s.At(y) {
			t.Fatalf("%v at %v, but %v at %v", x, s.At(x), y, s.At(y))
		}
	})
}

func TestTickProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scales(t)
		most := rapid.IntRange(1, 12).Draw(t, "most")
		ticks := s.Ticks(most)
		if len(ticks) > most || most >= 6 && len(ticks) < 2 {
			t.Fatalf("%d ticks of at most %d on %v to %v", len(ticks), most, s.low, s.high)
		}
		if !slices.IsSorted(ticks) || len(slices.Compact(slices.Clone(ticks))) != len(ticks) {
			t.Fatalf("not ascending: %v", ticks)
		}
		for _, tick := range ticks {
			if !(tick >= s.low && tick <= s.high) {
				t.Fatalf("%v is outside %v to %v", tick, s.low, s.high)
			}
		}
	})
}

func TestFitHoldsItsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(1e-9, 1e3), 1, 20).Draw(t, "values")
		for _, s := range []Scale{Fit(values), FitRatios(values)} {
			for _, v := range values {
				if at := s.At(v); !(at > 0 && at < 1) {
					t.Fatalf("%v is at %v of %v to %v", v, at, s.low, s.high)
				}
			}
		}
	})
}
