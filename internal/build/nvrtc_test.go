package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/native/cuda/cubin/cubintest"
	"pawl/internal/native/nvrtc"
	"pawl/internal/result"
)

// withoutNVCC hides every nvcc, and every CUDA that the machine has.
func withoutNVCC(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/usr/local/cuda/bin/nvcc"); err == nil {
		t.Skip("there is an nvcc in /usr/local/cuda, where it is always found")
	}
	for _, name := range []string{"NVCC", "CUDA_HOME", "CUDA_PATH"} {
		t.Setenv(name, "")
	}
	t.Setenv("PATH", t.TempDir())
}

// newRuntimeBuilder compiles with the NVRTC that PAWL_NVRTC names, or with the
// newest of the toolkits; it skips where there is none.
func newRuntimeBuilder(t *testing.T) *Builder {
	t.Helper()
	if os.Getenv("PAWL_NVRTC") == "" {
		toolkits := cubintest.Toolkits(t)
		return newToolkitBuilder(t, toolkits[len(toolkits)-1], "sm_90a")
	}
	withoutNVCC(t)
	b, err := New(Options{CacheDir: t.TempDir(), NoCcache: true, Arch: "sm_90a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.runtime(); err != nil {
		t.Skipf("%v (PAWL_NVRTC names its folder)", err)
	}
	return b
}

func TestRuntimeEntries(t *testing.T) {
	b := newRuntimeBuilder(t)
	for _, tc := range cudaEntries {
		t.Run(tc.name, func(t *testing.T) {
			o := b.Build(t.Context(), cudaProject(t, tc.entry, tc.source).requests()[:1])[0]
			if tc.symbol == "" {
				if o.Fault == nil || o.Fault.Cause != result.CauseNoEntry || !strings.Contains(o.Fault.Hint, tc.hint) {
					t.Errorf("%+v", o.Fault)
				}
				return
			}
			if o.Fault != nil {
				t.Fatalf("%+v\n%s", o.Fault, o.Output)
			}
			if got := o.Artifact.Symbols[0]; got != tc.symbol {
				t.Errorf("symbol %s, want %s", got, tc.symbol)
			}
			if r := o.Artifact.Resources[0]; r.Registers == 0 || o.Output != "" {
				t.Errorf("resources %+v, output %q", r, o.Output)
			}
			if !strings.HasPrefix(o.Artifact.Compiler, "NVRTC 1") {
				t.Errorf("compiler %q", o.Artifact.Compiler)
			}
		})
	}
}

// Every file that is read counts, by content; those that are not, do not.
func TestRuntimeTracksIncludes(t *testing.T) {
	b := newRuntimeBuilder(t)
	p := cudaProject(t, "scale", "#include <cuda_fp16.h>\n#include \"inner/factor.h\"\n#include <offset.h>\n"+
		`extern "C" `+strings.Replace(scale, "*= M", "= __half2float(__float2half(FACTOR)) + OFFSET", 1))
	p.write("pawl.yaml", strings.Replace(strings.Replace(cudaYAML, "ENTRY", "scale", 1), "params: {M: [64, 32]", "flags: [-I, lib, -O3]\n    params: {M: [64]", 1))
	p.write("inner/factor.h", "#if __has_include(\"value.h\")\n#include \"value.h\"\n#else\n#define FACTOR 2\n#endif\n")
	p.write("lib/offset.h", "#define OFFSET 1\n")
	p.write("lib/other.h", "")
	var code string
	build := func(what string, cached, sameCode bool) string {
		t.Helper()
		o := b.Build(t.Context(), p.requests())[0]
		if o.Fault != nil || len(o.Notes) > 0 {
			t.Fatalf("%s: %+v %q\n%s", what, o.Fault, o.Notes, o.Output)
		}
		if o.Artifact.Cached != cached || code != "" && sameCode != (o.Artifact.Code == code) {
			t.Errorf("%s: cached %v, code %s after %s", what, o.Artifact.Cached, o.Artifact.Code, code)
		}
		code = o.Artifact.Code
		return o.Artifact.Key
	}
	build("first", false, false)
	build("again", true, true)
	p.write("lib/other.h", "#error never read\n")
	build("another file", true, true)
	p.write("lib/offset.h", "// only a comment\n#define OFFSET 1\n")
	build("a comment", false, true)
	p.write("lib/offset.h", "#define OFFSET 3\n")
	before := build("a header from -I", false, false)
	p.write("inner/value.h", "#define FACTOR 5\n")
	build("a header that appears", false, false)
	p.write("inner/offset.h", "#define OFFSET 100\n") // not where <offset.h> is looked for
	build("a header of the same name elsewhere", true, true)
	if err := os.Remove(filepath.Join(p.dir, "inner/value.h")); err != nil {
		t.Fatal(err)
	}
	if build("a header that disappears", true, false) != before {
		t.Error("it is not what it was before the header appeared")
	}
}

// What the preprocessor alone could follow is compiled and not kept.
func TestRuntimeComputedInclude(t *testing.T) {
	b := newRuntimeBuilder(t)
	p := cudaProject(t, "scale", "#define WHICH \"factor.h\"\n#include WHICH\n"+`extern "C" `+scale)
	p.write("factor.h", "")
	for range 2 {
		o := b.Build(t.Context(), p.requests()[:1])[0]
		if o.Fault != nil || o.Artifact.Cached || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "#include WHICH") {
			t.Fatalf("%+v %q", o.Fault, o.Notes)
		}
	}
}

