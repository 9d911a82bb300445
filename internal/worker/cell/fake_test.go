package cell

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

//go:embed testdata/kernels.c
var fakeKernels string

// fakeCell is a cell on the fake driver, with the tests' kernels loaded as side 0.
type fakeCell struct {
	*cudaCell

	t     *testing.T
	fake  *cudafake.Fake
	cubin string // its file
}

func newFakeCell(t *testing.T) *fakeCell {
	t.Helper()
	fake := cudafake.Need(t)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	f := &fakeCell{t: t, fake: fake, cubin: filepath.Join(t.TempDir(), "kernels.cubin")}
	if err := os.WriteFile(f.cubin, cudafake.Cubin(t, fakeKernels), 0o600); err != nil {
		t.Fatal(err)
	}
	f.open()
	return f
}

// open starts a new cell, as the worker does when one has ended.
func (f *fakeCell) open() {
	f.t.Helper()
	f.cudaCell = newCUDA()
	reply, err := f.load(&wire.Load{Path: f.cubin, Device: cudafake.UUID0})
	if err != nil {
		f.t.Fatal(err)
	}
	if !reply.OnDevice || reply.Flush == "" || len(reply.Limits) > 0 {
		f.t.Errorf("loaded: %+v", reply)
	}
}

const fakeCount = 1000

// scaling returns the arguments of the kernels that write twice their input.
func scaling() []wire.Arg {
	return []wire.Arg{
		{Name: "y", DType: "f32", Buffer: true, Count: fakeCount, Role: "out"},
		{Name: "x", DType: "f32", Buffer: true, Count: fakeCount, Role: "in"},
		{Name: "n", DType: "i32", Value: "1000"},
	}
}

func launchOf(entry string, args ...int) []wire.Launch {
	return []wire.Launch{{Entry: entry, Args: args, Grid: [3]uint32{4}, Block: [3]uint32{256}}}
}

// problem prepares a scaling kernel.
func (f *fakeCell) problem(entry string) {
	f.t.Helper()
	if _, err := f.prepare(&wire.Prepare{Args: scaling(), Launches: launchOf(entry, 0, 1, 2), Seed: 5}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeCell) samples(m *wire.Sample) (*wire.Sampled, []float64, []float64) {
	f.t.Helper()
	reply, err := f.sample(m)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := reply.Unpack(reply.Pack()); err != nil {
		f.t.Fatal(err)
	}
	return reply, reply.Seconds, reply.GHz
}

// leftOf reads what was left of an argument.
func leftOf(t *testing.T, folder string, arg string) []float32 {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, arg+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, len(raw)/4)
	if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, values); err != nil {
		t.Fatal(err)
	}
	return values
}

// input returns what the generator gives argument number arg, times a factor.
func input(arg, batch, steps int, change func(float32) float32) []float32 {
	raw := make([]byte, 4*fakeCount)
	key := oracle.Key(5, arg, batch)
	oracle.Generate(raw, dtype.F32, oracle.Defaults(dtype.F32), key)
	for step := range steps {
		oracle.Mutate(raw, dtype.F32, oracle.Defaults(dtype.F32), key, step+1)
	}
	values := make([]float32, fakeCount)
	for i := range values {
		values[i] = change(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
	return values
}

func double(v float32) float32 { return 2 * v }

// caused compares the cause of an error with the one it must have.
func caused(t *testing.T, what string, err error, cause result.Cause, says string) {
	t.Helper()
	var fault *result.Fault
	switch {
	case !errors.As(err, &fault):
		t.Errorf("%s: %v; want a fault of cause %s", what, err, cause)
	case fault.Cause != cause || !strings.Contains(fault.Message+" "+fault.Hint, says):
		t.Errorf("%s: %s: %s (%s); want %s: …%s…", what, fault.Cause, fault.Message, fault.Hint, cause, says)
	}
}

// did lists what the device did in the cell's own stream, without the places.
func (f *fakeCell) did() []string {
	var all []string
	for _, line := range f.fake.Done() {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 2 || fields[0] != "1":
			continue
		case fields[1] == "kernel":
			all = append(all, fields[2])
		case fields[1] == "fill":
			all = append(all, "fill "+fields[4])
		case fields[1] == "copy":
			all = append(all, "copy "+fields[4])
		default:
			all = append(all, fields[1])
		}
	}
	return all
}

// What a sample does to the device, in the order that docs/measuring.md gives.
func TestFakeOrderOfASample(t *testing.T) {
	f := newFakeCell(t)
	args := append(scaling(), wire.Arg{Name: "z", DType: "f32", Buffer: true, Count: 500, Role: "inout"},
		wire.Arg{Name: "s", DType: "u8", Buffer: true, Count: 16, Role: "scratch", Init: "zero"})
	if _, err := f.prepare(&wire.Prepare{Args: args, Launches: launchOf("scale", 0, 1, 2), Seed: 5}); err != nil {
		t.Fatal(err)
	}
	restore := []string{"pawl_pattern", "copy 2000", "fill 16"}
	flush := []string{"fill 1048576", "pawl_read"}
	timed := []string{"pawl_stamp", "event", "scale", "event", "pawl_stamp"}
	graph := []string{"pawl_stamp", "event", "scale", "scale", "scale", "event", "pawl_stamp"}
	for _, test := range []struct {
		name string
		m    wire.Sample
		want [][]string
	}{
		{"cold", wire.Sample{Repeat: 1, Cache: "cold"}, [][]string{restore, flush, {"pawl_block"}, timed}},
		{"hot", wire.Sample{Repeat: 1, Cache: "hot"}, [][]string{restore, {"pawl_block"}, timed}},
		{"unhidden", wire.Sample{Repeat: 1, Cache: "cold", Unhidden: true}, [][]string{restore, flush, timed}},
		{"dry", wire.Sample{Repeat: 1, Cache: "cold", Dry: true}, [][]string{restore, flush, {"pawl_block", "pawl_stamp", "event", "event", "pawl_stamp"}}},
		{"several", wire.Sample{Repeat: 3, Cache: "cold"}, [][]string{restore, restore, restore, flush, {"pawl_block"}, graph}},
		{"several, hot", wire.Sample{Repeat: 3, Cache: "hot"}, [][]string{restore, {"pawl_block"}, graph}},
	} {
		t.Run(test.name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			f.current()
			test.m.Count = 1
			f.samples(&test.m) // settles down
			f.did()
			test.m.Count = 3
			f.samples(&test.m)
			all, want := f.did(), slices.Concat(test.want...)
			found := 0
			for at := 0; at+len(want) <= len(all); at++ {
				if slices.Equal(all[at:at+len(want)], want) {
					found++
				}
			}
			if found != 3 {
				t.Errorf("%d times %v in\n%v", found, want, all)
			}
			if test.m.Cache == "hot" && slices.Contains(all, "pawl_read") {
				t.Errorf("a hot sample is flushed: %v", all)
			}
		})
	}
}

