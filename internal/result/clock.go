package result

// ClockCheck is other clocks beside the one that samples are taken by.
type ClockCheck struct {
	ClaimedS float64 `json:"claimed_s"` // per launch, by the cell

	// Per launch back to back, by the worker, less what other work of the machine took.
	// 0: unknown.
	WorkerS   float64 `json:"worker_s,omitempty"`
	Disturbed bool    `json:"disturbed,omitempty"` // other work took all of that, or too much to tell

	HostS float64 `json:"host_s,omitempty"` // per launch with the host's part in it, where that alone explains what the worker says

	// Per launch on average, where samples are so uneven that only their mean explains
	// what the worker says: a few take far longer than the rest.
	MeanS float64 `json:"mean_s,omitempty"`

	// Seconds that making the arguments ready again may take longer after a launch, because
	// of what it has left in the caches. Nobody is accused of these.
	CachesS float64 `json:"caches_s,omitempty"`

	// What a launch of a sample takes longer by the worker's clock than it claims to,
	// less what the same request takes without launches. Versions that are compared
	// take turns: values of the same index are of one moment.
	Beyond []float64 `json:"beyond_s,omitempty"`

	// What the cell's processors work longer for such a launch than the threads that it
	// may compute with have time for. On a processor.
	Helped []float64 `json:"helped_s,omitempty"`

	// How many more of its threads than those work at a time while nothing is launched.
	Beside []float64 `json:"beside,omitempty"`

	EventsS float64 `json:"events_s,omitempty"` // per sample, by CUDA's events, over all samples
	TimerS  float64 `json:"timer_s,omitempty"`  // per sample, by the GPU's global timer, from before the first event until after the second
}

// TurnClocks is other clocks beside the one that samples are taken by, in turns of a match
// drawn at random. Versions that are compared take turns: values of the same index are of
// one moment. Beyond, Helped, Beside and CachesS are those of a ClockCheck.
type TurnClocks struct {
	Claimed []float64 `json:"claimed_s"` // per launch, by the cell
	Fresh   []bool    `json:"fresh"`     // one of the launches was on wholly new data
	Beyond  []float64 `json:"beyond_s"`
	Helped  []float64 `json:"helped_s"`
	Beside  []float64 `json:"beside"`
	CachesS float64   `json:"caches_s,omitempty"`
}
