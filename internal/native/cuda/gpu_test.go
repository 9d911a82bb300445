package cuda_test

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"pawl/internal/native/cuda"
	"pawl/internal/native/cuda/cudatest"
)

//go:generate testdata/generate.sh

var (
	//go:embed testdata/kernels.ptx
	kernelsPTX []byte
	//go:embed testdata/hopper.ptx
	hopperPTX []byte
)

// gpu is a device with a stream and a module, for one test.
type gpu struct {
	*cuda.Driver

	t      *testing.T
	device cuda.Device
	stream cuda.Stream
	module *cuda.Module
}

// needCapability skips the test on a device that is older than major.minor. That
// is no failure even where a GPU is required.
func needCapability(t testing.TB, device cuda.Device, major, minor int) {
	t.Helper()
	var have [2]int
	for i, attribute := range []cuda.Attribute{cuda.CapabilityMajor, cuda.CapabilityMinor} {
		value, err := device.Attribute(attribute)
		if err != nil {
			t.Fatal(err)
		}
		have[i] = value
	}
	if have[0] < major || have[0] == major && have[1] < minor {
		t.Skipf("this GPU has compute capability %d.%d, the test needs %d.%d", have[0], have[1], major, minor)
	}
}

func newGPU(t *testing.T, ptx []byte) *gpu {
	t.Helper()
	driver, device := cudatest.Need(t)
	if bytes.Contains(ptx, []byte(".target sm_90")) {
		needCapability(t, device, 9, 0)
	}
	g := &gpu{Driver: driver, t: t, device: device}
	var err error
	g.stream, err = driver.NewStream()
	g.must(err)
	t.Cleanup(func() { g.must(g.stream.Destroy()) })
	g.module, err = driver.LoadModule(ptx)
	g.must(err)
	t.Cleanup(func() { g.must(g.module.Unload()) })
	return g
}

func (g *gpu) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gpu) function(name string) cuda.Function {
	g.t.Helper()
	f, err := g.module.Function(name)
	g.must(err)
	return f
}

func (g *gpu) attribute(a cuda.Attribute) int {
	g.t.Helper()
	value, err := g.device.Attribute(a)
	g.must(err)
	return value
}

// alloc is zeroed device memory until the end of the test.
func (g *gpu) alloc(size int) cuda.DevicePtr {
	g.t.Helper()
	p, err := g.Alloc(uint64(size))
	g.must(err)
	g.t.Cleanup(func() { g.must(g.Free(p)) })
	g.must(g.MemsetD8(p, 0, uint64(size), g.stream))
	return p
}

// upload copies a slice of numbers into new device memory.
func upload[T any](g *gpu, values []T) cuda.DevicePtr {
	g.t.Helper()
	var raw bytes.Buffer
	g.must(binary.Write(&raw, binary.NativeEndian, values))
	p := g.alloc(raw.Len())
	g.must(g.CopyToDevice(p, raw.Bytes(), g.stream))
	return p
}

// download waits for the stream and reads n numbers.
func download[T any](g *gpu, from cuda.DevicePtr, n int) []T {
	g.t.Helper()
	values := make([]T, n)
	raw := make([]byte, binary.Size(values))
	g.must(g.CopyToHost(raw, from, g.stream))
	g.must(binary.Read(bytes.NewReader(raw), binary.NativeEndian, values))
	return values
}

