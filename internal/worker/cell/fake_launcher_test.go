package cell

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

//go:embed testdata/launcher.c
var fakeLaunchers string

// launcher loads host code as side 0, and prepares it.
func (f *fakeCell) launcher(code string) {
	f.t.Helper()
	path := cudafake.Launcher(f.t, fakeLaunchers+code)
	if _, err := f.load(&wire.Load{Path: path}); err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.prepare(&wire.Prepare{Args: scaling(), Seed: 5}); err != nil {
		f.t.Fatal(err)
	}
}

func TestFakeLauncher(t *testing.T) {
	f := newFakeCell(t)
	f.launcher(`LAUNCHER { go(slots, stream); }`)
	folder := t.TempDir()
	reply, err := f.produce(&wire.Produce{Outputs: folder, Batch: 4, Trace: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(leftOf(t, folder, "0"), input(1, 4, 0, double)) {
		t.Error("other answers")
	}
	if len(reply.Kernels) > 0 || !strings.Contains(reply.NoKernels, "CUPTI") {
		t.Errorf("kernels are listed without CUPTI: %+v", reply)
	}
	sampled, seconds, _ := f.samples(&wire.Sample{Count: 5, Repeat: 1, Cache: "cold"})
	for _, s := range seconds {
		if s < 6.99e-6 || sampled.OtherStreams {
			t.Errorf("%g s, %+v", s, sampled)
		}
	}
	_, seconds, _ = f.samples(&wire.Sample{Count: 5, Repeat: 3, Cache: "cold"})
	if slices.Min(seconds) < 5.99e-6 {
		t.Errorf("%v in a graph of its launches", seconds)
	}
	if run, err := f.run(&wire.Run{Launches: 10}); err != nil || run.CellS < 70e-6 {
		t.Errorf("%+v, %v", run, err)
	}
}

// A launcher that works outside its given stream is found, and timed by the host's clock.
func TestFakeLauncherOnItsOwnStream(t *testing.T) {
	f := newFakeCell(t)
	f.launcher(`static void *own; LAUNCHER { if (!own) cuStreamCreate(&own, 1); go(slots, own); }`)
	for _, repeat := range []int{1, 2} {
		reply, seconds, _ := f.samples(&wire.Sample{Count: 3, Repeat: repeat, Cache: "cold"})
		if !reply.OtherStreams || slices.Min(seconds) < 5e-6 {
			t.Errorf("%+v, %v s", reply, seconds)
		}
	}
	f.fake.Done()
	f.samples(&wire.Sample{Count: 3, Repeat: 1, Cache: "hot"})
	if all := f.fake.Done(); slices.Contains(all, "1 kernel pawl_block") || slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, "1 kernel pawl_read") }) {
		t.Errorf("held back or flushed: %v", all)
	}
	if reply, _, _ := f.samples(&wire.Sample{Count: 2, Repeat: 1, Cache: "cold", Dry: true}); reply.Count != 2 {
		t.Errorf("%+v", reply)
	}
}

// State that a launcher leaves on the device is noticed and undone.
func TestFakeLauncherThatLeavesThings(t *testing.T) {
	f := newFakeCell(t)
	f.launcher(`
		static unsigned long long extra;
		static struct { void *base; size_t bytes; float ratio; int hit, miss; char rest[36]; } window = {0, 4096, 1, 2, 1};
		LAUNCHER {
			if (!extra) cuMemAlloc_v2(&extra, 1 << 20);
			cuCtxSetLimit(6, 65536);
			window.base = slots[0];
			cuStreamSetAttribute(stream, 1, &window);
			go(slots, stream);
		}`)
	reply, _, _ := f.samples(&wire.Sample{Count: 3, Repeat: 1, Cache: "cold"})
	if !slices.Equal(reply.SetAside, []int{0}) {
		t.Errorf("set aside by %v", reply.SetAside)
	}
	if want := int64(8*fakeCount + 1<<20); reply.DeviceBytes != want {
		t.Errorf("%d bytes on the device, want %d", reply.DeviceBytes, want)
	}
	if kept, err := f.stream.Persists(); kept != 0 || err != nil {
		t.Errorf("the stream keeps %d bytes, %v", kept, err)
	}
	if limit, err := f.driver.Limit(6); limit != 0 || err != nil {
		t.Errorf("%d bytes of the L2 are still set aside, %v", limit, err)
	}
	if !slices.Contains(f.fake.Done(), "reset L2") {
		t.Error("the lines that were set aside are still there")
	}
}

