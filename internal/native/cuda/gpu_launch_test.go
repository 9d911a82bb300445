package cuda_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pawl/internal/native/cuda"
)

func TestGPULaunch(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	const n = 1000
	x, want := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i)
		want[i] = 2 * 2.5 * float32(i)
	}
	dx, dy := upload(g, x), g.alloc(4*n)
	call, err := g.function("axpy").Prepare(cuda.LaunchConfig{Grid: [3]uint32{(n + 127) / 128}, Block: [3]uint32{128}},
		cuda.Param(dy), cuda.Param(dx), cuda.Param(float32(2.5)), cuda.Param(int32(n)))
	g.must(err)
	g.must(call.Launch(g.stream))
	g.must(call.Launch(g.stream))
	if got := download[float32](g, dy, n); !slices.Equal(got, want) {
		t.Errorf("axpy twice: %v…", got[:8])
	}
	if err := g.function("axpy").Launch(g.stream, cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}}, cuda.Param(dy)); err == nil {
		t.Error("launched with a parameter too few")
	}
}

func TestGPUScalars(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	out := g.alloc(6 * 8)
	g.must(g.function("scalars").Launch(g.stream, cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}},
		cuda.Param(out), cuda.Param(int8(-7)), cuda.Param(0.1), cuda.Param(int16(-300)), cuda.Param(int64(1)<<40), cuda.Param(uint8(200)), cuda.Param(float32(0.5))))
	want := []float64{-7, 0.1, -300, 1 << 40, 200, 0.5}
	if got := download[float64](g, out, 6); !slices.Equal(got, want) {
		t.Errorf("scalars arrived as %v, want %v", got, want)
	}
}

func TestGPUGeometry(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	out := g.alloc(7 * 4)
	g.must(g.function("geometry").Launch(g.stream, cuda.LaunchConfig{Grid: [3]uint32{2, 3, 4}, Block: [3]uint32{5, 6, 7}, Shared: 4096}, cuda.Param(out)))
	if got := fmt.Sprint(download[uint32](g, out, 7)); got != "[2 3 4 5 6 7 4096]" {
		t.Errorf("geometry %s", got)
	}
}

func TestGPUDynamicShared(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	most := g.attribute(cuda.MaxSharedOptin)
	f := g.function("reverse")
	n := most / 4
	values := make([]int32, n)
	for i := range values {
		values[i] = int32(i)
	}
	data := upload(g, values)
	config := cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{256}, Shared: uint32(4 * n)}
	if err := f.Launch(g.stream, config, cuda.Param(data), cuda.Param(int32(n))); !errors.Is(err, cuda.InvalidValue) {
		t.Errorf("%d bytes without asking: %v", 4*n, err)
	}
	if err := f.SetAttribute(cuda.FuncMaxDynamicShared, most+1); !errors.Is(err, cuda.InvalidValue) {
		t.Errorf("asking for %d of %d bytes: %v", most+1, most, err)
	}
	g.must(f.SetAttribute(cuda.FuncMaxDynamicShared, 4*n))
	g.must(f.SetAttribute(cuda.FuncPreferredCarveout, 100))
	g.must(f.Launch(g.stream, config, cuda.Param(data), cuda.Param(int32(n))))
	slices.Reverse(values)
	if got := download[int32](g, data, n); !slices.Equal(got, values) {
		t.Errorf("reversed to %v…", got[:8])
	}
}

func TestGPUCooperative(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	f := g.function("meet")
	blocks, err := f.MaxActiveBlocks(64, 0)
	g.must(err)
	all := uint32(blocks * g.attribute(cuda.SMCount))
	arrived := g.alloc(4)
	config := cuda.LaunchConfig{Grid: [3]uint32{all}, Block: [3]uint32{64}, Cooperative: true}
	g.must(f.Launch(g.stream, config, cuda.Param(arrived)))
	if got := download[uint32](g, arrived, 1); got[0] != all {
		t.Errorf("%d of %d blocks arrived", got[0], all)
	}
	config.Grid[0]++
	if err := f.Launch(g.stream, config, cuda.Param(arrived)); !errors.Is(err, cuda.CooperativeTooLarge) {
		t.Errorf("one block too many: %v", err)
	}
}

func TestGPUOccupancy(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	f := g.function("axpy")
	blocks, err := f.MaxActiveBlocks(256, 0)
	g.must(err)
	if threads := g.attribute(cuda.MaxThreadsPerSM); blocks < 1 || blocks*256 > threads {
		t.Errorf("%d blocks of 256 threads on an SM for %d", blocks, threads)
	}
	shared := uint32(40 << 10)
	fewer, err := f.MaxActiveBlocks(32, shared)
	g.must(err)
	if fits := g.attribute(cuda.MaxSharedPerSM) / int(shared); fewer < 1 || fewer > fits {
		t.Errorf("%d blocks of 40 KiB on an SM that has room for %d", fewer, fits)
	}
}

