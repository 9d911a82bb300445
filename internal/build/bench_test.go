package build

import (
	"context"
	"runtime"
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

// cpuTime is what this process and the compilers it started have used.
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
