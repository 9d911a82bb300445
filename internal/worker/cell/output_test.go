package cell

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMappedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.bin")
	for _, text := range []string{"some bytes", ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var files mapped
		if got, err := files.read(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
		files.free()
	}
	var files mapped
	if _, err := files.read(filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("read what is not there")
	}
}
