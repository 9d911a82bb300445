package ratchet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Somebody else's project may have anything in place of its baseline.
func TestLoadBare(t *testing.T) {
	good := `{"schema": 1, "class": "gpu", "entries": {}}`
	outside := filepath.Join(t.TempDir(), "gpu.json")
	if err := os.WriteFile(outside, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		class string
		make  func(file string) error
		want  string // "": it is read
	}{
		"good":    {"gpu", func(file string) error { return os.WriteFile(file, []byte(good), 0o600) }, ""},
		"missing": {"gpu", func(string) error { return nil }, ""},
		"outside": {"gpu", func(file string) error { return os.Symlink(outside, file) }, "escapes"},
		"folder":  {"gpu", func(file string) error { return os.Mkdir(file, 0o755) }, "not a regular file"},
		"long":    {"gpu", func(file string) error { return os.WriteFile(file, make([]byte, bareMost+1), 0o600) }, "not a regular file of at most"},
		"edited": {"gpu", func(file string) error {
			return os.WriteFile(file, []byte(`{"schema": 1, "class": "gpu", "entries": {"k/c": {"median_ms": 1}}}`), 0o600)
		}, "edited by hand"},
		"class": {"../../etc", func(string) error { return nil }, "not a valid device class"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, Folder), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := test.make(filepath.Join(dir, Folder, "gpu.json")); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir).LoadBare(test.class)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
