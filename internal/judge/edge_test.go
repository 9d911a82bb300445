package judge

import (
	"slices"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// A step too small to matter is not blamed for the distance from the best; one that matters is.
func TestSmallStepsAreNotTooFar(t *testing.T) {
	far := against(0.045, 0.048, 0.051)
	for name, test := range map[string]struct {
		base *Opponent
		want result.Verdict
		why  result.Reason
	}{
		"a twentieth of the gate": {against(0.0005, 0.0015, 0.0025), result.Maintained, result.Creep},
		"a sixth of the gate":     {against(0.003, 0.005, 0.007), result.Regression, result.TooFar},
		"perhaps no step at all":  {against(-0.001, 0.005, 0.011), result.Maintained, result.Creep},
	} {
		test.base.Change.Exact = true
		test.base.Median = 10e-3 // so that no step is too short
		verdict, why := Provisional(Case{Gate: spec.DefaultGate, Base: test.base, Best: far})
		if verdict != test.want || !slices.Contains(why, test.why) {
			t.Errorf("%s: %s %v", name, verdict, why)
		}
	}
}

// An interval that is narrow enough decides by its middle; that of fewer than eight
// pairs does not.
func TestPairedNarrow(t *testing.T) {
	// The ratios lie around the gate of 3%, so that some of the interval is outside.
	ratios := func(pairs int, spread float64) (before, after []float64) {
		for i := range pairs {
			off := spread * (2*float64(i)/float64(pairs-1) - 1) // it drifts, so that stretches differ
			before, after = append(before, 1e-3), append(after, 1e-3*(1.0305+off))
		}
		return before, after
	}
	for name, test := range map[string]struct {
		pairs   int
		spread  float64
		exact   bool
		verdict result.Verdict
	}{
		"narrow":      {60, 0.002, true, result.Regression},
		"wide":        {12, 0.05, false, result.Inconclusive},
		"eight pairs": {8, 0, true, result.Regression},
		"seven pairs": {7, 0, false, result.Inconclusive},
	} {
		before, after := ratios(test.pairs, test.spread)
		c, verdict, _ := Paired(before, after, spec.DefaultGate)
		if c.Exact != test.exact || verdict != test.verdict {
			t.Errorf("%s: exact %t, %s: %+v", name, c.Exact, verdict, c)
		}
		if test.exact && test.spread > 0 && c.HalfWidth() == 0 {
			t.Errorf("%s: its interval has no width", name)
		}
	}
}

// Lists that vary by far more than the gate show nothing, though their medians agree.
func TestUnpairedWide(t *testing.T) {
	list := noisy(30, 1e-3, 0.4, 1)
	if c, verdict, why := unpaired(list, list); verdict != result.Inconclusive {
		t.Errorf("%s %v: %+v", verdict, why, c)
	}
}
