package build

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// benchProject has a kernel of twelve variants that takes a compiler a while.
func benchProject(b *testing.B) *project {
	return newProject(b, map[string]string{
		"pawl.yaml": yaml("k.c", "entry: run", "params: {TILE: [2, 4, 8, 16], UNROLL: [1, 2, 4]}"),
		"k.c": `#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define BODY(name, f) \
  static void name(float *restrict x, int64_t n) { \
    for (int64_t i = 0; i + TILE * UNROLL <= n; i += TILE * UNROLL) { \
      float t[TILE * UNROLL]; \
      for (int u = 0; u < UNROLL; u++) \
        for (int j = 0; j < TILE; j++) t[u * TILE + j] = f(x[i + u * TILE + j]) * j + u; \
      for (int j = 0; j < TILE * UNROLL; j++) x[i + j] += t[TILE * UNROLL - 1 - j]; \
    } \
  }
BODY(a, sinf) BODY(b, cosf) BODY(c, expf) BODY(d, sqrtf) BODY(e, fabsf) BODY(g, tanhf)
void run(float *x, int64_t n) { a(x, n); b(x, n); c(x, n); d(x, n); e(x, n); g(x, n); }
`,
	})
}

// BenchmarkRebuildUnchanged is what a new process does when nothing changed.
func BenchmarkRebuildUnchanged(b *testing.B) {
	p := benchProject(b)
	requests := p.requests()
	cacheDir := b.TempDir()
	build := func() {
		builder, err := New(Options{CacheDir: cacheDir, NoCcache: true})
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range builder.Build(context.Background(), requests) {
			if o.Fault != nil {
				b.Fatal(o.Fault, o.Output)
			}
		}
	}
	build()
	for b.Loop() {
		build()
	}
}

// BenchmarkColdBuild also reports how busy all cores were, on a machine that
// has nothing else to do.
func BenchmarkColdBuild(b *testing.B) {
	p := benchProject(b)
	requests := p.requests()
	before, began := cpuTime(b), time.Now()
	for b.Loop() {
		builder, err := New(Options{CacheDir: b.TempDir(), NoCcache: true})
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range builder.Build(context.Background(), requests) {
			if o.Fault != nil {
				b.Fatal(o.Fault, o.Output)
			}
		}
	}
	busy := (cpuTime(b) - before).Seconds() / time.Since(began).Seconds() / float64(runtime.GOMAXPROCS(0))
	b.ReportMetric(100*busy, "%busy")
}

// cpuTime returns what this process and the compilers it started have used.
func cpuTime(b *testing.B) time.Duration {
	var total int64
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		total += usage.Utime.Nano() + usage.Stime.Nano()
	}
	return time.Duration(total)
}

// BenchmarkSandbox is what the sandbox adds to one run of a compiler: with and
// without it in turns, and the median of the differences.
func BenchmarkSandbox(b *testing.B) {
	b.Setenv("PAWL_NVRTC", "")
	for name, text := range map[string]string{
		"k.c":   plainSource,
		"k.cpp": "#include <algorithm>\n#include <string>\n#include <vector>\nextern \"C\" " + strings.Replace(plainSource, "#include <stdint.h>\n", "", 1),
		"k.cu":  scale,
	} {
		b.Run(name, func(b *testing.B) {
			described, object := yaml(name, "entry: run"), "-c"
			if name == "k.cu" {
				described, object = strings.Replace(strings.Replace(cudaYAML, "[64, 32]", "[64]", 1), "ENTRY", "scale", 1), "-cubin"
			}
			p := newProject(b, map[string]string{"pawl.yaml": described, name: strings.ReplaceAll(text, "int64_t", "long")})
			var runs []*batch
			var recipes []*recipe
			for _, mode := range []string{"off", "require"} {
				builder, err := New(Options{CacheDir: b.TempDir(), NoCcache: true, Arch: "sm_90a", Sandbox: mode})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := builder.nvcc.locate(); err != nil && name == "k.cu" {
					b.Skipf("no nvcc: %v (NVCC names one)", err)
				}
				r, fault := builder.recipe(context.Background(), p.requests()[0])
				if fault != nil {
					b.Fatal(fault)
				}
				run := builder.newBatch(b.Context())
				defer run.cleanUp()
				runs, recipes = append(runs, run), append(recipes, r)
			}
			var without, added []float64
			for b.Loop() {
				var took [2]float64
				for i, run := range runs {
					dir, fault := run.tempDir()
					if fault != nil {
						b.Fatal(fault)
					}
					c := run.command(recipes[i], dir, "compiling", true, slices.Concat(recipes[i].compile, []string{object, name, "-o", filepath.Join(dir, "k.o")}))
					began := time.Now()
					if output, fault := c.run(context.Background()); fault != nil {
						b.Fatal(fault, output)
					}
					took[i] = 1e3 * time.Since(began).Seconds()
				}
				without, added = append(without, took[0]), append(added, took[1]-took[0])
			}
			slices.Sort(without)
			slices.Sort(added)
			b.ReportMetric(without[len(without)/2], "ms-without")
			b.ReportMetric(added[len(added)/2], "ms-added")
		})
	}
}

// BenchmarkSandboxRuntime is what it takes to have NVRTC in a child of its own: for a
// build of one variant, which starts the child, in turns with one in this process.
func BenchmarkSandboxRuntime(b *testing.B) {
	b.Setenv("NVCC", "")
	p := newProject(b, map[string]string{
		"pawl.yaml": strings.Replace(strings.Replace(cudaYAML, "[64, 32]", "[64]", 1), "ENTRY", "scale", 1), "k.cu": "#include <cuda_fp16.h>\n" + scale,
	})
	requests := p.requests()
	build := func(mode string) float64 {
		builder, err := New(Options{CacheDir: b.TempDir(), NoCcache: true, Arch: "sm_90a", Sandbox: mode})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := builder.runtime(); err != nil || os.Getenv("PAWL_NVRTC") == "" {
			b.Skipf("no NVRTC: %v (PAWL_NVRTC names its folder)", err)
		}
		began := time.Now()
		if o := builder.Build(context.Background(), requests)[0]; o.Fault != nil {
			b.Fatal(o.Fault, o.Output)
		}
		return 1e3 * time.Since(began).Seconds()
	}
	var without, added []float64
	for b.Loop() {
		before := build("off")
		without, added = append(without, before), append(added, build("require")-before)
	}
	slices.Sort(without)
	slices.Sort(added)
	b.ReportMetric(without[len(without)/2], "ms-without")
	b.ReportMetric(added[len(added)/2], "ms-added")
}
