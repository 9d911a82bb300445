package build

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever file of the project Python may take an import from is part of the code: one
// that changes, and one that is new.
func TestPythonInputs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files  map[string]string // the kernel is ops/scale.py
		change string
	}{
		"behind a semicolon":         {map[string]string{"ops/scale.py": "import numpy as np; import h\n", "h.py": ""}, "h.py"},
		"behind a colon":             {map[string]string{"ops/scale.py": "if True: import h\n", "h.py": ""}, "h.py"},
		"on a continued line":        {map[string]string{"ops/scale.py": "import sys as s, \\\n  h\n", "h.py": ""}, "h.py"},
		"in brackets":                {map[string]string{"ops/scale.py": "from pkg import (a,\n  h)\n", "pkg/h.py": ""}, "pkg/h.py"},
		"import_module":              {map[string]string{"ops/scale.py": "importlib.import_module('pkg.h')\n", "pkg/h.py": ""}, "pkg/h.py"},
		"import_module, renamed":     {map[string]string{"ops/scale.py": "from importlib import import_module as load\nload('pkg.h')\n", "pkg/__init__.py": "", "pkg/h.py": ""}, "pkg/h.py"},
		"a name that is computed":    {map[string]string{"ops/scale.py": "__import__('h' + '1')\n", "h1.py": ""}, "h1.py"},
		"an archive":                 {map[string]string{"ops/scale.py": "import sys\nsys.path.append('lib/h.zip')\nimport h\n", "lib/h.zip": "PK"}, "lib/h.zip"},
		"all of a package":           {map[string]string{"ops/scale.py": "from pkg import *\n", "pkg/__init__.py": "__all__ = ['h']\n", "pkg/h.py": ""}, "pkg/h.py"},
		"own package":                {map[string]string{"ops/scale.py": "", "ops/__init__.py": ""}, "ops/__init__.py"},
		"relative":                   {map[string]string{"ops/scale.py": "from .inner import deep\n", "ops/inner/deep.py": ""}, "ops/inner/deep.py"},
		"from the package above":     {map[string]string{"ops/scale.py": "import ops.a.b\n", "ops/a/b.py": "from ..c import d\n", "ops/c.py": ""}, "ops/c.py"},
		"an extension before":        {map[string]string{"ops/scale.py": "import h\n", "h.py": ""}, "h.cpython-311-x86_64-linux-gnu.so"},
		"a stable extension":         {map[string]string{"ops/scale.py": "import h\n", "h.abi3.so": ""}, "h.abi3.so"},
		"a plain extension":          {map[string]string{"ops/scale.py": "import h\n", "h.so": ""}, "h.so"},
		"bytecode alone":             {map[string]string{"ops/scale.py": "import h\n", "h.pyc": ""}, "h.pyc"},
		"package before module":      {map[string]string{"ops/scale.py": "import h\n", "h.py": ""}, "h/__init__.py"},
		"package as extension":       {map[string]string{"ops/scale.py": "import h\n"}, "h/__init__.abi3.so"},
		"in a namespace":             {map[string]string{"ops/scale.py": "import space.h\n", "space/h.py": ""}, "space/h.py"},
		"another search path":        {map[string]string{"ops/scale.py": "import h, setup_path\n", "setup_path.py": "import sys\nsys.path.insert(0, 'lib/deep')\n", "lib/deep/h.py": ""}, "lib/deep/h.py"},
		"letters that look alike":    {map[string]string{"ops/scale.py": "import \u210e\n", "h.py": ""}, "h.py"},
		"another encoding":           {map[string]string{"ops/scale.py": "# coding: utf-7\n+AGkAbQBwAG8AcgB0ACAAaA-\n", "h.py": ""}, "h.py"},
		"in place of a library's":    {map[string]string{"ops/scale.py": "import statistics\n"}, "fractions.py"},
		"a package in its place":     {map[string]string{"ops/scale.py": "import statistics\n"}, "fractions/__init__.py"},
		"an extension in its place":  {map[string]string{"ops/scale.py": "import statistics\n"}, "fractions.so"},
		"a module of such a package": {map[string]string{"ops/scale.py": "", "email/__init__.py": ""}, "email/message.py"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(pythonCommand()); err != nil && strings.Contains(name, "place") {
				t.Skipf("needs Python: %v", err)
			}
			before := buildPython(t, pythonProject(t, tc.files))
			changed := maps.Clone(tc.files)
			changed[tc.change] += "# changed\n"
			if after := buildPython(t, pythonProject(t, changed)); after.Code == before.Code || after.Key == before.Key {
				t.Errorf("another %s is the same code", tc.change)
			}
		})
	}
}

