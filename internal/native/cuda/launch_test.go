package cuda

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLaunchArrives(t *testing.T) {
	t.Parallel()
	d := openStub(t)
	tests := map[string]struct {
		config     LaunchConfig
		shape      []int // grid, block, shared
		attributes []int // their number, then id and value of each
	}{
		"plain":   {LaunchConfig{Grid: [3]uint32{7}, Block: [3]uint32{128}}, []int{7, 1, 1, 128, 1, 1, 0}, []int{0}},
		"3d":      {LaunchConfig{Grid: [3]uint32{2, 3, 4}, Block: [3]uint32{5, 6, 7}, Shared: 65536}, []int{2, 3, 4, 5, 6, 7, 65536}, []int{0}},
		"cluster": {LaunchConfig{Grid: [3]uint32{8}, Block: [3]uint32{32}, Cluster: [3]uint32{2, 4}}, []int{8, 1, 1, 32, 1, 1, 0}, []int{1, 4, 2, 4, 1}},
		"all": {
			LaunchConfig{Grid: [3]uint32{8}, Block: [3]uint32{32}, Cluster: [3]uint32{2}, Cooperative: true, ProgrammaticDependent: true},
			[]int{8, 1, 1, 32, 1, 1, 0},
			[]int{3, 4, 2, 1, 1, 2, 1, 6, 1},
		},
		"empty grid": {LaunchConfig{Block: [3]uint32{32}}, []int{0, 1, 1, 32, 1, 1, 0}, []int{0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kernel := Function{d.Driver, 0x20}
			stream := Stream{d.Driver, 0x30}
			d.recorded()
			err := kernel.Launch(stream, test.config, Param(DevicePtr(5<<32)), Param(int32(-3)), Param(1.5))
			if err != nil {
				t.Fatal(err)
			}
			want := append(append(append([]int{}, test.shape...), 0x30, 0x20, 0), test.attributes...)
			want = append(want, 5, -3, 1500)
			if diff := cmp.Diff(want, d.recorded()); diff != "" {
				t.Errorf("-sent +arrived:\n%s", diff)
			}
		})
	}
}

func TestCallIsPreparedOnce(t *testing.T) {
	t.Parallel()
	d := openStub(t)
	kernel := Function{d.Driver, 0x20}
	call, err := kernel.Prepare(LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}}, Param(DevicePtr(1<<32)), Param(int32(2)), Param(0.003))
	if err != nil {
		t.Fatal(err)
	}
	tail := func() []int {
		t.Helper()
		if err := call.Launch(Stream{}); err != nil {
			t.Fatal(err)
		}
		values := d.recorded()
		return values[len(values)-3:]
	}
	d.recorded()
	if diff := cmp.Diff([]int{1, 2, 3}, tail()); diff != "" {
		t.Error(diff)
	}
	if err := call.Set(1, Param(int32(20))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 20, 3}, tail()); diff != "" {
		t.Error(diff)
	}
	for i, value := range map[int][]byte{-1: Param(int32(0)), 3: Param(int32(0)), 1: Param(int64(0))} {
		if call.Set(i, value) == nil {
			t.Errorf("set parameter %d to %d bytes", i, len(value))
		}
	}
}

// What is collected between two launches is collected in somebody's sample.
func TestLaunchDoesNotAllocate(t *testing.T) {
	d := openStub(t)
	kernel := Function{d.Driver, 0x20}
	call, err := kernel.Prepare(LaunchConfig{}, Param(DevicePtr(0)), Param(int32(0)), Param(0.0))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { _ = call.Launch(Stream{}) }); n != 0 {
		t.Errorf("a launch allocates %g times", n)
	}
}

