//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func me() thread { return thread{pid: os.Getpid(), tid: os.Getpid()} }

// locate finds what the kernel finds, on trees with all kinds of links.
func TestLocateAgreesWithTheKernel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp("", "pawl-locate")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(root)
		names := []string{"a", "b", "c"}
		folders := []string{root}
		targets := []string{".", "..", "a", "b/a", "../b", "a/../c", root + "/a", "./c", "missing", "/proc/self/root" + root + "/b"}
		for range rapid.IntRange(1, 8).Draw(rt, "entries") {
			path := filepath.Join(rapid.SampledFrom(folders).Draw(rt, "in"), rapid.SampledFrom(names).Draw(rt, "name"))
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				if os.Mkdir(path, 0o755) == nil {
					folders = append(folders, path)
				}
			case 1:
				_ = os.Symlink(rapid.SampledFrom(targets).Draw(rt, "target"), path) // what is there stays
			case 2:
				if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o644); err == nil {
					f.Close()
				}
			}
		}
		path := root
		for range rapid.IntRange(1, 4).Draw(rt, "depth") {
			path += "/" + rapid.SampledFrom(append(names, ".", "..")).Draw(rt, "elem")
		}
		got := me().locate(unix.AT_FDCWD, path, true)
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			if got.exists {
				rt.Fatalf("%s: kernel says %v, locate says %s", path, err, got.real)
			}
			return
		}
		defer unix.Close(fd)
		want, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil {
			rt.Fatal(err)
		}
		if !got.exists || got.real != want {
			rt.Fatalf("%s: kernel says %s, locate says %s (exists: %v)", path, want, got.real, got.exists)
		}
	})
}

func TestLocate(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	own := "/proc/" + strconv.Itoa(os.Getpid())
	fd := func(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dirfd int32
		path  string
		want  located
	}{
		{unix.AT_FDCWD, "/proc/self/environ", located{real: own + "/environ", exists: true, parent: true}},
		{unix.AT_FDCWD, "/proc/thread-self/comm", located{real: own + "/task/" + strconv.Itoa(os.Getpid()) + "/comm", exists: true, parent: true}},
		{unix.AT_FDCWD, "/dev/fd/../environ", located{real: own + "/environ", exists: true, parent: true}},
		{unix.AT_FDCWD, fd(f), located{real: f.Name(), exists: true, parent: true}},
		{unix.AT_FDCWD, fd(r), located{parent: true, internal: true}},
		{unix.AT_FDCWD, ".", located{real: cwd, exists: true, parent: true, folder: true}},
		{int32(folder.Fd()), "file", located{real: f.Name(), exists: true, parent: true}},
		{int32(folder.Fd()), "new", located{real: dir + "/new", parent: true}},
		{int32(folder.Fd()), "no/new", located{real: dir + "/no/new"}},
	} {
		test.want.asked = test.path
		if got := me().locate(test.dirfd, test.path, true); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.path, got, test.want)
		}
	}
}

func TestReadString(t *testing.T) {
	for _, n := range []int{0, 1, 100, 4095} {
		text := make([]byte, n+1)
		for i := range n {
			text[i] = 'a' + byte(i%26)
		}
		got, err := me().str(addressOf(text))
		if err != nil || got != string(text[:n]) {
			t.Errorf("%d bytes: %q, %v", n, got, err)
		}
	}
	if _, err := me().str(1); err == nil {
		t.Error("address 1 can be read")
	}
}
