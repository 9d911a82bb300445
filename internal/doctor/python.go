package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"pawl/internal/term"
	"pawl/internal/worker"
)

// question finds the frameworks without importing them, which takes seconds
// and may start a device. The first line keeps files of the working folder
// from standing in for modules.
const question = `
import sys
sys.path = [p for p in sys.path if p]
import importlib.metadata, importlib.util, json, os, sysconfig
found = {}
for name in sys.argv[1:]:
    if importlib.util.find_spec(name) is None:
        continue
    found[name] = ""
    for dist in [name] + [f"{name}-cuda{n}x" for n in (14, 13, 12, 11)]:
        try:
            found[name] = importlib.metadata.version(dist)
            break
        except importlib.metadata.PackageNotFoundError:
            pass
managed = sys.prefix == sys.base_prefix and os.path.exists(
    os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))
print()
print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3], "managed": managed, "found": found}))
`

type pythonAnswer struct {
	Version string            `json:"version"`
	Managed bool              `json:"managed"` // by the distribution: pip refuses to install
	Found   map[string]string `json:"found"`
}

// python asks for the frameworks by the names they are imported under.
func (s *system) python() probe {
	return probe{look: s.lookPython, checks: []Check{
		{Group: Python, Name: "python3", Gives: "Python kernels and oracles"},
		{Group: Python, Name: "torch", Gives: "PyTorch kernels, oracles and rivals"},
		{Group: Python, Name: "triton", Gives: "Triton kernels"},
		{Group: Python, Name: "cupy", Gives: "CuPy kernels"},
		{Group: Python, Name: "jax", Gives: "JAX kernels"},
		{Group: Python, Name: "numpy", Gives: "NumPy kernels and oracles"},
	}}
}

func (s *system) lookPython(ctx context.Context, checks []Check) {
	interpreter, packages := &checks[0], checks[1:]
	fix := s.install("python3", "python3", "python", "Python 3.9 or later: https://www.python.org/downloads")
	named := os.Getenv("PAWL_PYTHON")
	path := find(worker.PythonName(), nil)
	if path == "" {
		if named != "" {
			interpreter.Note, fix = "PAWL_PYTHON names "+clip(named)+", which is not there", "unset PAWL_PYTHON, or set it to a Python 3.9 or later"
		}
		for i := range checks {
			checks[i].Status, checks[i].Fix = Missing, fix
		}
		return
	}
	interpreter.Path = path

	answer, err := askPython(ctx, path, packages)
	if err != nil {
		interpreter.Status, interpreter.Note, interpreter.Fix = Limited, err.Error(), fix
		for i := range packages {
			packages[i].Status, packages[i].Note, packages[i].Fix = Missing, "python3 does not report its version", fix
		}
		return
	}
	interpreter.Status, interpreter.Value = OK, clip(answer.Version)
	for i := range packages {
		p := &packages[i]
		v, found := answer.Found[p.Name]
		if !found {
			p.Status, p.Fix = Missing, pip(p.Name, named, answer.Managed)
			continue
		}
		p.Status, p.Value = OK, clip(v)
	}
}

func askPython(ctx context.Context, path string, packages []Check) (pythonAnswer, error) {
	args := []string{"-c", question}
	for _, p := range packages {
		args = append(args, p.Name)
	}
	said, err := output(ctx, path, args...)
	if err != nil {
		return pythonAnswer{}, err
	}
	// Start-up files may print before it.
	lines := strings.Split(strings.TrimSpace(said), "\n")
	var answer pythonAnswer
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &answer); err != nil || answer.Version == "" {
		return pythonAnswer{}, fmt.Errorf("gives an unexpected answer: %s", firstNonEmptyLine(said))
	}
	return answer, nil
}

// pip returns the command that installs a package for the Python that cells run in: the
// one that PAWL_PYTHON names, or else python3.
func pip(name, named string, managed bool) string {
	python, after := "python3", ""
	if named != "" {
		python, after = term.ShellLine(named), " && unset PAWL_PYTHON"
	}
	if managed {
		return python + " -m venv .venv && . .venv/bin/activate && pip install " + name + after
	}
	return python + " -m pip install " + name
}