// current makes the cell's context that of a subtest's thread.
func (f *fakeCell) current() {
	f.t.Helper()
	context, err := f.device.RetainPrimary()
	if err == nil {
		err = context.SetCurrent()
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// near compares times that pass through the driver's float of milliseconds.
func near(got, want float64) bool { return math.Abs(got-want) < 1e-3*want }

// The fake's kernel takes 5 µs, a launch of it 2 µs more, or 1 µs in a graph, and
// an event 0.5 µs.
func TestFakeTimes(t *testing.T) {
	f := newFakeCell(t)
	f.problem("scale")
	for _, test := range []struct {
		repeat          int
		cache           string
		each, all, gaps float64
	}{
		{1, "cold", 7e-6, 10 * 10e-6, 0}, {1, "hot", 7e-6, 10 * 10e-6, 0}, {4, "cold", 6e-6, 10 * 27e-6, 1e-6},
	} {
		reply, seconds, ghz := f.samples(&wire.Sample{Count: 10, Repeat: test.repeat, Cache: test.cache})
		for i := range seconds {
			if !near(seconds[i], test.each) || !near(ghz[i], 1.98) {
				t.Errorf("%d launches, %s: %g s at %g GHz; want %g s at 1.98 GHz", test.repeat, test.cache, seconds[i], ghz[i], test.each)
			}
		}
		if !near(reply.OverheadS, 2e-6) || !near(reply.PairS, 0.5e-6) || !near(reply.GlobalS, test.all) || reply.Count != 10 {
			t.Errorf("%d launches, %s: %+v", test.repeat, test.cache, reply)
		}
		if test.gaps > 0 && !near(reply.GapS, test.gaps) {
			t.Errorf("gap of %g s; want %g", reply.GapS, test.gaps)
		}
		if want := int64(2 * 4 * fakeCount); reply.DeviceBytes != want || reply.OtherStreams || len(reply.SetAside) > 0 {
			t.Errorf("%+v; want %d bytes", reply, want)
		}
	}
	if reply, _, _ := f.samples(&wire.Sample{Count: 1000, Repeat: 1, Cache: "cold"}); reply.Count != maxBatch {
		t.Errorf("%d samples in a request; the most are %d", reply.Count, maxBatch)
	}
	if reply, _, _ := f.samples(&wire.Sample{Count: 500, Repeat: 1, Cache: "cold", MaxS: 1e-9}); reply.Count != 1 {
		t.Errorf("%d samples in no time", reply.Count)
	}
	run, err := f.run(&wire.Run{Launches: 100})
	if err != nil || run.CellS < 100*7e-6 || !near(run.GHz, 1.98) {
		t.Errorf("100 launches: %+v, %v", run, err)
	}
	for _, m := range []wire.Sample{{Count: 0, Repeat: 1}, {Count: 1, Repeat: 0}, {Count: 3, Repeat: 1, Order: []int{0, 0}}} {
		_, err := f.sample(&m)
		caused(t, "a request that cannot be", err, result.CauseProtocol, "")
	}
}
