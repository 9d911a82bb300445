package nvrtc

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOpenWithout(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	broken := filepath.Join(folder, "lib64", "libnvrtc.so.12")
	if err := os.MkdirAll(filepath.Dir(broken), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, []byte("not an object"), 0o600); err != nil {
		t.Fatal(err)
	}
	tried := candidates([]string{folder, "/nonexistent/libnvrtc.so.13"})
	if len(tried) < 2 || tried[0] != broken || tried[1] != "/nonexistent/libnvrtc.so.13" {
		t.Errorf("tried %q", tried)
	}
	if !slices.Contains(tried, "libnvrtc.so.13") {
		t.Errorf("the dynamic linker is not asked: %q", tried)
	}
	if _, err := Open("libc.so.6"); !errors.Is(err, ErrNoNVRTC) || !strings.Contains(err.Error(), "libc.so.6") {
		t.Errorf("another library: %v", err)
	}
}