func TestFakeLaunchersThatFail(t *testing.T) {
	f := newFakeCell(t)
	for name, test := range map[string]struct {
		code  string
		cause result.Cause
		says  string
	}{
		"launches nothing":   {`LAUNCHER {}`, result.CauseNoEffect, "check that it launches something"},
		"waits for itself":   {`LAUNCHER { go(slots, stream); cuStreamSynchronize(stream); }`, result.CauseTimeout, "cannot be queued behind it"},
		"an illegal address": {`LAUNCHER { fake_launch(&fault_kernel, stream, (void *[]){&slots[0]}); }`, result.CauseCrash, "not its own"},
	} {
		f.fake.Reset()
		f.open()
		f.launcher(test.code)
		_, err := f.sample(&wire.Sample{Count: 1, Repeat: 1, Cache: "cold"})
		caused(t, name, err, test.cause, test.says)
	}
	f.fake.Reset()
	f.open()
	for name, test := range map[string]struct{ code, says string }{
		"another ABI": {`int pawl_launcher_abi = 2; void pawl_launch(void) {}`, "launcher ABI 2, this pawl has 1"},
		"no ABI":      {``, "launcher ABI 0"},
		"no function": {`int pawl_launcher_abi = 1;`, "pawl_launch"},
		"no library":  {`void missing_function(void); int pawl_launcher_abi = 1; void pawl_launch(void) { missing_function(); }`, "missing_function"},
	} {
		_, err := f.load(&wire.Load{Path: cudafake.Launcher(t, fakeLaunchers+test.code)})
		caused(t, name, err, result.CauseNoEntry, test.says)
	}
	f.launcher(`LAUNCHER { go(slots, stream); }`)
	args := append(scaling(), wire.Arg{Name: "m", TensorMap: &wire.TensorMap{
		Of: 1, Dims: []int64{4, 8}, Strides: []int64{32}, Box: []int64{4, 4}, ElementStrides: []int64{1, 1},
		Swizzle: "none", Interleave: "none", L2: "none", Fill: "zero",
	}})
	_, err := f.prepare(&wire.Prepare{Args: args})
	caused(t, "a tensor map", err, result.CauseProtocol, "no tensor maps")
}

// With CUPTI a launcher's kernels are known by name. There is one tracer in a
// process, and the stub always reports the same two kernels.
func TestFakeTrace(t *testing.T) {
	f := newFakeCell(t)
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the stub of CUPTI with")
	}
	stub := filepath.Join(t.TempDir(), "libcupti.so.13")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-pthread", "-o", stub, "../../native/cupti/testdata/stub_cupti.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f.launcher(`LAUNCHER { go(slots, stream); }`)
	t.Setenv("PAWL_CUPTI", "/nowhere")
	reply, err := f.produce(&wire.Produce{Outputs: t.TempDir(), Trace: true})
	if err != nil || !strings.Contains(reply.NoKernels, "/nowhere") {
		t.Errorf("%+v, %v", reply, err)
	}
	if err := os.Setenv("PAWL_CUPTI", filepath.Dir(stub)); err != nil {
		t.Fatal(err)
	}
	reply, err = f.produce(&wire.Produce{Outputs: t.TempDir(), Trace: true})
	if err != nil || !slices.Equal(reply.Kernels, []string{"_Z5firstPf", "second"}) || reply.NoKernels != "" {
		t.Errorf("%+v, %v", reply, err)
	}
}

// Work that continues on another stream after the launches counts as their time, and is reported
// once it happens in request after request.
func TestFakeLauncherThatGoesOn(t *testing.T) {
	f := newFakeCell(t)
	f.launcher(`
		KERNEL(lingers, 8) { l->took = 40000000; return 0; }
		static void *own;
		LAUNCHER {
			if (!own) cuStreamCreate(&own, 1);
			go(slots, stream);
			fake_launch(&lingers_kernel, own, (void *[]){&slots[0]});
		}`)
	for request := range strayRequests {
		reply, seconds, _ := f.samples(&wire.Sample{Count: straySamples, Repeat: 1, Cache: "hot"})
		if slices.Max(seconds) < 10e-3 { // of 40 ms, by a host that may be late
			t.Errorf("%v s", seconds)
		}
		if want := request == strayRequests-1; reply.OtherStreams != want {
			t.Errorf("request %d: on other streams %v", request, reply.OtherStreams)
		}
	}
}
