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

// TensorInterleave is a CUtensorMapInterleave.
type TensorInterleave uint32

// Interleaved layouts.
const (
	InterleaveNone TensorInterleave = 0
	Interleave16B  TensorInterleave = 1
	Interleave32B  TensorInterleave = 2
)

// TensorSwizzle is a CUtensorMapSwizzle.
type TensorSwizzle uint32

// How a tile is spread over the banks of shared memory.
const (
	SwizzleNone TensorSwizzle = 0
	Swizzle32B  TensorSwizzle = 1
	Swizzle64B  TensorSwizzle = 2
	Swizzle128B TensorSwizzle = 3
)

// TensorL2Promotion is a CUtensorMapL2promotion.
type TensorL2Promotion uint32

// How much is fetched into L2 at a time.
const (
	L2PromotionNone TensorL2Promotion = 0
	L2Promotion64B  TensorL2Promotion = 1
	L2Promotion128B TensorL2Promotion = 2
	L2Promotion256B TensorL2Promotion = 3
)

// TensorFill is a CUtensorMapFloatOOBfill.
type TensorFill uint32

// What is read outside the tensor.
const (
	FillZero TensorFill = 0
	FillNaN  TensorFill = 1 // treated as zero by fused multiply-add
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
	Interleave     TensorInterleave
	Swizzle        TensorSwizzle
	L2Promotion    TensorL2Promotion
	Fill           TensorFill
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
