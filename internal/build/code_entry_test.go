package build

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cubin/cubintest"
)

// manyData and manyKernels are one file: kernels with a neighbour of each kind.
const manyData = `
__constant__ float coefficients[8] = {1, 2, 3};
__device__ int first[4] = {1, 2, 3, 4};
__device__ int second[4] = {5, 6, 7, 8};
__device__ int *pointer = first;
__device__ float zeros[10];
__device__ __noinline__ float slow(float x) { return sqrtf(x) * x / 3.0f; }
__device__ __noinline__ float deep(float x) { return slow(x) + 1; }
__device__ __noinline__ int fib(int n) { int kept[FRAME]; kept[n % FRAME] = n; return n < 2 ? kept[n % FRAME] : fib(n - 1) + fib(n - 2) + kept[n & 1]; }
__device__ float square(float x) { return x * x; }
__device__ float twice(float x) { return x + x; }
typedef float (*function)(float);
__device__ function table[2] = {square, twice};
`

var manyKernels = []string{
	`extern "C" __global__ void plain(float *x, long n) { x[threadIdx.x] = n; }`,
	`extern "C" __global__ void calls(float *x, long n) { x[threadIdx.x] = slow(x[n]); }`,
	`extern "C" __global__ void calls_deep(float *x, long n) { x[threadIdx.x] = deep(x[n]) * 2; }`,
	`extern "C" __global__ void recursive(float *x, long n) { x[threadIdx.x] = fib(n); }`,
	`extern "C" __global__ void tiled(float *x, long n) { __shared__ float tile[64]; tile[threadIdx.x % 64] = x[n]; __syncthreads(); x[threadIdx.x] = tile[n % 64]; }`,
	`extern "C" __global__ void __launch_bounds__(128, 2) bounded(float *x, long n) { x[threadIdx.x] = x[n] + 1; }`,
	`extern "C" __global__ void indirect(float *x, long n) { x[threadIdx.x] = table[n % 2](x[n]); }`,
	`extern "C" __global__ void constants(float *x, long n) { x[threadIdx.x] = coefficients[n % 8] + *pointer + second[n % 4]; zeros[n % 10] = x[1]; }`,
	`extern "C" __global__ void says(float *x, long n) { if (n == 77) printf("%d\n", (int)n); x[n] = 0; }`,
	`extern "C" __global__ void switches(float *x, long n) { switch (n) { case 1: x[1] = 2; break; case 2: x[7] = 3; break; case 3: x[9] = x[2] / 3; break; case 4: x[3] = 1; break; case 5: x[5] = x[6] * 7; break; } }`,
	`template <int N> __global__ void instance(float *x, long n) { x[n] = N; }
template __global__ void instance<3>(float *x, long n);`,
}

const manyInstance = "_Z8instanceILi3EEvPfl"

var manyEntries = []string{"plain", "calls", "calls_deep", "recursive", "tiled", "bounded", "indirect", "constants", "says", "switches", manyInstance}

// manyChanges are changes of the file, with the kernels that they change; * stands for all.
var manyChanges = []struct {
	name, old, new string
	changed        string
}{
	{"nothing", "", "", ""},
	{"comments and lines", "__global__", "/* a kernel */\n\n__global__", ""},
	{"white space", "x[threadIdx.x]", "x[ threadIdx . x ]", ""},
	{"the name of a function", "slow", "snow", ""},
	{"the name of a variable", "zeros", "a_variable_with_a_much_longer_name", ""},
	{"code", "x[threadIdx.x] = n;", "x[threadIdx.x] = n + 1;", "plain"},
	{"a parameter", "plain(float *x, long n)", "plain(float *x, int n)", "plain"},
	{"another parameter", "plain(float *x, long n)", "plain(float *x, long n, int unused)", "plain"},
	{"a kernel more", "extern \"C\" __global__ void tiled", "extern \"C\" __global__ void more(double *x) { __shared__ double tile[99]; tile[threadIdx.x] = *x; __syncthreads(); *x = sqrt(tile[7]); }\nextern \"C\" __global__ void tiled", ""},
	{"a function that is called", "sqrtf(x) * x", "sqrtf(x) + x", "calls calls_deep"},
	{"a function that calls", "slow(x) + 1", "slow(x) + 2", "calls_deep"},
	{"the stack of a recursion", "FRAME", "32", "recursive"},
	{"the size of shared memory", "tile[64]", "tile[65]", "tiled"},
	{"launch bounds", "(128, 2)", "(256, 2)", "bounded"},
	{"the number of registers", "(128, 2)", "(128, 16)", "bounded"},
	{"a function of a table", "x + x", "x + x + 1", "indirect"},
	{"a case", "x[6] * 7", "x[6] * 8", "switches"},
	{"a template", "x[n] = N", "x[n] = N + 1", manyInstance},
	{"a constant", "{1, 2, 3}", "{1, 2, 4}", "*"},
	{"an initial value", "5, 6, 7, 8", "5, 6, 7, 9", "*"},
	{"an initial pointer", "pointer = first", "pointer = second", "*"},
	{"an initial pointer into an array", "pointer = first", "pointer = first + 1", "*"},
	{"the size of what starts as zero", "zeros[10]", "zeros[11]", "*"},
	{"functions in a table", "{square, twice}", "{twice, square}", "indirect"},
	{"text that is printed", "%d\\n", "%i\\n", "*"},
	{"a managed variable", "__device__ int second", "__managed__ int second", "*"},
}

