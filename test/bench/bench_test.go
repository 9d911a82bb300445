// Package bench measures the claims of docs/performance.md about the shipped binary as a whole.
// PAWL_BIN names the binary; `make bench` builds it.
package bench

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/stat"
)

func pawl(b *testing.B) string {
	b.Helper()
	bin := os.Getenv("PAWL_BIN")
	if bin == "" {
		b.Skip("PAWL_BIN names no binary; `make bench` builds it")
	}
	return bin
}

// project is a folder with one kernel of twelve variants.
type project struct {
	dir string
	env []string
}

// kernel is slow enough to compile that the compiler, not pawl, is what takes
// time in a cold build.
const kernel = `#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define BODY(n) static float f##n(float x) { for (int i = 0; i < TILE; i++) x = sinf(x) * x + STEP * (float)n; return x; }
BODY(0) BODY(1) BODY(2) BODY(3) BODY(4) BODY(5) BODY(6) BODY(7)
void scale(const float *in, float *out, long n) {
    for (long i = 0; i < n; i++)
        out[i] = f0(in[i]) + f1(in[i]) + f2(in[i]) + f3(in[i]) + f4(in[i]) + f5(in[i]) + f6(in[i]) + f7(in[i]);
}
`

const yaml = `version: 1
kernels:
  scale:
    source: scale.c
    entry: scale
    params: {TILE: [8, 16, 32, 64], STEP: [1, 2, 3]}
    args:
      - {name: in, dtype: f32, shape: [N]}
      - {name: out, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i64, value: N}
configs: {small: {N: 1000}}
`

func newProject(b *testing.B) *project {
	b.Helper()
	p := &project{dir: b.TempDir()}
	p.env = append(os.Environ(), "XDG_CACHE_HOME="+b.TempDir(), "CCACHE_DISABLE=1", "NO_COLOR=1")
	for name, text := range map[string]string{"scale.c": kernel, "pawl.yaml": yaml} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return p
}

func (p *project) run(b *testing.B, words ...string) ([]byte, *os.ProcessState) {
	b.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%v: %v\n%s", words, err, out)
	}
	return out, cmd.ProcessState
}

// BenchmarkRebuildUnchanged is `pawl build` of twelve variants when nothing has
// changed, process start included; beside it ninja doing nothing for the same.
func BenchmarkRebuildUnchanged(b *testing.B) {
	bin := pawl(b)
	p := newProject(b)
	p.run(b, bin, "build", "-o", "out")
	b.Run("pawl", func(b *testing.B) {
		for b.Loop() {
			p.run(b, bin, "build")
		}
	})
	if _, err := exec.LookPath("ninja"); err != nil {
		return
	}
	p.run(b, "ninja", "-C", "out")
	b.Run("ninja", func(b *testing.B) {
		for b.Loop() {
			p.run(b, "ninja", "-C", "out")
		}
	})
}

// BenchmarkColdBuild reports how busy a build with an empty cache keeps the cores.
func BenchmarkColdBuild(b *testing.B) {
	bin := pawl(b)
	busy, wall := 0.0, 0.0
	for b.Loop() {
		b.StopTimer()
		p := newProject(b)
		b.StartTimer()
		start := time.Now()
		_, state := p.run(b, bin, "build")
		wall += time.Since(start).Seconds()
		usage := state.SysUsage().(*syscall.Rusage)
		busy += seconds(usage.Utime) + seconds(usage.Stime)
	}
	b.ReportMetric(100*busy/wall/float64(runtime.NumCPU()), "%busy")
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

func (p *project) bench(b *testing.B, bin string, args ...string) *result.Report {
	b.Helper()
	out, _ := p.run(b, append([]string{bin, "bench", "--json"}, args...)...)
	r, err := result.Decode(out)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkFirstSample is the time from the start of the process to the first
// sample in pawl's hands, the artifact being cached.
func BenchmarkFirstSample(b *testing.B) {
	bin := pawl(b)
	p := newProject(b)
	p.bench(b, bin, "--budget", "1ms")
	var first []float64
	for b.Loop() {
		start := time.Now()
		r := p.bench(b, bin, "--budget", "1ms")
		first = append(first, r.Rows[0].Timing.FirstSample.Sub(start).Seconds()*1e3)
	}
	slices.Sort(first)
	b.ReportMetric(first[len(first)/2], "ms/first-sample")
	b.ReportMetric(first[len(first)-1], "ms/first-sample-worst")
}

// BenchmarkSandboxRatio measures the same kernel with and without the sandbox,
// taking turns, and reports the median ratio of the medians and its interval.
func BenchmarkSandboxRatio(b *testing.B) {
	bin := pawl(b)
	p := newProject(b)
	args := []string{"--budget", "300ms", "--cache", "hot"}
	p.bench(b, bin, args...)
	var ratios []float64
	for b.Loop() {
		inside := func() float64 {
			return p.bench(b, bin, append(args, "--require-sandbox")...).Rows[0].Timing.Stats.Median
		}
		outside := func() float64 { return p.bench(b, bin, append(args, "--no-sandbox")...).Rows[0].Timing.Stats.Median }
		var with, without float64
		if len(ratios)%2 == 0 {
			with, without = inside(), outside()
		} else {
			without, with = outside(), inside()
		}
		ratios = append(ratios, with/without)
	}
	low, high, _ := stat.MedianCI(ratios)
	b.ReportMetric(stat.Median(ratios), "in/out")
	b.ReportMetric(low, "in/out-low")
	b.ReportMetric(high, "in/out-high")
}

// BenchmarkDoctor is here because people wait for it.
func BenchmarkDoctor(b *testing.B) {
	bin := pawl(b)
	p := newProject(b)
	for b.Loop() {
		out, _ := p.run(b, bin, "doctor", "--json")
		if !json.Valid(out) {
			b.Fatal("doctor --json printed something else")
		}
	}
}
