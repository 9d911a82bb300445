package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// On a GPU a sample has as many launches as there are copies of the arguments, and no more than
// make it long enough; on a CPU only a hot one has several.
func TestRepeatByDevice(t *testing.T) {
	for name, test := range map[string]struct {
		cell, cache string
		sets        int
		median      float64
		unhidden    bool
		want        int
	}{
		"long":                          {spec.CellCUDA, "cold", 8, 12e-6, false, 1},
		"cold, few copies":              {spec.CellCUDA, "cold", 4, 1e-6, false, 4},
		"cold, many copies":             {spec.CellCUDA, "cold", 64, 6e-6, false, 8},
		"cold, no copies":               {spec.CellCUDA, "cold", 0, 1e-6, false, 1},
		"hot":                           {spec.CellCUDA, "hot", 4, 3e-6, false, 17},
		"hot and very short":            {spec.CellCUDA, "hot", 4, 1e-7, false, 64},
		"with the host's part":          {spec.CellCUDA, "hot", 4, 1e-6, true, 1},
		"a processor's, hot":            {spec.CellHost, "hot", 1, 15e-6, false, 2},
		"a processor's, cold and short": {spec.CellHost, "cold", 1, 1e-6, false, 1},
	} {
		s := newSeries(Side{Instance: sized(test.cell, 8)}, Options{Cache: test.cache}, nil)
		s.sets, s.unhidden = test.sets, test.unhidden
		if got := s.repeat(test.median); got != test.want {
			t.Errorf("%s: %d launches, want %d", name, got, test.want)
		}
	}
}

func TestFitting(t *testing.T) {
	for _, test := range []struct {
		perItem float64
		least   int
		want    int
	}{
		{0, 7, 7}, {1e-3, 5, 10}, {4e-3, 5, 5}, {1, 3, 3}, {1e-9, 3, 4096},
	} {
		s := &series{perItem: test.perItem}
		if got := s.fitting(10*time.Millisecond, test.least); got != test.want {
			t.Errorf("%+v: %d samples", test, got)
		}
	}
}

// Device code is verified a few times in every cell, and at least once in all; code that may count
// its launches ever less often, but with a chance that never becomes zero.
func TestDue(t *testing.T) {
	const draws = 2000
	share := func(change func(*series)) float64 {
		due := 0
		for range draws {
			s := newSeries(Side{Instance: sized(spec.CellCUDA, 8)}, Options{Keep: true}, nil)
			s.Instance.Args[0].Role = spec.RoleOut
			change(s)
			if s.due() {
				due++
			}
		}
		return float64(due) / draws
	}
	kept := func(all, here int) func(*series) {
		return func(s *series) { s.draw.kept, s.draw.here = make([]Kept, all), here }
	}
	host := func(requests int) func(*series) {
		return func(s *series) { s.Instance.Variant.Kernel.Cell, s.draw.requests = spec.CellHost, requests }
	}
	for name, test := range map[string]struct {
		change      func(*series)
		least, most float64
	}{
		"not asked":              {func(s *series) { s.opts.Keep = false }, 0, 0},
		"the first of all":       {kept(0, 0), 1, 1},
		"the first of its cell":  {kept(3, 0), 0.44, 0.56},
		"the second of its cell": {kept(3, 1), 0.44, 0.56},
		"enough of its cell":     {kept(3, 2), 0, 0},
		"enough of all":          {kept(8, 0), 0, 0},
		"all but one":            {kept(7, 0), 0.44, 0.56},
		"the last":               {func(s *series) { kept(8, 2)(s); s.draw.last = true }, 1, 1},
		"two large ones":         {func(s *series) { kept(2, 0)(s); s.Instance.Args[0].Bytes = 32 << 20 }, 0, 0},
		"one large one":          {func(s *series) { kept(1, 0)(s); s.Instance.Args[0].Bytes = 32 << 20 }, 0.44, 0.56},
		"of inputs nothing": {func(s *series) {
			kept(7, 0)(s)
			s.Instance.Args[0].Role, s.Instance.Args[0].Bytes = spec.RoleIn, 32<<20
		}, 0.44, 0.56},
		"host code, at first":     {host(0), 1, 1},
		"host code, the ninth":    {host(8), 0.44, 0.56},
		"host code, much later":   {host(152), 0.02, 0.09},
		"host code, many of them": {func(s *series) { host(8)(s); kept(100, 100)(s) }, 0.44, 0.56},
	} {
		if got := share(test.change); got < test.least || got > test.most {
			t.Errorf("%s: %.3f of requests keep one", name, got)
		}
	}
}