// codesOf returns the code of each entry, and fails where one counts as the whole file.
func codesOf(t *testing.T, image []byte, entries []string) map[string]string {
	t.Helper()
	codes := map[string]string{}
	for _, entry := range entries {
		a := NewArtifact(image, entry)
		if err := a.hashDevice(image); err != nil || a.WholeFile != "" || a.Code == a.Former {
			t.Fatalf("%s: %q, %v", entry, a.WholeFile, err)
		}
		codes[entry] = a.Code
	}
	return codes
}

func changedCodes(before, after map[string]string) string {
	var changed []string
	for _, entry := range slices.Sorted(maps.Keys(before)) {
		if before[entry] != after[entry] {
			changed = append(changed, entry)
		}
	}
	return strings.Join(changed, " ")
}

// compilers returns a function for each compiler and architecture that makes a cubin.
func compilers(t *testing.T) map[string]func(t *testing.T, source string) []byte {
	found := map[string]func(t *testing.T, source string) []byte{}
	for _, toolkit := range cubintest.Toolkits(t) {
		for _, arch := range toolkit.Architectures(t) {
			found[toolkit.Name+" "+arch] = func(t *testing.T, source string) []byte { return toolkit.Compile(t, arch, source) }
		}
	}
	if nvcc, err := exec.LookPath("nvcc"); err == nil {
		for _, arch := range []string{"sm_80", "sm_90a", "sm_100"} {
			found["nvcc "+arch] = func(t *testing.T, source string) []byte {
				dir := t.TempDir()
				writeFile(t, filepath.Join(dir, "k.cu"), "#include <cstdio>\n"+source)
				mustRun(t, dir, nvcc, "-cubin", "-arch="+arch, "-lineinfo", "-o", "k.cubin", "k.cu")
				image, err := os.ReadFile(filepath.Join(dir, "k.cubin"))
				if err != nil {
					t.Fatal(err)
				}
				return image
			}
		}
	}
	return found
}

// A change is seen in the kernels that run it, and in no other.
func TestToolkitsEntries(t *testing.T) {
	for name, compile := range compilers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := manyData + strings.Join(manyKernels, "\n")
			plain := func(source string) string { return strings.ReplaceAll(source, "FRAME", "16") }
			before := codesOf(t, compile(t, plain(source)), manyEntries)
			if distinct := slices.Compact(slices.Sorted(maps.Values(before))); len(distinct) != len(manyEntries) {
				t.Errorf("%d kernels have %d codes", len(manyEntries), len(distinct))
			}
			for _, test := range manyChanges {
				changed := source
				if test.old != "" {
					if changed = strings.ReplaceAll(source, test.old, test.new); changed == source {
						t.Fatalf("%s: nothing changed", test.name)
					}
				}
				want := strings.Join(slices.Sorted(strings.FieldsSeq(test.changed)), " ")
				if test.changed == "*" {
					want = strings.Join(slices.Sorted(slices.Values(manyEntries)), " ")
				}
				if got := changedCodes(before, codesOf(t, compile(t, plain(changed)), manyEntries)); got != want {
					t.Errorf("%s changed %q, expected %q", test.name, got, want)
				}
			}
			kernels := slices.Clone(manyKernels)
			slices.Reverse(kernels)
			if got := changedCodes(before, codesOf(t, compile(t, plain(manyData+strings.Join(kernels, "\n"))), manyEntries)); got != "" {
				t.Errorf("another order of the kernels changed %q", got)
			}
		})
	}
}
