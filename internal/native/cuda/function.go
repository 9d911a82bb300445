package cuda

import (
	"errors"
	"unsafe"
)

// Function is a kernel of a loaded module.
type Function object

// FunctionAttribute is a CUfunction_attribute.
type FunctionAttribute int32

// Attributes of a function. Sizes are in bytes.
const (
	FuncSharedSize    FunctionAttribute = 1 // static
	FuncConstSize     FunctionAttribute = 2 // that its author declared
	FuncLocalSize     FunctionAttribute = 3 // per thread: spills and arrays
	FuncNumRegs       FunctionAttribute = 4
	FuncBinaryVersion FunctionAttribute = 6 // architecture of its code: 90

	// These can be set.
	FuncMaxDynamicShared   FunctionAttribute = 8  // more than 48 KB must be asked for
	FuncNonPortableCluster FunctionAttribute = 14 // 1 allows clusters of more than 8 blocks
)

// Attribute asks for one number about the function.
func (f Function) Attribute(a FunctionAttribute) (int, error) {
	var value int32
	err := f.d.call(cuFuncGetAttribute, uintptr(unsafe.Pointer(&value)), uintptr(a), f.handle)
	return int(value), err
}

// SetAttribute changes how the function is launched.
func (f Function) SetAttribute(a FunctionAttribute, value int) error {
	return f.d.call(cuFuncSetAttribute, f.handle, uintptr(a), uintptr(int32(value)))
}

// ParamSizes returns the size in bytes of each parameter. Drivers before CUDA 12.4
// cannot say: the error is then a [*TooOld].
func (f Function) ParamSizes() ([]int, error) {
	var sizes []int
	for {
		var offset, size uint64
		err := f.d.call(cuFuncGetParamInfo, f.handle, uintptr(len(sizes)), uintptr(unsafe.Pointer(&offset)), uintptr(unsafe.Pointer(&size)))
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
	err := f.d.call(cuOccupancyMaxActiveBlocksPerMultiprocessor, uintptr(unsafe.Pointer(&blocks)), f.handle, uintptr(threads), uintptr(shared))
	return int(blocks), err
}
