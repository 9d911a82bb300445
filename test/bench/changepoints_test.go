package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"pawl/internal/trend"
	"pawl/internal/trend/known"
)

// changePointSets returns the real series, and noise with changes put in.
func changePointSets(b *testing.B) []known.Set {
	b.Helper()
	tiger := known.Tiger(b)
	sets := []known.Set{{Name: "TigerBeetle, the metric described", Series: tiger[:1]}, {Name: "TigerBeetle, six metrics", Series: tiger}}
	return append(sets, known.Injected(b, 1)...)
}

// BenchmarkChangePoints scores change points by pawl, by plain thresholds and, where PAWL_CHANGEPOINTS names a Python that
// has them, by apache-otava and ruptures, on the same series.
func BenchmarkChangePoints(b *testing.B) {
	sets := changePointSets(b)
	var series [][]float64
	for _, set := range sets {
		for _, s := range set.Series {
			series = append(series, s.Values)
		}
	}
	for b.Loop() {
		found, seconds := rivalChangePoints(b, series)
		order := slices.Sorted(maps.Keys(found))
		for _, own := range []struct {
			name string
			find func([]float64) []int
		}{{"3% of the last ten", known.OfLastTen}, {"10% of the previous", known.OfPrevious}, {"pawl", ownChangePoints}} {
			began := time.Now()
			for _, s := range series {
				found[own.name] = append(found[own.name], own.find(s))
			}
			seconds[own.name] = time.Since(began).Seconds()
			order = slices.Insert(order, 0, own.name)
		}
		for _, name := range order {
			at := 0
			for _, set := range sets {
				var t known.Tally
				for _, s := range set.Series {
					t.Add(known.Score(found[name][at], s.Truth))
					at++
				}
				b.Logf("| %s | %s | %d | %d | %d | %.3f | %.3f | %.3f |", set.Name, name, t.Right, t.Wrong, t.Missed, t.Precision(), t.Recall(), t.F1())
			}
			b.Logf("| %s | %.2f s for %d series |", name, seconds[name], len(series))
		}
	}
}

func ownChangePoints(values []float64) (found []int) {
	for _, c := range trend.Detect(values, nil).Changes {
		found = append(found, c.At)
	}
	return found
}

// rivalChangePoints returns what other programs find, by their names.
func rivalChangePoints(b *testing.B, series [][]float64) (found map[string][][]int, seconds map[string]float64) {
	b.Helper()
	python := os.Getenv("PAWL_CHANGEPOINTS")
	if err := exec.Command(python, "-c", "import otava, ruptures").Run(); err != nil {
		b.Logf("without apache-otava and ruptures: PAWL_CHANGEPOINTS=%s names no Python that has them: %v", python, err)
		return map[string][][]int{}, map[string]float64{}
	}
	text, err := json.Marshal(series)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(python, "changepoints/rivals.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s changepoints/rivals.py: %v", python, err)
	}
	var answer struct {
		Found   map[string][][]int `json:"found"`
		Seconds map[string]float64 `json:"seconds"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		b.Fatal(fmt.Errorf("what changepoints/rivals.py wrote: %w", err))
	}
	return answer.Found, answer.Seconds
}
