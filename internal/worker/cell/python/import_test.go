package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pawl/internal/worker/wire"
)

// compiled writes a module, and bytecode of another text where Python would take it for
// the module's without looking at that.
const compiled = `
import os, py_compile, sys
folder = sys.argv[1]
def write(name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path
for name in "h.py", "pkg/__init__.py", "pkg/inner.py", "space/inner.py", "first.py":
    path = write(name, "VALUE = 'bytecode'\n")
    py_compile.compile(path, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    write(name, "VALUE = 'text'\n")
py_compile.compile(write("alone.py", ""), cfile=os.path.join(folder, "alone.pyc"))
os.remove(os.path.join(folder, "alone.py"))
write("both.py", "")
write("both.abi3.so", "")
`

// A cell imports the project's modules from their text, wherever they are imported
// from, and packages of the interpreter from bytecode as ever.
func TestBytecodeOfTheProject(t *testing.T) {
	p := start(t, "numpy", "def run(): pass\n", "run")
	project := filepath.Join(t.TempDir(), "project")
	if out, err := exec.Command(interpreter(t), "-I", "-c", compiled, project).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(project, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(p.dir, "kernel.txt")
	load := func(entry, text string, dirs ...string) {
		t.Helper()
		if err := os.WriteFile(module, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.ok(wire.OpLoad, map[string]any{"framework": "numpy", "entry": entry, "path": module, "dirs": dirs}, nil)
	}
	const run = "\ndef run(): pass\n"
	// PYTHONPATH may name another folder of the repository.
	load("other:run", `
import sys
sys.path.insert(0, "`+project+`")
import first
assert first.VALUE == "text", first.VALUE
`+run, filepath.Join(project, "pkg"))
	load("pkg.kernel:run", `
import importlib.util, sys
assert sys.modules["pkg"].VALUE == "text"
import h
assert h.VALUE == "text", h.VALUE
from pkg import inner
assert inner.VALUE == "text"
import space.inner
assert space.inner.VALUE == "text"
assert importlib.util.find_spec("alone") is None
assert type(importlib.util.find_spec("both").loader).__name__ == "ExtensionFileLoader"
assert h.__file__.endswith("h.py")
import numpy
assert type(numpy.__loader__).__name__ == "SourceFileLoader" and type(importlib.util.find_spec("fractions").loader).__name__ == "SourceFileLoader"
`+run, project)
}
