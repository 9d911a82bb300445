package cuda

import (
	"errors"
	"fmt"
	"regexp"
	"unsafe"

	"pawl/internal/native/dl"
)

// MinVersion is the oldest driver API that is supported: CUDA 12.0, the first
// with cuLaunchKernelEx for clusters and with tensor maps.
const MinVersion = 12000

// libraries is where libcuda is looked for: wherever the dynamic linker finds
// it, then the folders of hosts whose linker is not told.
var libraries = []string{
	"libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
}

// Driver is the loaded and initialised CUDA driver of this process.
type Driver struct {
	addresses []dl.Func // of procs

	version int
}

// object is something that the driver has made, and its handle there.
type object struct {
	d      *Driver
	handle uintptr
}

// Open loads the CUDA driver and initialises it. The error is [ErrNoDriver],
// [ErrNoDevice], a [*TooOld] or an [*Error].
func Open() (*Driver, error) { return open(libraries...) }

// Load brings the driver's library into the process, and does nothing with it.
func Load() error {
	_, err := dl.OpenFirst(libraries...)
	return err
}

func open(candidates ...string) (*Driver, error) {
	library, err := dl.OpenFirst(candidates...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	d := new(Driver)
	missing := d.bind(library)
	if d.address(cuDriverGetVersion) == 0 || d.address(cuInit) == 0 {
		return nil, fmt.Errorf("%w: %s is not libcuda: it has no %s", ErrNoDriver, library.Path(), missing[0])
	}
	var version int32
	if err := d.call(cuDriverGetVersion, uintptr(unsafe.Pointer(&version))); err != nil {
		return nil, d.explain(err)
	}
	d.version = int(version)
	if d.version < MinVersion {
		return nil, &TooOld{Have: d.version, Need: MinVersion}
	}
	if len(missing) > 0 {
		return nil, &TooOld{Have: d.version, Need: MinVersion, Symbol: missing[0]}
	}
	if err := d.call(cuInit, 0); err != nil {
		return nil, d.explain(err)
	}
	return d, nil
}

// explain adds what the driver's own words leave out when it does not start.
func (d *Driver) explain(err error) error {
	switch {
	case errors.Is(err, StubLibrary):
		return fmt.Errorf("%w: this libcuda is the toolkit's stub: %w", ErrNoDriver, err)
	case errors.Is(err, NoDevice):
		return fmt.Errorf("%w: %w", ErrNoDevice, err)
	case errors.Is(err, OperatingSystem):
		return fmt.Errorf("%w: /dev/nvidia* or /proc is missing, or a sandbox closes them to this process", err)
	case errors.Is(err, SystemDriverMismatch):
		return fmt.Errorf("%w: libcuda and the loaded kernel module are of different driver versions", err)
	case errors.Is(err, SystemNotReady):
		return fmt.Errorf("%w: nvidia-fabricmanager may not be running", err)
	}
	return err
}

// Version returns the newest CUDA version that the driver supports, as 13000.
func (d *Driver) Version() int { return d.version }

// abi is what NVIDIA appends to a symbol when a signature changes.
var abi = regexp.MustCompile(`_v[0-9]+$`)

//go:uintptrescapes
func (d *Driver) call(p *proc, args ...uintptr) error {
	address := d.address(p)
	if address == 0 {
		return &TooOld{Have: d.version, Need: max(p.since, MinVersion), Symbol: p.symbol}
	}
	if code := Code(int32(address.Call(args...))); code != 0 {
		return d.fail(p, code)
	}
	return nil
}

func (d *Driver) fail(p *proc, code Code) *Error {
	return &Error{
		Op:   abi.ReplaceAllString(p.symbol, ""),
		Code: code,
		Name: d.describe(cuGetErrorName, code, fmt.Sprintf("CUDA_ERROR_%d", int(code))),
		Text: d.describe(cuGetErrorString, code, "an error that this driver has no words for"),
	}
}

func (d *Driver) describe(p *proc, code Code, otherwise string) string {
	var text *byte
	if address := d.address(p); address == 0 || address.Call(uintptr(code), uintptr(unsafe.Pointer(&text))) != 0 || text == nil {
		return otherwise
	}
	return dl.GoString(text)
}
