package result

// Counts are counters of the processor over a stretch of work.
type Counts struct {
	Counts []Count     `json:"counts,omitempty"`
	Absent []Uncounted `json:"absent,omitempty"` // what was asked for and could not be counted
}

// Count is the value of one counter.
type Count struct {
	Name     string  `json:"name"`           // as perf has it: branch-misses
	Unit     string  `json:"unit,omitempty"` // "": a number of events
	Value    float64 `json:"value"`          // scaled to all of EnabledS where RunningS is less
	EnabledS float64 `json:"enabled_s"`      // time that the threads ran, added up
	RunningS float64 `json:"running_s"`      // the part of it in which the counter counted
}

// Uncounted is a counter that is not there.
type Uncounted struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	Hint string `json:"hint,omitempty"`
}
