package cudafake_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda"
	"pawl/internal/native/cuda/cudafake"
)

// That the fake does what a driver does is shown by the tests of package cuda, which
// run on a GPU or on it. Here is what only the fake does.

func TestMain(m *testing.M) {
	cudafake.Install()
	os.Exit(m.Run())
}

const source = `
DEVICE int zero;
DEVICE_INIT int seven[3] = {7, 8, 9};
KERNEL(count, 8) { *ARG(int *, 0) = zero++ + seven[2]; l->took = 50000; return 0; }
`

// open returns the fake with a device's context current.
func open(t *testing.T, index int) (*cudafake.Fake, *cuda.Driver) {
	t.Helper()
	fake := cudafake.Need(t)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	driver, err := cuda.Open()
	if err != nil {
		t.Fatal(err)
	}
	device, err := driver.Device(index)
	if err != nil {
		t.Fatal(err)
	}
	context, err := device.RetainPrimary()
	if err == nil {
		err = context.SetCurrent()
	}
	if err != nil {
		t.Fatal(err)
	}
	return fake, driver
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What is compiled is a cubin to whoever reads it, and every load has variables of
// its own.
func TestCubin(t *testing.T) {
	_, driver := open(t, 0)
	image := cudafake.Cubin(t, source)
	segments, err := cuda.Segments(image)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range segments {
		for _, v := range s.Variables {
			names = append(names, s.Name+" "+v.Name)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{".nv.global zero", ".nv.global.init seven"}) {
		t.Errorf("variables %q", names)
	}
	out := must(driver.Alloc(4))
	stream := must(driver.NewStream())
	for range 2 {
		module := must(driver.LoadModule(image))
		f := must(module.Function("count"))
		for launch := range 2 {
			if err := f.Launch(stream, cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}}, cuda.Param(out)); err != nil {
				t.Fatal(err)
			}
			raw := make([]byte, 4)
			if err := driver.CopyToHost(raw, out, stream); err != nil || int(raw[0]) != 9+launch {
				t.Errorf("launch %d found %d, %v", launch, raw[0], err)
			}
		}
		if at, size, err := module.Global("seven"); at == 0 || size != 12 || err != nil {
			t.Errorf("seven: %d bytes at %x, %v", size, at, err)
		}
		if err := module.Unload(); err != nil {
			t.Error(err)
		}
	}
}

// A call fails when it is told to, once; a lost context stays lost.
func TestFail(t *testing.T) {
	fake, driver := open(t, 1)
	fake.Fail("cuMemAlloc_v2", 2, int(cuda.OutOfMemory))
	for i, want := range []error{nil, cuda.OutOfMemory, nil} {
		if _, err := driver.Alloc(64); !errors.Is(err, want) {
			t.Errorf("allocation %d: %v, want %v", i, err, want)
		}
	}
	fake.Fail("*", 1, int(cuda.Assert))
	for range 2 {
		if err := driver.Synchronize(); !errors.Is(err, cuda.Assert) {
			t.Errorf("a lost context: %v", err)
		}
	}
	if calls := fake.Calls(); !slices.Equal(calls[len(calls)-2:], []string{"cuCtxSynchronize", "cuCtxSynchronize"}) {
		t.Errorf("calls %v", calls)
	}
	fake.Reset()
	if err := driver.Synchronize(); err == nil {
		t.Error("a context outlives a reset")
	}
}

// A stream that captures cannot be waited for.
func TestCaptureIsSpoiled(t *testing.T) {
	_, driver := open(t, 0)
	stream := must(driver.NewStream())
	for _, wait := range []bool{false, true} {
		if err := stream.BeginCapture(); err != nil {
			t.Fatal(err)
		}
		if wait {
			if err := stream.Synchronize(); !errors.Is(err, cuda.CaptureUnsupported) {
				t.Errorf("waiting: %v", err)
			}
		}
		if _, err := stream.EndCapture(); wait != errors.Is(err, cuda.CaptureInvalidated) || !wait && err != nil {
			t.Errorf("waited %v: %v", wait, err)
		}
	}
}

// The devices' memories are not each other's.
func TestDevicesAreApart(t *testing.T) {
	_, driver := open(t, 0)
	at := must(driver.Alloc(64))
	context := must(must(driver.Device(1)).RetainPrimary())
	if err := context.SetCurrent(); err != nil {
		t.Fatal(err)
	}
	if err := driver.MemsetD8(at, 0, 64, driver.DefaultStream()); !errors.Is(err, cuda.InvalidValue) {
		t.Errorf("memory of the other device: %v", err)
	}
	if err := driver.Free(at); !errors.Is(err, cuda.InvalidValue) {
		t.Errorf("freed on the other device: %v", err)
	}
}

func TestCompiler(t *testing.T) {
	nvcc := cudafake.Compiler(t)
	folder := t.TempDir()
	file, out, rules := filepath.Join(folder, "k.cu"), filepath.Join(folder, "k.cubin"), filepath.Join(folder, "k.d")
	if err := os.WriteFile(file, []byte("#include \"kernel.h\"\nKERNEL(nothing, WIDTH) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-O3", "-Xptxas", "-v", "-arch=sm_90a", "-DWIDTH=4", "-MD", "-MF", rules, file, "-o", out}
	if said, err := exec.Command(nvcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cuda.Segments(raw); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(rules); err != nil || !strings.Contains(string(text), "k.cu") {
		t.Errorf("dependencies: %q, %v", text, err)
	}
}
