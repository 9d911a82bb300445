package cell

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pawl/internal/native/cuda"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A kernel that ends its context is a crash with the driver's message, in every kind of request;
// nothing works in that cell any more, and everything in the next.
func TestFakeKernelFaults(t *testing.T) {
	f := newFakeCell(t)
	for code, says := range map[cuda.Code]string{
		cuda.IllegalAddress: "memory that is not its own", cuda.Assert: "a device assertion failed",
		cuda.LaunchFailed: "CUDA_ERROR_LAUNCH_FAILED", cuda.LaunchTimeout: "702", cuda.MisalignedAddress: "716", cuda.UnknownError: "999",
	} {
		args := scaling()
		args[2].Value = strconv.Itoa(int(code))
		for name, request := range map[string]func() error{
			"sample":  func() error { _, err := f.sample(&wire.Sample{Count: 2, Repeat: 1, Cache: "cold"}); return err },
			"run":     func() error { _, err := f.run(&wire.Run{Launches: 3}); return err },
			"produce": func() error { _, err := f.produce(&wire.Produce{Outputs: t.TempDir()}); return err },
		} {
			if _, err := f.prepare(&wire.Prepare{Args: args, Launches: launchOf("faulty", 0, 1, 2)}); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%s of a kernel that ends with %d", name, code)
			caused(t, what, request(), result.CauseCrash, says)
			_, err := f.prepare(&wire.Prepare{Args: scaling(), Launches: launchOf("scale", 0, 1, 2)})
			if err == nil {
				t.Errorf("%s: the lost context goes on", what)
			}
			f.fake.Reset()
			f.open()
			f.problem("scale")
			if _, err := f.produce(&wire.Produce{Outputs: t.TempDir()}); err != nil {
				t.Errorf("the cell after a %s: %v", what, err)
			}
		}
	}
}

// What the device or the artifact does not allow is reported before anything is timed, and leaves
// the cell unchanged.
func TestFakeRefusedProblems(t *testing.T) {
	f := newFakeCell(t)
	launch := func(change func(*wire.Launch)) []wire.Launch {
		l := launchOf("scale", 0, 1, 2)
		change(&l[0])
		return l
	}
	for _, test := range []struct {
		name     string
		launches []wire.Launch
		args     func([]wire.Arg)
		cause    result.Cause
		says     string
	}{
		{name: "no such kernel", launches: launchOf("scala", 0, 1, 2), cause: result.CauseNoEntry, says: "no kernel scala"},
		{name: "an argument too few", launches: launchOf("scale", 0, 1), cause: result.CauseLaunch, says: "2 parameters: the kernel takes 3"},
		{name: "no such argument", launches: launchOf("scale", 0, 1, 3), cause: result.CauseProtocol, says: "argument 3 of 3"},
		{name: "no launch", cause: result.CauseProtocol, says: "without launches"},
		{name: "shared memory", launches: launch(func(l *wire.Launch) { l.Shared = 300 << 10 }), cause: result.CauseLaunch, says: "at most 232448"},
		{name: "memory", launches: launchOf("scale", 0, 1, 2), args: func(a []wire.Arg) { a[0].Count = 1 << 29 }, cause: result.CauseMemory, says: "bytes are free"},
		{name: "no elements", launches: launchOf("scale", 0, 1, 2), args: func(a []wire.Arg) { a[1].Count = 0 }, cause: result.CauseProtocol, says: "argument x"},
		{name: "no type", launches: launchOf("scale", 0, 1, 2), args: func(a []wire.Arg) { a[1].DType = "f31" }, cause: result.CauseProtocol, says: "f31"},
		{name: "no value", launches: launchOf("scale", 0, 1, 2), args: func(a []wire.Arg) { a[2].Value = "x" }, cause: result.CauseProtocol, says: ""},
		{name: "no fill", launches: launchOf("scale", 0, 1, 2), args: func(a []wire.Arg) { a[1].Init = "iota"; a[1].Params = []float64{1, 2, 3, 4, 5} }, cause: result.CauseProtocol, says: "argument x"},
	} {
		args := scaling()
		if test.args != nil {
			test.args(args)
		}
		_, err := f.prepare(&wire.Prepare{Args: args, Launches: test.launches})
		caused(t, test.name, err, test.cause, test.says)
		if len(f.problems) > 0 {
			t.Errorf("%s: memory is kept", test.name)
		}
		f.problem("scale")
		if _, err := f.produce(&wire.Produce{Outputs: t.TempDir()}); err != nil {
			t.Errorf("after %s: %v", test.name, err)
		}
	}
	for _, test := range []struct {
		name   string
		entry  string
		change func(*wire.Launch)
		says   string
	}{
		{"too many threads", "scale", func(l *wire.Launch) { l.Block[0] = 2048 }, ""},
		{"registers", "heavy_scale", func(*wire.Launch) {}, "__launch_bounds__"},
		{"cooperative", "scale", func(l *wire.Launch) { l.Cooperative, l.Grid[0] = true, 1000 }, "CUDA_ERROR_COOPERATIVE"},
		{"a cluster", "scale", func(l *wire.Launch) { l.Cluster = [3]uint32{32}; l.Grid[0] = 32 }, "912"},
	} {
		launches := launchOf(test.entry, 0, 1, 2)
		test.change(&launches[0])
		if _, err := f.prepare(&wire.Prepare{Args: scaling(), Launches: launches}); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		_, err := f.sample(&wire.Sample{Count: 1, Repeat: 1})
		caused(t, test.name, err, result.CauseLaunch, test.says)
	}
	big := launch(func(l *wire.Launch) { l.Shared, l.Cluster, l.Grid[0] = 100<<10, [3]uint32{16}, 16 })
	reply, err := f.prepare(&wire.Prepare{Args: scaling(), Launches: big, Copies: 1})
	if err != nil || reply.Sets != 1 || len(reply.Buffers) != 2 {
		t.Fatalf("%+v, %v", reply, err)
	}
	if r := reply.Resources[0]; r.Entry != "scale" || r.Registers != 32 || r.Dynamic != 100<<10 || math.Abs(r.Occupancy-2*256.0/2048) > 1e-9 {
		t.Errorf("%+v", r)
	}
	f.samples(&wire.Sample{Count: 1, Repeat: 1})
}