// The host holds back a kernel and whatever is queued behind it.
func TestGPUHostReleasesKernel(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	host, err := g.HostAlloc(64, cuda.HostMapped|cuda.HostPortable)
	g.must(err)
	t.Cleanup(func() { g.must(host.Free()) })
	flag := host.Word(0)
	flag.Store(0)
	flagOnDevice, err := host.DevicePtr()
	g.must(err)
	released := g.alloc(4)
	start, err := g.NewEvent(cuda.EventTiming)
	g.must(err)
	end, err := g.NewEvent(cuda.EventTiming)
	g.must(err)
	config := cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}}
	spin := func(timeout time.Duration) {
		g.must(start.Record(g.stream))
		g.must(g.function("spin").Launch(g.stream, config, cuda.Param(flagOnDevice), cuda.Param(released), cuda.Param(uint64(timeout))))
		g.must(end.Record(g.stream))
	}

	spin(20 * time.Second)
	if err := g.stream.Query(); !errors.Is(err, cuda.ErrNotReady) {
		t.Errorf("stream while the kernel spins: %v", err)
	}
	if err := end.Query(); !errors.Is(err, cuda.ErrNotReady) {
		t.Errorf("event behind the kernel: %v", err)
	}
	if _, err := cuda.Elapsed(start, end); !errors.Is(err, cuda.ErrNotReady) {
		t.Errorf("time of a kernel that runs: %v", err)
	}
	flag.Store(1)
	g.must(end.Synchronize())
	g.must(end.Query())
	if got := download[uint32](g, released, 1); got[0] != 1 {
		t.Errorf("the kernel ended with %d, not by the flag", got[0])
	}
	if ms, err := cuda.Elapsed(start, end); ms <= 0 || err != nil {
		t.Errorf("it took %g ms, %v", ms, err)
	}

	flag.Store(0)
	spin(time.Millisecond)
	g.must(end.Synchronize())
	if got := download[uint32](g, released, 1); got[0] != 2 {
		t.Errorf("the kernel ended with %d, not by its timeout", got[0])
	}
	if ms, err := cuda.Elapsed(start, end); ms < 0.9 || err != nil {
		t.Errorf("a wait of 1 ms took %g ms, %v", ms, err)
	}
	g.must(start.Destroy())
	g.must(end.Destroy())
}

func TestGPUStreamsWaitForEvents(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	other, err := g.NewStream()
	g.must(err)
	t.Cleanup(func() { g.must(other.Destroy()) })
	done, err := g.NewEvent(cuda.EventNoTiming)
	g.must(err)
	t.Cleanup(func() { g.must(done.Destroy()) })
	const n = 1 << 16
	out := g.alloc(4 * n)
	config := cuda.LaunchConfig{Grid: [3]uint32{n / 256}, Block: [3]uint32{256}}
	g.must(g.function("work").Launch(g.stream, config, cuda.Param(out), cuda.Param(int32(1_000_000))))
	g.must(done.Record(g.stream))
	g.must(other.Wait(done))
	g.must(g.MemsetD8(out, 0, 4*n, other))
	g.must(other.Synchronize())
	for i, v := range download[float32](g, out, n) {
		if v != 0 {
			t.Fatalf("element %d was written after the other stream had cleared it", i)
		}
	}
	if _, err := cuda.Elapsed(done, done); err == nil {
		t.Error("an event without timing has a time")
	}
}

func TestGPUGraph(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	const n, repeats = 256, 10
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	dx, dy := upload(g, x), g.alloc(4*n)
	call, err := g.function("axpy").Prepare(cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{n}},
		cuda.Param(dy), cuda.Param(dx), cuda.Param(float32(1)), cuda.Param(int32(n)))
	g.must(err)
	g.must(g.stream.BeginCapture())
	for range repeats {
		g.must(call.Launch(g.stream))
	}
	graph, err := g.stream.EndCapture()
	g.must(err)
	exec, err := graph.Instantiate()
	g.must(err)
	g.must(graph.Destroy())
	g.must(exec.Upload(g.stream))
	if got := download[float32](g, dy, n); got[1] != 0 {
		t.Errorf("capturing ran the kernel: %v…", got[:4])
	}
	for range 3 {
		g.must(exec.Launch(g.stream))
	}
	for i, v := range download[float32](g, dy, n) {
		if v != float32(3*repeats*i) {
			t.Fatalf("element %d is %g after three launches of ten", i, v)
		}
	}
	g.must(exec.Destroy())
	if _, err := g.stream.EndCapture(); err == nil {
		t.Error("ended a capture that had not begun")
	}
}
