package cuda

import (
	"fmt"
	"unsafe"
)

// TensorMap describes a tile of a tensor to the bulk copy engine. A kernel takes
// it by value as a __grid_constant__ parameter.
type TensorMap [128]byte

// TensorDType is a CUtensorMapDataType.
type TensorDType uint32

// Element types of a tensor map.
const (
	TensorUint8    TensorDType = 0
	TensorUint16   TensorDType = 1
	TensorUint32   TensorDType = 2
	TensorInt32    TensorDType = 3
	TensorUint64   TensorDType = 4
	TensorInt64    TensorDType = 5
	TensorFloat16  TensorDType = 6
	TensorFloat32  TensorDType = 7
	TensorFloat64  TensorDType = 8
	TensorBFloat16 TensorDType = 9
)

// TiledTensor is what a tensor map is made from. The innermost dimension comes
// first.
type TiledTensor struct {
	DType          TensorDType
	Address        DevicePtr
	Dims           []uint64 // elements
	Strides        []uint64 // bytes, of all dimensions but the first
	Box            []uint32 // elements of a tile
	ElementStrides []uint32 // all 1 when nil
	Interleave     uint32   // a CUtensorMapInterleave
	Swizzle        uint32   // a CUtensorMapSwizzle: how a tile is spread over the banks of shared memory
	L2Promotion    uint32   // a CUtensorMapL2promotion: how much is fetched into L2 at a time
	Fill           uint32   // a CUtensorMapFloatOOBfill: what is read outside the tensor
}

// EncodeTiled makes a tensor map. The driver checks what the hardware asks of
// alignments and sizes, and says only that something is not right.
func (d *Driver) EncodeTiled(t TiledTensor) (TensorMap, error) {
	var encoded TensorMap
	rank := len(t.Dims)
	if t.ElementStrides == nil {
		for range t.Dims {
			t.ElementStrides = append(t.ElementStrides, 1)
		}
	}
	if rank < 1 || rank > 5 || len(t.Strides) != rank-1 || len(t.Box) != rank || len(t.ElementStrides) != rank {
		return encoded, fmt.Errorf("encode tensor map of rank %d: %d strides, %d box sizes and %d element strides",
			rank, len(t.Strides), len(t.Box), len(t.ElementStrides))
	}
	strides := append(t.Strides[:len(t.Strides):len(t.Strides)], 0) // never empty: its address is wanted at rank 1 too
	room := alignedBytes(len(encoded), paramAlign)
	err := d.call(cuTensorMapEncodeTiled,
		uintptr(unsafe.Pointer(&room[0])), uintptr(t.DType), uintptr(rank), uintptr(t.Address),
		uintptr(unsafe.Pointer(unsafe.SliceData(t.Dims))), uintptr(unsafe.Pointer(unsafe.SliceData(strides))),
		uintptr(unsafe.Pointer(unsafe.SliceData(t.Box))), uintptr(unsafe.Pointer(unsafe.SliceData(t.ElementStrides))),
		uintptr(t.Interleave), uintptr(t.Swizzle), uintptr(t.L2Promotion), uintptr(t.Fill))
	copy(encoded[:], room)
	return encoded, err
}
