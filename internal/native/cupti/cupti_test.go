package cupti

import (
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/native/cuda"
	"pawl/internal/native/cuda/cudatest"
	"pawl/internal/native/dl"
)

//go:embed testdata/stub_cupti.c
var stubSource []byte

func buildStub(t *testing.T, defines ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the stub with")
	}
	folder := t.TempDir()
	source, library := filepath.Join(folder, "stub.c"), filepath.Join(folder, "libcupti.so.12")
	if err := os.WriteFile(source, stubSource, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-shared", "-fPIC", "-pthread", "-o", library, source}, defines...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("build the stub: %v\n%s", err, out)
	}
	return library
}

// The stub calls back from a thread that Go has not started.
func TestTracer(t *testing.T) {
	tracer, err := open([]string{buildStub(t)})
	if err != nil {
		t.Fatal(err)
	}
	want := []Kernel{{"_Z5firstPf", 7}, {"second", 13}}
	for range 3 {
		if err := tracer.Start(); err != nil {
			t.Fatal(err)
		}
		got, err := tracer.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if len(tracer.buffers) > 0 {
		t.Errorf("%d buffers left", len(tracer.buffers))
	}
	if _, err := tracer.Stop(); err == nil {
		t.Error("stopped what was not started")
	}
}

func TestRefused(t *testing.T) {
	tracer, err := open([]string{buildStub(t, "-DREFUSES=1")})
	if err != nil {
		t.Fatal(err)
	}
	if err := tracer.Start(); err == nil || !strings.Contains(err.Error(), "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES") {
		t.Errorf("a refusal became %v", err)
	}
	if _, err := open([]string{buildStub(t, "-DVERSION=17")}); err == nil || !strings.Contains(err.Error(), "version 17") {
		t.Errorf("an old CUPTI became %v", err)
	}
	if _, err := open([]string{"/nowhere/libcupti.so.13"}); err == nil {
		t.Error("found what is not there")
	}
}

func TestParse(t *testing.T) {
	name := dl.CString("_Z6kernelPf")
	record := make([]byte, 216)
	binary.NativeEndian.PutUint32(record, kindConcurrentKernel)
	binary.NativeEndian.PutUint32(record[streamAt:], 7)
	binary.NativeEndian.PutUint64(record[nameAt:], uint64(uintptr(unsafe.Pointer(name))))
	if got, ok := parse(record); !ok || got != (Kernel{"_Z6kernelPf", 7}) {
		t.Errorf("%+v, %v", got, ok)
	}
	runtime.KeepAlive(name)
	binary.NativeEndian.PutUint64(record[nameAt:], 0)
	if got, ok := parse(record); !ok || got.Name != "" {
		t.Errorf("without a name: %+v, %v", got, ok)
	}
	if _, ok := parse(record[:recordEnds-1]); ok {
		t.Error("a part of a record")
	}
	binary.NativeEndian.PutUint32(record, 1)
	if _, ok := parse(record); ok {
		t.Error("a copy is no kernel")
	}
}

// The library itself, where there is one; the kernels need a GPU.
func TestKernelsThatRan(t *testing.T) {
	driver, _ := cudatest.Need(t)
	tracer, err := Open()
	if err != nil {
		t.Skip(err)
	}
	ptx, err := os.ReadFile("../cuda/testdata/kernels.ptx")
	if err != nil {
		t.Fatal(err)
	}
	module, err := driver.LoadModule(ptx)
	if err != nil {
		t.Fatal(err)
	}
	f, err := module.Function("doubtful")
	if err != nil {
		t.Fatal(err)
	}
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	if err := f.Launch(driver.DefaultStream(), cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}}, cuda.Param(int32(1))); err != nil {
		t.Fatal(err)
	}
	if err := driver.Synchronize(); err != nil {
		t.Fatal(err)
	}
	got, err := tracer.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Name != "doubtful" {
		t.Errorf("%+v; want doubtful alone", got)
	}
}
