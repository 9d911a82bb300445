package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/spec"
)

// drive builds a kernel and runs a C program that loads the artifact and checks what it does. The
// program has load(name), which finds an exported symbol, and check(condition).
func drive(t *testing.T, files map[string]string, program string) {
	t.Helper()
	p := newProject(t, files)
	a := p.artifact(newBuilder(t))
	dir := t.TempDir()
	so, source, driver := filepath.Join(dir, "artifact.so"), filepath.Join(dir, "driver.c"), filepath.Join(dir, "driver")
	text := `#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *library;
static void *load(const char *name) { return dlsym(library, name); }
#define check(c) do { if (!(c)) { printf("line %d: %s\n", __LINE__, #c); failed = 1; } } while (0)
static int failed;
typedef void run_t(void *const *, int64_t);
#line 1 "program"
static void program(void) {` + program + `}
int main(int argc, char **argv) {
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) { puts(dlerror()); return 1; }
  program();
  return failed;
}
`
	for path, content := range map[string][]byte{so: content(t, a), source: []byte(text)} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, dir, "cc", "-O1", "-o", driver, source, "-ldl", "-lm")
	mustRun(t, dir, driver, so)
}

// More arguments than there are registers of either kind, of every type, and a
// second launch that takes some of them in another order.
func TestRunPassesEveryArgument(t *testing.T) {
	t.Parallel()
	drive(t, map[string]string{
		"pawl.yaml": `version: 1
kernels:
  k:
    source: k.c
    launches:
      - {entry: fill}
      - {entry: scale, args: [u8, f64, out, count]}
      - {entry: scale, args: [u8, f64, out, count]}
    args:
      - {name: out, dtype: f64, shape: [N], role: out}
      - {name: f32, dtype: f32, value: "1.5"}
      - {name: i8, dtype: i8, value: "-8"}
      - {name: f64, dtype: f64, value: "2.5"}
      - {name: u8, dtype: u8, value: "200"}
      - {name: i16, dtype: i16, value: "-300"}
      - {name: u16, dtype: u16, value: "60000"}
      - {name: f0, dtype: f32, value: "0.5"}
      - {name: i32, dtype: i32, value: "-70000"}
      - {name: u32, dtype: u32, value: "4000000000"}
      - {name: count, dtype: i32, shape: [1], role: inout}
      - {name: i64, dtype: i64, value: "-5000000000"}
      - {name: f1, dtype: f32, value: "1.25"}
      - {name: f2, dtype: f64, value: "2.25"}
      - {name: f3, dtype: f32, value: "3.25"}
      - {name: f4, dtype: f64, value: "4.25"}
      - {name: f5, dtype: f32, value: "5.25"}
      - {name: u64, dtype: u64, value: "9"}
      - {name: f6, dtype: f64, value: "6.25"}
      - {name: f7, dtype: f32, value: "7.25"}
configs:
  small: {N: 19}
`,
		"k.c": `#include <stdint.h>
void fill(double *out, float f32, int8_t i8, double f64, uint8_t u8, int16_t i16, uint16_t u16, float f0, int32_t i32,
          uint32_t u32, int32_t *count, int64_t i64, float f1, double f2, float f3, double f4, float f5, uint64_t u64,
          double f6, float f7) {
  double all[] = {f32, i8, f64, u8, i16, u16, f0, i32, u32, i64, f1, f2, f3, f4, f5, u64, f6, f7};
  for (int i = 0; i < 18; i++) out[i] = all[i];
  out[18] = 1;
  count[0]++;
}
int scale(uint8_t u8, double f64, double *out, int32_t *count) { out[18] *= u8 * f64; return count[0] += 100; }
`,
	}, `
  double out[19] = {0};
  int32_t count = 0;
  float f32 = 1.5, f0 = 0.5, f1 = 1.25, f3 = 3.25, f5 = 5.25, f7 = 7.25;
  double f64 = 2.5, f2 = 2.25, f4 = 4.25, f6 = 6.25;
  int8_t i8 = -8; uint8_t u8 = 200; int16_t i16 = -300; uint16_t u16 = 60000;
  int32_t i32 = -70000; uint32_t u32 = 4000000000u; int64_t i64 = -5000000000; uint64_t u64 = 1ull << 63;
  void *slots[] = {out, &f32, &i8, &f64, &u8, &i16, &u16, &f0, &i32, &u32, &count, &i64, &f1, &f2, &f3, &f4, &f5, &u64,
                   &f6, &f7};
  double want[] = {1.5, -8, 2.5, 200, -300, 60000, 0.5, -70000, 4000000000., -5000000000., 1.25, 2.25, 3.25, 4.25, 5.25,
                   9223372036854775808., 6.25, 7.25, 500 * 500};
  run_t *run = load("pawl_run");
  run(slots, 0);
  check(count == 0 && out[0] == 0);
  run(slots, 1);
  for (int i = 0; i < 19; i++) if (out[i] != want[i]) { printf("out[%d] is %g, not %g\n", i, out[i], want[i]); failed = 1; }
  check(count == 201);
  run(slots, 9);
  check(count == 2010);
`)
}

func TestShimExports(t *testing.T) {
	t.Parallel()
	drive(t, map[string]string{
		// swab is libc's too: what is called must be the user's.
		"pawl.yaml": yaml("k.c", "entry: swab"),
		"k.c":       "float helper(float x) { return x + 1; }\nvoid swab(float *x, long n) { for (long i = 0; i < n; i++) x[i] = helper(x[i]); }\n",
	}, `
  check(*(const int *)load("pawl_abi") == 2);
  float x[3] = {1, 2, 3};
  int64_t n = 3;
  void *slots[] = {x, &n};
  ((run_t *)load("pawl_run"))(slots, 2);
  check(x[0] == 3 && x[1] == 4 && x[2] == 5);
  check(!load("helper"));

  ((void (*)(int))load("pawl_threads"))(2);
`)
}

// Host code is given no tensor maps; the spec refuses them first.
func TestShimRefusesTensorMaps(t *testing.T) {
	k := &spec.Kernel{Name: "k", Args: []*spec.Arg{{Name: "q_map", TensorMap: &spec.TensorMap{}}}, Launches: []*spec.Launch{{Entry: "k"}}}
	_, host := shimSource(k, []string{"k"})
	_, launcher := launcherShim(k)
	for _, err := range []error{host, launcher} {
		if err == nil || !strings.Contains(err.Error(), "q_map: only a CUDA kernel can be given a tensor map") {
			t.Errorf("%v", err)
		}
	}
}

func TestThreadsReachOpenMP(t *testing.T) {
	t.Parallel()
	drive(t, map[string]string{
		"pawl.yaml": yaml("k.cc", "entry: run", "flags: [-fopenmp]"),
		"k.cc": `#include <omp.h>
void run(float *x, long n) {
  int threads = 0;
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  x[0] = threads;
}
`,
	}, `
  float x[1];
  int64_t n = 1;
  void *slots[] = {x, &n};
  for (int threads = 1; threads <= 3; threads++) {
    ((void (*)(int))load("pawl_threads"))(threads);
    ((run_t *)load("pawl_run"))(slots, 1);
    check(x[0] == threads);
  }
`)
}
