// Package measure decides when to launch and how often: warm-up, adaptive sampling and the check of
// a cell's clock against its worker's. It does not interpret the numbers; package judge does.
package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/stat"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// Options say how long and how exactly a row is measured.
type Options struct {
	Cache      string        // cold: every launch finds its arguments in memory; hot: in cache
	Budget     time.Duration // sampling stops after this long, once there are MinSamples
	MinSamples int           // taken whatever the budget
	MaxSamples int           // an upper bound
	HalfWidth  float64       // target for the relative half-width of the median's 95% interval
	Timeout    time.Duration // the longest one launch may take
	Seed       uint64        // of the inputs
	Sustain    bool          // time launches back to back in long stretches, instead of samples one by one
	Keep       bool          // keep outputs of timed samples, drawn at random, to be judged
	OnKept     func([]Kept)  // called by Turns with the first side's outputs, when it has been measured

	// For a search, which measures what it believes again.
	Rough bool    // no other clock is asked
	Warm  bool    // the device has just been busy
	Cut   float64 // seconds: a median above it is given up early; 0: none is
}

// Default returns the settings of a plain `pawl bench`, without its seed.
func Default() Options {
	return Options{
		Cache: "cold", Budget: time.Second, MinSamples: 20, MaxSamples: 20_000,
		HalfWidth: 0.005, Timeout: 30 * time.Second,
	}
}

// Check refuses settings that make no sense.
func (o Options) Check() error {
	switch {
	case o.Cache != "cold" && o.Cache != "hot":
		return &diag.SettingError{Setting: "cache", Value: o.Cache, Expected: "cold or hot"}
	case o.Budget <= 0 || o.Budget > time.Hour:
		return &diag.SettingError{Setting: "budget", Value: o.Budget, Expected: "more than 0 and at most 1h"}
	case o.MinSamples < 1:
		return &diag.SettingError{Setting: "min-samples", Value: o.MinSamples, Expected: "at least 1"}
	case o.MaxSamples < o.MinSamples:
		return &diag.SettingError{Setting: "max-samples", Value: o.MaxSamples, Expected: fmt.Sprintf("at least --min-samples (%d)", o.MinSamples)}
	case o.Timeout <= 0:
		return &diag.SettingError{Setting: "timeout", Value: o.Timeout, Expected: "more than 0"}
	}
	return nil
}

// Method returns what a report says of the settings.
func (o Options) Method() result.Method {
	m := result.Method{
		Cache: o.Cache, BudgetS: o.Budget.Seconds(), MinSamples: o.MinSamples, MaxSamples: o.MaxSamples, HalfWidth: o.HalfWidth, Seed: o.Seed,
	}
	if o.Sustain {
		m.Cache = "sustained"
	}
	return m
}

// Progress says how far a series is.
type Progress struct {
	Samples   int
	Median    float64 // seconds; 0 while warming up
	HalfWidth float64
}

// cutAfter is the number of samples after which a slow kernel is given up.
const cutAfter = 3

// isCut reports whether a kernel is too slow to be worth more samples.
func (o Options) isCut(kept []float64) bool {
	return o.Cut > 0 && len(kept) >= cutAfter && stat.Median(kept) > o.Cut
}

// sampling holds the settings of requests and the samples so far. Code that decides about the next
// request reads this, never the notes for the report.
type sampling struct {
	samples   result.Samples
	perSample int                // launches
	unhidden  bool               // samples begin on an idle device, so they include the host's part of a launch
	pinned    []int              // cores that the cell is pinned to
	clock     *result.ClockCheck // nil: not checked yet
	inTurns   *result.TurnClocks
}

// series is one row that is being measured.
type series struct {
	Side
	sampling
	noted    result.Timing // for the report; finish adds the rest
	opts     Options
	progress func(Progress)
	began    time.Time
	perItem  float64           // wall seconds of one sample, flush included
	primary  bool              // this is the row itself, not one of its rivals
	sets     int               // copies of the arguments that launches rotate over
	data     int               // batch of the generated data
	cores    []int             // cores to pin to; nil: the worker's choice
	coresFor int               // threads that the worker chooses them for; 0: its own
	warm     bool              // the device has just been busy with another problem
	steps    int               // steps of oracle.Mutate applied to the inputs
	stepping int               // batch of the data that changes step by step in author cells
	inMatch  bool              // some samples are on wholly new data, and some flushes are probed
	turns    []span            // in this cell, where every side has its own
	staged   *wire.SampleReply // reply of the request that generated the next turn's data

	warmReads   int     // consecutive warm reads after a flush
	hostChecked bool    // the host's part of a launch was checked
	hostS       float64 // time of a launch including the host's part, where samples exclude it; 0: not known
	draw        keeper
	device      deviceClock
}

