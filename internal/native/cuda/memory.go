package cuda

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// DevicePtr is an address in a device's memory.
type DevicePtr uint64

// Alloc allocates device memory, aligned to at least 256 bytes.
func (d *Driver) Alloc(bytes uint64) (DevicePtr, error) {
	var address DevicePtr
	err := d.call(cuMemAlloc, uintptr(unsafe.Pointer(&address)), uintptr(bytes))
	return address, err
}

// Free gives device memory back. It waits for work that may use it.
func (d *Driver) Free(address DevicePtr) error { return d.call(cuMemFree, uintptr(address)) }

// MemInfo returns how much of the device's memory is free, and how much there is.
func (d *Driver) MemInfo() (free, total uint64, err error) {
	var size [2]uint64
	err = d.call(cuMemGetInfo, uintptr(unsafe.Pointer(&size[0])), uintptr(unsafe.Pointer(&size[1])))
	return size[0], size[1], err
}

// MemsetD8 fills device memory with a byte, in the stream.
func (d *Driver) MemsetD8(to DevicePtr, value byte, bytes uint64, s Stream) error {
	return d.call(cuMemsetD8Async, uintptr(to), uintptr(value), uintptr(bytes), s.handle)
}

// MemsetD32 fills device memory with this many words of 32 bits, in the stream.
func (d *Driver) MemsetD32(to DevicePtr, value uint32, words uint64, s Stream) error {
	return d.call(cuMemsetD32Async, uintptr(to), uintptr(value), uintptr(words), s.handle)
}

// CopyToDevice copies from any memory and waits until the stream has done it:
// the driver may otherwise return while data is still on its way, and a kernel in
// another stream would not wait for it.
func (d *Driver) CopyToDevice(to DevicePtr, from []byte, s Stream) error {
	err := d.call(cuMemcpyHtoDAsync, uintptr(to), uintptr(unsafe.Pointer(unsafe.SliceData(from))), uintptr(len(from)), s.handle)
	if err != nil {
		return err
	}
	return d.call(cuStreamSynchronize, s.handle)
}

// CopyToHost copies into any memory and waits until the stream has done it.
func (d *Driver) CopyToHost(to []byte, from DevicePtr, s Stream) error {
	err := d.call(cuMemcpyDtoHAsync, uintptr(unsafe.Pointer(unsafe.SliceData(to))), uintptr(from), uintptr(len(to)), s.handle)
	if err != nil {
		return err
	}
	return d.call(cuStreamSynchronize, s.handle)
}

// Copy copies inside device memory, in the stream.
func (d *Driver) Copy(to, from DevicePtr, bytes uint64, s Stream) error {
	return d.call(cuMemcpyDtoDAsync, uintptr(to), uintptr(from), uintptr(bytes), s.handle)
}

// HostFlags are those of cuMemHostAlloc.
type HostFlags uint32

// HostMapped memory is within reach of kernels.
const HostMapped HostFlags = 2

// HostMemory is page-locked memory of the host, outside Go's heap.
type HostMemory struct {
	d       *Driver
	address unsafe.Pointer
	size    int
}

// HostAlloc allocates page-locked memory. Its contents are not defined.
func (d *Driver) HostAlloc(bytes int, flags HostFlags) (*HostMemory, error) {
	m := &HostMemory{d: d, size: bytes}
	if err := d.call(cuMemHostAlloc, uintptr(unsafe.Pointer(&m.address)), uintptr(bytes), uintptr(flags)); err != nil {
		return nil, err
	}
	return m, nil
}

// DevicePtr returns where kernels find the memory, if it is mapped.
func (m *HostMemory) DevicePtr() (DevicePtr, error) {
	var address DevicePtr
	err := m.d.call(cuMemHostGetDevicePointer, uintptr(unsafe.Pointer(&address)), uintptr(m.address), 0)
	return address, err
}

// Bytes returns the memory itself.
func (m *HostMemory) Bytes() []byte { return unsafe.Slice((*byte)(m.address), m.size) }

// Word returns the i-th 32-bit word of the memory, for what the host and a running
// kernel tell each other.
func (m *HostMemory) Word(i int) *atomic.Uint32 {
	if i < 0 || (i+1)*4 > m.size {
		panic(fmt.Sprintf("cuda: word %d of %d bytes of host memory", i, m.size))
	}
	return (*atomic.Uint32)(unsafe.Add(m.address, i*4))
}
