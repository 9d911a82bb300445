package stat

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// series returns a skewed, unordered set of times that NumPy makes in one line:
//
//	i = np.arange(n); x = (i*7919 % 1009)/1009.0; samples = 50e-6*(1 + x*x)
func series(n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		x := float64(i*7919%1009) / 1009.0
		s[i] = 50e-6 * (1 + x*x)
	}
	return s
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-13*math.Abs(b) }

// The expected values are NumPy 2.4's np.median, mean, std(ddof=1), min and
// percentile of the series, and for the interval SciPy 1.17's
// quantile_test(x, q=np.median(x), p=0.5).confidence_interval(0.95), which for
// fewer than six samples does not exist: there, the range.
func TestSummarizeAgainstNumPy(t *testing.T) {
	for _, test := range []struct {
		n    int
		want Summary
	}{
		{0, Summary{}},
		{1, Summary{1, 5e-05, 5e-05, 5e-05, 5e-05, 0, 5e-05, 5e-05, 5e-05, 5e-05, 0}},
		{2, Summary{2, 6.799306734925807e-05, 5e-05, 8.598613469851613e-05, 6.799306734925807e-05, 2.544603987401327e-05, 5e-05, 6.799306734925807e-05, 8.418682796359033e-05, 8.562627335153097e-05, 0.3742446232540932}},
		{3, Summary{3, 7.427159528564034e-05, 5e-05, 8.598613469851613e-05, 7.008590999471884e-05, 1.835457555082422e-05, 5e-05, 7.427159528564034e-05, 8.481468075722856e-05, 8.575184391025862e-05, 0.2618868122309789}},
		{7, Summary{7, 5.774049412571298e-05, 5e-05, 8.598613469851613e-05, 6.231217639573164e-05, 1.3615717180381227e-05, 5e-05, 5.774049412571298e-05, 8.247177287465339e-05, 8.528326233374358e-05, 0.2185081306406415}},
		{100, Summary{100, 6.282437252045762e-05, 5.774049412571298e-05, 6.815494052044975e-05, 6.695445205243984e-05, 1.5247033000480417e-05, 5e-05, 6.282437252045762e-05, 9.603818360228706e-05, 9.921421969371789e-05, 0.22772246703682508}},
		{1001, Summary{1001, 6.252478928493902e-05, 6.103428902022531e-05, 6.4109682824844e-05, 6.666792868003774e-05, 1.4904396867928084e-05, 5e-05, 6.252478928493902e-05, 9.507323091188227e-05, 9.891575424745183e-05, 0.22356172095070476}},
	} {
		got, want := Summarize(series(test.n)), test.want
		if got.Count != want.Count {
			t.Errorf("n=%d: count %d, want %d", test.n, got.Count, want.Count)
		}
		for _, field := range []struct {
			name      string
			got, want float64
		}{
			{"median", got.Median, want.Median},
			{"low", got.Low, want.Low},
			{"high", got.High, want.High},
			{"mean", got.Mean, want.Mean},
			{"std", got.Std, want.Std},
			{"min", got.Min, want.Min},
			{"p50", got.P50, want.P50},
			{"p95", got.P95, want.P95},
			{"p99", got.P99, want.P99},
			{"cv", got.CV, want.CV},
		} {
			if !near(field.got, field.want) {
				t.Errorf("n=%d: %s is %v, want %v", test.n, field.name, field.got, field.want)
			}
		}
	}
}

// np.percentile([3, 1, 4, 1, 5, 9, 2, 6], p), equal to the last bit.
func TestPercentileAgainstNumPy(t *testing.T) {
	samples := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	for p, want := range map[float64]float64{
		0: 1, 1: 1, 25: 1.75, 33: 2.31, 50: 3.5, 66.7: 4.6690000000000005,
		75: 5.25, 90: 6.8999999999999995, 99: 8.79, 100: 9,
	} {
		if got := Percentile(samples, p); got != want {
			t.Errorf("percentile %v is %v, want %v", p, got, want)
		}
	}
	for _, p := range []float64{-1, 100.5, math.NaN()} {
		if got := Percentile(samples, p); !math.IsNaN(got) {
			t.Errorf("percentile %v is %v, want NaN", p, got)
		}
	}
}

