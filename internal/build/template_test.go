package build

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
)

func TestTemplateParameters(t *testing.T) {
	for source, want := range map[string]string{
		"template <int BLOCK_M, int D> __global__ void f();":          "BLOCK_M D",
		"template<typename T, bool WIDE = (2 > 1), int\n  N = M * 2>": "N T WIDE",
		"template <int Size = BLOCK> void f(int n = COUNT);":          "Size",
		"template <template <int K> class Op, int N> void f();":       "K N Op",
		"template <int> void f(int M);":                               "",
		"int templates = M, N;":                                       "",
		"template <int N":                                             "N",
		"template <; int N> void f();":                                "",
	} {
		if got := strings.Join(slices.Sorted(maps.Keys(templateParameters([]byte(source)))), " "); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

// A macro of the user's own is never left out, nor one that no template has.
func TestWithoutPassedParams(t *testing.T) {
	c := &cudaPlan{passed: []string{"M", "N"}}
	source := []byte("template <int M, int OWN> __global__ void f();")
	for _, prefix := range []string{"-D", "--define-macro="} {
		flags := []string{"-O3", prefix + "M=64", prefix + "N=2", prefix + "OWN=1", "M=64"}
		want := []string{"-O3", prefix + "N=2", prefix + "OWN=1", "M=64"}
		if got := c.without(flags, source); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTemplateInHeader(t *testing.T) {
	b := newCUDABuilder(t)
	p := cudaProject(t, `"scale<M>"`, "#include \"scale.cuh\"\n")
	p.write("scale.cuh", "template <int M> __global__ void scale(float *x, long n) { *x = M; }\n")
	o := b.Build(t.Context(), p.requests()[:1])[0]
	if o.Fault == nil || o.Fault.Cause != result.CauseCompile || !strings.Contains(o.Fault.Hint, "params are also macros") {
		t.Errorf("%+v\n%s", o.Fault, o.Output)
	}
}

func TestDeclaredConstants(t *testing.T) {
	b := newCUDABuilder(t)
	for source, want := range map[string]int64{
		`extern "C" ` + scale: 0,
		"__constant__ float table[1024];\n" + `extern "C" __global__ void scale(float *x, long n) { x[n] = table[n & 1023]; }`: 4096,
	} {
		o := b.Build(t.Context(), cudaProject(t, "scale", source).requests()[:1])[0]
		if o.Fault != nil {
			t.Fatalf("%+v\n%s", o.Fault, o.Output)
		}
		if got := o.Artifact.Resources[0].Constant; got != want {
			t.Errorf("%d bytes, want %d of %s", got, want, source)
		}
	}
}
