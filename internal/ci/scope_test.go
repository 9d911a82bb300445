package ci

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/forge"
	"pawl/internal/git"
)

const scopeSpec = `version: 1
kernels:
  saxpy:
    source: src/saxpy.c
    entry: saxpy
    flags: [-include, config/tuned.def]
    args:
      - {name: y, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i32, value: N}
    oracle: {elementwise: "1"}
configs:
  small: {N: 64}
`

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"add", "--all"}, {"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "change"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
}

func TestScope(t *testing.T) {
	files := map[string]string{
		"pawl.yaml": scopeSpec, "src/saxpy.c": "#include \"lib/first.h\"\nvoid saxpy(float *y, int n) { for (int i = 0; i < n; i++) y[i] = ONE; }\n",
		"lib/first.h": "#include <second.hpp>\n", "include/second.hpp": "#include \"table.dat\"\n", "data/table.dat": "#define ONE 1\n",
		"config/tuned.def": "", "docs/guide.md": "", "other/unrelated.c": "int x;\n", "Makefile": "",
	}
	for name, want := range map[string]bool{
		"pawl.yaml": true, "src/saxpy.c": true, "lib/first.h": true, "include/second.hpp": true, "data/table.dat": true, "config/tuned.def": true,
		".pawl/baseline/cpu.json": true, "docs/guide.md": false, "other/unrelated.c": false, "Makefile": false, "new/unrelated.c": false,
	} {
		dir := t.TempDir()
		for file, text := range files {
			write(t, dir, file, text)
		}
		if err := git.Create(t.Context(), dir, "begin"); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, files[name]+"\n\n")
		commit(t, dir)
		got, err := FindScope(t.Context(), filepath.Join(dir, "pawl.yaml"), "HEAD~1", "HEAD")
		if err != nil || got.Measure != want {
			t.Errorf("%s: %+v, %v; want %t", name, got, err, want)
		}
	}
}

