package verify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pawl/internal/result"
)

// Hidden time also shows as time on other cores, and is one finding. What a version remembers is found
// against any of its opponents, once.
func TestOfTiming(t *testing.T) {
	clock := func(beyond, helped float64) *result.Timing {
		return &result.Timing{Clock: &result.ClockCheck{
			ClaimedS: 100e-6, Beyond: slices.Repeat([]float64{beyond}, 240), Helped: slices.Repeat([]float64{helped}, 240),
		}}
	}
	honest := []Opponent{{Timing: clock(10e-6, 0)}}
	mine, other := together(rand.New(rand.NewPCG(7, 8)), 30, 0.02, [2]float64{100, 100}, [2]float64{100, 100})
	half := &result.Change{Median: -0.5}
	for name, test := range map[string]struct {
		mine   *result.Timing
		cache  string
		others []Opponent
		found  []string
	}{
		"honest":                       {clock(10e-6, 0), "cold", honest, nil},
		"hidden time":                  {clock(90e-6, 0), "cold", honest, []string{ClockMismatch}},
		"hidden time on other cores":   {clock(90e-6, 90e-6), "cold", honest, []string{ClockMismatch}},
		"other cores":                  {clock(10e-6, 90e-6), "cold", honest, []string{HelperThread}},
		"nobody beside it":             {clock(90e-6, 90e-6), "cold", nil, nil},
		"set aside":                    {&result.Timing{SetAside: true}, "cold", nil, []string{PersistingL2}},
		"set aside, and asked for":     {&result.Timing{SetAside: true}, "hot", nil, nil},
		"a claimed gain is not there":  {mine, "cold", []Opponent{{other, half}}, []string{Incremental}},
		"no gain is claimed":           {mine, "cold", []Opponent{{other, nil}}, nil},
		"the second opponent shows it": {mine, "cold", []Opponent{{other, nil}, {other, half}}, []string{Incremental}},
		"both opponents show it":       {mine, "cold", []Opponent{{other, half}, {other, half}}, []string{Incremental}},
		"a gain, and the L2 beside it": {&result.Timing{SetAside: true, Samples: mine.Samples}, "cold", []Opponent{{other, half}}, []string{PersistingL2, Incremental}},
		"a mean above the median":      {&result.Timing{Clock: &result.ClockCheck{ClaimedS: 1e-5, WorkerS: 1e-4, MeanS: 9e-5}}, "cold", nil, []string{ClockMismatch}},
	} {
		var got []string
		for _, f := range OfTiming(test.mine, test.cache, test.others) {
			got = append(got, f.Exploit)
		}
		if !slices.Equal(got, test.found) {
			t.Errorf("%s: %v, expected %v", name, got, test.found)
		}
	}
}
