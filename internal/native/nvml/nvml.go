// Package nvml is a thin binding of NVIDIA's management library, loaded at run time and without
// cgo. It reads the state of a GPU and locks its clocks; it decides nothing. NVML needs no CUDA
// context, and its calls may come from any thread.
//
// Callers distinguish what a card, a driver or a permission does not allow with errors.Is:
// [ErrNotSupported], [ErrNoPermission], [ErrNotFound].
package nvml

import (
	"errors"
	"fmt"
	"unsafe"

	"pawl/internal/native/dl"
)

var (
	// ErrNoNVML says that NVML is not on this machine or finds no driver.
	ErrNoNVML = errors.New("no NVML")
	// ErrNotSupported says that this card or this driver does not offer it.
	ErrNotSupported = errors.New("not supported")
	// ErrNoPermission says that it takes a more privileged user.
	ErrNoPermission = errors.New("no permission")
	// ErrNotFound says that there is no such device.
	ErrNotFound = errors.New("not found")
)

// Error is a call that NVML refused.
type Error struct {
	Op   string // NVML's function, as nvmlDeviceGetPowerUsage
	Code int    // an nvmlReturn_t
	Text string // NVML's words for it
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%d)", e.Op, e.Text, e.Code) }

// Unwrap returns the sentinel that fits the code, if there is one.
func (e *Error) Unwrap() error {
	switch e.Code {
	case codeNotSupported, codeFunctionNotFound:
		return ErrNotSupported
	case codeNoPermission:
		return ErrNoPermission
	case codeNotFound, codeGPUNotFound:
		return ErrNotFound
	}
	return nil
}

// nvmlReturn_t numbers.
const (
	codeNotSupported     = 3
	codeNoPermission     = 4
	codeNotFound         = 6
	codeInsufficientSize = 7
	codeFunctionNotFound = 13
	codeGPUNotFound      = 28
)

// libraries is where NVML is looked for, as for libcuda.
var libraries = []string{
	"libnvidia-ml.so.1",
	"/usr/lib/wsl/lib/libnvidia-ml.so.1",
	"/run/opengl-driver/lib/libnvidia-ml.so.1",
}

// Library is NVML, initialised.
type Library struct {
	api
}

// Open loads NVML and initialises it; it is [ErrNoNVML] where that cannot be
// done.
func Open() (*Library, error) { return open(libraries...) }

func open(candidates ...string) (*Library, error) {
	library, err := dl.OpenFirst(candidates...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoNVML, err)
	}
	l := new(Library)
	l.bind(library)
	if l.init.address == 0 {
		return nil, fmt.Errorf("%w: %s is not libnvidia-ml: it has no %s", ErrNoNVML, library.Path(), l.init.symbol)
	}
	if err := l.call(&l.init); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoNVML, err)
	}
	return l, nil
}

// DriverVersion returns that of the display driver, as 580.65.06.
func (l *Library) DriverVersion() (string, error) {
	buffer := make([]byte, 80)
	err := l.call(&l.systemGetDriverVersion, uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)))
	return dl.Text(buffer), err
}

// DeviceByUUID finds the GPU or MIG instance that CUDA calls by this UUID.
func (l *Library) DeviceByUUID(uuid string) (Device, error) {
	v := Device{l: l}
	text := dl.CString(uuid)
	err := l.call(&l.deviceGetHandleByUUID, uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(&v.handle)))
	return v, err
}

// Devices returns all GPUs that this process may use, in the order of the PCI bus.
func (l *Library) Devices() ([]Device, error) {
	var count uint32
	if err := l.call(&l.deviceGetCount, uintptr(unsafe.Pointer(&count))); err != nil {
		return nil, err
	}
	devices := make([]Device, count)
	for i := range devices {
		v := Device{l: l}
		if err := l.call(&l.deviceGetHandleByIndex, uintptr(i), uintptr(unsafe.Pointer(&v.handle))); err != nil {
			return nil, err
		}
		devices[i] = v
	}
	return devices, nil
}

//go:uintptrescapes
func (l *Library) call(p *proc, args ...uintptr) error {
	if p.address == 0 {
		return fmt.Errorf("%s: %w by this driver", p.symbol, ErrNotSupported)
	}
	if code := int32(p.address.Call(args...)); code != 0 {
		return &Error{Op: p.symbol, Code: int(code), Text: l.describe(code)}
	}
	return nil
}

func (l *Library) describe(code int32) string {
	if l.errorString.address == 0 {
		return "error"
	}
	text := l.errorString.address.Call(uintptr(code))
	// The text is a constant inside NVML, not on Go's heap.
	return dl.GoString(*(**byte)(unsafe.Pointer(&text)))
}