// TestScopeErrsTowardsMeasuring: what cannot be known counts.
func TestScopeErrsTowardsMeasuring(t *testing.T) {
	for what, change := range map[string][2]string{
		"a spec that cannot be read":        {"pawl.yaml", "version: 1\nkernels: 7\n"},
		"an include that a macro names":     {"src/saxpy.c", "#define CAT(a, b) <a##b>\n#include CAT(other/unre, lated.c)\nvoid saxpy(float *y, int n) {}\n"},
		"a source that only the base lists": {"", ""},
	} {
		dir := t.TempDir()
		write(t, dir, "pawl.yaml", scopeSpec)
		write(t, dir, "src/saxpy.c", "void saxpy(float *y, int n) {}\n")
		write(t, dir, "other/unrelated.c", "int x;\n")
		if change[0] != "" {
			write(t, dir, change[0], change[1])
		}
		if err := git.Create(t.Context(), dir, "begin"); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "other/unrelated.c", "int y;\n")
		if change[0] == "" { // the change removes a source
			_ = os.Remove(filepath.Join(dir, "src/saxpy.c"))
		}
		commit(t, dir)
		got, err := FindScope(t.Context(), filepath.Join(dir, "pawl.yaml"), "HEAD~1", "HEAD")
		if err != nil || !got.Measure {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// TestScopeOfAnotherTree: the report job has the default branch checked out and asks about a commit
// that is only fetched. A new file counts if a compiler may find it: by its ending, or because a source
// has its name, which a folder nearer by then answers.
func TestScopeOfAnotherTree(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "pawl.yaml", scopeSpec)
	write(t, dir, "src/saxpy.c", "#include \"table.dat\"\nvoid saxpy(float *y, int n) {}\n")
	write(t, dir, "data/table.dat", "#define ONE 1\n")
	if err := git.Create(t.Context(), dir, "begin"); err != nil {
		t.Fatal(err)
	}
	base, err := git.Resolve(t.Context(), dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	checkout := func(sha string) {
		if out, err := exec.Command("git", "-C", dir, "checkout", "-q", sha).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	for file, want := range map[string]bool{"src/new.h": true, "src/table.dat": true, "src/other.dat": false} {
		write(t, dir, file, "#define X\n")
		commit(t, dir)
		head, err := git.Resolve(t.Context(), dir, "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		checkout(base)
		got, err := FindScope(t.Context(), filepath.Join(dir, "pawl.yaml"), "HEAD", head)
		if err != nil || got.Measure != want || want && strings.Join(got.Files, " ") != file {
			t.Errorf("%s: %+v, %v", file, got, err)
		}
	}
}

// TestScopeOfAForgedTree: the report job calls a stranger's change unmeasured, and so green, by its
// file names alone. A change that reaches a kernel by another way than an ordinary name counts.
func TestScopeOfAForgedTree(t *testing.T) {
	files := map[string]string{
		"pawl.yaml":                          scopeSpec,
		"src/saxpy.c":                        "#include <complex>\n#include <link.h>\n#include \"gr\u00f6\u00dfe und mehr.h\"\nvoid saxpy(float *y, int n) {}\n",
		"include/gr\u00f6\u00dfe und mehr.h": "", "shared/impl.txt": "#define ONE 1\n", "docs/guide.md": "see saxpy.c\n", "docs/gr\u00f6\u00dfe.md": "",
		"config/tuned.def": "",
	}
	for name, want := range map[string]bool{
		"include/complex":                    true,                             // before the system's header
		"include/gr\u00f6\u00dfe und mehr.h": true,                             // no word
		"shared/impl.txt":                    true,                             // behind a link
		".gitattributes":                     true, "src/.gitattributes": true, // other bytes in the checkout
		".pawl/peaks/cpu.json":       true, // a roof that nobody reaches
		".github/workflows/pawl.yml": true, "tools/gpu/action.yml": true,
		"docs/guide.md": false, "docs/gr\u00f6\u00dfe.md": false, "docs/new.md": false, "README.md": false, ".github/ISSUE_TEMPLATE/bug.md": false,
	} {
		dir := t.TempDir()
		for file, text := range files {
			write(t, dir, file, text)
		}
		if err := os.Symlink("../shared/impl.txt", filepath.Join(dir, "include/link.h")); err != nil {
			t.Fatal(err)
		}
		scopeAfter(t, dir, name, files[name]+"\n\n", want)
	}
}

// TestScopeOfModules: Python's modules are named with their packages.
func TestScopeOfModules(t *testing.T) {
	files := map[string]string{
		"pawl.yaml": `version: 1
kernels:
  saxpy:
    python: "main:saxpy"
    args:
      - {name: y, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i32, value: N}
    oracle: {elementwise: "1"}
configs:
  small: {N: 64}
`,
		"main.py":             "import numpy\nimport kernels.fast.inner as k\nfrom . import beside\n\ndef saxpy(y, n):\n    k.f(y)\n",
		"kernels/__init__.py": "", "kernels/fast/__init__.py": "", "kernels/fast/inner.py": "", "kernels/slow.py": "", "beside.py": "",
	}
	for name, want := range map[string]bool{
		"main.py": true, "kernels/__init__.py": true, "kernels/fast/__init__.py": true, "kernels/fast/inner.py": true, "beside.py": true,
		"numpy.cpython-312-x86_64-linux-gnu.so": true, "numpy/__init__.so": true, "kernels/slow.py": false, "notes.txt": false,
	} {
		dir := t.TempDir()
		for file, text := range files {
			write(t, dir, file, text)
		}
		scopeAfter(t, dir, name, files[name]+"\n\n", want)
	}
	dir := t.TempDir()
	for file, text := range files {
		write(t, dir, file, text)
	}
	write(t, dir, "main.py", "import importlib\nk = importlib.import_module('kernels.' + 'slow')\ndef saxpy(y, n):\n    k.f(y)\n")
	scopeAfter(t, dir, "kernels/slow.py", "\n", true)
}

// scopeAfter commits a folder and then a change of one file, and asks about the change as the report
// job does: with the commit before it checked out.
func scopeAfter(t *testing.T, dir, name, text string, want bool) {
	t.Helper()
	if err := git.Create(t.Context(), dir, "begin"); err != nil {
		t.Fatal(err)
	}
	write(t, dir, name, text)
	commit(t, dir)
	head, err := git.Resolve(t.Context(), dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", dir, "checkout", "-q", "HEAD~1").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	got, err := FindScope(t.Context(), filepath.Join(dir, "pawl.yaml"), "HEAD", head)
	if err != nil || got.Measure != want {
		t.Errorf("%s: %+v, %v; want %t", name, got, err, want)
	}
}

func TestWordsIn(t *testing.T) {
	for word, want := range map[string]string{
		"tuned.def": "tuned.def tuned def", "plain": "plain", "-Ia": "-Ia Ia a", "--include": "--include -include include nclude clude lude ude de e",
		strings.Repeat("-", 10_000): strings.Repeat("-", 10_000), // a ruler
	} {
		if got := strings.Join(wordsIn(word), " "); got != want {
			t.Errorf("%.20s: %.200s", word, got)
		}
	}
}

// crissCross makes a history in which main and a change have each merged the same two branches, and the
// change has dropped what one of them changed: beside the other it changes only words. It returns the
// folder, with main checked out, and the change.
func crissCross(t *testing.T) (dir, head string) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "pawl.yaml", scopeSpec)
	write(t, dir, "src/saxpy.c", "void saxpy(float *y, int n) {}\n")
	write(t, dir, "config/tuned.def", "")
	if err := git.Create(t.Context(), dir, "begin"); err != nil {
		t.Fatal(err)
	}
	at := func(day int, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		date := fmt.Sprintf("@%d +0000", 1_700_000_000+day) // git prefers the youngest
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
		return strings.TrimSpace(string(out))
	}
	at(0, "branch", "-M", "main")
	at(0, "checkout", "-q", "-b", "fix")
	write(t, dir, "src/saxpy.c", "void saxpy(float *y, int n) { /* fixed */ }\n")
	at(1, "commit", "-q", "-a", "-m", "fix")
	at(1, "checkout", "-q", "-b", "words", "main")
	write(t, dir, "words.txt", "words\n")
	at(2, "add", "--all")
	at(2, "commit", "-q", "-m", "words")
	at(2, "checkout", "-q", "main")
	at(3, "merge", "-q", "--no-ff", "-m", "fix", "fix")
	at(4, "merge", "-q", "--no-ff", "-m", "words", "words")
	at(5, "checkout", "-q", "-b", "change", "words")
	at(5, "merge", "-q", "-s", "ours", "-m", "merge", "fix")
	write(t, dir, "README.md", "more words\n")
	at(6, "add", "--all")
	at(6, "commit", "-q", "-m", "more words")
	head = at(6, "rev-parse", "HEAD")
	at(6, "checkout", "-q", "main")
	return dir, head
}

// TestScopeOfACrissCross: a merge that drops a change of main changes what is measured, although
// beside one of the two commits at which it left main it does not.
func TestScopeOfACrissCross(t *testing.T) {
	dir, head := crissCross(t)
	got, err := FindScope(t.Context(), filepath.Join(dir, "pawl.yaml"), "main", head)
	if err != nil || !got.Measure || !slices.Equal(got.Files, []string{"src/saxpy.c"}) {
		t.Errorf("%+v, %v; want src/saxpy.c", got, err)
	}
	opts := PostOptions{Head: forge.Head{SHA: head}, Spec: filepath.Join(dir, "pawl.yaml"), Trust: "own", Report: filepath.Join(dir, "pawl.yaml")}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	a, err := opts.admit(t.Context())
	if err != nil || !slices.Contains(a.doubts, leftTwice) {
		t.Errorf("%+v, %v; want a doubt", a, err)
	}
}
