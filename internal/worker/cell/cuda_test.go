package cell

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/native/cuda/cudatest"
	"pawl/internal/oracle"
	"pawl/internal/worker/wire"
)

// stampsOf returns two stamps of SMs that read their timer at these nanoseconds; 0 is
// an SM that was not reached.
func stampsOf(before, after []uint64) []byte {
	var raw []byte
	for _, times := range [][]uint64{before, after} {
		for _, at := range times {
			raw = binary.LittleEndian.AppendUint64(raw, 2*at) // 2 GHz
			raw = binary.LittleEndian.AppendUint64(raw, at)
		}
	}
	return raw
}

func TestStamps(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after []uint64
		ghz, span     float64
	}{
		{"all SMs", []uint64{1000, 1040, 1010}, []uint64{9000, 9100, 9050}, 2, 7960e-9},
		{"one SM missing", []uint64{1000, 0, 1010}, []uint64{9000, 9100, 0}, 2, 7990e-9},
		{"a timer too coarse", []uint64{1024, 1024, 1024}, []uint64{1024, 1024, 1024}, 0, 1e-9},
		{"no first stamp", []uint64{0, 0, 0}, []uint64{9000, 9000, 9000}, 0, 0},
		{"no last stamp", []uint64{9000, 9000, 9000}, []uint64{0, 0, 0}, 0, 0},
		{"backwards", []uint64{9000, 9000, 9000}, []uint64{1000, 1000, 1000}, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			raw := stampsOf(test.before, test.after)
			if got := clockOf(raw, 3); math.Abs(got-test.ghz) > 1e-12 {
				t.Errorf("%v GHz, want %v", got, test.ghz)
			}
			if got := spanOf(raw, 3); math.Abs(got-test.span) > 1e-15 {
				t.Errorf("%v s, want %v", got, test.span)
			}
		})
	}
}

func TestUpcoming(t *testing.T) {
	inPlace := []wire.Arg{{Buffer: true, Role: "inout"}}
	for _, test := range []struct {
		name         string
		side         cudaSide
		launches     int
		first, count int
		args         []wire.Arg
		none         bool // of which the outputs could be verified
	}{
		{name: "one launch", side: cudaSide{next: 3}, launches: 1, first: 3, count: 1},
		{name: "a graph", side: cudaSide{next: 3}, launches: 2, first: 0, count: 2},
		{name: "a long graph", side: cudaSide{next: 3}, launches: 9, first: 0, count: 4},
		{name: "a long graph, in place", side: cudaSide{next: 3}, launches: 9, first: 0, count: 4, args: inPlace, none: true},
		{name: "a graph, in place", side: cudaSide{next: 3}, launches: 4, first: 0, count: 4, args: inPlace},
		{name: "other streams", side: cudaSide{next: 3, strays: true}, launches: 2, first: 3, count: 2},
		{name: "hot", side: cudaSide{hot: true}, launches: 9, first: 0, count: 1},
		{name: "hot, in place", side: cudaSide{hot: true}, launches: 2, first: 0, count: 1, args: inPlace, none: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.side.problem = &problem{args: test.args, sets: make([]*argSet, 4)}
			first, count := test.side.upcoming(test.launches)
			if first != test.first || count != test.count {
				t.Errorf("%d sets from %d, want %d from %d", count, first, test.count, test.first)
			}
			seen := map[int]bool{}
			for range 200 {
				seen[test.side.anyOf(test.launches)] = true
			}
			if seen[-1] != test.none {
				t.Errorf("looked at %v", seen)
			}
			for set := range seen {
				if set >= 0 && (set-first+4)%4 >= count {
					t.Errorf("looks at set %d", set)
				}
			}
			if !test.none && len(seen) != count {
				t.Errorf("looks at %v, of %d", seen, count)
			}
		})
	}
}

func TestBatchOfASet(t *testing.T) {
	seen := map[int]bool{}
	for batch := range 100 {
		for set := range spareSets {
			seen[batchOf(batch, set)] = true
		}
		if batchOf(batch, 0) != batch {
			t.Errorf("the first set of batch %d holds %d", batch, batchOf(batch, 0))
		}
	}
	if len(seen) != 100*spareSets {
		t.Errorf("%d kinds of data in %d sets", len(seen), 100*spareSets)
	}
}

// needHopper skips where the committed cubins do not run.
func needHopper(t *testing.T) {
	t.Helper()
	_, device := cudatest.Need(t)
	if major, err := device.Attribute(cuda.CapabilityMajor); err != nil || major != 9 {
		t.Skipf("the cubins are for compute capability 9.0, this GPU has %d (%v)", major, err)
	}
}

