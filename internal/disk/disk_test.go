package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteReplaces(t *testing.T) {
	for _, write := range []func(string, []byte) error{Write, Replace} {
		path := filepath.Join(t.TempDir(), "file")
		for _, text := range []string{"first", "second, longer", ""} {
			if err := write(path, []byte(text)); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != text {
				t.Errorf("got %q, %v", got, err)
			}
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
}

func TestWriteFailsWhole(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(target, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{target, filepath.Join(dir, "none", "file")} {
		for _, write := range []func(string, []byte) error{Write, Replace} {
			if err := write(path, []byte("text")); err == nil || !strings.Contains(err.Error(), "write "+path+": ") {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
