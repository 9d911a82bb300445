package build

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if string(a.Bytes) != files["ops/scale.py"] || a.Framework != "numpy" || a.SHA256 != sha256Hex(a.Bytes) || a.Symbols[0] != "ops.scale:run" {
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
	if a := buildPython(t, request); a.Framework != "torch" || string(a.Bytes) != "import torch\n" {
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

func TestImported(t *testing.T) {
	text := `
import os, torch.nn as nn  # two
from a.b import (c,
    d as e)
from . import f
from ..g import h
    import inside
if x: import late
"import prose"
`
	want := []string{"os", "torch.nn", "a.b", "a.b.c", "a.b.d", ".", ".f", "..g", "..g.h", "inside"}
	if diff := cmp.Diff(want, imported([]byte(text))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
	f.Add([]byte("from a import (b,\n c)\nimport d.e as f; import g\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		s := newImports("/nonexistent", "a/b.py")
		s.follow(text)
	})
}