func TestFewSamples(t *testing.T) {
	for name, got := range map[string]float64{
		"Median":     Median(nil),
		"Mean":       Mean(nil),
		"Percentile": Percentile(nil, 50),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s of nothing is %v, want NaN", name, got)
		}
	}
	if Std(nil) != 0 || Std([]float64{3}) != 0 {
		t.Error("one sample shows a spread")
	}
	if got := Median([]float64{3, 1}); got != 2 {
		t.Errorf("median of 3, 1 is %v", got)
	}
}

func TestNaNIsRejected(t *testing.T) {
	samples := append(series(20), math.NaN())
	low, high, ok := MedianCI(samples)
	if ok {
		t.Error("an interval was found in spite of a NaN")
	}
	s := Summarize(samples)
	for name, got := range map[string]float64{
		"Median": Median(samples), "Mean": Mean(samples), "Std": Std(samples),
		"Percentile": Percentile(samples, 10), "HalfWidth": HalfWidth(samples),
		"Std of one": Std([]float64{math.NaN()}), "low": low, "high": high,
		"Summary.Median": s.Median, "Summary.Low": s.Low, "Summary.High": s.High, "Summary.Mean": s.Mean,
		"Summary.Std": s.Std, "Summary.Min": s.Min, "Summary.P50": s.P50, "Summary.P95": s.P95,
		"Summary.P99": s.P99, "Summary.CV": s.CV,
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s is %v, want NaN", name, got)
		}
	}
	if s.Count != 21 {
		t.Errorf("count is %d, want 21", s.Count)
	}
}

func TestCheck(t *testing.T) {
	if err := Check(series(10)); err != nil {
		t.Error(err)
	}
	err := Check([]float64{1, math.NaN(), math.Inf(1)})
	if err == nil || err.Error() != "sample 1 of 3 is NaN, not a finite number" {
		t.Errorf("got %v", err)
	}
	if err := Check([]float64{math.Inf(-1)}); err == nil {
		t.Error("an infinite sample passed")
	}
}

var times = rapid.SliceOfN(rapid.Float64Range(1e-9, 1e3), 1, 200)

func TestSummaryProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := times.Draw(t, "samples")
		before := slices.Clone(samples)
		s := Summarize(samples)
		if !slices.Equal(samples, before) {
			t.Fatal("the samples were modified")
		}
		if !(s.Min <= s.Low && s.Low <= s.Median && s.Median <= s.High) {
			t.Fatalf("out of order: %+v", s)
		}
		if !(s.Median <= s.P95 && s.P95 <= s.P99 && s.P99 <= slices.Max(samples)) {
			t.Fatalf("out of order: %+v", s)
		}
		if s.Median != Median(samples) || s.P95 != Percentile(samples, 95) || s.P99 != Percentile(samples, 99) {
			t.Fatal("summary and functions disagree")
		}
		low, high, _ := MedianCI(samples)
		if s.Low != low || s.High != high {
			t.Fatal("summary and MedianCI disagree")
		}

		shuffled := rapid.Permutation(samples).Draw(t, "shuffled")
		if again := Summarize(shuffled); again != s {
			t.Fatalf("the order of samples matters:\n%+v\n%+v", s, again)
		}

		// A power of two scales exactly.
		for i := range shuffled {
			shuffled[i] *= 4
		}
		scaled := Summarize(shuffled)
		if scaled.Median != 4*s.Median || scaled.Mean != 4*s.Mean || scaled.Std != 4*s.Std || scaled.CV != s.CV {
			t.Fatalf("does not scale:\n%+v\n%+v", s, scaled)
		}
	})
}

func TestEqualSamplesHaveNoSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-9, 1e3).Draw(t, "x")
		samples := slices.Repeat([]float64{x}, rapid.IntRange(1, 50).Draw(t, "n"))
		s := Summarize(samples)
		if s.Mean != x || s.Median != x || s.P99 != x || s.Std != 0 || s.CV != 0 {
			t.Fatalf("%d times %v: %+v", len(samples), x, s)
		}
	})
}

func BenchmarkSummarize(b *testing.B) {
	samples := series(1000)
	for b.Loop() {
		Summarize(samples)
	}
}