func newSeries(side Side, opts Options, progress func(Progress)) *series {
	s := &series{
		Side: side, opts: opts, progress: progress, began: time.Now(),
		sampling: sampling{perSample: 1}, noted: result.Timing{Footprint: side.Instance.Footprint},
	}
	if threads := s.threads(); threads > 1 {
		s.noted.Threads = threads
	}
	return s
}

// begin prepares the problem and warms it up.
func (s *series) begin(ctx context.Context) error {
	request := s.problem(s.opts.Seed)
	request.Cores, request.CoresFor, request.Spare = s.cores, s.coresFor, s.inMatch && (s.steppedData() || s.launches())
	request.DeadlineS = 60 + float64(s.Instance.Footprint)/50e6
	prepared, err := s.Cell.Prepare(ctx, request)
	if err != nil {
		return at("prepare", err)
	}
	s.pinned, s.sets, s.stepping, s.steps, s.draw.here = prepared.Pinned, prepared.Sets, 0, 0, 0
	s.noted.Resources, s.noted.OnDevice = prepared.Resources, s.onGPU()
	s.note(prepared.State)
	return at("measure", s.warmUp(ctx))
}

// at marks the stage in which a fault happened.
func at(stage string, err error) error {
	if fault, ok := errors.AsType[*result.Fault](err); ok && fault.Stage == "" {
		fault.Stage = stage
	}
	return err
}

// problem returns the request that gives a cell the side's arguments and launches.
func (s Side) problem(seed uint64) wire.Prepare {
	m := worker.Problem(s.Instance, s.Symbols)
	m.Side, m.Seed = s.Index, seed
	return m
}

// deadline returns how many seconds a request for this many samples may take. Filling and
// inspecting arguments and storing outputs is not the kernel's time.
func (s *series) deadline(count int) float64 {
	return s.opts.Timeout.Seconds() + float64(s.Instance.Footprint)/50e6 + 4*s.perItem*float64(count)
}

// requestMost is the time in seconds after which a request takes no more samples.
const requestMost = 0.25

// batch takes count samples and appends them.
func (s *series) batch(ctx context.Context, count int) error {
	_, err := s.request(ctx, count, s.drawExtras(count), s.due())
	return err
}

// request takes count samples with the given extras and appends them; with keep, the outputs of one
// of them are kept.
func (s *series) request(ctx context.Context, count int, x extras, keep bool) (*wire.SampleReply, error) {
	m := s.wanted(count)
	m.Unhidden, m.MaxS = s.unhidden, requestMost
	s.ask(&m, x)
	if keep {
		if m.Keep = s.drawn(count, m.MaxS); m.Fresh > 0 && rand.IntN(2) == 0 {
			m.Keep = m.Fresh // code that notices new data may also know when nobody verifies
		}
	}
	got, err := s.take(ctx, m)
	if err != nil {
		return nil, err
	}
	if got.Fresh > 0 {
		f := result.Fresh{At: len(s.samples.Seconds) + got.Fresh - 1, Batch: m.FreshBatch}
		if got.Fresh == x.fresh {
			f.Pair = x.pair
		}
		s.samples.Fresh = append(s.samples.Fresh, f)
	}
	s.add(got.Seconds, got.GHz)
	s.perItem = got.WorkerS / float64(got.Count)
	s.took(got)
	if err := s.probed(got); err != nil {
		return nil, err
	}
	return got, s.device.hold(got, m.Repeat, s.Instance.Variant.Kernel.Launcher)
}

// add appends samples.
func (s *sampling) add(seconds, ghz []float64) {
	s.samples.Seconds, s.samples.GHz = append(s.samples.Seconds, seconds...), append(s.samples.GHz, ghz...)
}

// since returns the samples from number first on, without copying them.
func (s *sampling) since(first int) result.Samples {
	return result.Samples{Seconds: s.samples.Seconds[first:], GHz: s.samples.GHz[first:]}
}

// beside takes samples that the statistics leave out.
func (s *series) beside(ctx context.Context, count int, cause string) error {
	samples := &s.samples
	from := len(samples.Seconds)
	if err := s.batch(ctx, count); err != nil {
		return err
	}
	samples.Dropped = append(samples.Dropped, result.Drop{From: from, To: len(samples.Seconds), Cause: cause})
	return nil
}

// took records what a reply says besides its samples.
func (s *series) took(got *wire.SampleReply) {
	t := &s.noted
	t.CallOverheadS, t.PairS, t.GapS = got.OverheadS, got.PairS, got.GapS
	t.OtherStreams = t.OtherStreams || got.OtherStreams
	t.SetAside = t.SetAside || slices.Contains(got.SetAside, s.Index)
	t.PeakMemory, t.DeviceMemory = max(t.PeakMemory, got.PeakBytes), max(t.DeviceMemory, got.DeviceBytes)
	t.Exposed += got.Exposed
	s.note(got.State)
	if t.Preempted += got.Preempted; t.FirstSample.IsZero() {
		t.FirstSample = time.Now()
	}
}

