package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// declared writes a source and a pawl.yaml whose kernel f takes the arguments, and loads
// them.
func declared(t *testing.T, file, source, args, more string) error {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	launch := ""
	if strings.HasSuffix(file, ".cu") && !strings.Contains(more, "launch") {
		launch = "    launch: {grid: [1], block: [32]}\n"
	}
	if !strings.Contains(more, "entry:") && !strings.Contains(more, "launches:") {
		more = "    entry: f\n" + more
	}
	text := "version: 1\nkernels:\n  k:\n    source: " + file + "\n" + launch + more + "    args:\n"
	for line := range strings.SplitSeq(args, "\n") {
		text += "      - {" + line + "}\n"
	}
	text += "configs: {c: {N: 64}}\n"
	name := filepath.Join(dir, "pawl.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadEarlier(name); err != nil {
		t.Fatalf("not even without looking at the source: %v\n%s", err, text)
	}
	_, err := Load(name)
	return err
}

const (
	inOut  = "name: in, dtype: f32, shape: [N]\nname: out, dtype: f32, shape: [N], role: out\n"
	inOutN = inOut + "name: n, dtype: i32, value: N"
)

// An argument that cannot be the function's parameter is an error, with its place and
// what the source says.
func TestContradictedPrototypes(t *testing.T) {
	for name, c := range map[string]struct{ file, source, args, more, says string }{
		"a float for an int": {
			"k.c", "void f(const float *in, float *out, int n) {}", inOut + "name: n, dtype: f32, value: N", "",
			"pawl.yaml:9:26: n is f32, and f takes int there (k.c:1)",
		},
		"an int for a float":      {"k.c", "void f(const float *in, float *out, float n) {}", inOutN, "", "n is i32, and f takes float there"},
		"a double for a float":    {"k.c", "void f(const float *in, float *out, float n) {}", inOut + "name: n, dtype: f64, value: N", "", "n is f64, and f takes float there"},
		"a narrower int":          {"k.c", "void f(const float *in, float *out, long n) {}", inOutN, "", "n is i32, and f takes long there"},
		"a wider int":             {"k.c", "void f(const float *in, float *out, unsigned n) {}", inOut + "name: n, dtype: i64, value: N", "", "n is i64, and f takes unsigned there"},
		"float for double":        {"k.c", "void f(const double *in, float *out, int n) {}", inOutN, "", "in is f32, and f takes double * there"},
		"f64 for float":           {"k.c", "void f(const float *restrict in, float *restrict out, int n) {}", strings.Replace(inOutN, "in, dtype: f32", "in, dtype: f64", 1), "", "in is f64, and f takes float * there"},
		"an array":                {"k.c", "void f(const float in[], double out[64], int n) {}", inOutN, "", "out is f32, and f takes double * there"},
		"f32 for int":             {"k.c", "void f(const int *in, float *out, int n) {}", inOutN, "", "in is f32, and f takes int * there"},
		"a sign":                  {"k.c", "#include <stdint.h>\nvoid f(const int8_t *in, float *out, int n) {}", strings.Replace(inOutN, "in, dtype: f32", "in, dtype: u8", 1), "", "in is u8, and f takes int8_t * there (k.c:2)"},
		"the other sign":          {"k.c", "void f(const int *in, float *out, int n) {}", strings.Replace(inOutN, "in, dtype: f32", "in, dtype: u32", 1), "", "in is u32, and f takes int * there"},
		"i32 for bytes":           {"k.c", "#include <stdint.h>\nvoid f(const uint8_t *in, float *out, int n) {}", strings.Replace(inOutN, "in, dtype: f32", "in, dtype: i32", 1), "", "in is i32, and f takes uint8_t * there (k.c:2)"},
		"bytes of anything":       {"k.c", "void f(const unsigned char *in, float *out, int n) {}", inOutN, "", "write dtype: u8; shape: then counts bytes"},
		"e4m3 for half":           {"k.cu", "__global__ void f(const __half *in, float *out, int n) {}", strings.Replace(inOutN, "in, dtype: f32", "in, dtype: e4m3", 1), "", "in is e4m3, and f takes __half * there"},
		"i32 for unsigned short":  {"k.c", "void f(const unsigned short *in, float *out, int n) {}", strings.Replace(inOutN, "in, dtype: f32", "in, dtype: i32", 1), "", "in is i32, and f takes unsigned short * there"},
		"words in another order":  {"k.c", "void f(const float *in, float *out, int long unsigned n) {}", inOutN, "", "n is i32, and f takes int long unsigned there"},
		"a scalar for a pointer":  {"k.c", "void f(const float *in, float *out, const int *n) {}", inOutN, "", "n is a scalar of i32, and f takes int * there"},
		"a scalar for void":       {"k.c", "void f(const float *in, float *out, void *n) {}", inOutN, "", "n is a scalar of i32, and f takes void * there"},
		"a buffer for a scalar":   {"k.c", "void f(float in, float *out, int n) {}", inOutN, "", "in is a buffer of f32, and f takes float there"},
		"too few":                 {"k.c", "void f(const float *in, float *out, int n, int m) {}", inOutN, "", "f gets 3 arguments but takes 4 (k.c:1)"},
		"too many":                {"k.c", "void f(float *out) {}", inOut[:len(inOut)-1], "", "f gets 2 arguments but takes 1"},
		"none":                    {"k.c", "void f(void) {}", inOut[:len(inOut)-1], "", "f gets 2 arguments but takes 0"},
		"fewer than the defaults": {"k.cpp", "extern \"C\" void f(const float *in, float *out, int n, int m, int o = 1) {}", inOutN, "", "f gets 3 arguments but takes 5"},
		"extern C":                {"k.cpp", "extern \"C\" {\nvoid f(const double *in, float *out, int n) {}\n}", inOutN, "", "in is f32, and f takes double * there (k.cpp:2)"},
		"C++ guard": {
			"k.cpp", "#ifdef __cplusplus\nextern \"C\" {\n#endif\nvoid f(const double *in, float *out, int n) {}\n#ifdef __cplusplus\n}\n#endif", inOutN, "",
			"in is f32, and f takes double * there (k.cpp:4)",
		},
		"after a comment": {
			"k.c", "/* void f(const float *in); */ // f(\nvoid helper(double *x) {}\nvoid f(const double *in, float *out, int n) {}", inOutN, "",
			"in is f32, and f takes double * there (k.c:3)",
		},
		"a declaration besides": {"k.c", "void f(const double *in, float *out, int n);\nvoid f(const double *in, float *out, int n) { if (n) { out[0] = in[0]; } }", inOutN, "", "in is f32, and f takes double *"},
		"CUDA":                  {"k.cu", "__global__ void __launch_bounds__(256) f(const __half* __restrict__ in, float* __restrict__ out, int n) {}", inOutN, "", "in is f32, and f takes __half * there"},
		"CUDA, bf16 for half":   {"k.cu", "__global__ void f(const __half* in, float* out, int n) {}", strings.Replace(inOutN, "in, dtype: f32", "in, dtype: bf16", 1), "", "in is bf16, and f takes __half * there"},
		"a namespace":           {"k.cu", "namespace a { namespace b { __global__ void f(const double* in, float* out, int n) {} } }", inOutN, "    entry: a::b::f\n", "in is f32, and a::b::f takes double * there"},
		"a launcher": {
			"k.cu", "#include <cuda_runtime.h>\nextern \"C\" void f(cudaStream_t stream, const double* in, float* out, int n) {}", inOutN, "    launcher: true\n",
			"in is f32, and f takes double * there (k.cu:2)",
		},
		"a launcher's stream is last": {
			"k.cu", "extern \"C\" void f(const float* in, float* out, int n, cudaStream_t stream) {}", inOutN, "    launcher: true\n",
			"pawl passes the stream as parameter 1 of f, which takes it as parameter 4 (k.cu:1)",
		},
		"a launcher's args": {
			"k.cu", "extern \"C\" void f(const float* in, float* out, CUstream stream, int n) {}", inOutN, "    launcher: true\n",
			"put stream into args at its place: in, out, stream, n",
		},
		"a launcher's stream is first": {
			"k.cu", "extern \"C\" void f(cudaStream_t stream, const float* in, float* out, int n) {}", inOutN + "\nname: stream", "    launcher: true\n",
			"pawl passes the stream as parameter 4 of f, which takes it as parameter 1",
		},
		"a launcher without a stream": {
			"k.cu", "extern \"C\" void f(const float* in, float* out, int n) {}", inOutN, "    launcher: true\n",
			"pawl passes the stream as parameter 1 of f, which takes float * there",
		},
		"a launcher without room for it": {
			"k.cu", "extern \"C\" void f(const float* in, float* out, int n) {}", inOutN + "\nname: stream", "    launcher: true\n",
			"pawl passes the stream as parameter 4 of f, which takes 3 parameters",
		},
		"a launcher with its stream second": {
			"k.cu", "extern \"C\" void f(const double* in, cudaStream_t stream, float* out, int n) {}", strings.Replace(inOutN, "\n", "\nname: stream\n", 1), "    launcher: true\n",
			"in is f32, and f takes double * there",
		},
		"a launcher with too few": {"k.cu", "extern \"C\" void f(cudaStream_t stream, const float* in, float* out) {}", inOutN, "    launcher: true\n", "f gets 3 arguments but takes 2"},
		"std::size_t":             {"k.cpp", "#include <cstddef>\nextern \"C\" void f(const float *in, float *out, std::size_t n) {}", inOut + "name: n, dtype: f32, value: N", "", "n is f32, and f takes size_t there (k.cpp:2)"},
		"extern C in a namespace": {"k.cpp", "namespace a { extern \"C\" void f(const double *in, float *out, int n) {} }", inOutN, "", "in is f32, and f takes double * there"},
		"several launches": {
			"k.c", "void g(float *out) {}\nvoid f(const float *in, double n) {}", inOutN, "    launches:\n      - {entry: g, args: [out]}\n      - {entry: f, args: [in, n]}\n",
			"n is i32, and f takes double there (k.c:2)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := declared(t, c.file, c.source, c.args, c.more)
			if err == nil {
				t.Fatalf("accepted, want %q", c.says)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// Whatever leaves a doubt about the prototype, or may be meant, is accepted.
func TestHonestPrototypes(t *testing.T) {
	as := func(kind string) string { return strings.Replace(inOutN, "in, dtype: f32", "in, dtype: "+kind, 1) }
	for name, c := range map[string]struct{ file, source, args, more string }{
		"plain":                      {"k.c", "void f(const float *in, float *out, int n) {}", inOutN, ""},
		"long and size_t":            {"k.c", "#include <stddef.h>\nvoid f(const float *in, float *out, size_t n) {}", inOut + "name: n, dtype: i64, value: N", ""},
		"unsigned for a positive":    {"k.c", "void f(const float *in, float *out, unsigned n) {}", inOutN, ""},
		"bool":                       {"k.cpp", "extern \"C\" void f(const float *in, float *out, bool n) {}", inOut + "name: n, dtype: i8, value: 1", ""},
		"char":                       {"k.c", "void f(const char *in, float *out, int n) {}", as("u8"), ""},
		"u8 in uint8_t":              {"k.c", "#include <stdint.h>\nvoid f(const uint8_t *in, float *out, int n) {}", as("u8"), ""},
		"e5m2 in char":               {"k.cu", "__global__ void f(const char *in, float *out, int n) {}", as("e5m2"), ""},
		"std::byte":                  {"k.cpp", "#include <cstddef>\nextern \"C\" void f(const std::byte *in, float *out, int n) {}", as("i8"), ""},
		"f32 in uint32_t":            {"k.cu", "__global__ void f(const uint32_t *in, float *out, int n) {}", inOutN, ""},
		"an unknown typedef":         {"k.c", "#include \"t.h\"\nvoid f(const pixel *in, float *out, int n) {}", as("i32"), ""},
		"f16 in unsigned short":      {"k.c", "void f(const unsigned short *in, float *out, int n) {}", as("f16"), ""},
		"e4m3 in uint8_t":            {"k.cu", "__global__ void f(const uint8_t *in, float *out, int n) {}", as("e4m3"), ""},
		"i16 in uint16_t":            {"k.cu", "__global__ void f(const uint16_t *in, float *out, int n) {}", as("i16"), ""},
		"i8 in uint8_t":              {"k.c", "void f(const unsigned char *in, float *out, int n) {}", as("i8"), ""},
		"i8 packed in int":           {"k.cu", "__global__ void f(const int *in, float *out, int n) {}", as("i8"), ""},
		"halves packed in unsigned":  {"k.cu", "__global__ void f(const unsigned *in, float *out, int n) {}", as("f16"), ""},
		"vectors":                    {"k.cu", "__global__ void f(const float4 *in, float2 *out, int n) {}", as("f16"), ""},
		"half2":                      {"k.cu", "__global__ void f(const __half2 *in, float *out, int n) {}", as("f16"), ""},
		"half, of some header":       {"k.c", "#include \"half.h\"\nvoid f(const half *in, float *out, int n) {}", as("u16"), ""},
		"void":                       {"k.c", "void f(const void *in, void *out, int n) {}", as("f64"), ""},
		"null":                       {"k.c", "void f(const float *in, float *out, const float *bias) {}", inOut + "name: bias, dtype: u64, value: 0", ""},
		"an address as a number":     {"k.cu", "__global__ void f(unsigned long long in, float *out, int n) {}", inOutN, ""},
		"a typedef":                  {"k.c", "typedef double real;\nvoid f(const real *in, float *out, int n) {}", inOutN, ""},
		"a typedef of a known name":  {"k.c", "typedef float size_t;\nvoid f(const float *in, float *out, size_t n) {}", inOut + "name: n, dtype: f32, value: N", ""},
		"using":                      {"k.cpp", "using __half = float;\nextern \"C\" void f(const __half *in, float *out, int n) {}", inOutN, ""},
		"a struct":                   {"k.cu", "struct P { int a, b; };\n__global__ void f(const float *in, float *out, P n) {}", inOutN, ""},
		"a macro for a type":         {"k.c", "#define T double\nvoid f(const T *in, float *out, int n) {}", inOutN, ""},
		"a macro behind a tab":       {"k.c", "#define\tdouble float\nvoid f(const double *in, float *out, int n) {}", inOutN, ""},
		"a macro for a word of C":    {"k.c", "#define double float\nvoid f(const double *in, float *out, int n) {}", inOutN, ""},
		"a macro for the list":       {"k.c", "#define ARGS const float *in, float *out, int n\nvoid f(ARGS) {}", inOutN, ""},
		"a macro of a header":        {"k.c", "#include \"args.h\"\nvoid f(ARGS) {}", inOutN, ""},
		"a macro with arguments":     {"k.c", "#include \"args.h\"\nvoid f(IN(in), OUT(out), SIZE) {}", inOutN, ""},
		"a macro for the name":       {"k.c", "#define f g\nvoid f(double x) {}\n#undef f\nvoid h(void) {}", inOutN, ""},
		"a macro around it":          {"k.c", "#include \"export.h\"\nEXPORT(void) f(const float *in, float *out, int n) {}", inOutN, ""},
		"a qualifier of a header":    {"k.c", "#include \"q.h\"\nvoid f(IN float *in, OUT float *out, int n) {}", inOutN, ""},
		"a param":                    {"k.c", "void f(const T *in, float *out, int n) {}", as("f64"), "    params: {T: [double, float]}\n"},
		"a flag":                     {"k.c", "void f(const REAL *in, float *out, int n) {}", as("f64"), "    flags: [-DREAL=double]\n"},
		"a flag for a word of C":     {"k.c", "void f(const float *in, float *out, int n) {}", as("f64"), "    flags: [-Dfloat=double]\n"},
		"conditional parameters":     {"k.c", "void f(const float *in, float *out,\n#ifdef WIDE\nlong n\n#else\nint n\n#endif\n) {}", inOutN, ""},
		"conditional definitions":    {"k.c", "#ifdef WIDE\nvoid f(const double *in, double *out, int n) {}\n#else\n#include \"f.h\"\n#endif", inOutN, ""},
		"two definitions":            {"k.c", "#if WIDE\nvoid f(const double *in, double *out, int n) {}\n#else\nvoid f(const float *in, float *out, int n) {}\n#endif", inOutN, ""},
		"a definition that is off":   {"k.c", "#if 0\nvoid f(double x) {}\n#endif\nvoid f(const float *in, float *out, int n) {}", inOutN, ""},
		"conditional bodies":         {"k.c", "void g(void) {\n#if A\n}\n#else\n}\n#endif\nvoid f(const float *in, float *out, int n) {}", inOutN, ""},
		"overloads":                  {"k.cu", "__global__ void f(double x) {}\n__global__ void f(const float *in, float *out, int n) {}", inOutN, ""},
		"a template":                 {"k.cu", "template <typename T> __global__ void f(const T *in, T *out, int n) {}", inOutN, "    entry: f<float>\n"},
		"a template's defaults":      {"k.cu", "template <int K, class... Ts> __global__ void f(Ts... all) {}", inOutN, "    entry: f<1>\n"},
		"another namespace":          {"k.cu", "namespace a { __global__ void f(double x) {} }\nnamespace b {\n#include \"f.cuh\"\n}", inOutN, "    entry: b::f\n"},
		"a reference":                {"k.cpp", "extern \"C\" void f(const float *in, float *out, const int &n) {}", inOutN, ""},
		"a function pointer":         {"k.c", "void f(const float *in, float *out, int (*n)(void)) {}", inOutN, ""},
		"variadic":                   {"k.c", "void f(const float *in, ...) {}", inOutN, ""},
		"old style":                  {"k.c", "void f(in, out, n) double *in; float *out; int n; {}", inOutN, ""},
		"nothing said":               {"k.c", "void f() {}", inOutN, ""},
		"defaults":                   {"k.cpp", "extern \"C\" void f(const float *in, float *out, int n, int m = 3) {}", inOutN, ""},
		"attributes":                 {"k.cpp", "extern \"C\" void f([[maybe_unused]] const double *in, float *out, int n) {}", inOutN, ""},
		"attributes of parameters":   {"k.c", "void f(const double *in __attribute__((unused)), float *out, int n) {}", inOutN, ""},
		"std::size_t":                {"k.cpp", "#include <cstddef>\nextern \"C\" void f(const float *in, float *out, std::size_t n) {}", inOut + "name: n, dtype: u64, value: N", ""},
		"bool of a header":           {"k.c", "#include \"t.h\"\nvoid f(const float *in, float *out, bool n) {}", inOutN, ""},
		"a macro after a tab":        {"k.c", "#define\tbool\tint\nvoid f(const float *in, float *out, bool n) {}", inOutN, ""},
		"a helper in a namespace":    {"k.cpp", "namespace a { void f(double x) {} }\n#define EXPORT(f) extern \"C\" void f(const float *in, float *out, int n) { a::f(n); }\nEXPORT(f)", inOutN, ""},
		"f16 in short":               {"k.c", "void f(const short *in, float *out, int n) {}", as("f16"), ""},
		"bf16 in int16_t":            {"k.c", "#include <stdint.h>\nvoid f(const int16_t *in, float *out, int n) {}", as("bf16"), ""},
		"elsewhere":                  {"k.c", "#include \"f.inc\"\n", inOutN, ""},
		"a symbol":                   {"k.cpp", "void f(const double *in, float *out, int n) {}", inOutN, "    entry: _Z1fPKdPfi\n"},
		"a method":                   {"k.cpp", "struct S { void f(double x) {} };\n#include \"f.inc\"", inOutN, ""},
		"pointers to pointers":       {"k.c", "void f(float **in, float *out, int n) {}", inOutN, ""},
		"long double":                {"k.c", "void f(const long double *in, float *out, int n) {}", as("f64"), ""},
		"without names":              {"k.c", "void f(const float *, float *, int) {}", inOutN, ""},
		"a launcher":                 {"k.cu", "extern \"C\" void f(cudaStream_t s, const float *in, float *out, int n) {}", inOutN, "    launcher: true\n"},
		"a launcher's last stream":   {"k.cu", "extern \"C\" void f(const float *in, float *out, int n, cudaStream_t s = 0) {}", inOutN + "\nname: stream", "    launcher: true\n"},
		"a launcher's void stream":   {"k.cu", "extern \"C\" void f(void *s, const float *in, float *out, int n) {}", inOutN, "    launcher: true\n"},
		"a launcher's macro":         {"k.cu", "#define STREAM cudaStream_t s\nextern \"C\" void f(STREAM, const double *in, float *out, int n) {}", inOutN, "    launcher: true\n"},
		"some arguments of a launch": {"k.c", "void f(float *out, const float *in) {}", inOut[:len(inOut)-1], "    launches:\n      - {entry: f, args: [out, in]}\n"},
		"a tensor map": {
			"k.cu", "__global__ void f(const __grid_constant__ CUtensorMap m, const float *in, float *out) {}",
			"name: m, tensor_map: {of: in, box: [16]}\n" + inOut[:len(inOut)-1], "",
		},
		"not C at all": {"k.c", "\x00\xff{{{((( f( ) {", inOutN, ""},
		"a symbol among the arguments": {
			"k.cu", "__constant__ float c[4];\n__global__ void f(const float *in, float *out, int n) {}", "name: c, dtype: f32, shape: [4], symbol: c\n" + inOutN, "",
		},
		"an argument called stream": {
			"k.cu", "extern \"C\" void f(cudaStream_t s, const float *in, float *out, int n) {}",
			strings.Replace(inOutN, "name: in", "name: stream", 1), "    launcher: true\n",
		},
		"a launcher's launches": {
			"k.cu", "extern \"C\" void f(const float *in, cudaStream_t s, int n) {}\nextern \"C\" void g(cudaStream_t s, float *out) {}", inOutN,
			"    launcher: true\n    launches: [{entry: f, args: [in, stream, n]}, {entry: g, args: [out]}]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := declared(t, c.file, c.source, c.args, c.more); err != nil {
				t.Error(err)
			}
		})
	}
}
