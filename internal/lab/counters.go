package lab

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"pawl/internal/advice"
	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// countersMinor is the minor version of the protocol that introduced the processor's counters.
const countersMinor = 6

// Counters are what a kernel on the CPU does in one launch, as the processor and the kernel of the
// system count it.
type Counters struct {
	Values map[string]Counted // by name, as perf has it: branch-misses
	Absent []result.Uncounted // the others, each with its reason

	Seconds  float64 // of a launch, by the cell's clock, in the counted requests; the median
	Cache    string  // how every launch began: cold, or hot where launches follow each other
	Launches int     // launches in which two requests differ
	Readings int     // pairs of requests for every value
}

// Counted is a counter's value for one launch.
type Counted struct {
	Value  float64 // median of the readings
	Unit   string  // "": a number of events
	Spread float64 // half the distance between their quartiles
	Share  float64 // of the time that the counter ran: below 1 the value is scaled
}

// A value is the difference of two requests that differ in their launches alone, so that the cell's
// own work cancels out. Each request has about countedTime of launches.
const (
	countedTime     = 0.04    // seconds
	countedMost     = 512     // samples of a request: each has caches to flush
	countedLaunches = 1 << 20 // of one sample
	readings        = 5
	readingsLong    = 3   // where a launch takes longer than
	longLaunch      = 0.3 // seconds
)

// Counters counts what a job's kernel does on the CPU, in a fresh cell. A counter that this machine
// does not have is absent, with the reason: where no hardware counter is there, those of the
// system's kernel still are.
func (l *Lab) Counters(ctx context.Context, job *Job) (*Counters, error) {
	if job.Cell() == spec.CellCUDA {
		return nil, onGPU()
	}
	lease, err := l.Lease(ctx, job, Purpose{})
	if err != nil {
		return nil, err
	}
	l.describe(job, lease)
	counted, err := l.count(ctx, lease, job)
	if err = lease.Close(ctx, job, err); err != nil {
		return nil, err
	}
	return counted, nil
}

func onGPU() error {
	return result.Faultf(result.CauseUnsupported, "the processor's counters say nothing of a kernel on a GPU").WithHint("profile it with ncu")
}

// count prepares a job's problem in its cell, and counts.
func (l *Lab) count(ctx context.Context, lease *Lease, job *Job) (*Counters, error) {
	switch client := lease.client; {
	case lease.Cell.OnDevice:
		return nil, onGPU()
	case client.Minor() < countersMinor:
		return nil, result.Faultf(result.CauseUnsupported, "the worker speaks protocol %s; counters need 1.%d", client.Hello().Protocol, countersMinor).
			WithHint("install the same version of pawl on both sides")
	}
	var method result.Method
	l.note(func(r *result.Report) { method = r.Method })
	filling := float64(job.Instance.Footprint) / 50e6
	problem := worker.Problem(job.Instance, job.Artifact.Symbols)
	problem.Seed, problem.DeadlineS = method.Seed, 60+filling
	if _, err := lease.Cell.Prepare(ctx, problem); err != nil {
		return nil, err
	}
	t := &tally{cell: lease.Cell, deadline: l.Timeout.Seconds() + filling, Counters: Counters{Values: map[string]Counted{}, Cache: cmp.Or(method.Cache, "cold")}}
	if lease.loaded.Flush == "none" {
		t.Cache = "hot"
	}
	if err := t.plan(ctx); err != nil {
		return nil, err
	}
	for _, names := range machine.CounterGroups() {
		if err := t.group(ctx, names); err != nil {
			return nil, err
		}
	}
	t.Seconds = max(0, stat.Median(t.seconds))
	return &t.Counters, nil
}

// tally is a counting that is under way.
type tally struct {
	Counters
	cell     *worker.Cell
	deadline float64   // seconds that a request may take besides its launches
	launch   float64   // seconds of one, about
	seconds  []float64 // of one, by pairs of requests
}

// plan finds out how long launches take, and how many a request has. The first request is slower
// than the others.
func (t *tally) plan(ctx context.Context) error {
	const tries, samples = 3, 3
	whole := math.Inf(1)
	t.launch = whole
	for range tries {
		got, err := t.cell.Sample(ctx, wire.Sample{Count: samples, Repeat: 1, Cache: t.Cache, DeadlineS: t.deadline})
		if err != nil {
			return err
		}
		t.launch, whole = min(t.launch, slices.Min(got.Seconds)), min(whole, got.WorkerS/float64(got.Count))
		if t.launch > longLaunch {
			break
		}
	}
	each, most := t.launch, countedLaunches
	if t.Cache == "cold" { // flushing may take longer than the launch
		each, most = whole, countedMost
	}
	t.Launches = int(min(max(countedTime/each, 1), float64(most)))
	if t.Readings = readings; each > longLaunch {
		t.Readings = readingsLong
	}
	return nil
}

// request counts launches: with or without those in which the two requests differ. From cold caches
// the other request launches nothing. Where launches follow each other it has half of them: the
// first ones, which find arguments that were just filled, cancel out as well.
func (t *tally) request(ctx context.Context, names []string, with bool) (*wire.SampleReply, error) {
	m := wire.Sample{Count: 1, Repeat: t.Launches, Cache: t.Cache, Counters: names}
	switch {
	case t.Cache == "cold":
		m.Count, m.Repeat, m.Dry = t.Launches, 1, !with
	case with:
		m.Repeat *= 2
	}
	m.DeadlineS = t.deadline + 4*2*float64(t.Launches)*max(t.launch, 1e-6)
	got, err := t.cell.Sample(ctx, m)
	if err == nil && got.Counters == nil {
		err = result.Faultf(result.CauseProtocol, "the worker did not answer with the counters that were asked for")
	}
	return got, err
}

