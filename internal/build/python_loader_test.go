package build

import (
	"strings"
	"testing"
	"time"
)

// Code that loads modules by other means than import statements hides which.
func TestPythonLoaders(t *testing.T) {
	for name, text := range map[string]string{
		"resolve_name":            "import pkgutil\nrun = pkgutil.resolve_name('pkg.fast:run')\n",
		"locate":                  "import pydoc\nrun = pydoc.locate('pkg.fast').run\n",
		"a renamed locate":        "from pydoc import locate as l\nrun = l('pkg.' + 'fast').run\n",
		"find_spec":               "import importlib.util\ns = importlib.util.find_spec('pkg.fast')\n",
		"exec_module":             "spec.loader.exec_module(m)\n",
		"a renamed importlib":     "import importlib\ni = importlib\n",
		"getattr of importlib":    "import importlib\nrun = getattr(importlib, 'import' + '_module')('pkg.fast').run\n",
		"run_path":                "import runpy\nrun = runpy.run_path('x')['run']\n",
		"zipimport":               "from zipimport import zipimporter as z\n",
		"imp":                     "import imp\n",
		"code":                    "from code import InteractiveInterpreter as I\n",
		"__loader__":              "run = __loader__\n",
		"__spec__":                "run = __spec__\n",
		"sys.modules":             "import sys\nrun = sys.modules['x']\n",
		"getattr of sys":          "import sys\nrun = getattr(sys, 'mod' + 'ules')\n",
		"from sys import modules": "from sys import modules as m\n",
		"sys.meta_path":           "import sys\nsys.meta_path.append(1)\n",
		"exec":                    "exec(text)\n",
		"a renamed eval":          "f = eval\n",
		"compile":                 "run = compile(text, '', 'exec')\n",
		"globals":                 "run = globals()['__buil' + 'tins__']\n",
		"__builtins__":            "run = __builtins__['ev' + 'al']\n",
		"builtins":                "import builtins\n",
		"a name in a string":      "run = getattr(x, 'exec_module')\n",
		"entry_points":            "from importlib.metadata import entry_points as e\n",
		"pickle":                  "import pickle\n",
	} {
		if _, opaque := scanImports([]byte(text)); !opaque {
			t.Errorf("%s is not seen", name)
		}
	}
}

func TestPythonNarrow(t *testing.T) {
	for name, text := range map[string]string{
		"import_module": "import importlib\nm = importlib.import_module('pkg.fast')\n",
		"compile":       "import re, torch\np = re.compile('x')\nf = torch.compile(g)\nm.eval()\n",
		"prose":         "# code that would exec a module, see importlib and pickle\n\"\"\"eval and exec and builtins\"\"\"\n",
		"modules":       "for m in model.modules():\n    pass\n",
		"sys":           "import sys\nsys.stdout.write('x')\nif sys.platform == 'linux': pass\n",
		"getattr":       "import torch\nf8 = getattr(torch, 'float8_e4m3fn', None)\n",
		"a source":      "import cupy\ncode = 'extern \"C\"'\nk = cupy.RawKernel(code, 'k')\n",
		"Triton":        "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x):\n    return tl.load(x)\n",
	} {
		if _, opaque := scanImports([]byte(text)); opaque {
			t.Errorf("%s is taken for a loader", name)
		}
	}
}

// The text of comments is read once, however deep they are in each other.
func TestScanImportsIsQuick(t *testing.T) {
	done := make(chan bool)
	go func() {
		scanImports([]byte(strings.Repeat("import_module #", 40)))
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it takes for ever")
	}
}
