package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bundleTree returns a small tree with tools/gpu-bundle in it, and a compiler that makes
// empty tests.
func bundleTree(t *testing.T) (tree string, pack func() error) {
	t.Helper()
	for _, tool := range []string{"git", "tar", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	tree = t.TempDir()
	script, err := os.ReadFile("../../tools/gpu-bundle")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"tools/gpu-bundle": string(script), "tools/gpu-run": "#!/bin/sh\n", "bin/pawl": "pawl", "examples/saxpy/saxpy.c": "int x;\n", "test/plants/run.sh": "#!/bin/sh\n", "test/gpu/figures/table.py": "table\n",
		"go": "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\n: >\"$2\"\n",
	} {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", tree).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return tree, func() error {
		cmd := exec.Command("sh", "tools/gpu-bundle", "bundle.sh")
		cmd.Dir = tree
		cmd.Env = append(os.Environ(), "GO="+filepath.Join(tree, "go"), "PATH="+filepath.Join(tree, "path")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		return err
	}
}

// What the bundle holds comes out of it; one that was cut off says so.
func TestBundleUnpacks(t *testing.T) {
	tree, pack := bundleTree(t)
	if err := pack(); err != nil {
		t.Fatal(err)
	}
	unpack := func() (string, error) {
		cmd := exec.Command("sh", "bundle.sh", "out")
		cmd.Dir = tree
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := unpack(); err != nil || !strings.HasPrefix(out, "unpacked pawl ") {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]string{"pawl": "pawl", "examples/saxpy/saxpy.c": "int x;\n", "run": "#!/bin/sh\n", "test/plants/run.sh": "#!/bin/sh\n", "figures/table.py": "table\n"} {
		if got, err := os.ReadFile(filepath.Join(tree, "out", name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(tree, "out/bundle.tar")); err == nil {
		t.Error("what was unpacked is left behind")
	}
	path := filepath.Join(tree, "bundle.sh")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)-30], 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := unpack(); err == nil {
		t.Errorf("a bundle that was cut off: %s", out)
	}
}

// A tool that fails half-way leaves no bundle.
func TestBundleNeedsItsTools(t *testing.T) {
	for tool, script := range map[string]string{
		"tar": "#!/bin/sh\n\"$REAL\" \"$@\"\nexit 2\n",
		"git": "#!/bin/sh\n[ \"$1\" != ls-files ] || exit 2\nexec \"$REAL\" \"$@\"\n",
	} {
		t.Run(tool, func(t *testing.T) {
			tree, pack := bundleTree(t)
			real, err := exec.LookPath(tool)
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("REAL", real)
			if err := os.Mkdir(filepath.Join(tree, "path"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(tree, "path", tool), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := pack(); err == nil {
				t.Errorf("%s failed, and the bundle is made", tool)
			}
			if left, _ := filepath.Glob(filepath.Join(tree, "bundle.sh*")); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}
