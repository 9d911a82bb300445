package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place := func(folder string) string {
		path := filepath.Join(root, folder, "libcuda.so.1")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	searched, configured := place("searched"), place("configured")
	cache := filepath.Join(root, "ld.so.cache")
	text := "glibc-ld.so.cache1.1\x00\x01libcuda.so.1\x00" + configured + "\x00libcuda.so.1.1\x00" + configured + ".1\x00" + root + "/gone/libcuda.so.1\x00"
	if err := os.WriteFile(cache, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	usual := files("", "/nonexistent")
	got := files(filepath.Join(root, "none")+":"+filepath.Dir(searched), cache)
	if want := append([]string{searched, configured}, usual...); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
