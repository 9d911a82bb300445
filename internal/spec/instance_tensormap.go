package spec

import (
	"math"
	"slices"
)

// InstanceTensorMap is a tensor map with its numbers, in the order of a shape: the
// innermost dimension is the last.
type InstanceTensorMap struct {
	Of             int     // index of its buffer in Instance.Args
	Dims           []int64 // elements
	Strides        []int64 // bytes, of all dimensions but the last
	Box            []int64 // elements of a tile
	ElementStrides []int64
	Swizzle        string // none, 32B, 64B, 128B
	Interleave     string // none, 16B, 32B
	L2             string // none, 64B, 128B, 256B
	Fill           string // zero, nan
}

// What the copy engine can do.
const (
	maxTensorDim     = 1 << 32
	maxTensorStride  = 1<<40 - 1 // bytes
	maxBox           = 256
	maxElementStride = 8
	tensorAlign      = 16 // bytes
)

var swizzleBytes = map[string]int64{"32B": 32, "64B": 64, "128B": 128}

// tensorMap evaluates a tensor map over a buffer that is resolved.
func (r *resolver) tensorMap(a *Arg, of int, source *Arg, buffer InstanceArg) *InstanceTensorMap {
	m := a.TensorMap
	out := &InstanceTensorMap{Of: of, Swizzle: m.Swizzle, Interleave: m.Interleave, L2: m.L2, Fill: m.Fill}
	ok := buffer.Elements > 0
	if out.Dims = buffer.Shape; m.Dims != nil {
		out.Dims, ok = r.integers(m.Dims, maxTensorDim, ok)
	}
	sizes := m.Dims
	if sizes == nil {
		sizes = source.Shape
	}
	rank := len(out.Dims)
	box, ok := r.integers(m.Box, maxBox, ok)
	if m.ElementStrides != nil {
		out.ElementStrides, ok = r.integers(m.ElementStrides, maxElementStride, ok)
	}
	strides, ok := r.integers(m.Strides, math.MaxInt64/8, ok)
	if !ok {
		return out // what follows would only repeat it
	}
	out.Box = append(slices.Repeat([]int64{1}, max(0, rank-len(box))), box...)
	if m.ElementStrides == nil {
		out.ElementStrides = slices.Repeat([]int64{1}, rank)
	}
	r.tensorStrides(a, out, buffer, sizes, strides)
	r.tensorBox(a, out, int64(buffer.DType.Size()))
	return out
}

// integers evaluates formulas to numbers from 1 to high; ok as it was, unless one
// is wrong.
func (r *resolver) integers(formulas []*Formula, high int64, ok bool) ([]int64, bool) {
	var values []int64
	for _, f := range formulas {
		n, fine := r.integer(f, 1, high)
		values, ok = append(values, n), ok && fine
	}
	return values, ok
}

// tensorStrides settles how far apart neighbours are, and that the last element is
// in the buffer. Sizes are the formulas of the dimensions.
func (r *resolver) tensorStrides(a *Arg, out *InstanceTensorMap, buffer InstanceArg, sizes []*Formula, strides []int64) {
	m, size := a.TensorMap, int64(buffer.DType.Size())
	align := int64(tensorAlign)
	if out.Interleave == "32B" {
		align = 32
	}
	at := func(i int) *Formula { // where to report what is wrong with stride i
		if m.Strides != nil {
			return m.Strides[i]
		}
		return sizes[i+1]
	}
	for i, n := range out.Dims {
		if n > maxTensorDim {
			r.fail(sizes[i], "is %d, and no dimension of a tensor map can be larger than %d", n, int64(maxTensorDim))
			return
		}
	}
	rank := len(out.Dims)
	out.Strides = make([]int64, rank-1)
	step, last := int64(1), out.Dims[rank-1]-1 // elements; last is the index of the farthest one
	for i := rank - 2; i >= 0; i-- {
		if step *= out.Dims[i+1]; m.Strides != nil {
			step = strides[i]
		}
		if step > maxTensorStride/size {
			r.fail(at(i), "makes a stride of %d elements, more than a tensor map can have", step)
			return
		}
		out.Strides[i] = step * size
		if out.Strides[i]%align != 0 {
			r.fail(at(i), "makes rows of %s begin every %d bytes; the copy engine needs a multiple of %d", buffer.Name, out.Strides[i], align)
			return
		}
		if out.Dims[i] > 1 && step > (math.MaxInt64-last)/(out.Dims[i]-1) {
			r.fail(at(i), "makes %s larger than 64 bits can count", a.Name)
			return
		}
		last += step * (out.Dims[i] - 1)
	}
	if last >= buffer.Elements {
		r.fail(sizes[0], "makes %s reach element %d of %s, which has %d", a.Name, last, buffer.Name, buffer.Elements)
	}
}

// tensorBox checks the tile's rows.
func (r *resolver) tensorBox(a *Arg, out *InstanceTensorMap, size int64) {
	f := a.TensorMap.Box[len(a.TensorMap.Box)-1]
	row := out.Box[len(out.Box)-1] * size
	switch limit := swizzleBytes[out.Swizzle]; {
	case out.Interleave != "none":
	case row%tensorAlign != 0:
		r.fail(f, "makes rows of %d bytes; the copy engine needs a multiple of %d", row, tensorAlign)
	case limit > 0 && row > limit:
		r.fail(f, "makes rows of %d bytes, and swizzle: %s is for at most %d", row, out.Swizzle, limit)
	}
}
