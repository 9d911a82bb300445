package cuda

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/native/dl"
)

//go:embed testdata/stub_driver.c
var stubSource []byte

// buildStub compiles the driver without a device and returns its path.
func buildStub(t testing.TB, defines ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the stub driver with")
	}
	folder := t.TempDir()
	source, library := filepath.Join(folder, "stub_driver.c"), filepath.Join(folder, "libcuda.so.1")
	if err := os.WriteFile(source, stubSource, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-shared", "-fPIC", "-o", library, source}, defines...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("build stub driver: %v\n%s", err, out)
	}
	return library
}

// stub is a driver that records what arrived there.
type stub struct {
	*Driver

	count, at, reset dl.Func
}

func openStub(t testing.TB, defines ...string) stub {
	t.Helper()
	path := buildStub(t, defines...)
	driver, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	library, err := dl.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := stub{Driver: driver}
	for name, at := range map[string]*dl.Func{"recorded_count": &s.count, "recorded_at": &s.at, "recorded_reset": &s.reset} {
		if *at, err = library.Lookup(name); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// recorded returns and forgets what arrived since the last time.
func (s stub) recorded() []int {
	values := make([]int, s.count.Call())
	for i := range values {
		values[i] = int(int32(s.at.Call(uintptr(i))))
	}
	s.reset.Call()
	return values
}

func TestOpenWhatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := open("/nonexistent/libcuda.so.1")
	if !errors.Is(err, ErrNoDriver) || !strings.Contains(err.Error(), "/nonexistent/libcuda.so.1") {
		t.Errorf("missing library: %v", err)
	}
	if _, err := open("libc.so.6"); !errors.Is(err, ErrNoDriver) || !strings.Contains(err.Error(), "libc.so.6") {
		t.Errorf("another library: %v", err)
	}
}

// A machine has a driver or it has not; in both cases the answer is a clean one.
func TestOpen(t *testing.T) {
	t.Parallel()
	driver, err := Open()
	var refused *Error
	var old *TooOld
	switch {
	case err == nil && driver.Version() < MinVersion:
		t.Errorf("opened a driver of version %d", driver.Version())
	case err != nil && !errors.Is(err, ErrNoDriver) && !errors.Is(err, ErrNoDevice) && !errors.As(err, &refused) && !errors.As(err, &old):
		t.Errorf("untyped error: %v", err)
	}
}

func TestOpenRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		define string
		is     error
		old    *TooOld
		says   string
	}{
		"too old":            {define: "-DVERSION=11080", old: &TooOld{Have: 11080, Need: 12000}, says: "supports CUDA 11.8, at least 12.0"},
		"incomplete":         {define: "-DINCOMPLETE", old: &TooOld{Have: 13000, Need: 12000, Symbol: "cuGraphExecDestroy"}, says: "no cuGraphExecDestroy"},
		"no device":          {define: "-DINIT=100", is: ErrNoDevice, says: "cuInit"},
		"stub":               {define: "-DINIT=34", is: ErrNoDriver, says: "stub"},
		"sandboxed":          {define: "-DINIT=304", is: OperatingSystem, says: "/dev/nvidia*"},
		"mismatch":           {define: "-DINIT=803", is: SystemDriverMismatch, says: "kernel module"},
		"fabric not running": {define: "-DINIT=802", is: SystemNotReady, says: "fabricmanager"},
		"no words":           {define: "-DINIT=999", is: UnknownError, says: "CUDA_ERROR_999 (999)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := open(buildStub(t, test.define))
			if err == nil {
				t.Fatal("opened")
			}
			var old *TooOld
			errors.As(err, &old)
			if diff := cmp.Diff(test.old, old); diff != "" {
				t.Errorf("too old: %s", diff)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("%q does not say %q", err, test.says)
			}
		})
	}
}

func TestStubDevices(t *testing.T) {
	t.Parallel()
	d := openStub(t)
	if n, err := d.DeviceCount(); n != 2 || err != nil {
		t.Fatalf("count = %d, %v", n, err)
	}
	for i, want := range []string{"GPU-00112233-4455-6677-8899-aabbccddeeff", "MIG-00112233-4455-6677-8899-aabbccddeeff"} {
		device, err := d.Device(i)
		if err != nil {
			t.Fatal(err)
		}
		if uuid, err := device.UUID(); uuid != want || err != nil {
			t.Errorf("uuid = %s, %v", uuid, err)
		}
		if sms, err := device.Attribute(SMCount); sms != 1000*i+16 || err != nil {
			t.Errorf("attribute 16 of device %d = %d, %v", i, sms, err)
		}
		if total, err := device.TotalMem(); total != 141<<30 || err != nil {
			t.Errorf("memory = %d, %v", total, err)
		}
	}
	if _, err := d.Device(2); !errors.Is(err, InvalidDevice) {
		t.Errorf("third device: %v", err)
	}
}
