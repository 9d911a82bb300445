package build

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
)

const pythonSpec = `version: 1
kernels:
  scale:
    python: "ops.scale:run"
    params: {FACTOR: [1, 2]}
    args: [{name: y, dtype: f32, shape: 16, role: out}]
`

// pythonProject writes files below a folder and returns a request for the
// default variant of its kernel.
func pythonProject(t *testing.T, files map[string]string) Request {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := spec.Parse(filepath.Join(dir, "pawl.yaml"), []byte(pythonSpec))
	if err != nil {
		t.Fatal(err)
	}
	return Request{Dir: dir, Variant: s.Kernels[0].Default()}
}

func buildPython(t *testing.T, request Request) *Artifact {
	t.Helper()
	b, err := New(Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	o := b.Build(t.Context(), []Request{request})[0]
	if o.Fault != nil {
		t.Fatal(o.Fault)
	}
	return o.Artifact
}

func TestPythonArtifact(t *testing.T) {
	files := map[string]string{
		"ops/__init__.py": "", "ops/scale.py": "import helper\nimport numpy as np\nfrom . import sizes\n",
		"ops/sizes.py": "N = 4\n", "helper.py": "import deeper.inner\n", "deeper/inner.py": "X = 1\n", "unused.py": "",
	}
	request := pythonProject(t, files)
	a := buildPython(t, request)
	if string(content(t, a)) != files["ops/scale.py"] || a.Framework != "numpy" || a.SHA256 != sha256Hex(content(t, a)) || a.Symbols[0] != "ops.scale:run" {
		t.Errorf("artifact %+v", a)
	}
	if same := buildPython(t, pythonProject(t, files)); same.Code != a.Code || same.Key != a.Key {
		t.Error("the same files in another folder are other code")
	}
	// What the function is made of changes the code, wherever it stands.
	for _, name := range []string{"ops/scale.py", "ops/__init__.py", "ops/sizes.py", "helper.py", "deeper/inner.py"} {
		changed := map[string]string{}
		for file, text := range files {
			changed[file] = text
		}
		changed[name] += "# changed\n"
		if got := buildPython(t, pythonProject(t, changed)); got.Code == a.Code || got.Key == a.Key {
			t.Errorf("another %s is the same code", name)
		}
	}
	files["unused.py"] = "# changed\n"
	if got := buildPython(t, pythonProject(t, files)); got.Code != a.Code {
		t.Error("a file that nothing imports is part of the code")
	}
	other, err := request.Variant.With("FACTOR", "2")
	if err != nil {
		t.Fatal(err)
	}
	if got := buildPython(t, Request{Dir: request.Dir, Variant: other}); got.Code == a.Code {
		t.Error("another keyword argument is the same code")
	}
}

func TestPythonModuleGiven(t *testing.T) {
	request := pythonProject(t, nil)
	request.Module = []byte("import torch\n")
	if a := buildPython(t, request); a.Framework != "torch" || string(content(t, a)) != "import torch\n" {
		t.Errorf("artifact %+v", a)
	}
}

func TestPythonModuleMissing(t *testing.T) {
	request := pythonProject(t, map[string]string{"ops/scael.py": ""})
	b, err := New(Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	o := b.Build(t.Context(), []Request{request})[0]
	if o.Fault == nil || o.Fault.Cause != result.CauseCompile || o.Fault.Hint != "did you mean ops/scael.py?" {
		t.Errorf("got %+v", o.Fault)
	}
}

func TestScanImports(t *testing.T) {
	for text, want := range map[string][]string{
		"import os, torch.nn as nn  # two":                    {"os", "torch.nn"},
		"from a.b import (c,  # one\n    d as e,\n)\nx":       {"a.b", "a.b.c", "a.b.d"},
		"from . import f\nfrom ..g import h\n":                {".", ".f", "..g", "..g.h"},
		"from .import f\nfrom ... import g\n":                 {".", ".f", "...", "...g"},
		"    import inside":                                   {"inside"},
		"import numpy as np; import h1":                       {"numpy", "h1"},
		"if True: import h2\nelse:import h3":                  {"h2", "h3"},
		"import \\\n    h3":                                   {"h3"},
		"import sys as s, \\\r\n  h4b":                        {"sys", "h4b"},
		"from \\\n a \\\n . b import(\nc\n)":                  {"a.b", "a.b.c"},
		"from pkg import *; import x":                         {"pkg", "pkg.*", "x"},
		"import a\rimport b":                                  {"a", "b"},
		"\xef\xbb\xbfimport a":                                {"a"},
		"def f(): yield from g; import a":                     {"a"},
		"raise E from e\nimport a":                            {"a"},
		"x = 'it''s' # isn't\nimport a":                       {"a"},
		"x = r'\\'; import a'\nimport b":                      {"'a", "b"},
		"x = \"a\\\nb\"; import a":                            {"a"},
		"d = '''\nimport prose\n'''; import a":                {"'prose", "a"},
		"# import prose\nimport a":                            {"'prose", "a"},
		"importlib.import_module('h1').f()":                   {"h1"},
		"importlib.import_module ( # why\n name = r\"h1.x\")": {"h1.x"},
		"import_module('.h', 'pkg.sub')":                      {"pkg.sub.h", ".h"},
		"import_module('..h', package='pkg.sub')":             {"pkg.h", "..h"},
		"__import__('h1')":                                    {"h1"},
		"__import__(name)":                                    nil,
		"exec('import a\\nimport b')":                         {"'a", "'b"},
		"f\"{__import__('h1').x}\"":                           {"'h1"},
		"f\"{d[\"'''\"]}\"\nimport a":                         {"'a"},
		"f\"{d[\"#\"]}\"; import a":                           {"'a"},
		"important = from_x = imports":                        nil,
	} {
		if got := scanned(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"import a": false, "import \u210e1": true, "# \u210e\nx = '\u210e'": false, "# coding: utf-7\n": true, "#!x\n# -*- coding: UTF_8 -*-\n": false,
		"import_module(name)": true, "__import__(f'a{1}')": true, "f = importlib.import_module": true, "from importlib import import_module as load": true,
		"from importlib import import_module": false, "from importlib import import_module as import_module": false, "import_module('a')": false, "'import_module(name)'": false,
		"\n\n# coding: utf-7": true, "# vim: set fileencoding=latin-1 :": false,
	} {
		if _, opaque := scanImports([]byte(text)); opaque != want {
			t.Errorf("%q: opaque %v", text, opaque)
		}
	}
}

// scanned returns the imports of a text, with a ' before those that are quoted.
func scanned(text string) []string {
	var names []string
	found, _ := scanImports([]byte(text))
	for _, i := range found {
		if i.quoted {
			i.name = "'" + i.name
		}
		names = append(names, i.name)
	}
	return names
}

// parseImports lists the imports of modules by Python's own parser.
const parseImports = `
import ast, json, sys, warnings
warnings.simplefilter("ignore")
for line in sys.stdin:
    path, names = line.strip(), set()
    try:
        tree = ast.parse(open(path, "rb").read())
    except (SyntaxError, ValueError):
        continue
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        if isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names |= {base} | {base + ("" if base.endswith(".") else ".") + a.name for a in node.names}
    print(json.dumps({"path": path, "names": sorted(names)}))
`

var importCall = regexp.MustCompile(`(__import__|import_module)\s*\(`)

// Of every module of the standard library the scanner finds what Python's parser does.
func TestScanImportsOfTheLibrary(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath(pythonCommand())
	if err != nil {
		t.Skipf("needs Python: %v", err)
	}
	where, err := exec.Command(python, "-I", "-c", "import os; print(os.path.dirname(os.__file__))").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	seen, each := 0, 1
	if testing.Short() {
		each = 8
	}
	_ = filepath.WalkDir(strings.TrimSpace(string(where)), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".py") && !strings.Contains(path, "-packages") && !strings.Contains(path, "/test") && !strings.Contains(path, "/idlelib") {
			if seen%each == 0 {
				list.WriteString(path + "\n")
			}
			seen++
		}
		return nil
	})
	command := exec.Command(python, "-I", "-c", parseImports)
	command.Stdin = strings.NewReader(list.String())
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	for line := range strings.Lines(string(out)) {
		var module struct {
			Path  string
			Names []string
		}
		if err := json.Unmarshal([]byte(line), &module); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(module.Path)
		if err != nil {
			t.Fatal(err)
		}
		modules++
		sure, all := map[string]bool{}, map[string]bool{}
		found, opaque := scanImports(text)
		for _, i := range found {
			all[i.name] = true
			sure[i.name] = sure[i.name] || !i.quoted
		}
		for _, name := range module.Names {
			if !all[name] && !opaque {
				t.Errorf("%s: %s was not found", module.Path, name)
			}
			delete(sure, name)
		}
		for name, isSure := range sure {
			if isSure && !importCall.Match(text) {
				t.Errorf("%s: %s is not imported", module.Path, name)
			}
		}
	}
	if modules*each < 100 {
		t.Errorf("%d modules", modules)
	}
}

func TestGuessFramework(t *testing.T) {
	for text, want := range map[string]string{
		"import torch\nimport numpy":        "torch",
		"import triton.language as tl":      "torch",
		"from jax import numpy as jnp":      "jax",
		"import numpy as np\nimport cupy":   "cupy",
		"import numpy":                      "numpy",
		"import math\n":                     "",
		"import torchvision, numpy":         "numpy",
		"from numpy.typing import NDArray ": "numpy",
	} {
		if got := guessFramework([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	// The module's helper tells where the module itself does not.
	a := buildPython(t, pythonProject(t, map[string]string{"ops/scale.py": "import helper\n", "helper.py": "import torch\n"}))
	if a.Framework != "torch" {
		t.Errorf("framework %q", a.Framework)
	}
}

func FuzzImported(f *testing.F) {
	for _, text := range []string{
		"from a import (b,\n c)\nimport d.e as f; import g\n", "x = '''\\'''; import a", "import \\\r\n a", "__import__('a')", "import_module('..a', package='b.c')",
		"f\"{x[\"'\"]}\"; from . import *", "# coding: utf-7\n", "from .import a", "'\\", "import_module(name=",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, _ := scanImports(text)
		for _, i := range found {
			if i.name == "" || strings.ContainsAny(i.name, " \t\r\n\\#'\"();") {
				t.Errorf("%q imports %q", text, i.name)
			}
		}
		// What is imported last is found, whatever stands before it.
		after, opaque := scanImports(append(slices.Clone(text), "\n;import last_of_all\n"...))
		if !opaque && !slices.ContainsFunc(after, func(i pythonImport) bool { return strings.HasSuffix(i.name, "last_of_all") }) {
			t.Errorf("%q hides an import behind it", text)
		}
	})
}