// Warm-up: at least warmMinimum, then until two neighbouring windows agree to
// warmAgreement, at most a quarter of the budget.
const (
	warmMinimum   = 20 * time.Millisecond
	warmAgain     = 5 * time.Millisecond // for a device that is warm already
	warmWindow    = 5
	warmAgreement = 0.02
)

func (s *series) warmUp(ctx context.Context) error {
	start, first := time.Now(), len(s.samples.Seconds)
	least := warmMinimum
	if s.warm && s.onGPU() && (s.cuda() || first > 0) { // a Python function gets the whole warm-up once
		least = warmAgain
	}
	if err := s.batch(ctx, 1); err != nil {
		return err
	}
	for {
		elapsed := time.Since(start)
		if elapsed > s.opts.Budget/4 || elapsed > least && steady(s.samples.Seconds[first:]) {
			break
		}
		if err := s.batch(ctx, s.fitting(10*time.Millisecond, warmWindow)); err != nil {
			return err
		}
		s.progress(Progress{Samples: len(s.samples.Seconds)})
	}
	warm := s.samples.Seconds[first:]
	s.samples.Dropped = append(s.samples.Dropped, result.Drop{From: first, To: first + len(warm), Cause: "warm-up"})
	s.perSample = s.repeat(stat.Median(warm[len(warm)/2:]))
	return s.checkHostShare(ctx)
}

func steady(samples []float64) bool {
	n := len(samples)
	if n < 2*warmWindow {
		return false
	}
	before, now := stat.Median(samples[n-2*warmWindow:n-warmWindow]), stat.Median(samples[n-warmWindow:])
	return math.Abs(now-before) <= warmAgreement*before
}

// A sample shorter than shortest is made of several launches, where that does not change what is
// measured: not with a flush between them, and not when a launch finds the last one's output in its
// input.
const shortest = 20e-6

// A GPU kernel rotates over copies of its arguments, so that as many cold launches can follow each
// other; its samples are made longer below shortestGPU, where the launch itself would be a large
// part of them.
const (
	shortestGPU = 10e-6
	graphSpan   = 50e-6
	graphMost   = 64
)

func (s *series) repeat(median float64) int {
	if s.unhidden || s.inPlace() {
		return 1
	}
	median = max(median, 1e-9)
	switch {
	case s.cuda() && median >= shortestGPU:
		return 1
	case s.cuda() && s.opts.Cache == "cold":
		return max(1, min(s.sets, int(graphSpan/median)))
	case s.cuda():
		return min(graphMost, int(math.Ceil(graphSpan/median)))
	case s.opts.Cache == "cold" || median >= shortest:
		return 1
	}
	return min(10_000, int(math.Ceil(shortest/median)))
}

// fitting returns how many samples take about as long as span, at least least.
func (s *series) fitting(span time.Duration, least int) int {
	if s.perItem <= 0 {
		return least
	}
	return min(4096, max(least, int(span.Seconds()/s.perItem)))
}

func (s *series) sample(ctx context.Context) error {
	start := time.Now()
	first := len(s.samples.Seconds)
	least := s.opts.MinSamples
	if s.opts.Sustain {
		least = stretchLeast
	}
	for {
		taken := len(s.samples.Seconds) - first
		kept := s.samples.Seconds[first:]
		width := math.Inf(1)
		if taken >= least {
			width = stat.HalfWidth(kept)
			s.progress(Progress{Samples: taken, Median: stat.Median(kept), HalfWidth: width})
		} else if taken > 0 {
			s.progress(Progress{Samples: taken})
		}
		switch {
		case s.opts.isCut(s.samples.Kept()):
			s.noted.Stopped = "cut"
			return nil
		case taken < least:
		case width <= s.opts.HalfWidth:
			s.noted.Stopped = "width"
			return nil
		case taken >= s.opts.MaxSamples:
			s.noted.Stopped = "samples"
			return nil
		case time.Since(start) >= s.opts.Budget:
			s.noted.Stopped = "budget"
			return nil
		}
		if s.opts.Sustain {
			if err := s.stretch(ctx); err != nil {
				return err
			}
			continue
		}
		want := min(s.fitting(50*time.Millisecond, 10), s.opts.MaxSamples-taken)
		if s.opts.Cut > 0 && taken < cutAfter {
			want = cutAfter - taken
		}
		if left := s.opts.Budget - time.Since(start); left > 0 {
			want = min(want, max(s.opts.MinSamples-taken, int(left.Seconds()/s.perItem)+1))
		} else {
			want = s.opts.MinSamples - taken
		}
		if err := s.batch(ctx, max(1, want)); err != nil {
			return err
		}
	}
}
