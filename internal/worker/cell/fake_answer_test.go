package cell

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A launch finds the data of its batch and step, and its own outputs are left for the worker.
func TestFakeAnswers(t *testing.T) {
	f := newFakeCell(t)
	f.problem("scale")
	for _, m := range []wire.Produce{{Batch: 0}, {Batch: 3}, {Batch: 3, Steps: 4}, {Batch: 3, Steps: 2}} {
		folder := t.TempDir()
		m.Outputs = folder
		reply, err := f.produce(&m)
		if err != nil {
			t.Fatal(err)
		}
		if want := []wire.Left{{Arg: 0, Path: "0.bin"}}; !slices.Equal(reply.Outputs, want) || reply.Retained {
			t.Errorf("%+v", reply)
		}
		if !slices.Equal(leftOf(t, folder, "0"), input(1, m.Batch, m.Steps, double)) {
			t.Errorf("batch %d after %d steps: other answers", m.Batch, m.Steps)
		}
	}
	for repeat := 1; repeat <= 3; repeat++ {
		for range 4 {
			folder := t.TempDir()
			reply, _, _ := f.samples(&wire.Sample{Count: 8, Repeat: repeat, Cache: "cold", Batch: 6, Step: 11, Keep: 5, Outputs: folder})
			if len(reply.Kept) != 1 {
				t.Fatalf("%+v", reply)
			}
			batch := max(6, reply.Batch)
			if !slices.Equal(leftOf(t, folder, "0"), input(1, batch, 15, double)) {
				t.Errorf("%d launches: the outputs of sample 5 are not those of batch %d after 15 steps", repeat, batch)
			}
		}
	}
}

