package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What a cell leaves is taken only when it is what was asked for, and is the
// worker's own from then on.
func TestKeep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := put("0.bin", "12345678")
	handle, err := os.OpenFile(good, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	sha, err := s.keep(good, 8)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256([]byte("12345678")); sha != hex.EncodeToString(sum[:]) {
		t.Errorf("hash %s", sha)
	}
	if _, err := handle.WriteAt([]byte("other"), 0); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(s.output(sha)); err != nil || string(kept) != "12345678" {
		t.Errorf("kept %q, %v", kept, err)
	}
	if err := os.Symlink(put("secret", "12345678"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"too short": put("short", "1234567"), "too long": put("long", "123456789"), "a link": filepath.Join(dir, "link"),
		"a pipe": filepath.Join(dir, "pipe"), "a folder": dir, "nothing": filepath.Join(dir, "nothing"),
	} {
		if _, err := s.keep(path, 8); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// Old outputs go when there are too many; the newest few stay whatever their size.
func TestKeptOutputsAreBounded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for i := range 20 {
		sha := string(rune('a' + i))
		if err := os.WriteFile(s.output(sha), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.remember(sha, keptBytes)
	}
	left, err := os.ReadDir(s.outputs())
	if err != nil || len(left) != keptAlways || left[len(left)-1].Name() != "t" {
		t.Errorf("%d left, %v", len(left), err)
	}
}