func BenchmarkLaunch(b *testing.B) {
	d := openStub(b)
	kernel := Function{d.Driver, 0x20}
	call, err := kernel.Prepare(LaunchConfig{}, Param(DevicePtr(0)), Param(int32(0)), Param(0.0))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := call.Launch(Stream{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPrepareChecksParameters(t *testing.T) {
	t.Parallel()
	d := openStub(t)
	kernel := Function{d.Driver, 0x20}
	pointer, number, double := Param(DevicePtr(1)), Param(int32(1)), Param(1.0)
	tests := map[string]struct {
		params [][]byte
		says   string
	}{
		"too few":   {[][]byte{pointer, number}, "2 parameters: the kernel takes 3"},
		"too many":  {[][]byte{pointer, number, double, double}, "4 parameters: the kernel takes 3"},
		"too short": {[][]byte{pointer, number, number}, "4 bytes for parameter 2: the kernel takes 8"},
		"too long":  {[][]byte{pointer, double, double}, "8 bytes for parameter 1: the kernel takes 4"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := kernel.Prepare(LaunchConfig{}, test.params...)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A driver of CUDA 12.0 has no way to list functions or parameters, and works.
func TestOldDriverDegrades(t *testing.T) {
	t.Parallel()
	d := openStub(t, "-DOLD", "-DVERSION=12000")
	module, err := d.LoadModule([]byte("good"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = module.Functions()
	var old *TooOld
	if !errors.As(err, &old) || *old != (TooOld{Have: 12000, Need: 12040, Symbol: "cuModuleGetFunctionCount"}) {
		t.Errorf("functions: %v", err)
	}
	kernel, err := module.Function("kernel")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kernel.Name(); !errors.As(err, &old) || old.Need != 12030 {
		t.Errorf("name: %v", err)
	}
	if err := kernel.Launch(Stream{}, LaunchConfig{}, Param(DevicePtr(0)), Param(int32(0)), Param(0.0)); err != nil {
		t.Error(err)
	}
}

func TestModuleLog(t *testing.T) {
	t.Parallel()
	d := openStub(t)
	_, err := d.LoadModule([]byte("bad"))
	var failed *Error
	if !errors.As(err, &failed) || !errors.Is(err, InvalidPTX) {
		t.Fatalf("bad image: %v", err)
	}
	if want := "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed: line 1; fatal: bad"; err.Error() != want {
		t.Errorf("error %q", err)
	}
	if failed.Sticky() {
		t.Error("a bad image loses the context")
	}
	if diff := cmp.Diff([]int{5, 6, jitLogSize, 3, 4, jitLogSize}, d.recorded()); diff != "" {
		t.Error(diff)
	}
	module, err := d.LoadModule([]byte("good"))
	if err != nil || module.Log != "info" {
		t.Fatalf("good image: %v, %v", module, err)
	}
	if _, err := module.Function("other"); !errors.Is(err, NotFound) {
		t.Errorf("missing function: %v", err)
	}
	functions, err := module.Functions()
	if err != nil || len(functions) != 1 {
		t.Fatalf("functions: %v, %v", functions, err)
	}
	if name, err := functions[0].Name(); name != "kernel" || err != nil {
		t.Errorf("name: %q, %v", name, err)
	}
}

func TestTensorMapArrives(t *testing.T) {
	t.Parallel()
	d := openStub(t)
	tensor := TiledTensor{
		DType: TensorFloat16, Address: 9 << 32, Dims: []uint64{64, 512}, Strides: []uint64{128}, Box: []uint32{64, 16},
		Swizzle: 3, L2Promotion: 3, Fill: 1,
	}
	encoded, err := d.EncodeTiled(tensor)
	if err != nil {
		t.Fatal(err)
	}
	if encoded[0] != 0x5a || encoded[127] != 0x5a {
		t.Error("the map did not come back")
	}
	want := []int{1, 6, 2, 9, 64, 64, 1, 512, 16, 1, 128, 0, 3, 3, 1}
	if diff := cmp.Diff(want, d.recorded()); diff != "" {
		t.Errorf("-sent +arrived:\n%s", diff)
	}
	tensor.Strides = nil
	if _, err := d.EncodeTiled(tensor); err == nil {
		t.Error("encoded a map without strides")
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	d := openStub(t)
	if err := d.DefaultStream().Query(); !errors.Is(err, ErrNotReady) {
		t.Errorf("query = %v", err)
	}
	if ms, err := Elapsed(Event{d.Driver, 1}, Event{d.Driver, 2}); ms != 0.125 || err != nil {
		t.Errorf("elapsed = %g, %v", ms, err)
	}
}

func TestWindowOfAStream(t *testing.T) {
	t.Parallel()
	s := openStub(t).DefaultStream()
	if bytes, err := s.Persists(); bytes != 4096 || err != nil {
		t.Errorf("%d bytes, %v", bytes, err)
	}
	if err := s.ForgetWindow(); err != nil {
		t.Fatal(err)
	}
	if bytes, err := s.Persists(); bytes != 0 || err != nil {
		t.Errorf("%d bytes after all, %v", bytes, err)
	}
}

func TestParam(t *testing.T) {
	t.Parallel()
	if got := binary.NativeEndian.Uint32(Param(float32(1.5))); got != math.Float32bits(1.5) {
		t.Errorf("float32 = %x", got)
	}
	if got := Param(int8(-1)); len(got) != 1 || got[0] != 0xff {
		t.Errorf("int8 = %x", got)
	}
	if got := binary.NativeEndian.Uint64(Param(DevicePtr(1 << 40))); got != 1<<40 {
		t.Errorf("pointer = %x", got)
	}
}

func TestSticky(t *testing.T) {
	t.Parallel()
	for code, want := range map[Code]bool{
		IllegalAddress: true, MisalignedAddress: true, LaunchFailed: true, Assert: true, LaunchTimeout: true,
		OutOfMemory: false, LaunchOutOfResources: false, InvalidValue: false, CooperativeTooLarge: false, InvalidImage: false,
	} {
		if got := (&Error{Code: code}).Sticky(); got != want {
			t.Errorf("%d: sticky %t", int(code), got)
		}
	}
}