// What no import can take is no part of the code.
func TestPythonInputsOfOthers(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"ops/scale.py": "import numpy as np\nfrom ops import helper\n", "ops/helper.py": "", "ops/__init__.py": "", "email/__init__.py": "",
	}
	before := buildPython(t, pythonProject(t, files))
	for _, name := range []string{
		"other.py", "ops/other.py", "helper.py", "__pycache__/helper.cpython-311.pyc", "ops/__pycache__/helper.cpython-311.pyc", "helper.txt",
		"lib/fractions.py", "fractions/no_package.py", "email/surely_not_there.py",
	} {
		changed := maps.Clone(files)
		changed[name] = "# new\n"
		if after := buildPython(t, pythonProject(t, changed)); after.Code != before.Code {
			t.Errorf("%s is part of the code", name)
		}
	}
}

// A library that an extension loads from the project is part of the code.
func TestPythonExtensionLibraries(t *testing.T) {
	t.Parallel()
	request := pythonProject(t, map[string]string{
		"ops/scale.py": "import ext\n", "ext.c": "int help(void);\nint ext(void) { return help(); }\n", "lib/help.c": "int help(void) { return 1; }\n",
	})
	mustRun(t, request.Dir, "cc", "-shared", "-fPIC", "-o", "lib/libhelp.so", "lib/help.c")
	mustRun(t, request.Dir, "cc", "-shared", "-fPIC", "-o", "ext.so", "ext.c", "-Llib", "-lhelp", "-Wl,-rpath,$ORIGIN/lib")
	before := buildPython(t, request)
	writeFile(t, filepath.Join(request.Dir, "lib/help.c"), "int help(void) { return 2; }\n")
	mustRun(t, request.Dir, "cc", "-shared", "-fPIC", "-o", "lib/libhelp.so", "lib/help.c")
	if after := buildPython(t, request); after.Code == before.Code {
		t.Error("another library is the same code")
	}
}

// The interpreter is asked in a way that runs nothing of the project's, and again when
// something has been installed.
func TestPythonInstallation(t *testing.T) {
	if _, err := exec.LookPath(pythonCommand()); err != nil {
		t.Skipf("needs Python: %v", err)
	}
	project, packages, cache := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"json.py", "site.py", "sitecustomize.py"} {
		writeFile(t, filepath.Join(project, name), "open('"+project+"/ran', 'w')\n")
	}
	writeFile(t, filepath.Join(packages, "tools/inner.py"), "")
	t.Chdir(project)
	t.Setenv("PYTHONPATH", project+":"+packages)
	b, err := New(Options{CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	found := b.python.find()
	if found == nil {
		t.Fatal("nothing was found")
	}
	if _, err := os.Stat(filepath.Join(project, "ran")); err == nil {
		t.Error("a file of the project was run")
	}
	there := b.python.outside(newFence(b.sandbox, project, "", &compiler{Command: []string{""}}))
	if !there.has("fractions") || !there.has("sys") || len(there["tools"]) != 1 || there.has("ran") {
		t.Errorf("has %v", there)
	}
	kept := newPythonTool(b.cache)
	t.Setenv("PAWL_PYTHON", pythonCommand()) // whatever it is
	if again := kept.find(); again == nil || again.State != found.State {
		t.Errorf("then %+v", again)
	}
}

func TestPythonTooManyFiles(t *testing.T) {
	s := &imports{dir: "/", files: make([]string, mostImports), seen: map[string]bool{}}
	if s.add("/proc/self/stat"); !s.tooMany {
		t.Error("there is no limit")
	}
}
