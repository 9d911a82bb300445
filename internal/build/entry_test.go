package build

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

func TestFunctionName(t *testing.T) {
	t.Parallel()
	for symbol, want := range map[string]string{
		"run":                       "run",
		"_run":                      "_run",
		"_Z3runPfl":                 "run",
		"_Z3runv":                   "run",
		"_Z3runIfEvPT_l":            "run",
		"_ZL3runPfl":                "run",
		"_ZN4math3runEPfl":          "math::run",
		"_ZN4math3runIfEEvPT_l":     "math::run",
		"_ZN12_GLOBAL__N_13runEPfl": "run",
		"_ZN4mathL3runEPfl":         "", // static inside a namespace: no entry either way
		"_ZSt4sortPfS_":             "",
		"_ZNSt6vectorIfE3runEv":     "",
		"_Z3runPfl.cold":            "",
		"_Z3runPfl._omp_fn.0":       "",
		"_ZplRK1AS1_":               "",
		"_Z99run":                   "",
		"_Z":                        "",
		"_ZN":                       "",
	} {
		if got := functionName(symbol); got != want {
			t.Errorf("%s: %q, expected %q", symbol, got, want)
		}
	}
}

func FuzzFunctionName(f *testing.F) {
	f.Add("_ZN4math3runEPfl")
	f.Add("_Z18446744073709551616x")
	f.Add("_ZN1A1A1AI")
	f.Fuzz(func(t *testing.T, symbol string) {
		for part := range strings.SplitSeq(functionName(symbol), "::") {
			if !strings.Contains(symbol, part) {
				t.Errorf("%q: no %q in it", symbol, part)
			}
		}
	})
}

func TestEntries(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	for _, test := range []struct {
		name, file, entry, text string
		symbol                  string // or what is wrong
		message, hint           string
	}{
		{name: "C", file: "k.c", entry: "run", text: plainSource, symbol: "run"},
		{name: "hidden", file: "k.c", entry: "run", text: "__attribute__((visibility(\"hidden\"))) void run(float *x, long n) {}\n", symbol: "run"},
		{name: "C++", file: "k.cc", entry: "run", text: plainSource, symbol: "_Z3runPfl"},
		{name: "extern C", file: "k.cpp", entry: "run", text: "extern \"C\" void run(float *x, long n) {}\n", symbol: "run"},
		{
			name: "namespace", file: "k.cxx", entry: "run", text: "namespace math { void run(float *x, long n) {} }\n",
			message: `no function "run" in k.cxx`, hint: "run is inside a class or namespace",
		},
		{
			name: "template", file: "k.cc", entry: "run", symbol: "_Z3runIfEvPT_l",
			text: "template <class T> void run(T *x, long n) { x[0] = n; }\ntemplate void run<float>(float *, long);\n",
		},
		{name: "by symbol", file: "k.cc", entry: "_Z3runPfl", text: "void run(float *x, long n) {} void run(double *x, long n) {}\n", symbol: "_Z3runPfl"},
		{
			name: "overloads", file: "k.cc", entry: "run", text: "void run(float *x, long n) {} void run(double *x, long n) {}\n",
			message: `"run" is 2 functions in k.cc`, hint: "use its symbol as the entry: _Z3runPdl, _Z3runPfl",
		},
		{name: "misspelt", file: "k.c", entry: "rum", text: plainSource, message: `no function "rum" in k.c`, hint: "did you mean run?"},
		{name: "misspelt C++", file: "k.cc", entry: "rum", text: plainSource, message: `no function "rum" in k.cc`, hint: "did you mean run?"},
		{
			name: "static and dropped", file: "k.c", entry: "run", text: "static void run(float *x, long n) { *x = n; }\n",
			message: `no function "run" in k.c`, hint: "run is static",
		},
		{
			name: "static and used", file: "k.cc", entry: "run", message: `no function "run" in k.cc`, hint: "run is static",
			text: "__attribute__((noinline)) static\nvoid run(float *x, long n) { *x = n; }\nvoid other(float *x) { run(x, 1); run(x, 2); }\n",
		},
		{
			name: "behind a condition", file: "k.c", entry: "run", text: "#ifdef NEVER\nvoid run(float *x, long n) {}\n#endif\nvoid other(void) {}\n",
			message: `no function "run" in k.c`, hint: "behind an #if",
		},
		{name: "nothing", file: "k.c", entry: "run", text: "int run;\n", message: `no function "run" in k.c`, hint: "defines no function"},
	} {
		p := newProject(t, map[string]string{"pawl.yaml": yaml(test.file, "entry: "+test.entry), test.file: test.text})
		o := p.one(b)
		if test.symbol != "" {
			if o.Fault != nil || o.Artifact.Symbols[0] != test.symbol {
				t.Errorf("%s: %+v\n%s", test.name, o.Fault, o.Output)
			}
			continue
		}
		if o.Fault == nil || o.Fault.Cause != result.CauseNoEntry || o.Fault.Stage != "build" ||
			o.Fault.Message != test.message || !strings.Contains(o.Fault.Hint, test.hint) {
			t.Errorf("%s: %+v\n%s", test.name, o.Fault, o.Output)
		}
	}
}

// What pawl calls is what it links in: no kernel takes its place.
func TestNamesOfPawlAreTaken(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	for name, text := range map[string]string{
		"a function": "void pawl_run(void) {}\n",
		"a variable": "int pawl_abi = 7;\n",
		"a label":    "__asm__(\".globl pawl_run\\npawl_run:\\n\");\n",
	} {
		o := newProject(t, map[string]string{"pawl.yaml": yaml("k.c", "entry: run"), "k.c": plainSource + text}).one(b)
		if o.Fault == nil || !strings.Contains(o.Fault.Message, "a name that pawl reserves") || !strings.Contains(o.Fault.Hint, "rename it") {
			t.Errorf("%s: %+v\n%s", name, o.Fault, o.Output)
		}
	}
}
