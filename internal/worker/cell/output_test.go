package cell

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestMappedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.bin")
	for _, text := range []string{"longer than the next", "short"} { // what was there before is gone
		err := writeMapped(path, len(text), func(to []byte) error {
			copy(to, text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
		var files mapped
		if got, err := files.read(path); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Errorf("%q, %v", got, err)
		}
		files.free()
	}
	broken := errors.New("the device is gone")
	if err := writeMapped(path, 8, func([]byte) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if err := writeMapped(filepath.Join(path, "no folder"), 8, nil); err == nil {
		t.Error("wrote below a file")
	}
	var files mapped
	if _, err := files.read(filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("read what is not there")
	}
}