// A kept output is identified by its batch and its step.
func TestKeepsWhatItWorkedOn(t *testing.T) {
	outputs := []wire.Buffer{{Arg: 1, SHA256: "x"}}
	for name, test := range map[string]struct {
		request wire.Sample
		batch   int // by the cell's word
		want    Kept
		steps   int // afterwards
	}{
		"in steps":          {wire.Sample{Batch: 2, Step: 11, Keep: 3}, 0, Kept{Outputs: outputs, Batch: 2, Steps: 13}, 15},
		"the first step":    {wire.Sample{Batch: 2, Step: 1, Keep: 1}, 0, Kept{Outputs: outputs, Batch: 2, Steps: 1}, 15},
		"without steps":     {wire.Sample{Batch: 2, Keep: 3}, 0, Kept{Outputs: outputs, Batch: 2}, 10},
		"one of the copies": {wire.Sample{Batch: 2, Keep: 3}, 9, Kept{Outputs: outputs, Batch: 9}, 10},
	} {
		s := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil)
		s.steps = 10
		got := &wire.SampleReply{Samples: wire.Samples{Count: 5, Batch: test.batch}, Kept: outputs}
		s.keep(test.request, got)
		if len(s.draw.kept) != 1 || s.draw.here != 1 || s.steps != test.steps {
			t.Errorf("%s: %+v, %d steps", name, s.draw, s.steps)
			continue
		}
		if k := s.draw.kept[0]; k.Batch != test.want.Batch || k.Steps != test.want.Steps || k.Last || len(k.Outputs) != 1 {
			t.Errorf("%s: %+v", name, k)
		}
		test.request.Keep = 0
		s.keep(test.request, got)
		got.Kept, test.request.Keep = nil, 1
		if s.keep(test.request, got); len(s.draw.kept) != 1 {
			t.Errorf("%s: kept unasked, or nothing: %+v", name, s.draw.kept)
		}
	}
	if kept := (&Match{}).Kept(); kept != nil {
		t.Errorf("nothing was played: %+v", kept)
	}
}

// Every request has other data: another batch on a GPU, another step elsewhere.
func TestFreshen(t *testing.T) {
	for name, test := range map[string]struct {
		cell     string
		launcher bool
		want     wire.Sample
	}{
		"device code": {spec.CellCUDA, false, wire.Sample{Batch: 5}},
		"a launcher":  {spec.CellCUDA, true, wire.Sample{Batch: 5, Step: 1}},
		"host code":   {spec.CellHost, false, wire.Sample{Step: 8}},
	} {
		s := newSeries(Side{Instance: sized(test.cell, 8)}, Options{}, nil)
		s.Instance.Variant.Kernel.Launcher = test.launcher
		s.data, s.steps = 4, 7
		var m wire.Sample
		if s.freshen(&m); m.Batch != test.want.Batch || m.Step != test.want.Step {
			t.Errorf("%s: batch %d, step %d", name, m.Batch, m.Step)
		}
	}
}

// Statistics, also of the clock, are of the samples that count.
func TestFinish(t *testing.T) {
	in := sized(spec.CellHost, 8)
	in.Flops, in.Bytes = 6e9, 4e9
	s := newSeries(Side{Instance: in}, Options{}, nil)
	s.samples = result.Samples{Seconds: []float64{9, 2, 2, 2}, GHz: []float64{9, 3, 3, 3}, Dropped: []result.Drop{{From: 0, To: 1}}}
	timing := s.finish(nil)
	if st := timing.Stats; st.Count != 3 || st.Median != 2 || st.GHz != 3 || st.GFLOPS != 3 || st.GBps != 2 || timing.Stopped != "" {
		t.Errorf("%+v, %q", st, timing.Stopped)
	}
	s.samples.GHz = []float64{3}
	if timing = s.finish(nil); timing.Stats.GHz != 0 {
		t.Errorf("of samples without a clock: %g GHz", timing.Stats.GHz)
	}
	empty := newSeries(Side{Instance: in}, Options{}, nil)
	if timing = empty.finish(&result.Fault{Cause: result.CauseInterrupted}); timing.Stats.Count != 0 || timing.Stopped != "interrupted" {
		t.Errorf("%+v", timing)
	}
	if err := empty.checkClock(t.Context()); err != nil || empty.clock != nil {
		t.Errorf("without a claim there is nothing to check: %v", err)
	}
}