func TestRuntimeCode(t *testing.T) {
	b := newRuntimeBuilder(t)
	code := func(source string) string {
		t.Helper()
		o := b.Build(t.Context(), cudaProject(t, "scale", source).requests()[:1])[0]
		if o.Fault != nil {
			t.Fatalf("%s\n%s", o.Fault.Message, o.Output)
		}
		return o.Artifact.Code
	}
	base := code(`extern "C" ` + scale)
	if code("// a comment\n\n\n"+`extern "C" `+scale) != base {
		t.Error("a comment changed the code")
	}
	if code(`extern "C" `+strings.Replace(scale, "*= M", "*= M + 1", 1)) == base {
		t.Error("another constant has the same code")
	}
}

func TestRuntimeErrors(t *testing.T) {
	b := newRuntimeBuilder(t)
	for _, tc := range []struct {
		name, source, flags string
		cause               result.Cause
		says, output        string
	}{
		{"source", `__global__ void scale(float *x, long n) { oops }`, "[]", result.CauseCompile, "failed compiling k.cu", "k.cu(1): error: identifier \"oops\" is undefined\n"},
		{"header", "#include <vector>\n" + scale, "[]", result.CauseCompile, "", "\"vector\""},
		{"option", scale, "[--std=c++98]", result.CauseCompile, "", "nvrtc: error: invalid value for --std"},
		{"flag of nvcc", scale, "[--expt-relaxed-constexpr]", result.CauseUnsupported, "--expt-relaxed-constexpr", ""},
		{"architecture", scale, "[-arch=sm_80]", result.CauseUnsupported, "-arch=sm_80", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := cudaProject(t, "scale", tc.source)
			p.write("pawl.yaml", strings.Replace(strings.Replace(cudaYAML, "ENTRY", "scale", 1), "params:", "flags: "+tc.flags+"\n    params:", 1))
			o := b.Build(t.Context(), p.requests())[0]
			if o.Fault == nil || o.Fault.Cause != tc.cause || !strings.Contains(o.Fault.Message, tc.says) || !strings.Contains(o.Output, tc.output) {
				t.Errorf("%+v\n%s", o.Fault, o.Output)
			}
			if tc.name == "header" && !strings.Contains(o.Fault.Hint, "does not see the host's headers") {
				t.Errorf("hint %q", o.Fault.Hint)
			}
		})
	}
	o := b.Build(t.Context(), cudaProject(t, "scale", "__global__ void scale(float *x, long n) { int idle; }").requests()[:1])[0]
	if o.Fault != nil || !strings.Contains(o.Output, "\"idle\" was declared but never referenced") || strings.Contains(o.Output, "ptxas") {
		t.Errorf("%+v\n%s", o.Fault, o.Output)
	}
}

