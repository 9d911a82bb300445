package build

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/term"
)

func exportProject(t *testing.T) *project {
	args := `
    args:
      - {name: x, dtype: f32, shape: [N], role: inout}
      - {name: n, dtype: i64, value: N}
`
	return newProject(t, map[string]string{
		"pawl.yaml": "version: 1\nkernels:\n" +
			"  c:\n    source: src/k.c\n    entry: run\n    flags: [-I, an inc, -include, pre.h, '-DTEXT=\"a $x\"']\n    params: {P: [1, 2]}" + args +
			"  cpp:\n    source: src/k.cc\n    entry: run\n    flags: [-std=c++17]" + args +
			"configs:\n  small: {N: 16}\n",
		"src/k.c":       "#include <help.h>\n#include <assert.h>\nvoid run(float *x, long n) { assert(n > PRE); x[0] = HELP * P + sizeof TEXT; }\n",
		"src/k.cc":      "void run(float *x, long n) { x[0] = n; }\n",
		"an inc/help.h": "#define HELP 3\n",
		"pre.h":         "#define PRE 0\n",
	})
}

func TestExport(t *testing.T) {
	t.Parallel()
	p := exportProject(t)
	b := newBuilder(t)
	requests := p.requests()
	dir := filepath.Join(t.TempDir(), "out")
	if err := b.Export(context.Background(), dir, slices.Concat(requests, requests)); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(filepath.Join(dir, "compile_commands.json"))
	if err != nil {
		t.Fatal(err)
	}
	var commands []compileCommand
	if err := json.Unmarshal(text, &commands); err != nil {
		t.Fatal(err)
	}
	for i := range commands {
		commands[i].Arguments[0] = filepath.Base(commands[i].Arguments[0])
	}
	want := []compileCommand{
		{Directory: p.dir, File: "src/k.c", Arguments: []string{
			"cc", "-O3", "-march=native", "-g", "-fPIC", "-I", "an inc", "-include", "pre.h", `-DTEXT="a $x"`, "-DP=1", "-c", "src/k.c",
		}},
		{Directory: p.dir, File: "src/k.cc", Arguments: []string{
			"c++", "-O3", "-march=native", "-g", "-fPIC", "-std=c++17", "-c", "src/k.cc",
		}},
	}
	if diff := cmp.Diff(want, commands); diff != "" {
		t.Errorf("compile_commands.json (-want +got):\n%s", diff)
	}

	if _, err := exec.LookPath("ninja"); err != nil {
		t.Skip("ninja is not installed")
	}
	mustRun(t, dir, "ninja")
	if again := mustRun(t, dir, "ninja"); !strings.Contains(again, "no work to do") {
		t.Errorf("a second run of ninja did: %s", again)
	}
	built, err := filepath.Glob(filepath.Join(dir, "*.so"))
	if err != nil || len(built) != 3 {
		t.Fatalf("built %q, %v", built, err)
	}
	var codes, wantCodes []string
	for _, path := range built {
		so, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := loadedPart(so)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, hostCode(loaded))
		if got := exportsOf(t, so); !slices.Equal(got, exported) {
			t.Errorf("%s exports %q", filepath.Base(path), got)
		}
	}
	for _, o := range b.Build(context.Background(), requests) {
		wantCodes = append(wantCodes, o.Artifact.Code) // in which exported names count
	}
	slices.Sort(codes)
	slices.Sort(wantCodes)
	if !slices.Equal(codes, wantCodes) {
		t.Errorf("ninja made other code: %q, expected %q", codes, wantCodes)
	}

	p.write("an inc/help.h", "#define HELP 4\n")
	if again := mustRun(t, dir, "ninja"); strings.Count(again, " -c ") != 2 {
		t.Errorf("a changed header made ninja do: %s", again)
	}
}

// exportsOf returns the symbols that a shared object defines for others.
func exportsOf(t *testing.T, so []byte) []string {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(so))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// A source that does not compile is exported all the same.
func TestExportOfABrokenSource(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"k.c": "void run(float *x, long n) { x = ; }\n"})
	dir := t.TempDir()
	if err := newBuilder(t).Export(context.Background(), dir, p.requests()); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("ninja"); err != nil {
		t.Skip("ninja is not installed")
	}
	if output := outputOf(t, dir, "ninja"); !strings.Contains(output, "k.c:1:34: error:") {
		t.Errorf("ninja says: %s", output)
	}
}

func TestShellWords(t *testing.T) {
	t.Parallel()
	words := []string{"plain", "-DX=1", "", "a b", "it's", `"q"`, "$HOME", "a;b", "*", "é", "\\", "~"}
	got := mustRun(t, ".", "sh", "-c", "printf '%s\\n' "+term.ShellLine(words...))
	if got != strings.Join(words, "\n")+"\n" {
		t.Errorf("the shell reads %q", got)
	}
}

// Cubins are the same, too: of templates as well, whatever they call their parameters.
func TestExportCUDA(t *testing.T) {
	b := newCUDABuilder(t)
	if _, err := exec.LookPath("ninja"); err != nil {
		t.Skip("ninja is not installed")
	}
	p := newProject(t, map[string]string{
		"pawl.yaml": strings.Replace(cudaYAML, "ENTRY", `"scale<M>"`, 1),
		"k.cu":      "#include \"factor.h\"\ntemplate <int M> __global__ void scale(float *x, long n) { *x = M * FACTOR + n; }\n",
		"factor.h":  "#define FACTOR 3\n",
	})
	dir := filepath.Join(t.TempDir(), "out")
	if err := b.Export(t.Context(), dir, p.requests()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "compile_commands.json")); err != nil || strings.Contains(string(text), "-DM=") {
		t.Errorf("%v\n%s", err, text)
	}
	mustRun(t, dir, "ninja")
	if again := mustRun(t, dir, "ninja"); !strings.Contains(again, "no work to do") {
		t.Errorf("a second run of ninja did: %s", again)
	}
	built, err := filepath.Glob(filepath.Join(dir, "*.cubin"))
	if err != nil {
		t.Fatal(err)
	}
	var codes, want []string
	for _, path := range built {
		image, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code, err := cubinHash(image, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, code)
	}
	for _, o := range b.Build(t.Context(), p.requests()) {
		code, err := cubinHash(content(t, o.Artifact), nil, false)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, code)
	}
	slices.Sort(codes)
	slices.Sort(want)
	if !slices.Equal(codes, want) {
		t.Errorf("ninja made other code: %q, expected %q", codes, want)
	}
	p.write("factor.h", "#define FACTOR 4\n")
	if again := mustRun(t, dir, "ninja"); strings.Count(again, "-cubin") != 2 {
		t.Errorf("a changed header made ninja do: %s", again)
	}
}