func TestFakeArtifacts(t *testing.T) {
	f := newFakeCell(t)
	folder := t.TempDir()
	write := func(name string, image []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	managed, err := os.ReadFile("../../native/cuda/testdata/managed.cubin")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.load(&wire.Load{Path: write("managed", managed)})
	caused(t, "managed variables", err, result.CauseUnsupported, "shared_with_host")
	_, err = f.load(&wire.Load{Path: write("broken", []byte("not a cubin"))})
	caused(t, "no cubin", err, result.CauseLaunch, "no PTX")
	if _, err := f.load(&wire.Load{Path: filepath.Join(folder, "none")}); err == nil {
		t.Error("loaded a file that is not there")
	}
	// The driver may not say where the variables are: the module is then loaded anew.
	f.fake.Fail("cuModuleGetGlobal_v2", 1, int(cuda.NotFound))
	f.cudaCell = newCUDA()
	cubin, err := filepath.Abs("../../native/cuda/testdata/globals.cubin")
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := f.load(&wire.Load{Path: cubin}); err != nil || len(reply.Limits) > 0 {
		t.Errorf("one of many: %+v, %v", reply, err)
	}
	f.fake.Fail("cuMemAlloc_v2", 1, int(cuda.OutOfMemory))
	_, err = f.load(&wire.Load{Path: cubin})
	caused(t, "no memory for a copy of the variables", err, result.CauseMemory, "")
	f.fake.Fail("cuMemcpyDtoDAsync_v2", 1, int(cuda.InvalidValue))
	if reply, err := f.load(&wire.Load{Path: cubin}); err != nil || len(reply.Limits) != 1 {
		t.Errorf("variables that cannot be copied: %+v, %v", reply, err)
	}
}

func TestFakeDriversThatDoNotStart(t *testing.T) {
	f := newFakeCell(t)
	for _, test := range []struct {
		setting string
		value   int
		says    string
	}{
		{"version", 11080, "too old"}, {"init", 100, "no CUDA device"}, {"init", 803, "kernel module"}, {"devices", 0, "no GPU"},
	} {
		f.fake.Reset()
		f.fake.Set(test.setting, test.value)
		_, err := newCUDA().load(&wire.Load{Path: f.cubin})
		caused(t, fmt.Sprintf("%s %d", test.setting, test.value), err, result.CauseUnsupported, test.says)
		if gpus, err := Devices(); test.setting != "devices" && err == nil || len(gpus) > 0 {
			t.Errorf("%s %d: devices %v, %v", test.setting, test.value, gpus, err)
		}
	}
}

// A failing call of the driver is not overlooked: where the context is lost, no request after the
// call is answered, whichever call it was.
func TestFakeEveryCallMayFail(t *testing.T) {
	f := newFakeCell(t)
	folder := t.TempDir()
	args := append(scaling(), wire.Arg{Name: "z", DType: "f32", Buffer: true, Count: 500, Role: "inout"})
	requests := []struct {
		name string
		do   func() error
	}{
		{"load", func() error { _, err := f.load(&wire.Load{Path: f.cubin}); return err }},
		{"prepare", func() error {
			_, err := f.prepare(&wire.Prepare{Args: args, Launches: launchOf("scale", 0, 1, 2)})
			return err
		}},
		{"first sample", func() error { _, err := f.sample(&wire.Sample{Count: 1, Repeat: 1, Cache: "cold"}); return err }},
		{"samples", func() error {
			_, err := f.sample(&wire.Sample{Count: 2, Repeat: 2, Batch: 1, Step: 3, Cache: "cold", Keep: 2, Outputs: folder})
			return err
		}},
		{"run", func() error { _, err := f.run(&wire.Run{Launches: 2}); return err }},
		{"produce", func() error { _, err := f.produce(&wire.Produce{Batch: 2, Outputs: folder}); return err }},
	}
	start := func() {
		f.fake.Reset()
		f.cudaCell = newCUDA()
	}
	// How often each request calls each function.
	start()
	var counts []map[string]int
	for _, r := range requests {
		if err := r.do(); err != nil {
			t.Fatal(r.name, err)
		}
		count := map[string]int{}
		for _, name := range f.fake.Calls() {
			count[name]++
		}
		counts = append(counts, count)
	}
	if len(counts[0]) < 20 || len(counts[3]) < 15 {
		t.Fatalf("the requests call little: %v", counts)
	}
	// tolerated are calls whose answer may be missing, once: a device without the
	// feature, resources that are for show, and what is given back.
	tolerated := map[string]bool{
		"load cuDeviceGetName": true, "load cuDeviceGetUuid_v2": true, // no device was asked for
		"load cuCtxGetLimit": true, "load cuModuleLoadDataEx": true, // the helpers' PTX does too
		"load cuModuleGetGlobal_v2": true, "load cuMemcpyDtoDAsync_v2": true, "load cuStreamSynchronize": true, // a limit of the side's
		"prepare cuMemGetInfo_v2": true, "prepare cuFuncGetAttribute": true, "prepare cuOccupancyMaxActiveBlocksPerMultiprocessor": true,
		"first sample cuCtxResetPersistingL2Cache": true, "samples cuCtxResetPersistingL2Cache": true,
		"samples cuGraphDestroy": true, "samples cuGraphExecDestroy": true, "samples cuMemHostAlloc": true,
	}
	fail := func(i int, function string, nth int, code cuda.Code) error {
		start()
		for _, before := range requests[:i] {
			if err := before.do(); err != nil {
				t.Fatal(before.name, err)
			}
		}
		f.fake.Fail(function, nth, int(code))
		return requests[i].do()
	}
	for i, r := range requests {
		for function, calls := range counts[i] {
			err := fail(i, function, 1, cuda.NotPermitted)
			if tolerates := tolerated[r.name+" "+function]; (err == nil) != tolerates {
				t.Errorf("%s: %s is refused: %v; tolerated: %v", r.name, function, err, tolerates)
			}
			if r.name != "samples" && r.name != "produce" {
				continue
			}
			err = fail(i, function, calls, cuda.LaunchFailed)
			if err == nil && i+1 < len(requests) {
				err = requests[i+1].do() // that call was the last
			}
			var fault *result.Fault
			if !errors.As(err, &fault) {
				t.Errorf("%s: the context is lost in %s: %v", r.name, function, err)
			}
		}
	}
}
