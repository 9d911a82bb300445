package spec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const loadText = `version: 1
kernels:
  copy: {source: src/copy.c, entry: copy, args: [{name: y, dtype: f32, shape: 16, role: out}]}
  other: {source: src/cpoy.c, entry: copy, args: [{name: y, dtype: f32, shape: 16, role: out}]}
  third: {source: lib/copy.c, entry: copy, args: [{name: y, dtype: f32, shape: 16, role: out}]}
  folder: {source: src/a.c, entry: copy, args: [{name: y, dtype: f32, shape: 16, role: out}]}
`

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pawl.yaml")
	writeFile(t, file, loadText)
	writeFile(t, filepath.Join(dir, "src/copy.c"), "")
	writeFile(t, filepath.Join(dir, "src/a.c/x"), "")
	_, err := Load(file)
	if err == nil {
		t.Fatal("missing sources accepted")
	}
	got := strings.ReplaceAll(err.Error(), dir, "DIR")
	for _, want := range []string{
		"DIR/pawl.yaml:4:19: DIR/src/cpoy.c does not exist", "did you mean copy.c?",
		"DIR/pawl.yaml:5:19: DIR/lib/copy.c does not exist", "there is no folder DIR/lib",
		"DIR/pawl.yaml:6:20: DIR/src/a.c is a folder",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "pawl.yaml:3") {
		t.Errorf("the source that exists is reported:\n%s", got)
	}
	lines := strings.SplitAfter(loadText, "\n")
	writeFile(t, file, strings.Join(lines[:3], ""))
	s, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if s.Dir != dir || s.File != file || len(s.SHA256) != 64 {
		t.Errorf("spec %+v", s)
	}
	if _, err := Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	writeFile(t, file, strings.Repeat("# long\n", 200_000))
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "more than the 1048576 allowed") {
		t.Errorf("a file of 1.4 MB: %v", err)
	}
}

// A Python kernel's source is its module's file.
func TestLoadModule(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pawl.yaml")
	writeFile(t, file, `version: 1
kernels:
  copy: {python: "ops.copy:run", args: [{name: y, dtype: f32, shape: 16, role: out}]}
`)
	writeFile(t, filepath.Join(dir, "ops/cpoy.py"), "")
	_, err := Load(file)
	if err == nil || !strings.Contains(err.Error(), "pawl.yaml:3:18: "+dir+"/ops/copy.py does not exist") || !strings.Contains(err.Error(), "did you mean cpoy.py?") {
		t.Errorf("a module that is not there: %v", err)
	}
	writeFile(t, filepath.Join(dir, "ops/copy.py"), "")
	s, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if k := s.Kernels[0]; k.Source != "ops/copy.py" || k.Cell != CellPython || k.Launches[0].Entry != "ops.copy:run" {
		t.Errorf("kernel %+v", k)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a/b/c")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(deep); err == nil || !strings.Contains(err.Error(), "pawl init") {
		t.Errorf("without a file: %v", err)
	}
	writeFile(t, filepath.Join(dir, "a/pawl.yml"), "")
	if _, err := Find(deep); err == nil || !strings.Contains(err.Error(), "rename") {
		t.Errorf("with pawl.yml: %v", err)
	}
	want := filepath.Join(dir, "pawl.yaml")
	writeFile(t, want, "")
	if got, err := Find(deep); err != nil || got != want {
		t.Errorf("found %q, %v; want %q", got, err, want)
	}
	if err := os.Mkdir(filepath.Join(deep, "pawl.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Find(deep); err != nil || got != want {
		t.Errorf("a folder called pawl.yaml: found %q, %v; want %q", got, err, want)
	}
}

// The file of an earlier commit cannot be edited any more: keys that nothing reads are passed over there.
func TestPlannedKeysOfEarlierFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pawl.yaml")
	writeFile(t, filepath.Join(dir, "k.c"), "")
	writeFile(t, file, "version: 1\nkernels: {k: {source: k.c, entry: k, args: [{name: y, dtype: f32, shape: [1], role: out}]}}\n"+
		"gate: {claim: 20%, regression: 4%}\nci: {}\npools: {p: {launch: a, cleanup: b}}\n")
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "claim is not supported yet") {
		t.Errorf("%v", err)
	}
	s, err := LoadEarlier(file)
	if err != nil {
		t.Fatal(err)
	}
	if s.Gate.Regression != 0.04 || s.Gate.Claim != DefaultGate.Claim {
		t.Errorf("%+v", s.Gate)
	}
}
