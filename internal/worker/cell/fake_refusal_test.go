package cell

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda"
	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A request whose own preparation the driver refuses is not answered, whatever the launches do.
func TestFakeRefusedPreparations(t *testing.T) {
	one := wire.Sample{Count: 1, Repeat: 1, Cache: "cold"}
	for _, test := range []struct {
		name     string
		function string
		nth      int
		prepare  func(f *fakeCell)
		request  func(f *fakeCell) error
	}{
		{
			name: "the stream that watches a launcher's first launch", function: "cuStreamCreate", nth: 1,
			prepare: func(f *fakeCell) { f.launcher(`LAUNCHER { go(slots, stream); }`) },
			request: func(f *fakeCell) error { _, err := f.sample(&one); return err },
		},
		{
			name: "taking back a launcher's window of the L2", function: "cuStreamSetAttribute", nth: 2, // after its own
			prepare: func(f *fakeCell) {
				f.launcher(`
					static struct { void *base; size_t bytes; float ratio; int hit, miss; char rest[36]; } window = {0, 4096, 1, 2, 1};
					LAUNCHER {
						if (!window.base) window.base = slots[0], cuStreamSetAttribute(stream, 1, &window);
						go(slots, stream);
					}`)
			},
			request: func(f *fakeCell) error { _, err := f.sample(&one); return err },
		},
		{
			name: "a cluster of more than eight blocks", function: "cuFuncSetAttribute", nth: 1,
			prepare: func(*fakeCell) {},
			request: func(f *fakeCell) error {
				launches := launchOf("scale", 0, 1, 2)
				launches[0].Cluster, launches[0].Grid[0] = [3]uint32{16}, 16
				_, err := f.prepare(&wire.Prepare{Args: scaling(), Launches: launches})
				return err
			},
		},
	} {
		f := newFakeCell(t)
		test.prepare(f)
		f.fake.Fail(test.function, test.nth, int(cuda.NotPermitted))
		if err := test.request(f); err == nil {
			t.Errorf("%s: refused, and answered", test.name)
		}
	}
}

// Launches back to back without a stamp at their end have no clock.
func TestFakeRefusedLastStamp(t *testing.T) {
	f := newFakeCell(t)
	f.problem("scale")
	run := func() error { _, err := f.run(&wire.Run{Launches: 3}); return err }
	f.did()
	if err := run(); err != nil {
		t.Fatal(err)
	}
	kernels := slices.DeleteFunc(f.did(), func(s string) bool { return s == "event" || strings.Contains(s, " ") })
	slices.Reverse(kernels)
	after := slices.Index(kernels, "pawl_stamp")
	if after < 0 {
		t.Fatalf("no stamp among %v", kernels)
	}
	f.fake.Fail("cuLaunchKernelEx", len(kernels)-after, int(cuda.NotPermitted))
	if run() == nil {
		t.Error("the last stamp is refused, and the request answered")
	}
}

// A cell does not start without its own kernels.
func TestFakeRefusedHelpers(t *testing.T) {
	f := newFakeCell(t)
	f.fake.Reset()
	f.fake.Set("capability", 130) // PTX is all there is
	f.fake.Fail("cuModuleLoadDataEx", 1, 222)
	_, err := newCUDA().load(&wire.Load{Path: f.cubin, Device: cudafake.UUID0})
	if err == nil || !strings.Contains(err.Error(), "load pawl's own kernels") {
		t.Errorf("%v; want an error that names pawl's own kernels", err)
	}
}

// A module whose variables cannot be restored is loaded anew. If it cannot be, the request fails, and
// the next one is told to prepare.
func TestFakeModuleThatCannotBeLoadedAnew(t *testing.T) {
	f := newFakeCell(t)
	f.forgetGlobals(&f.sides[0].cudaCode)
	f.sides[0].lost = errors.New("for the test")
	f.problem("scale")
	one := wire.Sample{Count: 1, Repeat: 1, Cache: "cold"}
	f.samples(&one)
	f.fake.Fail("cuModuleLoadDataEx", 1, int(cuda.OutOfMemory))
	_, err := f.sample(&one)
	caused(t, "a module that cannot be loaded anew", err, result.CauseMemory, "")
	_, err = f.sample(&one)
	caused(t, "the request after it", err, result.CauseProtocol, "launch before prepare")
}
