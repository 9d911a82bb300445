// Package known holds series whose changes are known, for tests and benchmarks of package trend: real ones, and
// real and simulated noise with changes put in. Values are logarithms, so that sizes are relative and add.
package known

import (
	_ "embed"
	"encoding/json"
	"math"
	"slices"
	"testing"
)

//go:embed testdata/tigerbeetle.json
var tigerbeetle []byte

// Series is a series with the first points of its new levels.
type Series struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
	Truth  []int     `json:"truth"`
}

// Tolerance is how far a point that was found may be from where the change is.
const Tolerance = 5

// TigerRaw returns the runs of TigerBeetle by metric, in its own units.
func TigerRaw(t testing.TB) map[string][]float64 {
	t.Helper()
	var file struct {
		Series map[string][]float64 `json:"series"`
	}
	if err := json.Unmarshal(tigerbeetle, &file); err != nil {
		t.Fatal(err)
	}
	return file.Series
}

// Tiger returns the first 120 runs of TigerBeetle, where changes are known.
func Tiger(t testing.TB) []Series {
	t.Helper()
	raw := TigerRaw(t)
	var out []Series
	for _, s := range []Series{
		{Name: "load_accepted", Truth: []int{15, 61, 71, 95}},
		{Name: "duration", Truth: []int{15, 61, 71, 95}},
		{Name: "transfer_p90", Truth: []int{15, 61, 71, 95}},
		{Name: "transfer_p50", Truth: []int{11, 15, 61, 71, 95}},
		{Name: "batch_p50", Truth: []int{11, 15, 61, 95}},
		{Name: "batch_p90", Truth: []int{11, 15, 61, 71, 95}},
	} {
		for _, v := range raw[s.Name][:120] {
			s.Values = append(s.Values, math.Log(v))
		}
		out = append(out, s)
	}
	return out
}

// Tally counts what was found of what is there.
type Tally struct{ Right, Wrong, Missed int }

// Add adds what another series' count is.
func (t *Tally) Add(o Tally) {
	t.Right, t.Wrong, t.Missed = t.Right+o.Right, t.Wrong+o.Wrong, t.Missed+o.Missed
}

// Precision is the share of the found points that are right; 1 where none was found.
func (t Tally) Precision() float64 { return share(t.Right, t.Wrong) }

// Recall is the share of the changes that were found; 1 where there are none.
func (t Tally) Recall() float64 { return share(t.Right, t.Missed) }

// F1 is the harmonic mean of precision and recall.
func (t Tally) F1() float64 { return share(2*t.Right, t.Wrong+t.Missed) }

func share(part, rest int) float64 {
	if part+rest == 0 {
		return 1
	}
	return float64(part) / float64(part+rest)
}

// Score matches found points with changes, each with one at most, the nearest pairs first.
func Score(found, truth []int) (t Tally) {
	type pair struct{ distance, found, truth int }
	var pairs []pair
	for i, f := range found {
		for j, w := range truth {
			if d := max(f-w, w-f); d <= Tolerance {
				pairs = append(pairs, pair{d, i, j})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return a.distance - b.distance })
	usedFound, usedTruth := map[int]bool{}, map[int]bool{}
	for _, p := range pairs {
		if !usedFound[p.found] && !usedTruth[p.truth] {
			usedFound[p.found], usedTruth[p.truth] = true, true
			t.Right++
		}
	}
	t.Wrong, t.Missed = len(found)-t.Right, len(truth)-t.Right
	return t
}
