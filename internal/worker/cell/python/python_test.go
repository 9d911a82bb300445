package python

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func interpreter(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath(cmp.Or(os.Getenv("PAWL_PYTHON"), "python3"))
	if err != nil {
		t.Skipf("needs Python: %v", err)
	}
	return path
}

// shipped names the files of the cell's package.
func shipped(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(Cell, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	return files
}

// All modules ship, also those of a folder that is new.
func TestCellIsWhole(t *testing.T) {
	var there []string
	err := filepath.WalkDir("_pawl_cell", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".py") {
			there = append(there, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files := shipped(t); !slices.Equal(there, files) {
		t.Errorf("%v ship of %v", files, there)
	}
}

// The cell makes the same bits as package oracle, with every framework that is
// there.
func TestGenerator(t *testing.T) {
	python := interpreter(t)
	golden, err := filepath.Abs("../../../oracle/testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, framework := range []string{"numpy", "torch", "cupy", "jax"} {
		t.Run(framework, func(t *testing.T) {
			command := exec.Command(python, "testdata/golden.py", framework, golden)
			command.Stderr = os.Stderr
			out, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text := strings.TrimSpace(string(out))
			if reason, skipped := strings.CutPrefix(text, "skip: "); skipped {
				t.Skip(reason)
			}
			if !strings.HasPrefix(text, "ok: ") || !strings.HasSuffix(text, " 0 wrong") {
				t.Error(text)
			}
		})
	}
}

// What ships must run on Python 3.9: this parses it with that grammar.
func TestOldGrammar(t *testing.T) {
	python := interpreter(t)
	texts := map[string][]byte{"rivals.py": Rivals}
	for _, name := range shipped(t) {
		text, err := Cell.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	for name, text := range texts {
		command := exec.Command(python, "-c", "import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 9))")
		command.Stdin = bytes.NewReader(text)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// How a function is given its arguments, what is made of a device's events, what the
// rivals ask of PyTorch, and whether all names are there that the modules use.
func TestScripts(t *testing.T) {
	for _, script := range []string{"parameters.py", "events.py", "seal.py", "device.py", "trace.py", "rivals.py", "returns.py", "profiler.py", "names.py"} {
		command := exec.Command(interpreter(t), filepath.Join("testdata", script))
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}
