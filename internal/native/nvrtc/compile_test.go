package nvrtc_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cubin/cubintest"
	"pawl/internal/native/nvrtc"
)

// withEach runs a test with the NVRTC of every toolkit.
func withEach(t *testing.T, test func(*testing.T, *nvrtc.Library)) {
	t.Helper()
	for _, toolkit := range cubintest.Toolkits(t) {
		t.Run(toolkit.Name, func(t *testing.T) {
			t.Parallel()
			library, err := nvrtc.Open(toolkit.Folder)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(library.Path(), toolkit.Folder) {
				t.Fatalf("%s was opened instead of that in %s", library.Path(), toolkit.Folder)
			}
			test(t, library)
		})
	}
}

func TestVersion(t *testing.T) {
	withEach(t, func(t *testing.T, library *nvrtc.Library) {
		major, minor, err := library.Version()
		if err != nil || major < 11 || minor < 0 {
			t.Errorf("%s has version %d.%d, %v", library.Path(), major, minor, err)
		}
	})
}

func TestCompile(t *testing.T) {
	program := nvrtc.Program{
		Source: `
#include "factor.h"
template <typename T, int N> __global__ void scale(T *x) {
    for (int i = 0; i < N; i++) x[N * threadIdx.x + i] *= FACTOR;
}
extern "C" __global__ void plain(float *x) { x[0] = 1; }
`,
		Name:            "scale.cu",
		Headers:         map[string]string{"factor.h": "#include \"value.h\"\n#define FACTOR (T)VALUE\n", "value.h": "#define VALUE 3\n"},
		Options:         []string{"--gpu-architecture=sm_90a", "--std=c++17"},
		NameExpressions: []string{"scale<float, 4>", "scale<double, 2>"},
	}
	withEach(t, func(t *testing.T, library *nvrtc.Library) {
		result, err := library.Compile(program)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(result.CUBIN), "\x7fELF") {
			t.Errorf("a cubin of %d bytes is not an ELF file", len(result.CUBIN))
		}
		for expression, want := range map[string]string{"scale<float, 4>": "_Z5scaleIfLi4EEvPT_", "scale<double, 2>": "_Z5scaleIdLi2EEvPT_"} {
			if got := result.Lowered[expression]; got != want {
				t.Errorf("%s is %q, want %q", expression, got, want)
			}
			if !strings.Contains(string(result.CUBIN), want) {
				t.Errorf("the cubin has no %s", want)
			}
		}
		if !strings.Contains(string(result.CUBIN), "plain") {
			t.Error("plain is not in the cubin")
		}
		again, err := library.Compile(program)
		if err != nil || !slices.Equal(result.CUBIN, again.CUBIN) {
			t.Errorf("compiling again gives something else: %v", err)
		}
	})
}

func TestCompileForVirtualArchitecture(t *testing.T) {
	withEach(t, func(t *testing.T, library *nvrtc.Library) {
		result, err := library.Compile(nvrtc.Program{
			Source:  `extern "C" __global__ void plain(float *x) { x[0] = 1; }`,
			Name:    "plain.cu",
			Options: []string{"--gpu-architecture=compute_90"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.CUBIN) != 0 {
			t.Errorf("a cubin of %d bytes for a virtual architecture", len(result.CUBIN))
		}
	})
}

func TestCompileSaysWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		program nvrtc.Program
		log     string
	}{
		"source":          {nvrtc.Program{Source: "__global__ void k() { int x = nonsense; }", Name: "bad.cu"}, `bad.cu(1): error: identifier "nonsense" is undefined`},
		"missing header":  {nvrtc.Program{Source: "#include \"absent.h\"\n", Name: "bad.cu"}, "absent.h"},
		"name expression": {nvrtc.Program{Source: "template <int N> __global__ void k() {}", Name: "bad.cu", NameExpressions: []string{"k<two>"}}, "two"},
		"option":          {nvrtc.Program{Source: "__global__ void k() {}", Name: "bad.cu", Options: []string{"--no-such-option"}}, ""},
	}
	withEach(t, func(t *testing.T, library *nvrtc.Library) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				_, err := library.Compile(test.program)
				var refused *nvrtc.Error
				if !errors.As(err, &refused) || refused.Op != "nvrtcCompileProgram" || !strings.HasPrefix(refused.Name, "NVRTC_ERROR_") {
					t.Fatalf("%v", err)
				}
				if !strings.Contains(refused.Log, test.log) || !strings.Contains(err.Error(), test.log) {
					t.Errorf("%q is not in the log:\n%s", test.log, refused.Log)
				}
			})
		}
	})
}

func TestCompileWarns(t *testing.T) {
	withEach(t, func(t *testing.T, library *nvrtc.Library) {
		result, err := library.Compile(nvrtc.Program{Source: "__global__ void k() { int idle; }", Name: "warn.cu"})
		if err != nil || !strings.Contains(result.Log, `"idle" was declared but never referenced`) {
			t.Errorf("log %q, %v", result.Log, err)
		}
	})
}