func TestGPUDevice(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	uuid, err := g.device.UUID()
	g.must(err)
	if !regexp.MustCompile(`^(GPU|MIG)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(uuid) {
		t.Errorf("uuid %q", uuid)
	}
	bus, err := g.device.PCIBusID()
	g.must(err)
	if !regexp.MustCompile(`^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]$`).MatchString(bus) {
		t.Errorf("bus %q", bus)
	}
	for name, test := range map[string]struct {
		attribute cuda.Attribute
		low, high int
	}{
		"warp size":        {cuda.WarpSize, 32, 32},
		"SMs":              {cuda.SMCount, 1, 1000},
		"threads a block":  {cuda.MaxThreadsPerBlock, 1024, 1024},
		"grid x":           {cuda.MaxGridDimX, 1<<31 - 1, 1<<31 - 1},
		"L2":               {cuda.L2Size, 1 << 19, 1 << 30},
		"shared a block":   {cuda.MaxSharedPerBlock, 48 << 10, 48 << 10},
		"shared opt-in":    {cuda.MaxSharedOptin, 48 << 10, 1 << 20},
		"registers":        {cuda.MaxRegistersPerSM, 65536, 1 << 20},
		"threads an SM":    {cuda.MaxThreadsPerSM, 1024, 4096},
		"blocks an SM":     {cuda.MaxBlocksPerSM, 8, 64},
		"clock":            {cuda.ClockRate, 200_000, 5_000_000},
		"bus width":        {cuda.MemoryBusWidth, 32, 16384},
		"unified":          {cuda.UnifiedAddressing, 1, 1},
		"capability major": {cuda.CapabilityMajor, 7, 20},
	} {
		if got := g.attribute(test.attribute); got < test.low || got > test.high {
			t.Errorf("%s: %d is not in [%d, %d]", name, got, test.low, test.high)
		}
	}
	total, err := g.device.TotalMem()
	g.must(err)
	free, seen, err := g.MemInfo()
	g.must(err)
	if free == 0 || free > total || seen > total+total/10 {
		t.Errorf("memory: %d free of %d, device has %d", free, seen, total)
	}
	if _, err := g.Driver.Device(1000); !errors.Is(err, cuda.InvalidDevice) {
		t.Errorf("device 1000: %v", err)
	}
}

func TestGPULimits(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	g.must(g.SetLimit(cuda.LimitStackSize, 4096))
	if size, err := g.Limit(cuda.LimitStackSize); size < 4096 || err != nil {
		t.Errorf("stack %d, %v", size, err)
	}
	g.must(g.SetLimit(cuda.LimitMallocHeap, 16<<20))
	if size, err := g.Limit(cuda.LimitMallocHeap); size < 16<<20 || err != nil {
		t.Errorf("heap %d, %v", size, err)
	}
	if most := g.attribute(cuda.MaxPersistingL2); most > 0 {
		size, err := g.Limit(cuda.LimitPersistingL2)
		t.Logf("%d of %d bytes of L2 are set aside at first, %v", size, most, err)
		g.must(g.SetLimit(cuda.LimitPersistingL2, uint64(most)))
		if size, err := g.Limit(cuda.LimitPersistingL2); size == 0 || err != nil {
			t.Errorf("persisting L2 %d of %d, %v", size, most, err)
		}
		g.must(g.SetLimit(cuda.LimitPersistingL2, 0))
		g.must(g.ResetPersistingL2())
		size, err = g.Limit(cuda.LimitPersistingL2)
		t.Logf("%d bytes when none are asked for, %v", size, err)
		stream, err := g.NewStream()
		g.must(err)
		bytes, err := stream.Persists()
		g.must(err)
		if bytes != 0 {
			t.Errorf("a new stream keeps %d bytes", bytes)
		}
		g.must(stream.ForgetWindow())
		g.must(stream.Destroy())
	}
}

func TestGPUModule(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	functions, err := g.module.Functions()
	if old := (*cuda.TooOld)(nil); errors.As(err, &old) {
		t.Logf("the driver cannot list functions: %v", err)
	} else {
		g.must(err)
		var names []string
		for _, f := range functions {
			name, err := f.Name()
			g.must(err)
			names = append(names, name)
		}
		if all := " " + strings.Join(names, " ") + " "; len(names) != 11 || !strings.Contains(all, " axpy ") || !strings.Contains(all, " spin ") {
			t.Errorf("functions %q", names)
		}
	}
	address, size, err := g.module.Global("table")
	g.must(err)
	if got := fmt.Sprint(download[int32](g, address, 4)); size != 16 || got != "[2 3 5 7]" {
		t.Errorf("global of %d bytes: %s", size, got)
	}
	if _, err := g.module.Function("nothing"); !errors.Is(err, cuda.NotFound) {
		t.Errorf("missing function: %v", err)
	}

	f := g.function("axpy")
	for name, test := range map[string]struct {
		attribute cuda.FunctionAttribute
		low, high int
	}{
		"registers": {cuda.FuncNumRegs, 4, 64},
		"threads":   {cuda.FuncMaxThreadsPerBlock, 1024, 1024},
		"shared":    {cuda.FuncSharedSize, 0, 0},
		"local":     {cuda.FuncLocalSize, 0, 0},
		"PTX":       {cuda.FuncPTXVersion, 75, 75},
		"binary":    {cuda.FuncBinaryVersion, 75, 200},
	} {
		got, err := f.Attribute(test.attribute)
		g.must(err)
		if got < test.low || got > test.high {
			t.Errorf("%s of axpy: %d is not in [%d, %d]", name, got, test.low, test.high)
		}
	}
	sizes, err := g.function("scalars").ParamSizes()
	if old := (*cuda.TooOld)(nil); !errors.As(err, &old) {
		g.must(err)
		if got := fmt.Sprint(sizes); got != "[8 1 8 2 8 1 4]" {
			t.Errorf("parameters of scalars: %s", got)
		}
	}
}

func TestGPUModuleThatDoesNotCompile(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	broken := bytes.Replace(kernelsPTX, []byte("fma.rn.f32"), []byte("fma.nonsense"), 1)
	if bytes.Equal(broken, kernelsPTX) {
		t.Fatal("the PTX has no fma to break")
	}
	_, err := g.LoadModule(broken)
	var failed *cuda.Error
	if !errors.As(err, &failed) || !errors.Is(err, cuda.InvalidPTX) || failed.Sticky() {
		t.Fatalf("broken PTX: %v", err)
	}
	if !strings.Contains(failed.Log, "nonsense") {
		t.Errorf("the log does not show the line: %q", failed.Log)
	}
	_, err = g.LoadModule([]byte("\x7fELF not a cubin"))
	if !errors.As(err, &failed) || failed.Sticky() {
		t.Errorf("broken cubin: %v", err)
	}
	g.must(g.Synchronize())
}

func TestGPUMemory(t *testing.T) {
	g := newGPU(t, kernelsPTX)
	const size = 1<<20 + 12
	sent := make([]byte, size)
	source := rand.NewChaCha8([32]byte{42})
	_, _ = source.Read(sent)
	a, b := upload(g, sent), g.alloc(size)
	g.must(g.Copy(b, a, size, g.stream))
	if !bytes.Equal(sent, download[byte](g, b, size)) {
		t.Error("what came back is not what was sent")
	}
	g.must(g.MemsetD8(a, 0xA5, 7, g.stream))
	g.must(g.MemsetD32(a+8, 0xDEADBEEF, 2, g.stream))
	want := append(bytes.Repeat([]byte{0xA5}, 7), sent[7], 0xEF, 0xBE, 0xAD, 0xDE, 0xEF, 0xBE, 0xAD, 0xDE, sent[16])
	if got := download[byte](g, a, 17); !bytes.Equal(got, want) {
		t.Errorf("memset: %x, want %x", got, want)
	}

	host, err := g.HostAlloc(size, 0)
	g.must(err)
	t.Cleanup(func() { g.must(host.Free()) })
	g.must(g.CopyToHostAsync(host.Bytes(), b, g.stream))
	g.must(g.stream.Synchronize())
	if !bytes.Equal(sent, host.Bytes()) {
		t.Error("page-locked memory differs")
	}

	_, err = g.Alloc(1 << 60)
	var failed *cuda.Error
	if !errors.Is(err, cuda.OutOfMemory) || !errors.As(err, &failed) || failed.Sticky() {
		t.Errorf("an exbibyte: %v", err)
	}
}