func startCUDA(t *testing.T) *cudaCell {
	t.Helper()
	cudatest.Need(t)
	c := newCUDA()
	if err := c.start(""); err != nil {
		t.Fatal(err)
	}
	return c
}

// A launch finds in constant memory what was drawn for it.
func TestGPUSymbols(t *testing.T) {
	needHopper(t)
	c := startCUDA(t)
	if _, err := c.load(&wire.Load{Path: "../../native/cuda/testdata/globals.cubin"}); err != nil {
		t.Fatal(err)
	}
	found := map[float64]float64{}
	for _, value := range []float64{5, 8} {
		args := []wire.Arg{
			{Name: "found", DType: "f64", Buffer: true, Count: 1, Role: "out"},
			{Name: "c", DType: "f32", Buffer: true, Count: 4, Role: "in", Init: "constant", Params: []float64{value}, Symbol: "coefficients", Shared: true},
		}
		if _, err := c.prepare(&wire.Prepare{Args: args, Launches: launchOf("remember", 0), Seed: 5}); err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		if _, err := c.produce(&wire.Produce{Outputs: folder}); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(filepath.Join(folder, "0.bin"))
		if err != nil {
			t.Fatal(err)
		}
		found[value] = math.Float64frombits(binary.LittleEndian.Uint64(raw))
	}
	if found[8]-found[5] != 3 {
		t.Errorf("with 5 it found %g, with 8 %g", found[5], found[8])
	}
}

// Every set holds its own data, after any number of steps, and any write to it is noticed.
func TestGPUSets(t *testing.T) {
	c := startCUDA(t)
	args := []wire.Arg{
		{Name: "x", DType: "f32", Buffer: true, Count: 1001, Role: "in"},
		{Name: "k", DType: "f16", Buffer: true, Count: 77, Role: "in", Init: "iota"},
		{Name: "s", DType: "u8", Buffer: true, Count: 5, Role: "scratch", Init: "zero"},
		{Name: "y", DType: "f32", Buffer: true, Count: 3, Role: "out"},
	}
	p, err := c.problemFor(&wire.Prepare{Args: args, Seed: 5, Batch: 2})
	if err != nil {
		t.Fatal(err)
	}
	check := func(batch, steps int) {
		t.Helper()
		for i, set := range p.sets {
			for n, b := range set.buffers {
				if b.arg.Role != "in" {
					continue
				}
				want, got := make([]byte, b.size), make([]byte, b.size)
				key := oracle.Key(5, n, batchOf(batch, i))
				oracle.Generate(want, dtype.Type(b.arg.DType), fillOf(b.arg), key)
				for step := range steps {
					oracle.Mutate(want, dtype.Type(b.arg.DType), fillOf(b.arg), key, step+1)
				}
				if err := c.driver.CopyToHost(got, b.data(), c.stream); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("set %d, argument %s: not the data of batch %d after %d steps", i, b.arg.Name, batch, steps)
				}
			}
		}
		if err := c.changedInput(p); err != nil {
			t.Fatal(err)
		}
	}
	check(2, 0)
	for step := 1; step <= 3; step++ {
		if err := c.advance(p, step); err != nil {
			t.Fatal(err)
		}
	}
	check(2, 3)
	if err := c.refresh(p, 2, 1); err != nil {
		t.Fatal(err)
	}
	check(2, 1)
	if err := c.refresh(p, 3, 4); err != nil {
		t.Fatal(err)
	}
	check(3, 4)
	for _, moved := range []bool{false, true} {
		if moved {
			if err := c.advance(p, 6); err != nil {
				t.Fatal(err)
			}
		}
		last := p.sets[len(p.sets)-1].buffers[1]
		if err := c.driver.MemsetD8(last.data(), 0x55, 2, c.stream); err != nil {
			t.Fatal(err)
		}
		if err := c.changedInput(p); err == nil {
			t.Errorf("a changed input was not noticed (moved: %v)", moved)
		}
		if err := c.replay(p); err != nil {
			t.Fatal(err)
		}
	}
	set := p.sets[0]
	if err := c.driver.MemsetD8(set.buffers[2].data(), 7, 5, c.stream); err != nil {
		t.Fatal(err)
	}
	if err := c.restoreSet(set); err != nil {
		t.Fatal(err)
	}
	scratch := make([]byte, 5)
	if err := c.driver.CopyToHost(scratch, set.buffers[2].data(), c.stream); err != nil || !bytes.Equal(scratch, make([]byte, 5)) {
		t.Errorf("scratch still holds %v, %v", scratch, err)
	}
}