// group counts the counters of one group.
func (t *tally) group(ctx context.Context, names []string) error {
	taken := map[string]*reading{}
	for range t.Readings {
		var replies [2]*wire.SampleReply
		for i, with := range []bool{false, true} {
			var err error
			if replies[i], err = t.request(ctx, names, with); err != nil {
				return err
			}
			if names = t.without(names, replies[i].Counters.Absent); len(names) == 0 {
				return nil
			}
		}
		t.timed(replies)
		for _, name := range names {
			if taken[name] == nil {
				taken[name] = &reading{share: 1}
			}
			taken[name].add(find(replies[0], name), find(replies[1], name), t.Launches)
		}
	}
	for _, name := range names {
		t.Values[name] = taken[name].counted()
	}
	return nil
}

// without takes counters that are absent off a group.
func (t *tally) without(names []string, absent []result.Uncounted) []string {
	t.Absent = append(t.Absent, absent...)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(absent, func(a result.Uncounted) bool { return a.Name == name })
	})
}

// find returns a counter of a reply, which has every one that is not absent.
func find(reply *wire.SampleReply, name string) result.Count {
	for _, c := range reply.Counters.Counts {
		if c.Name == name {
			return c
		}
	}
	return result.Count{}
}

// timed notes how long the launches in which two requests differ took.
func (t *tally) timed(replies [2]*wire.SampleReply) {
	if t.Cache == "cold" {
		t.seconds = append(t.seconds, ran(replies[1], 1))
		return
	}
	// Both are of a launch: of n, and of 2n.
	t.seconds = append(t.seconds, 2*ran(replies[1], 2*t.Launches)-ran(replies[0], t.Launches))
}

// ran returns the seconds of a launch, of repeat in each sample, without the time in which its
// thread waited for a core. That time is known of the whole request: it is that of the launches
// where these are most of the request. Elsewhere samples are short, and most have none of it.
func ran(reply *wire.SampleReply, repeat int) float64 {
	total := 0.0
	for _, s := range reply.Seconds {
		total += s * float64(repeat)
	}
	if total < reply.WorkerS/2 {
		return stat.Percentile(reply.Seconds, 25)
	}
	waited := reply.WaitedS / float64(len(reply.Seconds)*repeat)
	return max(0, stat.Median(reply.Seconds)-waited)
}

// reading is what pairs of requests said of one counter.
type reading struct {
	values []float64 // of a launch
	unit   string
	share  float64 // least
}

func (r *reading) add(without, with result.Count, launches int) {
	r.values = append(r.values, (with.Value-without.Value)/float64(launches))
	r.unit = with.Unit
	if with.EnabledS > 0 {
		r.share = min(r.share, with.RunningS/with.EnabledS)
	}
}

// counted returns the value of a launch. Noise may leave less than nothing of a small one.
func (r *reading) counted() Counted {
	return Counted{
		Value: max(0, stat.Median(r.values)), Unit: r.unit, Share: r.share,
		Spread: (stat.Percentile(r.values, 75) - stat.Percentile(r.values, 25)) / 2,
	}
}

// costs are about the seconds that an event takes at most, where it is more than an instruction.
var costs = map[string]float64{"task-clock": 1, "page-faults": 5e-7, "major-faults": 1e-3, "context-switches": 2e-6, "cpu-migrations": 1e-5}

// vague reports whether the readings of a counter differ by so much that its value says nothing of
// a launch, as on a busy machine.
func (c *Counters) vague(name string) bool {
	const aCycle, missed = 3e-10, 5e-9 // seconds
	cost, known := costs[name]
	switch {
	case known:
	case name == "cycles", name == "instructions", strings.HasPrefix(name, "stalled"):
		cost = aCycle
	default:
		cost = missed
	}
	v := c.Values[name]
	return v.Spread > v.Value/3 && v.Spread*cost > c.Seconds/10
}

// HostEvidence returns what is known of a job on the CPU, for findings. The timing and the counters may
// be nil.
func (l *Lab) HostEvidence(job *Job, t *result.Timing, c *Counters) advice.Evidence {
	p := &advice.Processor{Python: job.Cell() == spec.CellPython}
	e := advice.Evidence{Processor: p, Flops: job.Instance.Flops, Bytes: job.Instance.Bytes}
	if made := job.Record.Build; made != nil {
		e.Debug = slices.Contains(made.Flags, "-O0")
	}
	if job.Cell() == spec.CellHost {
		p.Threads = job.cores(l.machine().CPU)
		if peaks := l.peaksOf(spec.CellHost); peaks != nil && p.Threads == 1 { // several cores do not reach the same multiple of one core's bandwidth
			if dram := peaks.Find(roof.DRAM); dram != nil {
				e.Bandwidth = dram.Rate * 1e9
			}
		}
	}
	if t != nil {
		held := l.HoldAgainstRoof(job, t).Timing.Stats
		e.Seconds, p.RoofPct = held.Median, held.RoofPct
		p.Memory = slices.Contains([]roof.Name{roof.DRAM, roof.LLC, roof.L2, roof.L1}, roof.Name(held.Roof))
	}
	if c != nil {
		p.Counters = map[string]float64{}
		for name, v := range c.Values {
			if !c.vague(name) {
				p.Counters[name] = v.Value
			}
		}
		p.Seconds = c.Seconds
		e.Seconds = cmp.Or(e.Seconds, c.Seconds)
	}
	return e
}
