package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pawl/internal/result"
	"pawl/internal/stat"
	"pawl/internal/unit"
)

// finish turns the samples into the report's timing.
func (s *series) finish(err error) *result.Timing {
	if cancelled(err) {
		s.noted.Stopped = "interrupted"
	}
	t := s.noted
	t.Samples, t.Repeat, t.Unhidden, t.Pinned, t.Clock, t.InTurns = s.samples, s.perSample, s.unhidden, s.pinned, s.clock, s.inTurns
	t.WallS = time.Since(s.began).Seconds()
	kept := t.Samples.Kept()
	if len(kept) == 0 {
		return &t
	}
	t.HalfWidth = stat.HalfWidth(kept)
	t.Stats = StatsOf(t.Samples)
	t.Stats.GFLOPS, t.Stats.GBps = s.Instance.Flops/t.Stats.Median/1e9, s.Instance.Bytes/t.Stats.Median/1e9
	return &t
}

// StatsOf summarises the kept samples, at least one.
func StatsOf(samples result.Samples) result.Stats {
	sum := stat.Summarize(samples.Kept())
	out := result.Stats{
		Count: sum.Count, Median: sum.Median, Low: sum.Low, High: sum.High, Mean: sum.Mean, Std: sum.Std,
		Min: sum.Min, P50: sum.P50, P95: sum.P95, P99: sum.P99, CV: sum.CV,
	}
	if ghz := samples.GHz; len(ghz) == len(samples.Seconds) && len(ghz) > 0 {
		kept := result.Samples{Seconds: ghz, Dropped: samples.Dropped}
		out.GHz = stat.Median(kept.Kept())
	}
	return out
}

// cancelled reports whether an error means that the user ended the run, whichever process noticed.
func cancelled(err error) bool {
	fault, ok := errors.AsType[*result.Fault](err)
	return errors.Is(err, context.Canceled) || ok && fault.Cause == result.CauseInterrupted
}

// note keeps the machine's state: the first reading, the worst of each kind in between, and the
// last.
func (s *series) note(state *result.State) {
	if state == nil {
		return
	}
	all := &s.noted.State
	if state.When == "before" {
		if len(*all) == 0 { // a duet prepares again in every cell
			*all = []result.State{*state}
		}
		return
	}
	worst, last := *state, *state
	if n := len(*all); n >= 2 && (*all)[n-1].When == "after" {
		before := (*all)[n-2]
		worst.TemperatureC = larger(worst.TemperatureC, before.TemperatureC)
		worst.PowerW = larger(worst.PowerW, before.PowerW)
		worst.Load1 = larger(worst.Load1, before.Load1)
		worst.StealPct = larger(worst.StealPct, before.StealPct)
		worst.Busy = larger(worst.Busy, before.Busy)
		worst.Processes = larger(worst.Processes, before.Processes)
		for _, reason := range before.Throttled {
			if !slices.Contains(worst.Throttled, reason) {
				worst.Throttled = append(slices.Clone(worst.Throttled), reason)
			}
		}
		*all = (*all)[:n-2]
	}
	last.When = "after"
	*all = append(*all, worst, last)
}

