package cell

import (
	"fmt"
	"slices"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// The driver's values for the words of a tensor map.
var (
	// Types that the copy engine does not know are moved as bytes or words: the type matters only
	// for elements outside the tensor, and those are zero in every type.
	tensorTypes = map[dtype.Type]cuda.TensorDType{
		dtype.F64: cuda.TensorFloat64, dtype.F32: cuda.TensorFloat32, dtype.F16: cuda.TensorFloat16, dtype.BF16: cuda.TensorBFloat16,
		dtype.E4M3: cuda.TensorUint8, dtype.E5M2: cuda.TensorUint8, dtype.I8: cuda.TensorUint8, dtype.U8: cuda.TensorUint8,
		dtype.I16: cuda.TensorUint16, dtype.U16: cuda.TensorUint16, dtype.I32: cuda.TensorInt32, dtype.U32: cuda.TensorUint32,
		dtype.I64: cuda.TensorInt64, dtype.U64: cuda.TensorUint64,
	}
	tensorSwizzles    = map[string]uint32{"none": 0, "32B": 1, "64B": 2, "128B": 3}
	tensorInterleaves = map[string]uint32{"none": 0, "16B": 1, "32B": 2}
	tensorPromotions  = map[string]uint32{"none": 0, "64B": 1, "128B": 2, "256B": 3}
	tensorFills       = map[string]uint32{"zero": 0, "nan": 1} // fused multiply-add takes such a NaN for zero
)

// tensorMap encodes the tensor map of an argument over the set's own copy of its
// buffer.
func (c *cudaCell) tensorMap(arg wire.Arg, set *argSet) ([]byte, error) {
	tensor, err := tiledTensor(arg, set.buffers)
	if err != nil {
		return nil, err
	}
	encoded, err := c.driver.EncodeTiled(tensor)
	if err != nil {
		m := arg.TensorMap
		return nil, result.Faultf(result.CauseLaunch, "the driver refuses the tensor map %s (dims %v, strides %v bytes, box %v, swizzle %s, interleave %s): %v",
			arg.Name, m.Dims, m.Strides, m.Box, m.Swizzle, m.Interleave, err)
	}
	return encoded[:], nil
}

// tiledTensor returns a tensor map in the driver's form: the innermost dimension first.
func tiledTensor(arg wire.Arg, buffers []*deviceBuffer) (cuda.TiledTensor, error) {
	m := arg.TensorMap
	malformed := func(format string, args ...any) (cuda.TiledTensor, error) {
		return cuda.TiledTensor{}, result.Faultf(result.CauseProtocol, "tensor map %s: %s", arg.Name, fmt.Sprintf(format, args...))
	}
	if m.Of < 0 || m.Of >= len(buffers) || buffers[m.Of] == nil {
		return malformed("argument %d is no buffer", m.Of)
	}
	buffer := buffers[m.Of]
	var known [5]bool
	t := cuda.TiledTensor{Address: buffer.data()}
	t.DType, known[0] = tensorTypes[buffer.dtype]
	t.Swizzle, known[1] = tensorSwizzles[m.Swizzle]
	t.Interleave, known[2] = tensorInterleaves[m.Interleave]
	t.L2Promotion, known[3] = tensorPromotions[m.L2]
	t.Fill, known[4] = tensorFills[m.Fill]
	if known != [5]bool{true, true, true, true, true} {
		return malformed("%s, swizzle %q, interleave %q, l2 %q or fill %q is not known", buffer.dtype, m.Swizzle, m.Interleave, m.L2, m.Fill)
	}
	for _, list := range [][]int64{m.Dims, m.Strides, m.Box, m.ElementStrides} {
		if slices.ContainsFunc(list, func(n int64) bool { return n < 1 }) {
			return malformed("sizes must be positive: dims %v, strides %v, box %v, element_strides %v", m.Dims, m.Strides, m.Box, m.ElementStrides)
		}
	}
	t.Dims, t.Strides = reversed[uint64](m.Dims), reversed[uint64](m.Strides)
	t.Box, t.ElementStrides = reversed[uint32](m.Box), reversed[uint32](m.ElementStrides)
	return t, nil
}

func reversed[T uint32 | uint64](list []int64) []T {
	out := make([]T, len(list))
	for i, n := range list {
		out[len(list)-1-i] = T(n)
	}
	return out
}
