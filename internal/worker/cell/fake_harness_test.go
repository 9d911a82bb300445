package cell

import (
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A flush writes one buffer and reads another: to read what was written would leave dirty lines.
func TestFakeFlushReadsWhatIsClean(t *testing.T) {
	f := newFakeCell(t)
	f.problem("scale")
	f.samples(&wire.Sample{Count: 1, Repeat: 1, Cache: "cold"}) // settles down
	f.fake.Done()
	f.samples(&wire.Sample{Count: 4, Repeat: 1, Cache: "cold"})
	done, flushes := f.fake.Done(), 0
	for i, line := range done {
		fields := strings.Fields(line) // STREAM kernel NAME FIRST
		if len(fields) < 4 || fields[2] != "pawl_read" {
			continue
		}
		flushes++
		before := strings.Fields(done[i-1]) // STREAM fill TO VALUE BYTES
		if len(before) < 5 || before[1] != "fill" || before[2] == fields[3] {
			t.Errorf("%q is read after %q", line, done[i-1])
		}
	}
	if flushes != 4 {
		t.Errorf("%d flushes of 4 cold samples", flushes)
	}
}

// The time of all samples is known only where every one of them was stamped.
func TestFakeSampleWithoutStamps(t *testing.T) {
	f := newFakeCell(t)
	f.problem("scale")
	f.samples(&wire.Sample{Count: 3, Repeat: 1, Cache: "cold"})
	if ghz, seconds, err := f.clocks(3); err != nil || seconds <= 0 || slices.Min(ghz) <= 0 {
		t.Fatalf("%v, %g s, %v", ghz, seconds, err)
	}
	second := f.stamps + cuda.DevicePtr(f.stampBytes())
	if err := f.driver.MemsetD8(second, 0, uint64(f.stampBytes()), f.stream); err != nil {
		t.Fatal(err)
	}
	ghz, seconds, err := f.clocks(3)
	if err != nil || seconds != 0 || ghz[0] <= 0 || ghz[1] != 0 || ghz[2] <= 0 {
		t.Errorf("%v, %g s, %v; want no clock for sample 2, and no time", ghz, seconds, err)
	}
}

// A request may ask for as many samples as a frame holds. It gets what fits on the device.
func TestFakeMostSamples(t *testing.T) {
	f := newFakeCell(t)
	f.problem("scale")
	const most = wire.MaxBlob / 16
	if reply, _, _ := f.samples(&wire.Sample{Count: most, Repeat: 1, Cache: "hot"}); reply.Count != maxBatch {
		t.Errorf("%d samples, want %d", reply.Count, maxBatch)
	}
	_, err := f.sample(&wire.Sample{Count: most + 1, Repeat: 1, Cache: "hot"})
	caused(t, "one more", err, result.CauseProtocol, "samples of 1 launches")
}

// Only symbols need a copy for inspection: other arguments take no more memory than their bytes, red zones
// and what is small.
func TestFakeMemoryOfAProblem(t *testing.T) {
	f := newFakeCell(t)
	args := scaling()
	for i := range args[:2] {
		args[i].Count = 1 << 20
	}
	const each = 4 << 20
	before, _, err := f.driver.MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.prepare(&wire.Prepare{Args: args, Launches: launchOf("scale", 0, 1, 2), Copies: 1}); err != nil {
		t.Fatal(err)
	}
	after, _, err := f.driver.MemInfo()
	if used := before - after; err != nil || used < 2*each || used > 2*each+each/2 {
		t.Errorf("two arguments of %d bytes take %d, %v", each, used, err)
	}
}
