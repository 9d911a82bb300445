package tune

import (
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// A trial as fast as the best is not given up when today's defaults have become faster since the best was
// tried.
func TestCutSeconds(t *testing.T) {
	s := &tune{
		Options: Options{Objective: Time, Over: Mean}, configs: []*spec.Config{{Name: "a"}},
		best: &result.Trial{Cost: 0.25, On: []result.TrialConfig{{Config: "a", MedianS: 1, Ratio: 0.25}}},
	}
	for scale, want := range map[float64]float64{4: 1.25, 2: 1.25, 8: 2.5, 0: 0} {
		if got := s.cutSeconds(nil, scale); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("today's defaults take %g s: given up above %g s, want %g", scale, got, want)
		}
	}
	if s.best = nil; s.cutSeconds(nil, 1) != 0 {
		t.Error("a trial is given up although there is no best")
	}
}
