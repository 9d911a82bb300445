package cuda

import (
	"unsafe"

	"pawl/internal/native/dl"
)

// ErrNotReady is the answer of a query while work is pending.
var ErrNotReady error = NotReady

// Functions, attributes and codes of the driver that only tests need.
var (
	cuModuleGetFunctionCount     = functionSince(12040, "cuModuleGetFunctionCount")
	cuModuleEnumerateFunctions   = functionSince(12040, "cuModuleEnumerateFunctions")
	cuFuncGetName                = functionSince(12030, "cuFuncGetName")
	cuDeviceGetPCIBusID          = function("cuDeviceGetPCIBusId")
	cuOccupancyMaxActiveClusters = function("cuOccupancyMaxActiveClusters")
	cuMemFreeHost                = function("cuMemFreeHost")
	cuStreamQuery                = function("cuStreamQuery")
	cuStreamWaitEvent            = function("cuStreamWaitEvent")
	cuEventDestroy               = function("cuEventDestroy_v2")
	cuEventSynchronize           = function("cuEventSynchronize")
	cuEventQuery                 = function("cuEventQuery")
)

const (
	MaxGridDimX       Attribute = 5
	MaxSharedPerBlock Attribute = 8
	WarpSize          Attribute = 10
	MemoryBusWidth    Attribute = 37 // in bits
	UnifiedAddressing Attribute = 41
	MaxSharedPerSM    Attribute = 81
	MaxRegistersPerSM Attribute = 82
	MaxBlocksPerSM    Attribute = 106
	MaxPersistingL2   Attribute = 108

	FuncMaxThreadsPerBlock FunctionAttribute = 0 // given its registers
	FuncPTXVersion         FunctionAttribute = 5 // architecture of its PTX: 90
	FuncPreferredCarveout  FunctionAttribute = 9 // percent of the SM's shared memory, -1: the driver chooses

	LimitStackSize  Limit = 0 // per thread
	LimitMallocHeap Limit = 2

	InvalidDevice Code = 101

	HostPortable  HostFlags  = 1 // page-locked for all contexts
	EventTiming   EventFlags = 0
	EventNoTiming EventFlags = 2
)

// PCIBusID returns the address on the PCI bus, as 0000:3b:00.0.
func (v Device) PCIBusID() (string, error) {
	buffer := make([]byte, 64)
	err := v.d.call(cuDeviceGetPCIBusID, uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)), uintptr(v.handle))
	return dl.Text(buffer), err
}

// Functions lists the module's kernels. Drivers before CUDA 12.4 cannot: the
// error is then a [*TooOld].
func (m *Module) Functions() ([]Function, error) {
	var count uint32
	if err := m.d.call(cuModuleGetFunctionCount, uintptr(unsafe.Pointer(&count)), m.handle); err != nil {
		return nil, err
	}
	if count == 0 {
		return nil, nil
	}
	handles := make([]uintptr, count)
	if err := m.d.call(cuModuleEnumerateFunctions, uintptr(unsafe.Pointer(&handles[0])), uintptr(count), m.handle); err != nil {
		return nil, err
	}
	functions := make([]Function, count)
	for i, handle := range handles {
		functions[i] = Function{m.d, handle}
	}
	return functions, nil
}

// Name returns the function's name in the object code. Drivers before CUDA 12.3
// cannot say: the error is then a [*TooOld].
func (f Function) Name() (string, error) {
	var name *byte
	if err := f.d.call(cuFuncGetName, uintptr(unsafe.Pointer(&name)), f.handle); err != nil {
		return "", err
	}
	return dl.GoString(name), nil
}

// MaxActiveClusters returns how many clusters of the launch fit on the device.
func (f Function) MaxActiveClusters(config LaunchConfig) (int, error) {
	var clusters int32
	c := newLaunch(config)
	err := f.d.call(cuOccupancyMaxActiveClusters, uintptr(unsafe.Pointer(&clusters)), f.handle, uintptr(unsafe.Pointer(&c.config)))
	return int(clusters), err
}

// Free gives the memory back; no slice or word of it may be used any more.
func (m *HostMemory) Free() error { return m.d.call(cuMemFreeHost, uintptr(m.address)) }

// CopyToHostAsync copies in the stream. The bytes must stay alive until the
// stream has passed; only into [HostMemory] does it never wait.
func (d *Driver) CopyToHostAsync(to []byte, from DevicePtr, s Stream) error {
	return d.call(cuMemcpyDtoHAsync, uintptr(unsafe.Pointer(unsafe.SliceData(to))), uintptr(from), uintptr(len(to)), s.handle)
}

// Query returns nil when all work in the stream is done, else [ErrNotReady].
func (s Stream) Query() error { return s.d.call(cuStreamQuery, s.handle) }

// Wait makes later work in the stream wait for what e recorded.
func (s Stream) Wait(e Event) error { return s.d.call(cuStreamWaitEvent, s.handle, e.handle, 0) }

// Destroy frees the event.
func (e Event) Destroy() error { return e.d.call(cuEventDestroy, e.handle) }

// Synchronize waits until the event has been reached.
func (e Event) Synchronize() error { return e.d.call(cuEventSynchronize, e.handle) }

// Query returns nil when the event has been reached, else [ErrNotReady].
func (e Event) Query() error { return e.d.call(cuEventQuery, e.handle) }