// Every launch finds its outputs poisoned and its inout arguments restored.
func TestFakeStateBetweenLaunches(t *testing.T) {
	f := newFakeCell(t)
	f.problem("fill_in")
	for _, cache := range []string{"cold", "hot"} {
		folder := t.TempDir()
		f.samples(&wire.Sample{Count: 20, Repeat: 1, Cache: cache, Batch: 2, Keep: 20, Outputs: folder})
		batch := 2
		for b := range 8 { // whichever set was kept
			if slices.Equal(leftOf(t, folder, "0"), input(1, batchOf(2, b), 0, double)) {
				batch = -1
			}
		}
		if batch != -1 {
			t.Errorf("%s: an output was not poisoned", cache)
		}
	}
	increase := []wire.Arg{{Name: "x", DType: "f32", Buffer: true, Count: fakeCount, Role: "inout"}, {Name: "n", DType: "i32", Value: "1000"}}
	if _, err := f.prepare(&wire.Prepare{Args: increase, Launches: launchOf("increase", 0, 1), Seed: 5}); err != nil {
		t.Fatal(err)
	}
	one := func(v float32) float32 { return v + 1 }
	for range 2 {
		folder := t.TempDir()
		if _, err := f.produce(&wire.Produce{Outputs: folder, Steps: 1}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(leftOf(t, folder, "0"), input(0, 0, 1, one)) {
			t.Error("a launch found what an earlier one had written")
		}
	}
	folder := t.TempDir()
	reply, _, _ := f.samples(&wire.Sample{Count: 30, Repeat: 1, Cache: "cold", Keep: 30, Outputs: folder})
	if !slices.Equal(leftOf(t, folder, "0"), input(0, reply.Batch, 0, one)) {
		t.Error("a sample found what an earlier one had written")
	}
	if reply, _, _ := f.samples(&wire.Sample{Count: 3, Repeat: 20, Cache: "cold", Keep: 2, Outputs: folder}); len(reply.Kept) > 0 {
		t.Errorf("kept what launches have made of each other's results: %+v", reply.Kept)
	}
}

// A kernel that keeps state in variables of any kind finds them restored.
func TestFakeVariables(t *testing.T) {
	f := newFakeCell(t)
	args := []wire.Arg{{Name: "y", DType: "f32", Buffer: true, Count: 1, Role: "out"}}
	if _, err := f.prepare(&wire.Prepare{Args: args, Launches: launchOf("remember", 0)}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		folder := t.TempDir()
		if i%2 == 1 {
			f.samples(&wire.Sample{Count: 7, Repeat: 1, Cache: "cold", Keep: 7, Outputs: folder})
		} else if reply, err := f.produce(&wire.Produce{Outputs: folder}); err != nil || !reply.Retained {
			t.Fatalf("%+v, %v", reply, err)
		}
		if got := leftOf(t, folder, "0"); got[0] != 2 { // table[1]
			t.Errorf("launch %d found %g", i, got[0])
		}
	}
}

// A forbidden act of a kernel ends its request, but not its cell.
func TestFakeTrespasses(t *testing.T) {
	f := newFakeCell(t)
	for _, test := range []struct {
		entry string
		cause result.Cause
		says  string
	}{
		{"past_the_end", result.CauseOutOfBounds, "past the end of argument y (byte 4008 of 4000)"},
		{"before_the_start", result.CauseOutOfBounds, "before the start of argument y (12 bytes before it)"},
		{"changes_input", result.CauseOutput, "changed its input x"},
		{"nothing", result.CauseNoEffect, "wrote none of its outputs"},
	} {
		f.problem(test.entry)
		_, err := f.sample(&wire.Sample{Count: 3, Repeat: 1, Cache: "cold", Step: 1})
		caused(t, test.entry+", sampled", err, test.cause, test.says)
		if test.entry == "nothing" {
			continue
		}
		f.problem(test.entry)
		_, err = f.produce(&wire.Produce{Outputs: t.TempDir()})
		caused(t, test.entry+", produced", err, test.cause, test.says)
		f.problem(test.entry)
		_, err = f.run(&wire.Run{Launches: 2})
		caused(t, test.entry+", run", err, test.cause, test.says)
		f.problem("scale")
		if _, err := f.produce(&wire.Produce{Outputs: t.TempDir()}); err != nil {
			t.Errorf("after %s: %v", test.entry, err)
		}
	}
}

// Two versions in one cell work on the same buffers, in turns.
func TestFakeDuet(t *testing.T) {
	f := newFakeCell(t)
	if _, err := f.load(&wire.Load{Path: f.cubin, Side: 1}); err != nil {
		t.Fatal(err)
	}
	f.problem("scale")
	if _, err := f.prepare(&wire.Prepare{Side: 1, Args: scaling(), Launches: launchOf("slow_scale", 0, 1, 2), Seed: 5}); err != nil {
		t.Fatal(err)
	}
	if f.sides[0].problem != f.sides[1].problem {
		t.Error("the sides have buffers of their own")
	}
	for repeat, want := range map[int][2]float64{1: {7e-6, 12e-6}, 3: {6e-6, 11e-6}} {
		_, seconds, _ := f.samples(&wire.Sample{Order: []int{0, 1, 1, 0}, Count: 8, Repeat: repeat, Cache: "cold"})
		for i, side := range []int{0, 1, 1, 0, 0, 1, 1, 0} {
			if !near(seconds[i], want[side]) {
				t.Errorf("turn %d of %d launches: %g s, side %d takes %g", i, repeat, seconds[i], side, want[side])
			}
		}
	}
	if reply, _, _ := f.samples(&wire.Sample{Order: []int{0, 1}, Count: 100, Repeat: 1, Cache: "hot", MaxS: 1e-9}); reply.Count != 2 {
		t.Errorf("%d turns; a round is two", reply.Count)
	}
	if _, err := f.prepare(&wire.Prepare{Args: scaling(), Launches: launchOf("scale", 0, 1, 2), Seed: 6}); err != nil {
		t.Fatal(err)
	}
	_, err := f.sample(&wire.Sample{Side: 1, Count: 1, Repeat: 1})
	caused(t, "side 1, after a new problem", err, result.CauseProtocol, "launch before prepare")
	_, err = f.produce(&wire.Produce{Side: 2})
	caused(t, "side 2", err, result.CauseProtocol, "prepare before load")
	if len(f.problems) != 1 {
		t.Errorf("%d problems are left", len(f.problems))
	}
	f.unload(1)
	f.unload(0)
	if free, total, err := f.driver.MemInfo(); err != nil || total-free > 3<<20 { // the harness's
		t.Errorf("%d bytes are still used, %v", total-free, err)
	}
}

func TestFakeTensorMaps(t *testing.T) {
	f := newFakeCell(t)
	args := []wire.Arg{
		{Name: "m", TensorMap: &wire.TensorMap{
			Of: 1, Dims: []int64{4, 8}, Strides: []int64{32}, Box: []int64{4, 4}, ElementStrides: []int64{1, 1},
			Swizzle: "none", Interleave: "none", L2: "none", Fill: "zero",
		}},
		{Name: "x", DType: "f32", Buffer: true, Count: fakeCount, Role: "in"},
		{Name: "y", DType: "f32", Buffer: true, Count: 16, Role: "out"},
	}
	if _, err := f.prepare(&wire.Prepare{Args: args, Launches: launchOf("tile", 0, 2), Seed: 5}); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if _, err := f.produce(&wire.Produce{Outputs: folder}); err != nil {
		t.Fatal(err)
	}
	x := input(1, 0, 0, func(v float32) float32 { return v })
	if want := slices.Concat(x[:4], x[8:12], x[16:20], x[24:28]); !slices.Equal(leftOf(t, folder, "2"), want) {
		t.Errorf("the tile is %v, want %v", leftOf(t, folder, "2"), want)
	}
	args[0].TensorMap.Strides[0] = 36
	_, err := f.prepare(&wire.Prepare{Args: args, Launches: launchOf("tile", 0, 2), Seed: 5})
	caused(t, "rows that are not aligned", err, result.CauseLaunch, "refuses the tensor map m")
	args[0].TensorMap.Of = 2
	args[0].TensorMap.L2 = "1B"
	_, err = f.prepare(&wire.Prepare{Args: args, Launches: launchOf("tile", 0, 2), Seed: 5})
	caused(t, "an unknown word", err, result.CauseProtocol, "l2")
}

// The cell's process sees both devices, and works on the one it is told to.
func TestFakeDevices(t *testing.T) {
	f := newFakeCell(t)
	found, err := Devices()
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, gpu := range found {
		want := result.GPU{
			Name: "Fake GPU", UUID: []string{cudafake.UUID0, cudafake.UUID1}[i], Arch: "sm_90a", CUDA: "13.0",
			SMs: 4, MemoryBytes: 1 << 30, L2Bytes: 512 << 10, MaxShared: 227 << 10, MaxThreads: 1024, MaxGHz: 1.98, ECC: true,
		}
		if fmt.Sprint(gpu) != fmt.Sprint(want) {
			t.Errorf("device %d: %+v, want %+v", i, gpu, want)
		}
	}
	first := f.cudaCell
	f.problem("scale")
	other := newCUDA()
	if _, err := other.load(&wire.Load{Path: f.cubin, Device: cudafake.UUID1}); err != nil {
		t.Fatal(err)
	}
	for cell, want := range map[*cudaCell]string{first: cudafake.UUID0, other: cudafake.UUID1} {
		if uuid, err := cell.device.UUID(); uuid != want || err != nil {
			t.Errorf("works on %s, %v; want %s", uuid, err, want)
		}
	}
	// The second device's context is current now: the first's memory is not its own.
	if err := other.driver.MemsetD8(first.sink, 0, 8, other.stream); err == nil {
		t.Error("one device wrote to the other's memory")
	}
	_, err = newCUDA().load(&wire.Load{Path: f.cubin, Device: "GPU-elsewhere"})
	caused(t, "a device that is not here", err, result.CauseUnsupported, "no GPU GPU-elsewhere")
	f.fake.Set("capability", 75)
	if gpus, err := Devices(); err != nil || gpus[0].Arch != "sm_75" {
		t.Errorf("%+v, %v", gpus, err)
	}
}

// Where the code for a device is not carried, or not understood, PTX does.
func TestFakeHelpersOfAnyDevice(t *testing.T) {
	f := newFakeCell(t)
	for _, test := range []struct {
		capability, loads int
		refused           bool
	}{{90, 1, false}, {70, 1, false}, {130, 1, false}, {90, 2, true}} {
		f.fake.Reset()
		f.fake.Set("capability", test.capability)
		if test.refused {
			f.fake.Fail("cuModuleLoadDataEx", 1, 222)
		}
		f.open()
		f.problem("scale")
		if _, err := f.produce(&wire.Produce{Outputs: t.TempDir()}); err != nil {
			t.Errorf("capability %d: %v", test.capability, err)
		}
		loads := strings.Count(strings.Join(f.fake.Calls(), " "), "cuModuleLoadDataEx") - 1 // the candidate's
		if loads != test.loads {
			t.Errorf("capability %d: %d modules were tried, want %d", test.capability, loads, test.loads)
		}
	}
}

// Large arguments have as few copies as exceed every cache; where no copy may be met twice in a
// turn, as many as a turn has samples.
func TestFakeSpareCopies(t *testing.T) {
	f := newFakeCell(t)
	f.problem("scale")
	args := scaling()
	for i := range args {
		if args[i].Buffer {
			args[i].Count = int64(f.l2) // four times its bytes
		}
	}
	for spare, want := range map[bool]int{false: 1, true: spareSets} {
		reply, err := f.prepare(&wire.Prepare{Args: args, Launches: launchOf("scale", 0, 1, 2), Spare: spare})
		if err != nil || reply.Sets != want {
			t.Errorf("spare %v: %+v, %v; want %d copies", spare, reply, err, want)
		}
	}
}

// A new problem takes the memory of the one before it.
func TestFakeProblemsLeaveNoMemory(t *testing.T) {
	f := newFakeCell(t)
	f.problem("scale")
	before, _, err := f.driver.MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(5) {
		if _, err := f.prepare(&wire.Prepare{Args: scaling(), Launches: launchOf("scale", 0, 1, 2), Seed: 10 + seed}); err != nil {
			t.Fatal(err)
		}
		f.samples(&wire.Sample{Count: 2, Repeat: 1})
	}
	if after, _, err := f.driver.MemInfo(); err != nil || after != before {
		t.Errorf("%d bytes are free, %d were after the first problem; %v", after, before, err)
	}
}
