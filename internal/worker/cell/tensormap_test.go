package cell

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

func mapArg(change func(*wire.TensorMap)) wire.Arg {
	m := &wire.TensorMap{
		Of: 1, Dims: []int64{2, 512, 64}, Strides: []int64{65536, 128}, Box: []int64{1, 32, 64}, ElementStrides: []int64{1, 2, 1},
		Swizzle: "128B", Interleave: "none", L2: "256B", Fill: "nan",
	}
	if change != nil {
		change(m)
	}
	return wire.Arg{Name: "m", TensorMap: m}
}

// The driver wants the innermost dimension first.
func TestTiledTensor(t *testing.T) {
	buffers := []*deviceBuffer{nil, {dtype: dtype.BF16, base: 1 << 20, zone: redZone}, nil}
	got, err := tiledTensor(mapArg(nil), buffers)
	if err != nil {
		t.Fatal(err)
	}
	want := cuda.TiledTensor{
		DType: cuda.TensorBFloat16, Address: 1<<20 + redZone, Dims: []uint64{64, 512, 2}, Strides: []uint64{128, 65536},
		Box: []uint32{64, 32, 1}, ElementStrides: []uint32{1, 2, 1},
		Swizzle: 3, L2Promotion: 3, Fill: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, change := range map[string]func(*wire.TensorMap){
		"no argument": func(m *wire.TensorMap) { m.Of = 3 },
		"no buffer":   func(m *wire.TensorMap) { m.Of = 0 },
		"negative":    func(m *wire.TensorMap) { m.Of = -1 },
		"swizzle":     func(m *wire.TensorMap) { m.Swizzle = "256B" },
		"fill":        func(m *wire.TensorMap) { m.Fill = "" },
		"size":        func(m *wire.TensorMap) { m.Dims[1] = 0 },
		"stride":      func(m *wire.TensorMap) { m.Strides[0] = -128 },
	} {
		var fault *result.Fault
		if _, err := tiledTensor(mapArg(change), buffers); !errors.As(err, &fault) || fault.Cause != result.CauseProtocol {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, d := range dtype.All {
		if _, ok := tensorTypes[d]; !ok {
			t.Errorf("%s has no tensor type", d)
		}
	}
}