func larger[T int | float64](a, b *T) *T {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// Thresholds beyond which a number is doubted.
const (
	hotCelsius  = 80
	stealPct    = 2.0
	foreignCPU  = 0.5  // cores
	drift       = 0.02 // between the halves of a series
	known       = 0.01 // half-width of a median worth mentioning
	fineEnough  = 20   // a sample should be this many times the cost of an empty call
	preemptRate = 0.2  // preemptions per sample
)

// Doubts lists what is questionable about a timing, with the evidence. cv is the gate's bound on
// the coefficient of variation.
func Doubts(t *result.Timing, cv float64) []result.Warning {
	var out []result.Warning
	warnIf := func(doubtful bool, code, hint, format string, args ...any) {
		if doubtful {
			out = append(out, result.Warning{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
		}
	}
	st := t.Stats
	if st.Count == 0 {
		return nil
	}
	kept := t.Samples.Kept()
	if st.CV > cv {
		message, hint := Variation(st, kept, cv)
		warnIf(true, "cv", cmp.Or(hint, "a quieter machine or a longer --budget"), "%s", message)
	}
	if half := len(kept) / 2; half >= 10 {
		change := stat.Median(kept[half:])/stat.Median(kept[:half]) - 1
		warnIf(math.Abs(change) > drift, "drift", "the clock frequency or the load of the machine changed during the run", "the second half of the samples differs from the first by %s", unit.Percent(change))
	}
	warnIf(t.Stopped == "budget" && t.HalfWidth > known, "width", "a longer --budget", "the median is only known to ± %s", unit.PercentPlain(t.HalfWidth))
	each, hint := st.Median*float64(t.Repeat), ""
	if t.Repeat == 1 {
		hint = "use --cache hot, which puts several launches into a sample, or choose a larger config"
	}
	warnIf(!t.OnDevice && t.CallOverheadS > 0 && each < fineEnough*t.CallOverheadS, "short", hint,
		"a sample takes %s, which is short compared with the %s of an empty call", unit.Duration(each), unit.Duration(t.CallOverheadS))
	count := len(t.Samples.Seconds)
	warnIf(2*t.Exposed > count, "launch", "the host code waits for the device, or queues work more slowly than the device runs it", "the GPU waited for the host in %d of %d samples; that time is counted", t.Exposed, count)
	warnIf(t.HostBound(), "host-bound", "do less work on the host before and between launches", "a launch takes %s on an idle GPU, but the GPU works for only %s of it; the host's part is counted", unit.Duration(st.Median), unit.Duration(t.GPUS))
	warnIf(t.Unhidden && !t.HostBound(), "host-bound", "", "the host's part of a launch is counted, as it must be for the version it is compared with")
	if c := t.Clock; c != nil {
		warnIf(c.HostS > 0, "host-bound", "a quieter machine", "a launch claims %s but takes %s back to back: the host takes the rest, or the GPU works outside of samples", unit.Duration(c.ClaimedS), unit.Duration(c.WorkerS))
		warnIf(c.MeanS > 0, "uneven", "see the distribution in report.html", "half of the launches take at most %s, but the average is %s: a few take far longer than the rest", unit.Duration(c.ClaimedS), unit.Duration(c.MeanS))
	}
	warnIf(t.OtherStreams, "streams", "", "work on other streams is still running when its own stream is done; that time is counted")
	warnIf(t.SetAside, "persisting-l2", "", "it sets aside a part of the L2; pawl undid this after every sample")
	if !t.OnDevice { // which core launches on a GPU does not matter
		pinned := len(t.Pinned) > 0
		warnIf(!pinned, "pin", "", "the kernel could not be kept on its own cores")
		warnIf(pinned && float64(t.Preempted)/float64(count) > preemptRate, "preempted", "stop other programs on this machine", "the kernel was preempted %d times in %d samples", t.Preempted, count)
	}
	device := "processor"
	if t.OnDevice {
		device = "GPU"
	}
	for _, state := range t.State {
		if state.When != "during" {
			continue
		}
		celsius, steal, processes, busy := read(state.TemperatureC), read(state.StealPct), read(state.Processes), read(state.Busy)
		warnIf(celsius > hotCelsius, "temperature", "let it cool down", "the %s reached %.0f °C", device, celsius)
		warnIf(steal > stealPct, "steal", "other virtual machines on this host used it", "up to %.1f%% of the processor's time was stolen", steal)
		warnIf(len(state.Throttled) > 0, "throttled", "let it cool down; kernels that take turns are slowed equally", "the GPU ran below its clock: %s", strings.Join(state.Throttled, ", "))
		warnIf(processes > 0, "foreign-gpu", "stop other programs that use the GPU", "%d other processes used the GPU", processes)
		warnIf(busy > foreignCPU, "foreign", "stop other programs on this machine", "other processes used up to %.1f cores", busy)
	}
	return out
}

// Variation says how much samples vary, where that is more than cv. Where they vary more than a percentage
// can say, it says how far the slowest is off, and what to do about it.
func Variation(st result.Stats, kept []float64, cv float64) (message, hint string) {
	const telling = 1 // standard deviations of more than a median say nothing of the samples
	if st.CV <= telling || len(kept) == 0 || st.Median <= 0 {
		return fmt.Sprintf("samples vary by %s (more than %s)", unit.PercentPlain(st.CV), unit.PercentPlain(cv)), ""
	}
	return fmt.Sprintf("samples vary wildly: half take at most %s, the slowest took %s", unit.Duration(st.Median), unit.Duration(slices.Max(kept))),
		"other work probably ran on the machine: stop it and measure again"
}

// read returns a reading of the machine's state; 0 where it is missing.
func read[T int | float64](reading *T) T {
	if reading == nil {
		return 0
	}
	return *reading
}