// The headers of C that most kernels include are there, and agree with CUDA's.
func TestRuntimeHeaders(t *testing.T) {
	b := newRuntimeBuilder(t)
	var all strings.Builder
	for name := range runtimeHeaders {
		all.WriteString("#include <" + name + ">\n")
	}
	source := all.String() + `#include <cuda.h>
#include <cuda/std/cstdint>
extern "C" __global__ void scale(float *x, int64_t n) {
  assert(n > 0);
  std::uint32_t i = threadIdx.x;
  size_t j = (uintptr_t)x % 64;
  if (i < n) x[i] = fminf(FLT_MAX, INT_MAX) + sizeof(CUtensorMap) + j + CUDA_VERSION;
  if (i > 2000) printf("%d\n", (int)i);
}`
	o := b.Build(t.Context(), cudaProject(t, "scale", source).requests()[:1])[0]
	if o.Fault != nil || o.Output != "" {
		t.Errorf("%+v\n%s", o.Fault, o.Output)
	}
}

func TestRuntimeFlags(t *testing.T) {
	got, fault := runtimeFlags([]string{
		"-O3", "-DA=1", "-D", "B", "--define-macro=C", "-UA", "-Iinclude", "-I", "../lib", "-isystem", "sys", "-std=c++20", "--use_fast_math",
		"-maxrregcount", "64", "-Xptxas", "-O2,-dlcm=ca", "--ptxas-options=-v", "-lineinfo", "-fmad=false",
	})
	want := []string{
		"--define-macro=A=1", "--define-macro=B", "--define-macro=C", "--undefine-macro=A", "--include-path=include", "--include-path=../lib",
		"--include-path=sys", "--std=c++20", "--use_fast_math", "--maxrregcount=64", "--ptxas-options=-O2", "--ptxas-options=-dlcm=ca",
		"--ptxas-options=-v", "-lineinfo", "--fmad=false",
	}
	if diff := cmp.Diff(want, got); diff != "" || fault != nil {
		t.Errorf("%+v (-want +got):\n%s", fault, diff)
	}
	if diff := cmp.Diff([]string{"include", "../lib", "sys"}, flagValues(got, searchFlags)["-I"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, wrong := range []string{"-Xcompiler", "-lcublas", "-arch=sm_80", "-rdc=true", "--extended-lambda", "kernel.o", "-include=a.h"} {
		if _, fault := runtimeFlags([]string{wrong}); fault == nil || !strings.Contains(fault.Message, wrong) || fault.Cause != result.CauseUnsupported {
			t.Errorf("%s: %+v", wrong, fault)
		}
	}
	if _, fault := runtimeFlags([]string{"-I"}); fault == nil || !strings.Contains(fault.Message, "needs a value") {
		t.Errorf("%+v", fault)
	}
}

// inFreshProcess runs a test again in a process that has loaded no NVRTC: one that
// is loaded is found by its name from then on. It is false there.
func inFreshProcess(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv("BUILD_TEST_FRESH") == t.Name() {
		return false
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), "BUILD_TEST_FRESH="+t.Name(), "PAWL_NVRTC="), env...)
	output, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("%v\n%s", err, output)
	case strings.Contains(string(output), "--- SKIP"):
		t.Skipf("%s", output)
	}
	return true
}

