package worker

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
	"pawl/internal/worker/cell/python"
	"pawl/internal/worker/wire"
)

// fakePython is a program that answers as the interpreter would be asked.
func fakePython(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAWL_PYTHON", path)
}

func TestFindPython(t *testing.T) {
	for name, text := range map[string]string{
		"fails":      "echo no such module >&2; exit 3",
		"says junk":  "echo hello",
		"no path":    `echo '{"executable": ""}'`,
		"not a path": `echo '{"executable": "python3"}'`,
	} {
		t.Run(name, func(t *testing.T) {
			fakePython(t, text)
			if _, err := findPython(t.TempDir()); causeOf(err) != result.CauseUnsupported {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Setenv("PAWL_PYTHON", filepath.Join(t.TempDir(), "nothing"))
		if _, err := findPython(t.TempDir()); causeOf(err) != result.CauseUnsupported {
			t.Errorf("got %v", err)
		}
		if hasPython() {
			t.Error("an interpreter that is not there is offered")
		}
	})
	t.Run("noisy", func(t *testing.T) {
		fakePython(t, `echo welcome; echo '{"executable": "/opt/py/bin/python", "read": ["/opt/py"], "user_base": "/home/u/.local"}'`)
		dir := t.TempDir()
		got, err := findPython(dir)
		if err != nil {
			t.Fatal(err)
		}
		want := &interpreter{Executable: "/opt/py/bin/python", Read: []string{"/opt/py"}, UserBase: "/home/u/.local", Program: filepath.Join(dir, python.Program)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Cells start a compiled program: otherwise each would compile it again.
func TestFindPythonCompiles(t *testing.T) {
	if _, err := exec.LookPath(PythonName()); err != nil {
		t.Skipf("needs Python: %v", err)
	}
	dir := t.TempDir()
	found, err := findPython(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, python.Program+"c"); found.Program != want {
		t.Errorf("%s, want %s", found.Program, want)
	}
	if _, err := os.Stat(found.Program); err != nil {
		t.Error(err)
	}
}

// Asking the interpreter runs nothing of the project that pawl is in, or that PYTHONPATH names: it
// is not sandboxed.
func TestFindPythonInAProject(t *testing.T) {
	if _, err := exec.LookPath(PythonName()); err != nil {
		t.Skipf("needs Python: %v", err)
	}
	for name, variable := range map[string]string{"current folder": "", "PYTHONPATH": "set"} {
		t.Run(name, func(t *testing.T) {
			project := t.TempDir()
			for _, file := range []string{"json.py", "sitecustomize.py"} {
				if err := os.WriteFile(filepath.Join(project, file), []byte("open('"+project+"/ran', 'w')\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(project)
			if variable != "" {
				t.Chdir(t.TempDir())
				t.Setenv("PYTHONPATH", project)
			}
			if _, err := findPython(t.TempDir()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(project, "ran")); err == nil {
				t.Error("a file of the project was run")
			}
		})
	}
}

// pythonServer has an interpreter that is not asked.
func pythonServer(t *testing.T) *server {
	t.Helper()
	return &server{store: &store{dir: t.TempDir()}, python: func() (*interpreter, error) {
		return &interpreter{Executable: "/opt/py/bin/python", Read: []string{"/opt/py"}, Program: "/store/_pawl_cell/__main__.py"}, nil
	}}
}

func TestPythonProgram(t *testing.T) {
	project, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	bytecode := t.TempDir()
	t.Setenv("PYTHONPATH", project+":relative")
	t.Setenv("PYTHONPYCACHEPREFIX", bytecode)
	t.Setenv("SECRET", "shown to nobody")
	s := pythonServer(t)
	p, err := s.pythonProgram(wire.Open{Dirs: []string{project, elsewhere, "relative"}, Parallel: 3}, hostDevice, "/scratch")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HOME=/scratch", "OMP_NUM_THREADS=3", "PYTHONHASHSEED=0", "CUBLAS_WORKSPACE_CONFIG=:4096:8", "CUDA_VISIBLE_DEVICES=", "PYTHONPATH=" + project + ":relative", "PYTHONPYCACHEPREFIX=" + bytecode} {
		if !slices.Contains(p.env, want) {
			t.Errorf("no %s in the environment", want)
		}
	}
	if slices.ContainsFunc(p.env, func(v string) bool { return strings.Contains(v, "SECRET") }) {
		t.Error("the worker's own environment is passed on")
	}
	if !slices.Contains(p.policy.Read, project) || !slices.Contains(p.policy.Read, bytecode) || slices.Contains(p.policy.Read, elsewhere) || slices.Contains(p.policy.Read, "relative") {
		t.Errorf("may read %v", p.policy.Read)
	}
	if !p.policy.Processes || p.policy.LocalSockets || len(p.policy.Devices) > 0 {
		t.Errorf("policy %+v", p.policy)
	}
	// Another version reads nothing of the user's checkout, except what is named.
	own := t.TempDir()
	own, err = filepath.EvalSymlinks(own)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(own, ".cache", "tree")
	if err := errors.Join(os.MkdirAll(base, 0o755), os.MkdirAll(filepath.Join(own, "src"), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", project+":"+own+"/src:"+filepath.Dir(own))
	if p, err = s.pythonProgram(wire.Open{Dirs: []string{base}, Apart: own}, hostDevice, "/scratch"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{own, own + "/src", filepath.Dir(own)} {
		if slices.Contains(p.policy.Read, path) {
			t.Errorf("may read %s of %v", path, p.policy.Read)
		}
	}
	if !slices.Contains(p.policy.Read, project) || !slices.Contains(p.policy.Read, base) || slices.ContainsFunc(p.env, func(v string) bool { return strings.Contains(v, own) }) {
		t.Errorf("may read %v; environment %v", p.policy.Read, p.env)
	}
	gpu, err := s.pythonProgram(wire.Open{}, "GPU-1", "/scratch")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(gpu.env, "CUDA_VISIBLE_DEVICES=GPU-1") || !gpu.policy.LocalSockets {
		t.Errorf("on a GPU: %v %+v", gpu.env, gpu.policy)
	}
}

// A real interpreter, held by the sandbox, says what is wrong with a module.
func TestPythonFaults(t *testing.T) {
	if _, err := exec.LookPath(PythonName()); err != nil {
		t.Skipf("needs Python: %v", err)
	}
	if out, err := exec.Command(PythonName(), "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("needs NumPy: %s", out)
	}
	c := connect(t)
	for name, tc := range map[string]struct {
		text, entry, framework string
		cause                  result.Cause
		says                   string
	}{
		"syntax":        {"def run(:", "m:run", "numpy", result.CauseCompile, "m.py:1: "},
		"raises":        {"1 / 0", "m:run", "numpy", result.CauseCrash, "importing m raised ZeroDivisionError: division by zero (m.py, line 1)"},
		"no package":    {"import surely_not_there.inner", "m:run", "numpy", result.CauseUnsupported, "importing m: "},
		"no name":       {"from math import nothing", "m:run", "numpy", result.CauseUnsupported, "cannot import name 'nothing'"},
		"no function":   {"def other(): pass", "m:run", "numpy", result.CauseNoEntry, "no function 'run' in m"},
		"no callable":   {"run = 3", "m:run", "numpy", result.CauseNoEntry, "is no function but int"},
		"no param":      {"def run(x): pass", "m:run", "numpy", result.CauseNoEntry, "has no parameter BLOCK"},
		"no framework":  {"def run(x): pass", "m:run", "tensors", result.CauseProtocol, "no framework"},
		"no entry":      {"def run(x): pass", "", "numpy", result.CauseProtocol, "names no function"},
		"inner package": {"from . import b", "a.m:run", "numpy", result.CauseUnsupported, "importing a.m: "},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "no package" || name == "no name" || name == "no callable" || name == "no param" || name == "inner package") {
				t.Skip("long: run by make long")
			}
			sha, err := c.Upload(t.Context(), []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			cell, err := c.Open(t.Context(), wire.Open{Cell: "python", Sandbox: "auto", Framework: tc.framework})
			if err != nil {
				t.Fatal(err)
			}
			load := wire.Load{SHA256: sha, Entry: tc.entry}
			if name == "no param" {
				load.Params = map[string]json.RawMessage{"BLOCK": json.RawMessage("64")}
			}
			_, err = cell.Load(t.Context(), load)
			if causeOf(err) != tc.cause || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %q: %v", causeOf(err), err)
			}
			closed, err := cell.Close(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(closed.Sandbox.Attempts) > 0 {
				t.Errorf("attempts: %v", closed.Sandbox.Attempts)
			}
		})
	}
}

// What frameworks do when they start does not count as an attempt: JAX reads the PCI bus, and
// several name threads other than the calling one.
func TestPythonHabits(t *testing.T) {
	if _, err := exec.LookPath(PythonName()); err != nil {
		t.Skipf("needs Python: %v", err)
	}
	if out, err := exec.Command(PythonName(), "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("needs NumPy: %s", out)
	}
	c := connect(t)
	for name, text := range map[string]string{
		"thread names": `
import ctypes, threading
event = threading.Event()
helper = threading.Thread(target=event.wait, daemon=True)
helper.start()
failed = ctypes.CDLL(None).pthread_setname_np(ctypes.c_ulong(helper.ident), b"helper")
event.set()
assert failed == 0, failed
`,
		"PCI bus": `
import glob, os
if os.path.exists("/sys/bus/pci/devices"):
    os.listdir("/sys/bus/pci/devices")
for path in glob.glob("/sys/bus/pci/devices/*/vendor") + glob.glob("/sys/bus/pci/devices/*/device"):
    open(path).read()
`,
	} {
		t.Run(name, func(t *testing.T) {
			sha, err := c.Upload(t.Context(), []byte(text+"\ndef run(x): pass\n"))
			if err != nil {
				t.Fatal(err)
			}
			cell, err := c.Open(t.Context(), wire.Open{Cell: "python", Sandbox: "auto", Framework: "numpy"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cell.Load(t.Context(), wire.Load{SHA256: sha, Entry: "m:run"}); err != nil {
				t.Error(err)
			}
			closed, err := cell.Close(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(closed.Sandbox.Attempts) > 0 {
				t.Errorf("attempts: %v", closed.Sandbox.Attempts)
			}
		})
	}
}
