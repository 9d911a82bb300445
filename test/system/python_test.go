package system

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func needNumPy(t *testing.T) {
	t.Helper()
	if err := exec.Command(cmp.Or(os.Getenv("PAWL_PYTHON"), "python3"), "-c", "import numpy").Run(); err != nil {
		t.Skip("there is no Python with NumPy")
	}
}

// nosy is a Python kernel that imports a module beside it, and reads what git and
// pawl keep there.
const nosy = `import os
import numpy as np
from beside import factor

print("seen:", sorted(name for name in os.listdir(FOLDER) if not name.startswith(".")))
for path in (FOLDER + "/.git/config", FOLDER + "/.pawl/note", FOLDER + "/linked.py", FOLDER + "/deep/.git/config"):
    try:
        print("read", open(path).read())
    except OSError as e:
        print("refused", e.errno)

def run(x, out):
    out[:] = x * factor
`

// A Python cell imports from the folder of pawl.yaml, and reads nothing there that git
// or pawl keep.
func TestPythonReadsNoSecrets(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	needNumPy(t)
	const secret = "hunter2-in-a-checkout"
	p := newProject(t)
	for _, folder := range []string{".git", ".pawl", "deep/.git"} {
		if err := os.MkdirAll(filepath.Join(p.dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{".git/config", ".pawl/note", "deep/.git/config"} {
		p.write(file, secret)
	}
	if err := os.Link(filepath.Join(p.dir, ".git/config"), filepath.Join(p.dir, "linked.py")); err != nil {
		t.Fatal(err)
	}
	p.write("beside.py", "factor = 2\n")
	p.write("nosy.py", strings.ReplaceAll(nosy, "FOLDER", `"`+p.dir+`"`))
	p.write("pawl.yaml", `version: 1
kernels:
  nosy:
    python: nosy:run
    args:
      - {name: x, dtype: f32, shape: [N]}
      - {name: out, dtype: f32, shape: [N], role: out}
configs:
  small: {N: 4096}
`)
	real, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	row := tried(t, p, "nosy", "open "+real+"/.git/config for reading", "open "+real+"/.pawl/note for reading", "open "+real+"/linked.py for reading", "open "+real+"/deep/.git/config for reading")
	if strings.Contains(row.Log, secret) || strings.Count(row.Log, "refused 13") < 4 || !strings.Contains(row.Log, "'beside.py', 'deep', 'linked.py', 'nosy.py'") {
		t.Errorf("the log is:\n%s", row.Log)
	}
	if len(row.Sandbox.Attempts) != 4 {
		t.Errorf("attempts %q", row.Sandbox.Attempts)
	}
}
