// Package cudafake is a CUDA driver without a GPU, for tests: a libcuda.so.1 in C, compiled when a
// test first asks for it. It has two devices that use host memory, streams whose work waits until
// the host releases it, events and timestamps from its own clock, graphs, and every error that a
// test asks for. pawl's own kernels and those of the binding's tests are C functions inside it; a
// test's kernels are C functions that [Cubin] compiles.
//
// [Install] loads it into this process, where the machine has no driver of its own: the dynamic
// linker then gives the loaded one to everybody who asks for libcuda.so.1. No setting of pawl loads
// it.
package cudafake

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pawl/internal/native/dl"
)

//go:embed testdata/*.c testdata/*.h
var sources embed.FS

// UUIDs of the two devices, those of package nvmltest.
const (
	UUID0 = "GPU-00000000-0000-0000-0000-000000000000"
	UUID1 = "GPU-00000000-0000-0000-0000-000000000001"
)

// flags of the C compiler: contracted multiplications and additions would not be
// those of pawl's own kernels on a GPU.
var flags = []string{"-shared", "-fPIC", "-O2", "-ffp-contract=off"}

// compile runs the C compiler.
func compile(args ...string) error {
	out, err := exec.Command("cc", slices.Concat(flags, args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("compile for the fake CUDA driver: %w\n%s", err, out)
	}
	return nil
}

// version names what the fake is compiled from.
func version() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, flags)
	files, err := fs.Glob(sources, "testdata/*")
	for _, path := range files {
		text, failed := sources.ReadFile(path)
		err = errors.Join(err, failed)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], err
}

// Library returns the path of the fake, which it compiles once for all packages
// that test with it.
var Library = sync.OnceValues(func() (string, error) {
	if _, err := exec.LookPath("cc"); err != nil {
		return "", errors.New("no C compiler to build the fake CUDA driver with")
	}
	name, err := version()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	folder := filepath.Join(cache, "pawl-tools", "cudafake-"+name)
	library := filepath.Join(folder, "libcuda.so.1")
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, sources); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(work, "testdata", "*.c"))
	if err != nil {
		return "", err
	}
	made := filepath.Join(work, "libcuda.so.1")
	if err := compile(append(files, "-Wl,-soname,libcuda.so.1", "-o", made, "-ldl", "-lm", "-lpthread")...); err != nil {
		return "", err
	}
	return library, os.Rename(made, library)
})

// installed is what Install came to.
var installed struct {
	fake *Fake
	why  string
}

// Install makes the fake this process's CUDA driver. It does nothing where the
// machine has a driver, or where PAWL_REQUIRE_GPU says that it must.
func Install() {
	if os.Getenv("PAWL_REQUIRE_GPU") == "1" {
		installed.why = "a GPU is required (PAWL_REQUIRE_GPU=1)"
		return
	}
	if _, err := dl.Open("libcuda.so.1"); err == nil {
		installed.why = "this machine has a CUDA driver"
		return
	}
	path, err := Library()
	if err == nil {
		_, err = InstallFrom(path)
	}
	if err != nil {
		installed.why = err.Error()
	}
}

// InstallFrom is Install with the shared object at path, for a process that may not
// compile.
func InstallFrom(path string) (*Fake, error) {
	library, err := dl.Open(path)
	if err == nil {
		installed.fake, err = bind(library)
	}
	return installed.fake, err
}

// Need returns the fake as in a new process, or skips a test that only makes sense
// with it.
func Need(t testing.TB) *Fake {
	t.Helper()
	if installed.fake == nil {
		t.Skip(installed.why)
	}
	installed.fake.Reset()
	t.Cleanup(installed.fake.Reset)
	return installed.fake
}
