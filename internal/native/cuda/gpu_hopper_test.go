package cuda_test

import (
	"testing"

	"pawl/internal/native/cuda"
)

func TestGPUCluster(t *testing.T) {
	g := newGPU(t, hopperPTX)
	f := g.function("ranks")
	out := g.alloc(16 * 4)
	for _, size := range []uint32{2, 8, 16} {
		config := cuda.LaunchConfig{Grid: [3]uint32{16}, Block: [3]uint32{32}, Cluster: [3]uint32{size}}
		if size > 8 {
			if err := f.Launch(g.stream, config, cuda.Param(out)); err == nil {
				t.Errorf("launched clusters of %d without asking", size)
			}
			g.must(f.SetAttribute(cuda.FuncNonPortableCluster, 1))
		}
		clusters, err := f.MaxActiveClusters(config)
		g.must(err)
		if sms := g.attribute(cuda.SMCount); clusters < 1 || clusters > sms*g.attribute(cuda.MaxBlocksPerSM)/int(size) {
			t.Errorf("%d clusters of %d blocks on %d SMs", clusters, size, sms)
		}
		g.must(f.Launch(g.stream, config, cuda.Param(out)))
		for i, got := range download[uint32](g, out, 16) {
			if want := size<<16 | uint32(i)%size; got != want {
				t.Errorf("block %d in clusters of %d: %#x, want %#x", i, size, got, want)
			}
		}
	}
}

func TestGPUProgrammaticDependentLaunch(t *testing.T) {
	g := newGPU(t, hopperPTX)
	const n = 256
	data, out := g.alloc(4*n), g.alloc(4*n)
	config := cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{n}}
	g.must(g.function("first").Launch(g.stream, config, cuda.Param(data)))
	config.ProgrammaticDependent = true
	g.must(g.function("second").Launch(g.stream, config, cuda.Param(data), cuda.Param(out)))
	for i, v := range download[int32](g, out, n) {
		if v != int32(2*i) {
			t.Fatalf("element %d is %d", i, v)
		}
	}
}

func TestGPUTensorMap(t *testing.T) {
	g := newGPU(t, hopperPTX)
	const width, height = 64, 32
	values := make([]float32, width*height)
	for i := range values {
		values[i] = float32(i + 1)
	}
	tensor := cuda.TiledTensor{
		DType: cuda.TensorFloat32, Address: upload(g, values),
		Dims: []uint64{width, height}, Strides: []uint64{4 * width}, Box: []uint32{16, 16},
	}
	encoded, err := g.EncodeTiled(tensor)
	g.must(err)
	out := g.alloc(4 * 256)
	for _, corner := range [][2]int32{{16, 8}, {56, 24}} {
		x, y := corner[0], corner[1]
		g.must(g.function("tile").Launch(g.stream, cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{128}},
			encoded[:], cuda.Param(out), cuda.Param(x), cuda.Param(y)))
		for i, got := range download[float32](g, out, 256) {
			column, row := int(x)+i%16, int(y)+i/16
			want := float32(0)
			if column < width && row < height {
				want = values[row*width+column]
			}
			if got != want {
				t.Fatalf("tile at (%d, %d), element %d is %g, want %g", x, y, i, got, want)
			}
		}
	}
	tensor.Strides[0] = 4*width + 2
	if _, err := g.EncodeTiled(tensor); err == nil {
		t.Error("encoded rows that are not aligned to 16 bytes")
	}
}
