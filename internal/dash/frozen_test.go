package dash

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/internal/dash/dashtest"
	"pawl/internal/history"
	"pawl/internal/store"
)

// A history on a full disk is shown, and each page says that nothing new comes.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("a small disk needs a mount, which needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	story := dashtest.Usual(end)
	story.Commits, story.Searches, story.Kernels = 4, 0, story.Kernels[:1]
	if err := story.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	full, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = full.Write(make([]byte, 4096))
	}
	full.Close()
	h, err := history.Open(t.Context(), dir, "", store.Create)
	if err != nil {
		t.Fatal(err)
	}
	s := serveHistory(t, h, dir, nil)
	const says = "The history cannot be written here"
	for _, address := range []string{"/", "/runs", "/moved", "/searches", "/kernel?name=" + story.Kernels[0].Name, "/run/" + newest(s)} {
		if !strings.Contains(s.page(address), says) {
			t.Errorf("%s does not say that nothing new comes", address)
		}
	}
	if strings.Contains(serve(t, nil).page("/"), says) {
		t.Error("a history that takes new runs is said to take none")
	}
}