// Where NVRTC is found in the packages of the Python on PATH, their headers are used.
func TestRuntimeFromPython(t *testing.T) {
	folder := os.Getenv("BUILD_TEST_NVRTC")
	if folder == "" {
		toolkits := cubintest.Toolkits(t)
		folder = toolkits[len(toolkits)-1].Folder
	}
	for _, layout := range []struct{ name, library, headers string }{
		{"newer", "cu13/lib", "cu13/include"},
		{"older", "cuda_nvrtc/lib", "cuda_runtime/include"},
		{"headless", "cu13/lib", ""},
	} {
		t.Run(layout.name, func(t *testing.T) {
			if inFreshProcess(t, "BUILD_TEST_NVRTC="+folder) {
				return
			}
			withoutNVCC(t)
			if _, err := nvrtc.Open(); err == nil {
				t.Skip("NVRTC is installed for everybody here")
			}
			prefix := t.TempDir()
			site := filepath.Join(prefix, "lib/python3.12/site-packages/nvidia")
			writeFile(t, filepath.Join(prefix, "bin/python3"), "#!/bin/sh\nexit 1\n")
			writeFile(t, filepath.Join(site, "cuda_cccl/include/x.h"), "")
			if layout.headers != "" {
				writeFile(t, filepath.Join(site, layout.headers, "cuda.h"), "")
			}
			err := os.Chmod(filepath.Join(prefix, "bin/python3"), 0o755)
			if err == nil {
				err = os.MkdirAll(filepath.Dir(filepath.Join(site, layout.library)), 0o755)
			}
			if err == nil {
				err = os.Symlink(folder, filepath.Join(site, layout.library))
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", filepath.Join(prefix, "bin"))
			c, err := findRuntimeCompiler()
			if layout.headers == "" {
				if err == nil || !strings.Contains(err.Error(), "has no CUDA headers: no cuda.h in ") {
					t.Errorf("%+v, %v", c, err)
				}
				return
			}
			if err != nil || c.headers[0] != filepath.Join(site, layout.headers) || !strings.HasPrefix(c.library.Path(), site) {
				t.Fatalf("%+v, %v", c, err)
			}
			writeFile(t, filepath.Join(c.headers[0], "cuda.h"), "#define CUDA_VERSION 13010\n")
			if id, err := c.identify(); err != nil || id == c.id {
				t.Errorf("other headers, same identity: %v", err)
			}
		})
	}
}

func TestNoCUDACompiler(t *testing.T) {
	if inFreshProcess(t) {
		return
	}
	withoutNVCC(t)
	if _, err := nvrtc.Open(); err == nil {
		t.Skip("NVRTC is installed for everybody here")
	}
	b, err := New(Options{CacheDir: t.TempDir(), Arch: "sm_90a"})
	if err != nil {
		t.Fatal(err)
	}
	var p *project
	for launcher, says := range map[string][]string{
		"":                            {`"nvcc" is not on PATH`, "CUDA_HOME", "no NVRTC", "libnvrtc.so.13"},
		"launcher: true\n    params:": {`"nvcc" is not on PATH`, "which NVRTC cannot compile"},
	} {
		p = cudaProject(t, "scale", scale)
		if launcher != "" {
			text := strings.Replace(strings.Replace(cudaYAML, "ENTRY", "scale", 1), "params:", launcher, 1)
			p.write("pawl.yaml", strings.Replace(text, "    launch: {grid: 1, block: M}\n", "", 1))
		}
		o := b.Build(t.Context(), p.requests()[:1])[0]
		if o.Fault == nil || o.Fault.Cause != result.CauseUnsupported || !strings.Contains(o.Fault.Hint, "install the CUDA toolkit") {
			t.Fatalf("%+v", o.Fault)
		}
		for _, part := range says {
			if !strings.Contains(o.Fault.Message, part) {
				t.Errorf("%q is not in %q", part, o.Fault.Message)
			}
		}
	}
	t.Setenv("NVCC", "/nowhere/nvcc") // what the user names is not replaced by something else
	b, err = New(Options{CacheDir: t.TempDir(), Arch: "sm_90a"})
	if err != nil {
		t.Fatal(err)
	}
	if o := b.Build(t.Context(), p.requests()[:1])[0]; o.Fault == nil || !strings.Contains(o.Fault.Message, "/nowhere/nvcc") {
		t.Errorf("%+v", o.Fault)
	}
}
