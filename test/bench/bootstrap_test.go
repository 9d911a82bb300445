package bench

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pawl/internal/stat"
)

const scipyBootstrap = `
import json, sys, time, numpy as np, scipy
from scipy.stats import bootstrap
x = np.array(json.load(sys.stdin))
best = 1e9
for i in range(5):
    start = time.perf_counter()
    r = bootstrap((x,), np.median, n_resamples=10000, confidence_level=0.95, method="percentile", random_state=42)
    best = min(best, time.perf_counter() - start)
print(json.dumps({"seconds": best, "low": r.confidence_interval.low, "high": r.confidence_interval.high, "version": scipy.__version__}))
`

// The bootstrap of 100 samples beside SciPy's, in one run. PAWL_SCIPY names a
// Python that has it.
func BenchmarkBootstrapBesideSciPy(b *testing.B) {
	python := os.Getenv("PAWL_SCIPY")
	if python == "" {
		python = "python3"
	}
	source := rand.New(rand.NewPCG(1, 2))
	samples := make([]float64, 100)
	for i := range samples {
		samples[i] = 50e-6 * (1 + 0.01*source.NormFloat64())
	}
	raw, err := json.Marshal(samples)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(python, "-c", scipyBootstrap)
	cmd.Stdin = strings.NewReader(string(raw))
	out, err := cmd.Output()
	if err != nil {
		b.Skipf("%s has no SciPy: %v", python, err)
	}
	var theirs struct {
		Seconds, Low, High float64
		Version            string
	}
	if err := json.Unmarshal(out, &theirs); err != nil {
		b.Fatal(err)
	}
	var low, high float64
	start := time.Now()
	n := 0
	for b.Loop() {
		low, high = stat.BootstrapMedian(samples, stat.BootstrapResamples, stat.BootstrapSeed)
		n++
	}
	each := time.Since(start).Seconds() / float64(n)
	if low > theirs.High || high < theirs.Low {
		b.Fatalf("[%g, %g], SciPy %s says [%g, %g]", low, high, theirs.Version, theirs.Low, theirs.High)
	}
	b.ReportMetric(theirs.Seconds*1e3, "scipy-ms")
	b.ReportMetric(theirs.Seconds/each, "x-scipy")
	start = time.Now()
	const rounds = 200
	for range rounds {
		stat.BootstrapMedianExact(samples)
	}
	b.ReportMetric(theirs.Seconds/(time.Since(start).Seconds()/rounds), "x-scipy-closed-form")
}
