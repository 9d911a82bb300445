package score

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/search"
	"pawl/internal/search/recorded"
	"pawl/internal/space"
)

// spaceOf returns a space of one param with these times; 0 is a failure.
func spaceOf(t interface{ Fatalf(string, ...any) }, times ...float64) *recorded.Space {
	var values, configs, ms []string
	for i, v := range times {
		values = append(values, fmt.Sprint(i))
		configs = append(configs, fmt.Sprintf("[%d]", i))
		if v == 0 {
			ms = append(ms, "null")
		} else {
			ms = append(ms, fmt.Sprint(v))
		}
	}
	list := func(texts []string) string { return "[" + strings.Join(texts, ",") + "]" }
	s, err := recorded.Read(strings.NewReader(fmt.Sprintf(`{"name": "made", "params": ["x"], "values": [%s], "configs": %s, "time": %s}`,
		list(values), list(configs), list(ms))), "made.json")
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s
}

// Of times 1, 2, 4 and a failure, which counts as 4 before anything has succeeded.
func TestExpectationByHand(t *testing.T) {
	truth := NewTruth(spaceOf(t, 4, 0, 1, 2), 5, 0)
	// Two draws, six pairs: three have the 1, two more the 2, and one is 4 with the failure.
	want := []float64{(1 + 2 + 4 + 4) / 4.0, (3*1 + 2*2 + 4) / 6.0, (3*1 + 2) / 4.0, 1, 1}
	for x, w := range want {
		if r := truth.Random(x + 1); math.Abs(r-w) > 1e-12 {
			t.Errorf("after %d evaluations random search is expected to have %v, not %v", x+1, w, r)
		}
	}
	if got := truth.Best([]int{1, 0, 3}); !cmp.Equal(got, []float64{4, 4, 2, 2, 2}) {
		t.Errorf("the best times of the run are %v", got)
	}
	// x = 4 and 5 are left out: random search has the optimum for certain.
	p := ((want[0]-4)/(want[0]-1) + (want[1]-4)/(want[1]-1) + (want[2]-2)/(want[2]-1)) / 3
	if got := truth.P([]int{1, 0, 3}); math.Abs(got-p) > 1e-12 {
		t.Errorf("P = %v: expected %v", got, p)
	}
	if got := truth.P([]int{2}); got != 1 {
		t.Errorf("P = %v: expected 1 for the optimum at once, and an early end", got)
	}
	for x, want := range []float64{0, 0.25, 0.5} {
		if got := truth.Fraction([]int{1, 0, 3}, x+1); got != want {
			t.Errorf("fraction after %d: %v, expected %v", x+1, got, want)
		}
	}
}

func TestToleranceWidensTheOptimum(t *testing.T) {
	s := spaceOf(t, 1, 1.009, 1.5, 3)
	if p := NewTruth(s, 2, 0).P([]int{1}); p >= 1 {
		t.Errorf("P = %v for a setting that is not the optimum", p)
	}
	if p := NewTruth(s, 2, Tolerance).P([]int{1}); p != 1 {
		t.Errorf("P = %v for a setting within the tolerance: expected 1", p)
	}
	if r := NewTruth(s, 4, Tolerance).Random(4); r != 1.01 {
		t.Errorf("random search ends at %v: expected 1.01, which counts as the optimum", r)
	}
	if p := NewTruth(s, 2, Tolerance).P([]int{2}); p >= 1 {
		t.Errorf("P = %v for a setting outside the tolerance", p)
	}
}

// The expectation is the mean over all orders.
func TestExpectationIsTheMeanOverOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, 1.5, 2, 3, 10}), 1, 6).Draw(t, "times")
		times = append(times, 5)
		truth := NewTruth(spaceOf(t, times...), len(times), 0)
		sums, orders := make([]float64, len(times)), 0.0
		var permute func(seq []int, used int)
		permute = func(seq []int, used int) {
			if len(seq) == len(times) {
				orders++
				for x, best := range truth.Best(seq) {
					sums[x] += best
				}
				return
			}
			for i := range times {
				if used&(1<<i) == 0 {
					permute(append(seq, i), used|1<<i)
				}
			}
		}
		permute(nil, 0)
		for x, sum := range sums {
			if r := truth.Random(x + 1); math.Abs(r-sum/orders) > 1e-9 {
				t.Fatalf("after %d of %v: %v, the mean over all orders is %v", x+1, times, r, sum/orders)
			}
		}
	})
}

