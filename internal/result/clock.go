package result

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

	// How many threads more than those work at a time while nothing is launched.
	Beside []float64 `json:"beside,omitempty"`

	EventsS float64 `json:"events_s,omitempty"` // per sample, by CUDA's events, over all samples
	TimerS  float64 `json:"timer_s,omitempty"`  // per sample, by the GPU's global timer, from before the first event until after the second
}

// TurnClocks holds the readings of other clocks in randomly drawn turns of a match. Versions that
// are compared take turns: values of the same index are of one moment. Beyond, Helped, Beside and
// CachesS are those of a ClockCheck.
type TurnClocks struct {
	Claimed []float64 `json:"claimed_s"` // per launch, by the cell
	Fresh   []bool    `json:"fresh"`     // one of the launches was on wholly new data
	Beyond  []float64 `json:"beyond_s"`
	Helped  []float64 `json:"helped_s"`
	Beside  []float64 `json:"beside"`
	CachesS float64   `json:"caches_s,omitempty"`
}
