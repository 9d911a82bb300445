package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
)

// newCUDABuilder skips where there is no nvcc; a GPU is not needed to compile.
func newCUDABuilder(t *testing.T) *Builder {
	t.Helper()
	b, err := New(Options{CacheDir: t.TempDir(), NoCcache: true, Arch: "sm_90a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.nvcc.locate(); err != nil {
		t.Skipf("no nvcc: %v (NVCC names one)", err)
	}
	return b
}

const cudaYAML = `version: 1
kernels:
  k:
    source: k.cu
    entry: ENTRY
    params: {M: [64, 32], WIDE: [true]}
    launch: {grid: 1, block: M}
    args:
      - {name: x, dtype: f32, shape: [N], role: inout}
      - {name: n, dtype: i64, value: N}
configs:
  small: {N: 16}
`

func cudaProject(t *testing.T, entry, source string) *project {
	return newProject(t, map[string]string{"pawl.yaml": strings.Replace(cudaYAML, "ENTRY", entry, 1), "k.cu": source})
}

const scale = `__global__ void scale(float *x, long n) { if (threadIdx.x < n) x[threadIdx.x] *= M; }`

type cudaEntry struct{ name, entry, source, symbol, hint string }

const templateSource = `template <int Size, bool Wide, typename T> __global__ void scale(T *x, long n) {
  __shared__ T buffer[Size * 4];
  buffer[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = buffer[Size - 1 - threadIdx.x] * Wide;
}`

// cudaEntries are found whoever compiles.
var cudaEntries = []cudaEntry{
	{"C name", "scale", `extern "C" ` + scale, "scale", ""},
	{"mangled", "scale", scale, "_Z5scalePfl", ""},
	{"template", `"scale<M, WIDE, float>"`, templateSource, "_Z5scaleILi64ELb1EfEvPT1_l", ""},
	{"template by formula", `"scale<M // 2 + 1, not WIDE, float>"`, templateSource, "_Z5scaleILi33ELb0EfEvPT1_l", ""},
	{
		"template with a param's name", `"scale<M, WIDE>"`, "template <int M, bool WIDE = false> __global__ void scale(float *x, long n) { *x = M + WIDE + n; }",
		"_Z5scaleILi64ELb1EEvPfl", "",
	},
	{
		"template with a number for a bool", `"scale<M, 1>"`, "template <int Size, bool Wide> __global__ void scale(float *x, long n) { *x = M + Size * Wide; }",
		"_Z5scaleILi64ELb1EEvPfl", "",
	},
	{"template with a default", `"scale<M>"`, "template <int Size, typename T = float> __global__ void scale(T *x, long n) { *x = Size; }", "_Z5scaleILi64EfEvPT0_l", ""},
	{"in a namespace", "mine::scale", "namespace mine { " + scale + " }", "_ZN4mine5scaleEPfl", ""},
	{"misspelt", "sclae", scale, "", "did you mean scale?"},
	{"template without arguments", "scale", templateSource, "", "or a template"},
}

func TestCUDAEntries(t *testing.T) {
	b := newCUDABuilder(t)
	for _, tc := range append(cudaEntries, cudaEntry{"not a kernel", "scale", `void scale(float *x, long n) {}`, "", "__global__"}) {
		t.Run(tc.name, func(t *testing.T) {
			p := cudaProject(t, tc.entry, tc.source)
			o := b.Build(t.Context(), p.requests()[:1])[0]
			if tc.symbol != "" {
				if o.Fault != nil {
					t.Fatalf("%+v\n%s", o.Fault, o.Output)
				}
				if got := o.Artifact.Symbols[0]; got != tc.symbol {
					t.Errorf("symbol %s, want %s", got, tc.symbol)
				}
				if r := o.Artifact.Resources[0]; r.Registers == 0 || o.Output != "" {
					t.Errorf("resources %+v, output %q", r, o.Output)
				}
				return
			}
			if o.Fault == nil || o.Fault.Cause != result.CauseNoEntry || !strings.Contains(o.Fault.Hint, tc.hint) {
				t.Errorf("%+v", o.Fault)
			}
		})
	}
}

// Comments, names and lines are not code; constants and shared memory are.
func TestCUDACode(t *testing.T) {
	b := newCUDABuilder(t)
	code := func(source string) string {
		t.Helper()
		o := b.Build(t.Context(), cudaProject(t, "scale", source).requests()[:1])[0]
		if o.Fault != nil {
			t.Fatalf("%s\n%s", o.Fault.Message, o.Output)
		}
		return o.Artifact.Code
	}
	base := code(`extern "C" ` + scale)
	if got := code("// a comment\n\n\n" + `extern "C" ` + scale); got != base {
		t.Error("a comment changed the code")
	}
	if got := code(strings.ReplaceAll(`extern "C" `+scale, "x[threadIdx.x]", "*(x + threadIdx.x)")); got != base {
		t.Error("another way of writing the same changed the code")
	}
	if got := code(`extern "C" ` + strings.Replace(scale, "*= M", "*= M + 1", 1)); got == base {
		t.Error("another constant has the same code")
	}
	if got := code(`__device__ int table[4] = {1, 2, 3, 4}; extern "C" ` + strings.Replace(scale, "*= M", "*= table[n & 3]", 1)); got ==
		code(`__device__ int table[4] = {1, 2, 3, 5}; extern "C" `+strings.Replace(scale, "*= M", "*= table[n & 3]", 1)) {
		t.Error("other initial values have the same code")
	}
}

func TestCUDACacheAndErrors(t *testing.T) {
	b := newCUDABuilder(t)
	p := cudaProject(t, "scale", "#include \"factor.h\"\n"+`extern "C" `+strings.Replace(scale, "*= M", "*= FACTOR", 1))
	p.write("factor.h", "#define FACTOR 2\n")
	for i, want := range []bool{false, true} {
		for _, o := range b.Build(t.Context(), p.requests()) {
			if o.Fault != nil || o.Artifact.Cached != want {
				t.Errorf("build %d: %+v cached=%v", i, o.Fault, o.Artifact != nil && o.Artifact.Cached)
			}
		}
	}
	p.write("factor.h", "#define FACTOR 3\n")
	if o := b.Build(t.Context(), p.requests())[0]; o.Fault != nil || o.Artifact.Cached {
		t.Errorf("a changed header was not noticed: %+v", o.Fault)
	}
	p.write("k.cu", "__global__ void scale(float *x, long n) { oops }\n")
	o := b.Build(t.Context(), p.requests())[0]
	if o.Fault == nil || o.Fault.Cause != result.CauseCompile || !strings.Contains(o.Output, "k.cu(1): error: identifier \"oops\" is undefined") {
		t.Errorf("%+v\n%s", o.Fault, o.Output)
	}
}

func TestArchitectures(t *testing.T) {
	for arch, ok := range map[string]bool{"sm_90a": true, "sm_120": true, "sm_100f": true, "compute_90": false, "sm_90 -g": false, "90": false} {
		b, err := New(Options{CacheDir: t.TempDir(), Arch: arch})
		if err != nil {
			t.Fatal(err)
		}
		b.nvcc.words = []string{"true"}
		_, fault := b.recipe(t.Context(), cudaProject(t, "scale", scale).requests()[0])
		refused := fault != nil && strings.Contains(fault.Message, "no GPU architecture")
		if refused == ok {
			t.Errorf("%s: %+v", arch, fault)
		}
	}
}

func TestSplitPTXAS(t *testing.T) {
	const output = `k.cu(3): warning #177-D: variable "y" was declared but never referenced
ptxas info    : 24 bytes gmem
ptxas info    : Compiling entry function '_Z1av' for 'sm_90a'
ptxas info    : Function properties for _Z1av
    48 bytes stack frame, 44 bytes spill stores, 52 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 48 bytes cumulative stack size, 16384+16 bytes smem, 548 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 3.230 ms
ptxas info    : Compiling entry function 'b' for 'sm_90a'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers
ptxas warning : something else
`
	found, rest := splitPTXAS(output)
	want := map[string]result.Resources{
		"_Z1av": {Registers: 255, Shared: 16400, Stack: 48, SpillStores: 44, SpillLoads: 52},
		"b":     {Registers: 8},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lines := strings.Split(strings.TrimSpace(rest), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], "ptxas warning") {
		t.Errorf("rest: %q", rest)
	}
}

func FuzzSplitPTXAS(f *testing.F) {
	f.Add("ptxas info    : Compiling entry function 'b' for 'sm_90a'\nptxas info : Used 8 registers, 99999999999999999999 bytes smem\n")
	f.Fuzz(func(t *testing.T, output string) {
		_, rest := splitPTXAS(output)
		if len(rest) > len(output) {
			t.Fatal("grew")
		}
	})
}