func given(t testing.TB, names ...string) []*recorded.Space {
	t.Helper()
	var paths []string
	for _, name := range names {
		found, err := filepath.Glob("../recorded/testdata/" + name + ".json.gz")
		if err != nil || len(found) == 0 {
			t.Fatalf("no space %s: %v", name, err)
		}
		paths = append(paths, found...)
	}
	spaces, err := Read(paths)
	if err != nil {
		t.Fatal(err)
	}
	return spaces
}

// The self-test of the scorer: random search is as good as random search.
func TestRandomScoresZero(t *testing.T) {
	spaces := given(t, "*")
	runs, err := Replay(context.Background(), spaces, Options{Strategy: "random", Evals: 200, Seeds: 150})
	if err != nil {
		t.Fatal(err)
	}
	j := JudgeAll(spaces, runs, 200)[0]
	if m := j.Mean; math.Abs(m.P) > 0.05 || m.Low > 0 || m.High < 0 {
		t.Errorf("random search has P = %.3f (%.3f to %.3f) as the mean over %d spaces: expected 0", m.P, m.Low, m.High, m.Spaces)
	}
	for _, r := range j.Spaces {
		t.Logf("%s %.3f (%.3f to %.3f)", r.Space, r.P, r.Low, r.High)
	}
}

// The default strategy is far better than random search, and evolve too: bounds are well below what they reach.
func TestStrategiesBeatRandomSearch(t *testing.T) {
	spaces := given(t, "pnpoly-RTX_3090", "conv21-RTX_3090", "gemm-RTX_Titan")
	for strategy, bound := range map[string]float64{"auto": 0.65, "bayes": 0.6, "evolve": 0.35} {
		runs, err := Replay(context.Background(), spaces, Options{Strategy: strategy, Evals: 120, Seeds: 4})
		if err != nil {
			t.Fatal(err)
		}
		m := JudgeAll(spaces, runs, 120)[0].Mean
		t.Logf("%s: P = %.3f", strategy, m.P)
		if m.P < bound {
			t.Errorf("%s: P = %.3f as the mean over %d spaces: expected at least %.2f", strategy, m.P, m.Spaces, bound)
		}
	}
}

// Eight devices at a time know less when they choose, and lose little by it.
func TestSeveralDevices(t *testing.T) {
	spaces := given(t, "conv21-RTX_3090", "gemm-RTX_Titan")
	runs, err := Replay(context.Background(), spaces, Options{Strategy: search.Default, Evals: 124, Seeds: 4, Devices: 8})
	if err != nil {
		t.Fatal(err)
	}
	m := JudgeAll(spaces, runs, 124)[0].Mean
	t.Logf("P = %.3f", m.P)
	if m.P < 0.55 {
		t.Errorf("P = %.3f with 8 settings at a time: expected at least 0.55", m.P)
	}
	for _, r := range runs {
		if len(r.Seq) != 124 {
			t.Errorf("%s: %d settings were tried: expected 124", r.Space, len(r.Seq))
		}
	}
}

// Points to begin with are the first that are tried.
func TestReplayBeginsWithGivenPoints(t *testing.T) {
	spaces := given(t, "pnpoly-RTX_3090")
	first := func(s *recorded.Space) []space.Point { return []space.Point{s.At(77), s.At(3)} }
	runs, err := Replay(context.Background(), spaces, Options{Strategy: search.Default, Evals: 5, Seeds: 1, First: first})
	if err != nil {
		t.Fatal(err)
	}
	if seq := runs[0].Seq; !cmp.Equal(seq[:2], []int{77, 3}) {
		t.Errorf("the run begins with %v: expected 77 and 3", seq)
	}
}

func TestReplayStopsWhenItIsToldTo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Replay(ctx, given(t, "pnpoly-RTX_3090"), Options{Strategy: "random", Evals: 10, Seeds: 3}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v: expected that of the context", err)
	}
	if _, err := Replay(context.Background(), given(t, "pnpoly-RTX_3090"), Options{Strategy: "luck", Evals: 10, Seeds: 3}); err == nil || !strings.Contains(err.Error(), "luck") {
		t.Errorf("error %v: expected one that names the strategy", err)
	}
}

