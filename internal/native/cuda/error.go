package cuda

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoDriver says that libcuda could not be loaded on this machine.
	ErrNoDriver = errors.New("no CUDA driver")
	// ErrNoDevice says that the driver is there and sees no GPU.
	ErrNoDevice = errors.New("no CUDA device")
)

// TooOld is a driver that lacks what is asked of it.
type TooOld struct {
	Have, Need int    // driver API versions, as 12040 for CUDA 12.4
	Symbol     string // the function that is missing, if that is how it was noticed
}

func (e *TooOld) Error() string {
	text := fmt.Sprintf("CUDA driver is too old: it supports CUDA %s, at least %s is needed", versionText(e.Have), versionText(e.Need))
	if e.Symbol != "" {
		text += " (it has no " + e.Symbol + ")"
	}
	return text
}

func versionText(version int) string { return fmt.Sprintf("%d.%d", version/1000, version%1000/10) }

// Code is a CUresult. It is an error so that errors.Is can look for it.
type Code int

// The codes that callers tell apart.
const (
	InvalidValue         Code = 1
	OutOfMemory          Code = 2
	StubLibrary          Code = 34
	NoDevice             Code = 100
	InvalidImage         Code = 200
	NoBinaryForGPU       Code = 209
	ECCUncorrectable     Code = 214
	InvalidPTX           Code = 218
	NVLinkUncorrectable  Code = 220
	Contained            Code = 226
	OperatingSystem      Code = 304
	NotFound             Code = 500
	NotReady             Code = 600
	IllegalAddress       Code = 700
	LaunchOutOfResources Code = 701
	LaunchTimeout        Code = 702
	ContextDestroyed     Code = 709
	Assert               Code = 710
	HardwareStackError   Code = 714
	IllegalInstruction   Code = 715
	MisalignedAddress    Code = 716
	InvalidAddressSpace  Code = 717
	InvalidPC            Code = 718
	LaunchFailed         Code = 719
	CooperativeTooLarge  Code = 720
	TensorMemoryLeak     Code = 721
	NotPermitted         Code = 800
	SystemNotReady       Code = 802
	SystemDriverMismatch Code = 803
	MPSClientTerminated  Code = 810
	CaptureUnsupported   Code = 900
	CaptureInvalidated   Code = 901
	ExternalDevice       Code = 911
	InvalidClusterSize   Code = 912
	UnknownError         Code = 999
)

func (c Code) Error() string { return fmt.Sprintf("CUDA error %d", int(c)) }

// Error is a call that the driver refused, or whose turn it was to report what
// went wrong before it.
type Error struct {
	Op   string // the driver's function, as cuModuleLoadDataEx
	Code Code
	Name string // CUDA_ERROR_INVALID_PTX
	Text string // the driver's description
	Log  string // of its compiler, if that has said something
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s (%d): %s", e.Op, e.Name, int(e.Code), e.Text)
	if e.Log != "" {
		text += ": " + strings.TrimSpace(e.Log)
	}
	return text
}

// Unwrap lets errors.Is find the code.
func (e *Error) Unwrap() error { return e.Code }

// Sticky says whether the context is lost: every later call fails too, and only
// a new process can use the device again.
func (e *Error) Sticky() bool {
	switch e.Code {
	case ECCUncorrectable, NVLinkUncorrectable, Contained, IllegalAddress, LaunchTimeout, ContextDestroyed, Assert,
		HardwareStackError, IllegalInstruction, MisalignedAddress, InvalidAddressSpace, InvalidPC, LaunchFailed,
		TensorMemoryLeak, MPSClientTerminated, ExternalDevice, UnknownError:
		return true
	default:
		return false
	}
}