// A kernel that counts its launches in variables of every kind cannot count.
func TestGPUForgets(t *testing.T) {
	needHopper(t)
	cubin, err := filepath.Abs("../../native/cuda/testdata/globals.cubin")
	if err != nil {
		t.Fatal(err)
	}
	for _, lost := range []bool{false, true} {
		c := newCUDA()
		loaded, err := c.load(&wire.Load{Path: cubin})
		if err != nil {
			t.Fatal(err)
		}
		if len(loaded.Limits) > 0 {
			t.Errorf("its variables were not found: %v", loaded.Limits)
		}
		if lost {
			c.forgetGlobals(&c.sides[0].cudaCode)
			c.sides[0].lost = errors.New("for the test")
		}
		_, err = c.prepare(&wire.Prepare{
			Args:     []wire.Arg{{Name: "found", DType: "f64", Buffer: true, Count: 1, Role: "out"}},
			Launches: []wire.Launch{{Entry: "remember", Args: []int{0}, Grid: [3]uint32{1}, Block: [3]uint32{1}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var first []byte
		for i := range 5 {
			folder := t.TempDir()
			if i%2 == 1 && !lost {
				reply, err := c.sample(&wire.Sample{Count: 20, Repeat: 1 + i/2*2, Cache: "cold", Keep: 3 + i, Outputs: folder})
				if err != nil {
					t.Fatal(err)
				}
				if len(reply.Kept) != 1 || reply.GlobalS <= 0 {
					t.Errorf("%+v", reply)
				}
			} else if reply, err := c.produce(&wire.Produce{Outputs: folder}); err != nil || reply.Retained == lost {
				t.Fatalf("%+v, %v", reply, err)
			}
			got, err := os.ReadFile(filepath.Join(folder, "0.bin"))
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = got
			}
			// Launches of one graph are not kept apart, only samples are.
			if i != 3 && !bytes.Equal(first, got) {
				t.Errorf("launch %d (module loaded anew: %v) found something of an earlier one", i, lost)
			}
		}
	}
}

// A dry sample does everything but the launches.
func TestGPUDry(t *testing.T) {
	needHopper(t)
	c := newCUDA()
	if _, err := c.load(&wire.Load{Path: "../../native/cuda/testdata/globals.cubin"}); err != nil {
		t.Fatal(err)
	}
	_, err := c.prepare(&wire.Prepare{
		Args:     []wire.Arg{{Name: "found", DType: "f64", Buffer: true, Count: 1, Role: "out"}},
		Launches: []wire.Launch{{Entry: "remember", Args: []int{0}, Grid: [3]uint32{1}, Block: [3]uint32{1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, repeat := range []int{1, 4} {
		reply, err := c.sample(&wire.Sample{Count: 10, Repeat: repeat, Cache: "cold", Dry: true})
		if err != nil || reply.Count != 10 {
			t.Fatalf("%+v, %v", reply, err)
		}
		if err := reply.Unpack(reply.Pack()); err != nil {
			t.Error(err)
		}
		for _, set := range c.sides[0].problem.sets {
			got, poison := make([]byte, 8), make([]byte, 8)
			oracle.Poison(poison, dtype.F64)
			if err := c.driver.CopyToHost(got, set.buffers[0].data(), c.stream); err != nil {
				t.Fatal(err)
			}
			if first, count := c.sides[0].upcoming(repeat); count == 1 && set != c.sides[0].problem.sets[first] {
				continue
			}
			if !bytes.Equal(got, poison) {
				t.Errorf("a sample of %d launches wrote something", repeat)
			}
		}
	}
}

func TestLingers(t *testing.T) {
	type request struct{ samples, strayed int }
	late, once, quick := request{10, 9}, request{1, 1}, request{10, 5}
	for _, test := range []struct {
		name     string
		requests []request
		want     bool
	}{
		{name: "a host that is late once", requests: []request{once}},
		{name: "now and then", requests: []request{late, late, quick, late, late}},
		{name: "and in samples that say little", requests: []request{late, late, once, once}},
		{name: "a device that is busy every time", requests: []request{late, once, late, late}, want: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var side cudaSide
			for _, r := range test.requests {
				side.strayed = r.strayed
				side.lingers(r.samples)
			}
			if got := side.lingered >= strayRequests; got != test.want {
				t.Errorf("lingers %t after %v", got, test.requests)
			}
		})
	}
}