// Until there are enough samples the progress is their number, and a request takes about 50 ms: a
// series is not made of many short requests.
func TestProgressOfASeries(t *testing.T) {
	opts := quickly()
	opts.Budget, opts.MinSamples = time.Minute, 3000
	var told []Progress
	s := newSeries(Side{Cell: loaded(t, newWorker(t, unstolen), puppet.Script{Micros: 20}), Instance: sized(spec.CellHost, 8)}, opts, func(p Progress) { told = append(told, p) })
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	told = nil
	if err := s.sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, last := told[0], told[len(told)-1]
	if first.Samples <= 0 || first.Samples >= 3000 || first.Median != 0 || last.Samples < 3000 || math.Abs(last.Median-20e-6) > 1e-12 {
		t.Errorf("at first %+v, at last %+v", first, last)
	}
	if len(told) > 150 {
		t.Errorf("%d requests for 3000 samples of 20 µs", len(told))
	}
}

// Each doubt begins where docs/measuring.md says.
func TestDoubtsBegin(t *testing.T) {
	timing := func(samples int) *result.Timing {
		return &result.Timing{
			Repeat: 1, Pinned: []int{1}, Stopped: "budget", CallOverheadS: 1e-6,
			Samples: result.Samples{Seconds: slices.Repeat([]float64{1e-3}, samples)}, Stats: result.Stats{Count: samples, Median: 1e-3},
			State: []result.State{{When: "during"}},
		}
	}
	value := func(v float64) *float64 { return &v }
	many, none := 1, 0
	for name, test := range map[string]struct {
		samples       int
		below, beyond func(*result.Timing)
		code          string
	}{
		"temperature": {40, func(r *result.Timing) { r.State[0].TemperatureC = value(80) }, func(r *result.Timing) { r.State[0].TemperatureC = value(80.5) }, "temperature"},
		"steal":       {40, func(r *result.Timing) { r.State[0].StealPct = value(1.9) }, func(r *result.Timing) { r.State[0].StealPct = value(2.1) }, "steal"},
		"foreign":     {40, func(r *result.Timing) { r.State[0].Busy = value(0.45) }, func(r *result.Timing) { r.State[0].Busy = value(0.55) }, "foreign"},
		"preempted":   {40, func(r *result.Timing) { r.Preempted = 8 }, func(r *result.Timing) { r.Preempted = 9 }, "preempted"},
		"width":       {40, func(r *result.Timing) { r.HalfWidth = 0.0099 }, func(r *result.Timing) { r.HalfWidth = 0.0101 }, "width"},
		"short":       {40, func(r *result.Timing) { r.CallOverheadS = 49e-6 }, func(r *result.Timing) { r.CallOverheadS = 51e-6 }, "short"},
		"slower":      {20, func(r *result.Timing) { late(r, 1.019) }, func(r *result.Timing) { late(r, 1.021) }, "drift"},
		"faster":      {20, func(r *result.Timing) { late(r, 0.981) }, func(r *result.Timing) { late(r, 0.979) }, "drift"},
		"launch":      {40, func(r *result.Timing) { r.Exposed = 20 }, func(r *result.Timing) { r.Exposed = 21 }, "launch"},
		"foreign-gpu": {40, func(r *result.Timing) { r.State[0].Processes = &none }, func(r *result.Timing) { r.State[0].Processes = &many }, "foreign-gpu"},
		"throttled":   {40, func(*result.Timing) {}, func(r *result.Timing) { r.State[0].Throttled = []string{"power"} }, "throttled"},
	} {
		r := timing(test.samples)
		if test.below(r); len(Doubts(r, 0.12)) > 0 {
			t.Errorf("%s, a little less: %+v", name, Doubts(r, 0.12))
		}
		r = timing(test.samples)
		if test.beyond(r); len(Doubts(r, 0.12)) != 1 || Doubts(r, 0.12)[0].Code != test.code {
			t.Errorf("%s: %+v", name, Doubts(r, 0.12))
		}
	}
	few := timing(18)
	if late(few, 2); len(Doubts(few, 0.12)) > 0 {
		t.Errorf("the halves of 18 samples are compared: %+v", Doubts(few, 0.12))
	}
}

