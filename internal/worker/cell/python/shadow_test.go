package python

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/worker/wire"
)

// stored returns the cell's program where a worker would write it, as text and compiled.
func stored(t *testing.T) map[string]string {
	t.Helper()
	needs(t, "numpy")
	text, compiled := t.TempDir(), t.TempDir()
	for _, dir := range []string{text, compiled} {
		if err := os.CopyFS(dir, Cell); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(interpreter(t), "-m", "compileall", "-q", "-b", compiled).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return map[string]string{"text": filepath.Join(text, Program), "compiled": filepath.Join(compiled, Program+"c")}
}

// write makes files of a user's.
func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A user's package of the cell's name is not taken for the cell's, wherever the
// interpreter could find it.
func TestShadowing(t *testing.T) {
	programs := stored(t)
	const ran = "raise SystemExit(7)\n"
	whole := map[string]string{}
	for _, name := range shipped(t) {
		whole[name] = ran
	}
	folder := write(t, t.TempDir(), whole)
	file := write(t, t.TempDir(), map[string]string{"_pawl_cell.py": ran})
	loose := write(t, t.TempDir(), map[string]string{"_pawl_cell/serve.py": ran, "_pawl_cell/frameworks/numpy.py": ran})
	// site reads .pth files of such a folder as of its own.
	start := func(pth string) string {
		site := write(t, t.TempDir(), map[string]string{"user.pth": pth + "\n"})
		return write(t, t.TempDir(), map[string]string{"sitecustomize.py": "import site\nsite.addsitedir('" + site + "')\n", "early.py": early})
	}
	for name, tc := range map[string]struct{ dir, path string }{
		"current folder":           {dir: folder},
		"PYTHONPATH, a folder":     {path: folder},
		"PYTHONPATH, a file":       {path: file},
		"PYTHONPATH, no __init__":  {path: loose},
		"a .pth file with a path":  {path: start(folder)},
		"sys.modules, the package": {path: start("import early; early.preset('_pawl_cell')")},
		"sys.modules, a module":    {path: start("import early; early.preset('_pawl_cell.serve', '_pawl_cell.clock')")},
		"sys.modules, all":         {path: start("import early; early.preset('_pawl_cell', '_pawl_cell.serve', '_pawl_cell.frameworks', '_pawl_cell.frameworks.numpy')")},
		"a finder":                 {path: start("import early; early.find()")},
		"a path hook":              {path: start("import early; early.hook()")},
	} {
		for form, program := range programs {
			t.Run(name+"/"+form, func(t *testing.T) {
				if testing.Short() && form == "compiled" && name != "PYTHONPATH, a folder" {
					t.Skip("long: run by make long")
				}
				t.Parallel()
				dir := t.TempDir()
				if tc.dir != "" {
					dir = write(t, dir, whole)
				}
				p := launch(t, program, dir, "PYTHONPATH="+tc.path)
				p.load("numpy", "def run(a):\n    return a * 2", "run")
				p.works()
			})
		}
	}
}

// early is what runs when an interpreter starts.
const early = `
import os, sys, types

def other(name):
    module = types.ModuleType(name)
    module.__path__ = []
    module.main = lambda: sys.exit(7)
    return module

def preset(*names):
    for name in names:
        sys.modules[name] = other(name)

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("_pawl_cell"):
            sys.exit(7)

def find():
    sys.meta_path.insert(0, Finder)

def hook():
    def opens(path):
        if "_pawl_cell" in path and os.path.isdir(path):
            sys.exit(7)
        raise ImportError
    sys.path_hooks.insert(0, opens)
    sys.path_importer_cache.clear()
`

// works takes samples.
func (p *peer) works() {
	p.t.Helper()
	p.ok(wire.OpPrepare, problem("in", "out"), nil)
	if reply := p.sample(wire.Sample{Count: 3}); reply.Count != 3 {
		p.t.Errorf("%+v", reply)
	}
}

// Bytecode of other text, where PYTHONPYCACHEPREFIX says that it is, is not the cell's.
func TestShadowingBytecode(t *testing.T) {
	for form, program := range stored(t) {
		t.Run(form, func(t *testing.T) {
			prefix := t.TempDir()
			other := write(t, t.TempDir(), map[string]string{"other.py": "raise SystemExit(7)\n"})
			const compile = `
import importlib.util, os, py_compile, sys
for name in sys.argv[2:]:
    py_compile.compile(sys.argv[1], cfile=importlib.util.cache_from_source(name), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
`
			args := []string{"-c", compile, filepath.Join(other, "other.py")}
			for _, name := range shipped(t) {
				args = append(args, filepath.Join(filepath.Dir(program), strings.TrimPrefix(name, "_pawl_cell/")))
			}
			make := exec.Command(interpreter(t), args...)
			make.Env = append(os.Environ(), "PYTHONPYCACHEPREFIX="+prefix)
			if out, err := make.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			p := launch(t, program, t.TempDir(), "PYTHONPYCACHEPREFIX="+prefix)
			p.load("numpy", "def run(a):\n    return a * 2", "run")
			p.works()
		})
	}
}

// A kernel may have the cell's name itself, or one in the project that it imports from.
func TestShadowingByTheKernel(t *testing.T) {
	project := write(t, t.TempDir(), map[string]string{"_pawl_cell/__init__.py": "", "_pawl_cell/clock.py": "def on_processor(call, repeat):\n    return 1e-9\n"})
	for _, module := range []string{"_pawl_cell", "_pawl_cell.clock", "_pawl_cell.kernel"} {
		t.Run(module, func(t *testing.T) {
			p := launch(t, stored(t)["compiled"], t.TempDir())
			write(t, p.dir, map[string]string{"kernel.txt": "import time\n\ndef run(a):\n    time.sleep(2e-3)\n    return a * 2\n\ndef on_processor(call, repeat):\n    return 1e-9\n"})
			p.ok(wire.OpLoad, map[string]any{"framework": "numpy", "entry": module + ":run", "path": filepath.Join(p.dir, "kernel.txt"), "dirs": []string{project}}, nil)
			p.ok(wire.OpPrepare, problem("in", "out"), nil)
			frame := p.ask(wire.OpSample, wire.Sample{Count: 3, Repeat: 1, Cache: "cold"})
			if frame.Op != wire.OpOK {
				t.Fatalf("%s", frame.Body)
			}
			if seconds := math.Float64frombits(binary.LittleEndian.Uint64(frame.Data)); seconds < 2e-3 {
				t.Errorf("a call of 2 ms took %v s", seconds)
			}
		})
	}
}

// replaces puts something else that does the same into a module of the cell.
const replaces = `
import sys, types

def replace(name):
    names = vars(sys.modules[name])
    there = [(k, v) for k, v in names.items() if not k.startswith("__") and (callable(v) or isinstance(v, types.ModuleType))]
    key, value = [(k, v) for k, v in there if getattr(v, "__module__", "") == name or "." not in name or name.endswith("frameworks")][0]
    if isinstance(value, type):
        names[key] = type(key, (value,), {})
    elif callable(value):
        names[key] = lambda *values, **more: value(*values, **more)
    else:
        names[key] = types.SimpleNamespace(**vars(value))

todo = ["NAME"]

def run(a):
    while todo:
        replace(todo.pop())
    return a * 2
`

// Whatever module of the cell a function replaces something in, it is noticed.
func TestTamperingWithEachModule(t *testing.T) {
	for _, file := range shipped(t) {
		if file == Program {
			continue // has done its work by then
		}
		if testing.Short() && strings.Contains(file, "frameworks/") && !strings.HasSuffix(file, "/numpy.py") {
			continue
		}
		name := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(file, path.Ext(file)), "/__init__"), "/", ".")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "numpy", strings.Replace(replaces, "NAME", name, 1), "run")
			p.ok(wire.OpPrepare, problem("in", "out"), nil)
			p.fails(wire.OpSample, wire.Sample{Count: 3, Repeat: 1, Cache: "cold"}, "forged", "tampered-cell: "+name+".")
		})
	}
}
