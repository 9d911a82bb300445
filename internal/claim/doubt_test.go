package claim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/stat/rounds"
)

// Rows that nobody can have measured are suspicious, and so are those whose clocks say so.
func TestImplausible(t *testing.T) {
	copy1 := func(by float64) func(*result.Row) {
		return func(row *result.Row) {
			base := row.Sides[0].Row.Timing
			for i := range base.Samples.Seconds {
				row.Timing.Samples.Seconds[i] = base.Samples.Seconds[i] * by
			}
			restated(t, row)
		}
	}
	for name, test := range map[string]struct {
		change func(*result.Row)
		report func(*result.Report, *Options)
		want   string
	}{
		"copied":         {copy1(1), nil, "the same samples in the same order"},
		"copied, scaled": {copy1(0.9), nil, "the same samples in the same order"},
		"a part": {func(row *result.Row) {
			copy(row.Timing.Samples.Seconds[80:120], row.Sides[0].Row.Timing.Samples.Seconds[20:60])
			restated(t, row)
		}, nil, "the same samples in the same order"},
		"repeated": {func(row *result.Row) {
			copy(row.Timing.Samples.Seconds[80:120], row.Timing.Samples.Seconds[20:60])
			restated(t, row)
		}, nil, "the same samples in the same order"},
		"even": {func(row *result.Row) {
			for i := range row.Timing.Samples.Seconds {
				row.Timing.Samples.Seconds[i] = 1e-4
			}
			restated(t, row)
		}, nil, "no machine is that even"},
		"in no time":      {func(row *result.Row) { row.Timing.WallS = 1e-3 }, nil, "but it was measured for 1.00 ms"},
		"in no time, all": {nil, func(r *result.Report, _ *Options) { r.Started = r.Finished.Add(-10 * time.Millisecond) }, "all samples of the report add up to"},
		"at another time": {func(row *result.Row) { row.Timing.FirstSample = testNow.Add(-time.Hour) }, nil, "outside of the run"},
		"no answers":      {func(row *result.Row) { row.Verification = nil }, nil, "no answer was verified"},
		"loose answers":   {func(row *result.Row) { row.Verification.Cases[0].Outputs[0].Rtol = 0.5 }, nil, "rtol 0.5; the base's pawl.yaml has"},
		"clock": {func(row *result.Row) {
			row.Timing.Clock = &result.ClockCheck{ClaimedS: 1e-4, MeanS: 1e-3, WorkerS: 1e-3}
		}, nil, "a few launches take far longer"},
		"over the roof": {nil, func(r *result.Report, o *Options) {
			o.Peaks = t.TempDir()
			text := `{"schema": 1, "device_class": "test-device", "cell": "host", "peaks": [{"name": "dram", "rate": 1, "unit": "GB/s"}]}`
			if err := os.WriteFile(filepath.Join(o.Peaks, "test-device.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "of the roof: the kernel would do 5.2"},
	} {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*result.Row) {}
			}
			report, opts := honest(t, 2, 1, change), options(t)
			if test.report != nil {
				test.report(report, &opts)
			}
			got, err := admitted(t, report, opts)
			if err != nil {
				t.Fatal(err)
			}
			v := got.Report.Rows[0].Verification
			if got.Outcome.Suspicious != 1 || got.Conclusion() == Success || len(got.Contradictions) > 0 || v == nil || !strings.Contains(fmt.Sprint(v.Findings), test.want) {
				t.Errorf("%s, %+v, %v, %+v; want %s", got.Conclusion(), got.Outcome, got.Contradictions, v, test.want)
			}
		})
	}
}

// restated makes a row consistent with its samples, as a careful forger would.
func restated(t *testing.T, row *result.Row) {
	t.Helper()
	row.Timing.Stats = measure.StatsOf(row.Timing.Samples)
	played, err := measure.Replay(row, measure.Default().HalfWidth)
	if err != nil {
		t.Fatal(err)
	}
	row.Sides[0].Change = played.Changes[result.Base]
}

// Measured samples are not taken for copies, even by a clock that gives a handful of values.
func TestHonestSamplesAreNotCopies(t *testing.T) {
	for _, resolution := range []float64{1e-9, 1e-7, 1e-6, 3e-6} {
		r := rand.New(rand.NewPCG(3, 4))
		var all []*series
		for range 40 {
			one := timed(r, 100e-6, 2000)
			drift := 0.0
			for i := range one.Samples.Seconds { // neighbours are alike
				drift = 0.95*drift + 0.003*r.NormFloat64()
				one.Samples.Seconds[i] = math.Round(one.Samples.Seconds[i]*math.Exp(drift)/resolution) * resolution
			}
			all = append(all, &series{row: &result.Row{Kernel: "k"}, timing: one})
		}
		if i := slices.IndexFunc(copied(all), func(s *series) bool { return s != nil }); i >= 0 {
			t.Errorf("resolution %g s: series %d looks copied", resolution, i)
		}
	}
}

// Nor are those of a GPU: rounds on an H200, all in one report.
func TestRoundsOfAGPUAreNotCopies(t *testing.T) {
	r := rounds.Read(t)
	var all []*series
	add := func(ms []float64) {
		one := &result.Timing{}
		for _, v := range ms {
			one.Samples.Seconds = append(one.Samples.Seconds, v/1e3)
		}
		if distinct(one.Samples.Seconds) == 1 {
			t.Errorf("%d samples of a GPU are equal", len(ms))
		}
		all = append(all, &series{row: &result.Row{Kernel: "k"}, timing: one})
	}
	for _, some := range [][]rounds.Series{r.Small, r.Big, r.CopyA, r.CopyB} {
		for _, one := range some {
			add(one.MS)
		}
	}
	for _, some := range [][]rounds.Duet{r.Copy, r.SameBig} {
		for _, one := range some {
			add(one.A)
			add(one.B)
		}
	}
	if i := slices.IndexFunc(copied(all), func(s *series) bool { return s != nil }); i >= 0 || len(all) < 100 {
		t.Errorf("series %d of %d looks copied", i, len(all))
	}
}
