package lab

import (
	"testing"

	"pawl/internal/result"
)

// A row warns of noise, and of other work that was timed with the kernel.
func TestDoubt(t *testing.T) {
	t.Parallel()
	timing := func(change func(*result.Timing)) *result.Timing {
		made := &result.Timing{Repeat: 1, OnDevice: true, Stats: result.Stats{Count: 20, Median: 1e-4, CV: 0.5}}
		change(made)
		return made
	}
	for name, test := range map[string]struct {
		timing *result.Timing
		want   string
	}{
		"noise":                       {timing(func(*result.Timing) {}), "cv "},
		"other streams":               {timing(func(t *result.Timing) { t.OtherStreams = true }), "cv streams "},
		"a slow host":                 {timing(func(t *result.Timing) { t.Unhidden, t.GPUS = true, 1e-5 }), "cv host-bound "},
		"an opponent with a slow one": {timing(func(t *result.Timing) { t.Unhidden = true }), "cv host-bound "},
	} {
		got := ""
		for _, w := range (&Lab{}).Doubts(&Job{}, test.timing, 0.12) {
			got += w.Code + " "
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
