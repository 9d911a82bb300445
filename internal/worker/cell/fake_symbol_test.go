package cell

import (
	"slices"
	"testing"

	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// filtering returns the arguments of the kernels that read symbols.
func filtering() []wire.Arg {
	return append(scaling(),
		wire.Arg{Name: "filter", DType: "f32", Buffer: true, Count: fakeCount, Role: "in", Symbol: "filter", Shared: true},
		wire.Arg{Name: "w", DType: "f32", Buffer: true, Count: fakeCount, Role: "in", Symbol: "weights", Shared: true},
		wire.Arg{Name: "factor", DType: "i32", Value: "3", Symbol: "factor", Shared: true})
}

// filteredBy returns the right answers to filtering on one batch of the data. Symbols have the data of the
// first copy of the arguments.
func filteredBy(batch, steps int) []float32 {
	first := batch & (1<<40 - 1)
	want := input(1, batch, steps, func(v float32) float32 { return 3 * v })
	filter, weights := input(3, first, steps, same), input(4, first, steps, same)
	for i := range want {
		want[i] = want[i] + filter[i] + weights[i]
	}
	return want
}

func same(v float32) float32 { return v }

// Launches find the data of their batch and step in the symbols of their module, in any of the copies of the
// other arguments, and in samples of several launches.
func TestFakeSymbols(t *testing.T) {
	f := newFakeCell(t)
	prepared, err := f.prepare(&wire.Prepare{Args: filtering(), Launches: launchOf("filtered", 0, 1, 2), Seed: 5})
	if err != nil || prepared.Sets < 2 {
		t.Fatalf("%+v, %v", prepared, err)
	}
	for _, m := range []wire.Produce{{Batch: 0}, {Batch: 3}, {Batch: 3, Steps: 4}, {Batch: 3, Steps: 2}} {
		m.Outputs = t.TempDir()
		reply, err := f.produce(&m)
		if err != nil || reply.Retained {
			t.Fatalf("%+v, %v", reply, err)
		}
		if !slices.Equal(leftOf(t, m.Outputs, "0"), filteredBy(m.Batch, m.Steps)) {
			t.Errorf("batch %d after %d steps: other answers", m.Batch, m.Steps)
		}
	}
	copies := map[int]bool{}
	for i := range 12 {
		folder := t.TempDir()
		reply, _, _ := f.samples(&wire.Sample{Count: 8, Repeat: 1 + i%3, Cache: "cold", Batch: 6, Step: 11, Keep: 5, Outputs: folder})
		batch := max(6, reply.Batch)
		copies[batch] = true
		if !slices.Equal(leftOf(t, folder, "0"), filteredBy(batch, 15)) {
			t.Errorf("%d launches: the outputs of sample 5 are not those of batch %d after 15 steps", 1+i%3, batch)
		}
	}
	if len(copies) < 2 {
		t.Errorf("only the copies %v were kept", copies)
	}
}

// A side finds its own symbols filled, whatever another side's requests have made of the shared
// arguments since.
func TestFakeSymbolsOfSides(t *testing.T) {
	f := newFakeCell(t)
	if _, err := f.load(&wire.Load{Path: f.cubin, Device: cudafake.UUID0, Side: 1}); err != nil {
		t.Fatal(err)
	}
	for side := range 2 {
		if _, err := f.prepare(&wire.Prepare{Args: filtering(), Launches: launchOf("filtered", 0, 1, 2), Seed: 5, Side: side}); err != nil {
			t.Fatal(err)
		}
	}
	for i, side := range []int{0, 1, 1, 0, 1} {
		folder := t.TempDir()
		if _, err := f.produce(&wire.Produce{Side: side, Batch: i, Outputs: folder}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(leftOf(t, folder, "0"), filteredBy(i, 0)) {
			t.Errorf("side %d: other answers to batch %d", side, i)
		}
	}
	f.samples(&wire.Sample{Count: 8, Repeat: 1, Cache: "cold", Order: []int{0, 1}})
}

// Launches write symbols as they write other outputs.
func TestFakeSymbolsAsOutputs(t *testing.T) {
	f := newFakeCell(t)
	out := []wire.Arg{
		{Name: "r", DType: "f32", Buffer: true, Count: fakeCount, Role: "out", Symbol: "result", Shared: true},
		{Name: "x", DType: "f32", Buffer: true, Count: fakeCount, Role: "in"},
		{Name: "n", DType: "i32", Value: "1000"},
	}
	inout := []wire.Arg{
		{Name: "w", DType: "f32", Buffer: true, Count: fakeCount, Role: "inout", Symbol: "weights", Shared: true},
		{Name: "n", DType: "i32", Value: "1000"},
	}
	for _, test := range []struct {
		args   []wire.Arg
		launch []wire.Launch
		drawn  int // the argument whose data
		change func(float32) float32
	}{
		{out, launchOf("into_symbol", 1, 2), 1, double},
		{inout, launchOf("in_symbol", 1), 0, func(v float32) float32 { return v + 1 }},
	} {
		if _, err := f.prepare(&wire.Prepare{Args: test.args, Launches: test.launch, Seed: 5}); err != nil {
			t.Fatal(err)
		}
		for batch := range 3 {
			folder := t.TempDir()
			reply, err := f.produce(&wire.Produce{Batch: batch, Outputs: folder})
			if err != nil || reply.Retained {
				t.Fatalf("%+v, %v", reply, err)
			}
			if !slices.Equal(leftOf(t, folder, "0"), input(test.drawn, batch, 0, test.change)) {
				t.Errorf("%s: other answers to batch %d", test.launch[0].Entry, batch)
			}
			folder = t.TempDir()
			sampled, _, _ := f.samples(&wire.Sample{Count: 4, Repeat: 1, Cache: "cold", Batch: batch, Keep: 3, Outputs: folder})
			if len(sampled.Kept) != 1 || sampled.Batch != 0 || !slices.Equal(leftOf(t, folder, "0"), input(test.drawn, batch, 0, test.change)) {
				t.Errorf("%s: other answers of a sample: %+v", test.launch[0].Entry, sampled)
			}
		}
	}
	if _, err := f.prepare(&wire.Prepare{Args: out, Launches: launchOf("nothing", 1, 1, 2), Seed: 5}); err != nil {
		t.Fatal(err)
	}
	_, err := f.sample(&wire.Sample{Count: 1, Repeat: 1, Cache: "cold"})
	caused(t, "a launch that does not write the symbol", err, result.CauseNoEffect, "wrote none of its outputs")
}

// What launches do to symbols that they may only read, and to variables beside them, is noticed.
func TestFakeSymbolsThatChange(t *testing.T) {
	f := newFakeCell(t)
	if _, err := f.prepare(&wire.Prepare{Args: filtering(), Launches: launchOf("changes_weights", 0, 1, 2), Seed: 5}); err != nil {
		t.Fatal(err)
	}
	_, err := f.sample(&wire.Sample{Count: 3, Repeat: 1, Cache: "cold", Step: 4})
	caused(t, "samples", err, result.CauseOutput, "changed its input w")
	_, err = f.produce(&wire.Produce{Batch: 2, Outputs: t.TempDir()})
	caused(t, "one launch", err, result.CauseOutput, "changed its input w")
	if _, err := f.prepare(&wire.Prepare{Args: filtering(), Launches: launchOf("remembers_beside", 0, 1, 2), Seed: 5}); err != nil {
		t.Fatal(err)
	}
	if reply, err := f.produce(&wire.Produce{Outputs: t.TempDir()}); err != nil || !reply.Retained {
		t.Errorf("a variable beside the symbols: %+v, %v", reply, err)
	}
}

// An argument must be the variable that the module has.
func TestFakeSymbolsThatAreNone(t *testing.T) {
	f := newFakeCell(t)
	for name, test := range map[string]struct {
		change func(a *wire.Arg)
		cause  result.Cause
		says   string
	}{
		"another name":   {func(a *wire.Arg) { a.Symbol = "filtre" }, result.CauseNoEntry, "argument filter: the module has no symbol filtre it has: counted, factor, filter, "},
		"another length": {func(a *wire.Arg) { a.Count = 999 }, result.CauseLaunch, "the symbol filter has 4000 bytes (3.9 KiB) in the module, and argument filter has 3996 bytes (3.9 KiB) (999 of f32)"},
		"another type":   {func(a *wire.Arg) { a.DType = "f64" }, result.CauseLaunch, "(1000 of f64)"},
	} {
		args := filtering()
		test.change(&args[3])
		_, err := f.prepare(&wire.Prepare{Args: args, Launches: launchOf("filtered", 0, 1, 2), Seed: 5})
		caused(t, name, err, test.cause, test.says)
	}
	if _, err := f.load(&wire.Load{Path: cudafake.Launcher(t, fakeLaunchers+`LAUNCHER { go(slots, stream); }`)}); err != nil {
		t.Fatal(err)
	}
	_, err := f.prepare(&wire.Prepare{Args: filtering()})
	caused(t, "a launcher", err, result.CauseProtocol, "a launcher's symbols are its own")
}
