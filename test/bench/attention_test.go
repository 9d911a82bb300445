package bench

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
)

const numpyAttention = `
import json, sys, time, numpy as np
b, h, s, d = json.loads(sys.argv[1])
q, k, v = np.frombuffer(sys.stdin.buffer.read()).reshape(3, b, h, s, d)
best = 1e9
for i in range(5):
    start = time.perf_counter()
    x = q @ k.swapaxes(-1, -2) * d ** -0.5
    x -= x.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=-1, keepdims=True)
    o = x @ v
    best = min(best, time.perf_counter() - start)
print(json.dumps({"seconds": best, "sample": o.reshape(-1)[::100003].tolist(), "version": np.__version__}))
`

// The attention reference beside NumPy on all cores, float64 in both, in one run.
// PAWL_SCIPY names a Python that has NumPy.
func BenchmarkAttentionBesideNumPy(b *testing.B) {
	python := os.Getenv("PAWL_SCIPY")
	if python == "" {
		python = "python3"
	}
	shape := []int64{4, 8, 512, 64}
	count := shape[0] * shape[1] * shape[2] * shape[3]
	var args []oracle.Value
	var raw strings.Builder
	for i, name := range []string{"q", "k", "v"} {
		data := make([]byte, 8*count)
		oracle.Generate(data, dtype.F64, oracle.Defaults(dtype.F64), uint64(i))
		args = append(args, oracle.Value{Name: name, Role: "in", Type: dtype.F64, Shape: shape, Data: data, Buffer: true})
		raw.Write(data)
	}
	args = append(args, oracle.Value{Name: "out", Role: "out", Type: dtype.F64, Shape: shape, Buffer: true})

	sizes, err := json.Marshal(shape)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(python, "-c", numpyAttention, string(sizes))
	cmd.Stdin = strings.NewReader(raw.String())
	out, err := cmd.Output()
	if err != nil {
		b.Skipf("%s has no NumPy: %v", python, err)
	}
	var theirs struct {
		Seconds float64
		Sample  []float64
		Version string
	}
	if err := json.Unmarshal(out, &theirs); err != nil {
		b.Fatal(err)
	}
	best := math.Inf(1)
	var ours []byte
	for b.Loop() {
		start := time.Now()
		results, err := oracle.Reference("attention", args)
		if err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start).Seconds())
		ours = results[3]
	}
	for i, want := range theirs.Sample {
		got := math.Float64frombits(binary.LittleEndian.Uint64(ours[8*100003*i:]))
		if math.Abs(got-want) > 1e-12 {
			b.Fatalf("element %d is %g, NumPy %s says %g", 100003*i, got, theirs.Version, want)
		}
	}
	b.ReportMetric(best*1e3, "best-ms")
	b.ReportMetric(theirs.Seconds*1e3, "numpy-ms")
	b.ReportMetric(theirs.Seconds/best, "x-numpy")
}
