package cuda

import (
	"errors"
	"unsafe"

	"pawl/internal/native/dl"
)

// Function is a kernel of a loaded module.
type Function struct {
	d      *Driver
	handle uintptr
}

// FunctionAttribute is a CUfunction_attribute.
type FunctionAttribute int32

// Attributes of a function. Sizes are in bytes.
const (
	FuncMaxThreadsPerBlock FunctionAttribute = 0 // given its registers
	FuncSharedSize         FunctionAttribute = 1 // static
	FuncConstSize          FunctionAttribute = 2 // that its author declared
	FuncLocalSize          FunctionAttribute = 3 // per thread: spills and arrays
	FuncNumRegs            FunctionAttribute = 4
	FuncPTXVersion         FunctionAttribute = 5 // architecture of its PTX: 90
	FuncBinaryVersion      FunctionAttribute = 6 // architecture of its code: 90

	// These can be set.
	FuncMaxDynamicShared   FunctionAttribute = 8  // more than 48 KB must be asked for
	FuncPreferredCarveout  FunctionAttribute = 9  // percent of the SM's shared memory, -1: the driver chooses
	FuncNonPortableCluster FunctionAttribute = 14 // 1 allows clusters of more than 8 blocks
)

// Name returns the function's name in the object code. Drivers before CUDA 12.3
// cannot say: the error is then a [*TooOld].
func (f Function) Name() (string, error) {
	var name *byte
	if err := f.d.call(&f.d.funcGetName, uintptr(unsafe.Pointer(&name)), f.handle); err != nil {
		return "", err
	}
	return dl.GoString(name), nil
}

// Attribute asks for one number about the function.
func (f Function) Attribute(a FunctionAttribute) (int, error) {
	var value int32
	err := f.d.call(&f.d.funcGetAttribute, uintptr(unsafe.Pointer(&value)), uintptr(a), f.handle)
	return int(value), err
}

// SetAttribute changes how the function is launched.
func (f Function) SetAttribute(a FunctionAttribute, value int) error {
	return f.d.call(&f.d.funcSetAttribute, f.handle, uintptr(a), uintptr(int32(value)))
}

// ParamSizes returns the size in bytes of each parameter. Drivers before CUDA 12.4
// cannot say: the error is then a [*TooOld].
func (f Function) ParamSizes() ([]int, error) {
	var sizes []int
	for {
		var offset, size uint64
		err := f.d.call(&f.d.funcGetParamInfo, f.handle, uintptr(len(sizes)), uintptr(unsafe.Pointer(&offset)), uintptr(unsafe.Pointer(&size)))
		if errors.Is(err, InvalidValue) {
			return sizes, nil // past the last one; there is no call for their number
		}
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, int(size))
	}
}

// MaxActiveBlocks returns how many blocks of this many threads and this much dynamic
// shared memory fit on one SM.
func (f Function) MaxActiveBlocks(threads int, shared uint32) (int, error) {
	var blocks int32
	err := f.d.call(&f.d.maxActiveBlocks, uintptr(unsafe.Pointer(&blocks)), f.handle, uintptr(threads), uintptr(shared))
	return int(blocks), err
}

// MaxActiveClusters returns how many clusters of the launch fit on the device.
func (f Function) MaxActiveClusters(config LaunchConfig) (int, error) {
	var clusters int32
	c := newLaunch(config)
	err := f.d.call(&f.d.maxActiveClusters, uintptr(unsafe.Pointer(&clusters)), f.handle, uintptr(unsafe.Pointer(&c.config)))
	return int(clusters), err
}