func TestTraceIsReadAsItWasWritten(t *testing.T) {
	spaces := given(t, "pnpoly-RTX_3090")
	runs, err := Replay(context.Background(), spaces, Options{Strategy: "evolve", Evals: 30, Seeds: 3})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := WriteTrace(&text, runs); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(text.String(), "\n"); !strings.HasPrefix(first, `{"space":"pnpoly-RTX_3090","strategy":"evolve","seed":1,"seq":[`) {
		t.Errorf("a trace begins %.80s", first)
	}
	again, err := ReadTrace(strings.NewReader(text.String()), "t.jsonl", spaces)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(runs, again); diff != "" {
		t.Error(diff)
	}
}

func TestTraceErrorsSayWhere(t *testing.T) {
	spaces := []*recorded.Space{spaceOf(t, 1, 2, 3)}
	for text, want := range map[string]string{
		"{}\n":                                     `t.jsonl:1: space "" is not among those given`,
		"\n{\"space\":\"other\"}":                  `t.jsonl:2: space "other" is not among those given`,
		`{"space":"made","seq":[0,3]}`:             "t.jsonl:1: seq: 3: expected the number of one of the 3 settings",
		`{"space":"made","seq":[-1]}`:              "t.jsonl:1: seq: -1",
		`{"space":"made","seq":[2,0,2]}`:           "t.jsonl:1: seq: setting 2 is there twice",
		`{"space":"made","seq":"2"}`:               "t.jsonl:1: expected {",
		"{\"space\":\"made\",\"seq\":[1]}\nseq 2":  "t.jsonl:2: expected {",
		`{"space":"made","seq":[1.5],"strategy":0`: "t.jsonl:1: expected {",
	} {
		_, err := ReadTrace(strings.NewReader(text), "t.jsonl", spaces)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v: expected %q", text, err, want)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	spaces := []*recorded.Space{spaceOf(f, 1, 0, 3)}
	f.Add(`{"space":"made","strategy":"s","seed":1,"seq":[2,1,0]}`)
	f.Add("\n{\"space\":\"made\",\"seq\":[]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		runs, err := ReadTrace(strings.NewReader(text), "t.jsonl", spaces)
		if err != nil && !strings.Contains(err.Error(), "t.jsonl:") {
			t.Fatalf("error %q has no place", err)
		}
		for _, r := range runs {
			Judge(spaces[0], r.Strategy, []*Run{r}, 10)
		}
	})
}

func TestOutliers(t *testing.T) {
	if !IsOutlier(spaceOf(t, 3, 1.07, 1, 0)) || IsOutlier(spaceOf(t, 3, 1.05, 1, 0)) || IsOutlier(spaceOf(t, 1)) {
		t.Error("an optimum is an outlier where the second is more than 6% behind")
	}
	var names []string
	for _, s := range given(t, "*") {
		if IsOutlier(s) {
			names = append(names, s.Name)
		}
	}
	if !cmp.Equal(names, []string{"conv-A100", "pnpoly-RTX_Titan"}) {
		t.Errorf("outliers are %v", names)
	}
}

func TestMeanAndInterval(t *testing.T) {
	spaces := given(t, "pnpoly-RTX_3090", "pnpoly-RTX_2080_Ti")
	runs, err := Replay(context.Background(), spaces, Options{Strategy: "random", Evals: 20, Seeds: 20})
	if err != nil {
		t.Fatal(err)
	}
	runs = append(runs, &Run{Space: spaces[0].Name, Strategy: "other", Seq: []int{0}})
	all := JudgeAll(spaces, runs, 20)
	if len(all) != 2 || all[1].Strategy != "other" || len(all[1].Spaces) != 1 || all[1].Mean.Spaces != 1 {
		t.Fatalf("%d strategies, the second %+v", len(all), all[1])
	}
	m := all[0].Mean
	if want := (all[0].Spaces[0].P + all[0].Spaces[1].P) / 2; math.Abs(m.P-want) > 1e-12 || m.Seeds != 20 || m.Spaces != 2 {
		t.Errorf("mean %+v: expected P = %v of 20 seeds on 2 spaces", m, want)
	}
	for _, r := range append(all[0].Spaces, m) {
		if !(r.Low < r.P && r.P < r.High) {
			t.Errorf("%s: P = %v is outside its interval %v to %v", r.Space, r.P, r.Low, r.High)
		}
	}
	if m.High-m.Low >= all[0].Spaces[0].High-all[0].Spaces[0].Low {
		t.Error("the mean of two spaces is known no better than one of them")
	}
	if one := all[1].Mean; one.Low != one.P || one.High != one.P {
		t.Errorf("one run has the interval %v to %v around %v", one.Low, one.High, one.P)
	}
}
