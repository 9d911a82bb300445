package result

import "time"

// Timing is the measurement of a row. All times are seconds.
type Timing struct {
	Samples Samples `json:"samples"`
	Stats   Stats   `json:"stats"`

	Repeat        int     `json:"repeat"`            // launches per sample; over 1 for very short kernels
	CallOverheadS float64 `json:"call_overhead_s"`   // of an empty call, not subtracted
	PairS         float64 `json:"pair_s,omitempty"`  // between two adjacent events, subtracted from every sample; CUDA only
	GapS          float64 `json:"gap_s,omitempty"`   // for launches in a graph: between two empty ones
	Stopped       string  `json:"stopped"`           // width, budget, samples, interrupted
	HalfWidth     float64 `json:"half_width"`        // relative, reached
	WallS         float64 `json:"wall_s"`            // spent on this row
	Pinned        []int   `json:"pinned"`            // cores the kernel was pinned to
	Preempted     int64   `json:"preempted"`         // involuntary context switches while sampling
	Threads       int     `json:"threads,omitempty"` // of a CPU that the kernel declares; absent: one

	FirstSample time.Time `json:"first_sample"` // when the first sample had arrived

	Resources []Resources `json:"resources,omitempty"` // of each launch, from the driver; CUDA only

	OtherStreams bool `json:"other_streams,omitempty"` // work was left on other streams; its time is counted
	SetAside     bool `json:"set_aside,omitempty"`     // it set aside a part of the L2 that no flush reaches

	OnDevice     bool    `json:"on_device,omitempty"`     // the launches ran on a GPU
	Unhidden     bool    `json:"unhidden,omitempty"`      // the launches began on an idle GPU: their time includes the host's part
	GPUS         float64 `json:"gpu_s,omitempty"`         // GPU time of a launch, where the host's part was so long that it is timed, too
	DeviceMemory int64   `json:"device_memory,omitempty"` // most bytes allocated on a GPU, where the framework reports it
	Exposed      int     `json:"exposed,omitempty"`       // samples in which the GPU waited for the host

	PeakMemory int64       `json:"peak_memory"`        // bytes, of the cell
	Footprint  int64       `json:"footprint"`          // bytes, of the arguments
	EnergyJ    *float64    `json:"energy_j,omitempty"` // per launch, where the machine reports it
	Clock      *ClockCheck `json:"clock_check,omitempty"`
	InTurns    *TurnClocks `json:"clocks_in_turns,omitempty"`
	State      []State     `json:"state,omitempty"` // before; during: the worst of each; after
}

// Samples are the raw measurements, in order; none is left out.
type Samples struct {
	Seconds []float64 `json:"seconds"`           // per launch
	GHz     []float64 `json:"ghz,omitempty"`     // clock each ran at
	Dropped []Drop    `json:"dropped,omitempty"` // ranges that the statistics leave out
	Fresh   []Fresh   `json:"fresh,omitempty"`   // samples whose data differs completely from that of the one before
}

// Fresh is a sample on data that no launch had seen, among samples whose data differs in a few
// elements.
type Fresh struct {
	At int `json:"at"`

	// Sides that took turns have a sample on the same data at the same place of their turns; these
	// samples have the same number. 0: there is none.
	Pair int `json:"pair,omitempty"`

	Batch int `json:"batch,omitempty"` // of the new data

	// The median of its cell's turns without such data; 0: it is not compared.
	UsualS float64 `json:"usual_s,omitempty"`
}

// Drop is a range of samples left out of the statistics, with the cause.
type Drop struct {
	From  int    `json:"from"` // first index
	To    int    `json:"to"`   // one past the last
	Cause string `json:"cause"`
}

// Kept returns the samples that the statistics use.
func (s *Samples) Kept() []float64 {
	kept := make([]float64, 0, len(s.Seconds))
	next := 0
	for _, d := range s.Dropped {
		kept = append(kept, s.Seconds[next:d.From]...)
		next = d.To
	}
	return append(kept, s.Seconds[next:]...)
}

// Stats summarise the kept samples.
type Stats struct {
	Count  int     `json:"count"`
	Median float64 `json:"median"`
	Low    float64 `json:"ci_95_low"`
	High   float64 `json:"ci_95_high"`
	Mean   float64 `json:"mean"`
	Std    float64 `json:"std"`
	Min    float64 `json:"min"`
	P50    float64 `json:"p50"`
	P95    float64 `json:"p95"`
	P99    float64 `json:"p99"`
	CV     float64 `json:"cv"`

	GFLOPS float64 `json:"throughput_gflops,omitempty"`
	GBps   float64 `json:"bandwidth_gb_s,omitempty"`
	GHz    float64 `json:"ghz,omitempty"` // median clock

	RoofPct float64 `json:"roof_pct,omitempty"` // percent of the measured peak that limits it; 0: not known
	Roof    string  `json:"roof,omitempty"`     // which: dram, l2, f32, f16, …

	// Of a cold launch some of whose traffic may have stayed in a cache that holds its arguments: the
	// percentage of that cache's peak, beside that of the memory's.
	CacheRoofPct float64 `json:"cache_roof_pct,omitempty"`
	CacheRoof    string  `json:"cache_roof,omitempty"`
}

