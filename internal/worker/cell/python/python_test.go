package python

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
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
	for name, text := range map[string][]byte{"cell.py": Cell, "rivals.py": Rivals} {
		command := exec.Command(python, "-c", "import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 9))")
		command.Stdin = bytes.NewReader(text)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// How a function is given its arguments, what is made of a device's events, and what
// the rivals ask of PyTorch.
func TestScripts(t *testing.T) {
	for _, script := range []string{"parameters.py", "events.py", "seal.py", "device.py", "trace.py", "rivals.py", "returns.py"} {
		command := exec.Command(interpreter(t), filepath.Join("testdata", script))
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}