// late makes the second half of the samples longer.
func late(r *result.Timing, factor float64) {
	for i := len(r.Samples.Seconds) / 2; i < len(r.Samples.Seconds); i++ {
		r.Samples.Seconds[i] *= factor
	}
}

// Another set is played with its own options.
func TestSetsHaveTheirOwnOptions(t *testing.T) {
	m := newMatch(spec.CellHost, "m", 1000, 1000)
	opts := brief()
	m.begin(opts)
	m.series[0].samples.Seconds = make([]float64, 7)
	m.done = true
	opts.Budget, opts.Keep = time.Hour, true
	m.begin(opts)
	for i, s := range m.series {
		if s.opts.Budget != time.Hour || s.opts.Keep != (i == 0) {
			t.Errorf("side %d: %+v", i, s.opts)
		}
	}
	if m.done || len(m.starts) != 2 || !slices.Equal(m.starts[1], []int{7, 0}) || len(m.series) != 2 {
		t.Errorf("done %t, starts %v", m.done, m.starts)
	}
}

// Every side is first and last equally often, and the first round is in order.
func TestTurnOrder(t *testing.T) {
	for n := 1; n <= 5; n++ {
		first, last := make([]int, n), make([]int, n)
		for round := range 2 * n {
			order := turnOrder(n, round)
			first[order[0]]++
			last[order[n-1]]++
			if sorted := slices.Sorted(slices.Values(order)); round == 0 && !slices.Equal(order, sorted) || len(slices.Compact(sorted)) != n {
				t.Errorf("round %d of %d sides: %v", round, n, order)
			}
		}
		if !slices.Equal(first, slices.Repeat([]int{2}, n)) || !slices.Equal(last, first) {
			t.Errorf("of %d sides first %v, last %v", n, first, last)
		}
	}
}

// A single side is known by its own median, others by their ratios.
func TestWidest(t *testing.T) {
	all := []*series{newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil), newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil)}
	own := []float64{1, 2, 1, 3, 1, 2, 1, 2, 3, 1}
	all[0].samples.Seconds = own
	rounds := [][]float64{{1, 1, 1, 1, 1, 1, 1, 1}, {2, 2.2, 2, 1.9, 2.1, 2, 2, 2}}
	alone := widest(all, []error{nil, t.Context().Err()}, rounds, 0)
	if want := ratioOf(rounds[1], rounds[0]).HalfWidth(); alone != want || want <= 0 {
		t.Errorf("beside another: %g, want %g", alone, want)
	}
	failed := &result.Fault{}
	if got, want := widest(all, []error{nil, failed}, rounds, 0), stat.HalfWidth(own); got != want || want <= 0 {
		t.Errorf("alone: %g, want %g", got, want)
	}
}

// A launch longer than all of a clock check is launched once.
func TestClockOfLongLaunches(t *testing.T) {
	t.Parallel()
	opts := quickly()
	opts.MinSamples, opts.MaxSamples = 5, 5
	timings, _, errs := Turns(t.Context(), []Side{{Cell: loaded(t, newWorker(t), puppet.Script{Micros: 50_000}), Instance: sized(spec.CellHost, 8)}}, opts, func(Progress) {})
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	c := timings[0].Clock
	if c == nil || math.Abs(c.ClaimedS-0.05) > 1e-9 || math.IsInf(c.WorkerS, 0) {
		t.Errorf("%+v", c)
	}
	if timings[0].Stats.Count != 5 || timings[0].Stopped == "" {
		t.Errorf("%+v", timings[0].Stats)
	}
}