// Median returns the median of the samples; 0 where nothing was measured.
func (t *Timing) Median() float64 {
	if t == nil {
		return 0
	}
	return t.Stats.Median
}

// HostBound reports whether the host takes so long for a launch that it had to be timed, too. Other
// sides are then timed the same way, for comparison.
func (t *Timing) HostBound() bool { return t.GPUS > 0 }

// State is the state of the machine at one moment of a run. Missing readings are absent, never
// zero.
type State struct {
	When         string   `json:"when"` // before, during, after
	GHz          *float64 `json:"ghz,omitempty"`
	TemperatureC *float64 `json:"temperature_c,omitempty"`
	PowerW       *float64 `json:"power_w,omitempty"`
	Load1        *float64 `json:"load_1m,omitempty"`
	StealPct     *float64 `json:"steal_pct,omitempty"`
	Busy         *float64 `json:"foreign_cpu,omitempty"` // cores used by others
	Throttled    []string `json:"throttled,omitempty"`   // why a GPU ran below its clock
	Processes    *int     `json:"foreign_gpu,omitempty"` // other processes on the GPU
}

// Ratio is a side's time over the row's own, measured in turns: above 1 the row's kernel is the
// faster one.
type Ratio struct {
	Median float64 `json:"median"`
	Low    float64 `json:"ci_95_low"`
	High   float64 `json:"ci_95_high"`
	Rounds int     `json:"rounds"`
}

// HalfWidth returns half the interval's width, relative to the median.
func (r *Ratio) HalfWidth() float64 { return (r.High - r.Low) / 2 / r.Median }

// ClockCheck holds the readings of other clocks than the one that times the samples.
type ClockCheck struct {
	ClaimedS float64 `json:"claimed_s"` // per launch, by the cell

	// Per launch back to back, by the worker, less the time that other work of the machine took. 0:
	// unknown.
	WorkerS   float64 `json:"worker_s,omitempty"`
	Disturbed bool    `json:"disturbed,omitempty"` // other work took all of that time, or too much to tell

	HostS float64 `json:"host_s,omitempty"` // per launch including the host's part, where only that explains the worker's time

	// Mean per launch, where samples are so uneven that only their mean explains the worker's time:
	// a few take far longer than the rest.
	MeanS float64 `json:"mean_s,omitempty"`

	// Additional seconds that preparing the arguments may take after a launch, because of what the
	// launch has left in the caches. Nobody is accused of these.
	CachesS float64 `json:"caches_s,omitempty"`

	// Seconds that a launch of a sample takes beyond its claim by the worker's clock, less the time
	// of the same request without launches. Versions that are compared take turns: values of the
	// same index are of one moment.
	Beyond []float64 `json:"beyond_s,omitempty"`

	// Seconds that the cell's CPUs work for such a launch beyond what its threads have time for.
	// CPU kernels only.
	Helped []float64 `json:"helped_s,omitempty"`

	// Seconds of a launch's claim, at most, in which its cell waited for a CPU: Helped is too low by
	// as much.
	Waited []float64 `json:"waited_s,omitempty"`

	// How many threads more than those work at a time while nothing is launched.
	Beside []float64 `json:"beside,omitempty"`

	EventsS float64 `json:"events_s,omitempty"` // per sample, by CUDA's events, over all samples
	TimerS  float64 `json:"timer_s,omitempty"`  // per sample, by the GPU's global timer, from before the first event until after the second
}

// TurnClocks holds the readings of other clocks in randomly drawn turns of a match. Versions that
// are compared take turns: values of the same index are of one moment. Beyond, Helped, Waited, Beside
// and CachesS are those of a ClockCheck.
type TurnClocks struct {
	Claimed []float64 `json:"claimed_s"` // per launch, by the cell
	Fresh   []bool    `json:"fresh"`     // one of the launches was on wholly new data
	Beyond  []float64 `json:"beyond_s"`
	Helped  []float64 `json:"helped_s"`
	Waited  []float64 `json:"waited_s,omitempty"`
	Beside  []float64 `json:"beside"`
	CachesS float64   `json:"caches_s,omitempty"`
}
