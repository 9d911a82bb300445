package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pawl/internal/trend"
	"pawl/internal/trend/known"
)

// BenchmarkChangePoints scores change points by pawl, by plain thresholds and, where PAWL_CHANGEPOINTS names a Python that
// has them, by apache-otava and ruptures, on the same series: a real one, and noise with changes put in. A found point counts
// within 5 positions.
func BenchmarkChangePoints(b *testing.B) {
	tiger := known.Tiger(b)
	sets := append([]known.Set{{Name: "TigerBeetle, the metric described", Series: tiger[:1]}, {Name: "TigerBeetle, six metrics", Series: tiger}}, known.Injected(b, 1)...)
	var series [][]float64
	for _, set := range sets {
		for _, s := range set.Series {
			series = append(series, s.Values)
		}
	}
	play := func(name string, find func(*testing.B) ([][]int, float64)) {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				found, seconds := find(b)
				for _, set := range sets {
					var t known.Tally
					for i, s := range set.Series {
						t.Add(known.Score(found[i], s.Truth))
					}
					found = found[len(set.Series):]
					b.Logf("| %s | %s | %d right, %d wrong, %d missed | %.3f | %.3f | %.3f |", set.Name, name, t.Right, t.Wrong, t.Missed, t.Precision(), t.Recall(), t.F1())
				}
				b.ReportMetric(1000*seconds/float64(len(series)), "ms/series")
			}
		})
	}
	for _, own := range []struct {
		name string
		find func([]float64) []int
	}{{"pawl", ownChangePoints}, {"10% of the previous", known.OfPrevious}, {"3% of the last ten", known.OfLastTen}} {
		play(own.name, func(*testing.B) (found [][]int, seconds float64) {
			began := time.Now()
			for _, s := range series {
				found = append(found, own.find(s))
			}
			return found, time.Since(began).Seconds()
		})
	}
	python := os.Getenv("PAWL_CHANGEPOINTS")
	methods, err := exec.Command(python, "changepoints/rivals.py").Output()
	if err != nil {
		b.Logf("without apache-otava and ruptures: PAWL_CHANGEPOINTS=%s names no Python that has them: %v", python, err)
		return
	}
	for method := range strings.Lines(string(methods)) {
		method = strings.TrimSpace(method)
		play(method, func(b *testing.B) ([][]int, float64) { return rivalChangePoints(b, python, method, series) })
	}
}

func ownChangePoints(values []float64) (found []int) {
	for _, c := range trend.Detect(values, nil).Changes {
		found = append(found, c.At)
	}
	return found
}

// rivalChangePoints returns what another program finds.
func rivalChangePoints(b *testing.B, python, method string, series [][]float64) ([][]int, float64) {
	b.Helper()
	text, err := json.Marshal(series)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(python, "changepoints/rivals.py", method)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s changepoints/rivals.py: %v", python, err)
	}
	var answer struct {
		Found   [][]int `json:"found"`
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Found) != len(series) {
		b.Fatalf("what changepoints/rivals.py wrote about %d series: %d answers, %v", len(series), len(answer.Found), err)
	}
	return answer.Found, answer.Seconds
}
