package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPythonFrameworks(t *testing.T) {
	fakes(t, map[string]string{"python3": `echo a start-up file talks
echo '{"version": "3.12.3", "managed": true, "found": {"torch": "2.11.0+cu130", "cupy": ""}}'
`})
	report := examine(t, Options{})
	for name, want := range map[string]Check{
		"python3": {Status: OK, Value: "3.12.3"},
		"torch":   {Status: OK, Value: "2.11.0+cu130"},
		"cupy":    {Status: OK},
		"jax":     {Status: Missing, Fix: "python3 -m venv .venv && . .venv/bin/activate && pip install jax"},
	} {
		got := report.find(t, name)
		if got.Status != want.Status || got.Value != want.Value || got.Fix != want.Fix {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// Kernels run in the Python that PAWL_PYTHON names, so that is the one to examine.
func TestPythonThatIsNamed(t *testing.T) {
	answer := func(version string, managed bool) string {
		return fmt.Sprintf("echo '{\"version\": %q, \"managed\": %t, \"found\": {\"torch\": \"2.0\"}}'\n", version, managed)
	}
	dir := fakes(t, map[string]string{"python3": "exit 1\n", "other": answer("3.9.1", false), "managed": answer("3.9.2", true), "my py": answer("3.9.3", false)})
	for named, want := range map[string]struct{ path, version, fix string }{
		"other":                       {"other", "3.9.1", "other -m pip install jax"},
		filepath.Join(dir, "managed"): {"managed", "3.9.2", dir + "/managed -m venv .venv && . .venv/bin/activate && pip install jax && unset PAWL_PYTHON"},
		filepath.Join(dir, "my py"):   {"my py", "3.9.3", "'" + dir + "/my py' -m pip install jax"},
	} {
		t.Setenv("PAWL_PYTHON", named)
		report := examine(t, Options{})
		if c := report.find(t, "python3"); c.Status != OK || c.Value != want.version || c.Path != filepath.Join(dir, want.path) {
			t.Errorf("%s: %+v", named, c)
		}
		if c := report.find(t, "torch"); c.Status != OK || c.Value != "2.0" {
			t.Errorf("%s: %+v", named, c)
		}
		if c := report.find(t, "jax"); c.Status != Missing || c.Fix != want.fix {
			t.Errorf("%s: %+v", named, c)
		}
	}
	t.Setenv("PAWL_PYTHON", filepath.Join(dir, "nothing"))
	if c := examine(t, Options{}).find(t, "python3"); c.Status != Missing || !strings.Contains(c.Note, "PAWL_PYTHON") || c.Fix == "" {
		t.Errorf("%+v", c)
	}
}

func TestPythonThatMakesNoSense(t *testing.T) {
	for _, script := range []string{"echo hello\n", "echo '{}'\n", ":\n", "echo '[1]'\n"} {
		fakes(t, map[string]string{"python3": script})
		report := examine(t, Options{})
		if c := report.find(t, "python3"); c.Status != Limited || !strings.Contains(c.Note, "an unexpected answer") {
			t.Errorf("%q: %+v", script, c)
		}
		if c := report.find(t, "numpy"); c.Status != Missing || c.Note == "" || c.Fix == "" {
			t.Errorf("%q: %+v", script, c)
		}
	}
}

// The real interpreter, in a folder with files that pose as modules, and with
// one framework of our own making.
func TestRealPython(t *testing.T) {
	t.Setenv("PAWL_PYTHON", "")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	said, err := exec.Command(python, "--version").Output()
	if err != nil {
		t.Skip("python3 does not run: ", err)
	}
	packages := t.TempDir()
	writeFile(t, filepath.Join(packages, "jax/__init__.py"), "raise SystemExit('imported')\n")
	writeFile(t, filepath.Join(packages, "jax-9.8.7.dist-info/METADATA"), "Metadata-Version: 2.1\nName: jax\nVersion: 9.8.7\n")
	t.Setenv("PYTHONPATH", packages)
	here := t.TempDir()
	t.Chdir(here)
	writeFile(t, filepath.Join(here, "json.py"), "raise SystemExit('imported')\n")
	writeFile(t, filepath.Join(here, "triton/__init__.py"), "")

	report := Examine(t.Context(), Options{CacheDir: t.TempDir()})
	want := strings.TrimSpace(strings.TrimPrefix(string(said), "Python "))
	if c := report.find(t, "python3"); c.Status != OK || c.Value != want {
		t.Errorf("%+v, want version %s", c, want)
	}
	if c := report.find(t, "jax"); c.Status != OK || c.Value != "9.8.7" {
		t.Errorf("%+v", c)
	}
	if c := report.find(t, "triton"); c.Status == OK && c.Value == "" {
		t.Errorf("a folder here counts as a framework: %+v", c)
	}
	if _, err := os.Stat(filepath.Join(here, "__pycache__")); err == nil {
		t.Error("a file here was imported")
	}
}
