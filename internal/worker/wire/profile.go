package wire

import (
	"fmt"
	"slices"

	"pawl/internal/pattern"
)

// Limits of what Nsight Compute may leave.
const (
	MaxReport = 64 << 20 // bytes of a report
	MaxCSV    = 32 << 20 // bytes of a report as CSV

	maxMetrics = 500 // that may be asked for
)

// Profiler asks for Nsight Compute around a cell. What is not set has the value that comes first in
// the comment.
type Profiler struct {
	Metrics  []string `json:"metrics,omitempty"`  // counters to read
	Full     bool     `json:"full,omitempty"`     // all sections, and the findings of Nsight Compute's own rules
	Clock    string   `json:"clock,omitempty"`    // none, base, boost: what it does to the GPU's clock
	Cache    string   `json:"cache,omitempty"`    // all, none: what it flushes before every pass
	Replay   string   `json:"replay,omitempty"`   // kernel, application: what it repeats for every pass
	Stranger bool     `json:"stranger,omitempty"` // the code is a stranger's: never as root
}

// metricName matches the names of metrics, with their suffixes.
var metricName = pattern.New(`^[a-zA-Z0-9_.]{1,200}$`)

// Choices of a Profiler; the first of each holds where none is made.
var (
	clockControls = []string{"none", "base", "boost"}
	cacheControls = []string{"all", "none"}
	replayModes   = []string{"kernel", "application"}
)

// Complete returns the request with every choice made. It refuses one that no command line must be
// made of.
func (p Profiler) Complete() (Profiler, error) {
	if len(p.Metrics) == 0 && !p.Full {
		return p, Errorf("malformed", "a profiler without metrics")
	}
	if len(p.Metrics) > maxMetrics {
		return p, Errorf("malformed", "%d metrics; the most are %d", len(p.Metrics), maxMetrics)
	}
	for _, name := range p.Metrics {
		if !metricName.MatchString(name) {
			return p, Errorf("malformed", "%.100q is no name of a metric", name)
		}
	}
	for _, choice := range []struct {
		name  string
		value *string
		of    []string
	}{{"clock", &p.Clock, clockControls}, {"cache", &p.Cache, cacheControls}, {"replay", &p.Replay, replayModes}} {
		if *choice.value == "" {
			*choice.value = choice.of[0]
		}
		if !slices.Contains(choice.of, *choice.value) {
			return p, Errorf("malformed", "%s %.100q of a profiler; expected one of %v", choice.name, *choice.value, choice.of)
		}
	}
	return p, nil
}

// Profile is what Nsight Compute left of a cell.
type Profile struct {
	Tool    string   `json:"tool,omitempty"`    // its version, in its own words
	Command []string `json:"command,omitempty"` // its command line, without folders
	Log     string   `json:"log,omitempty"`     // what it said, bounded
	Exit    string   `json:"exit,omitempty"`    // how it ended
	Unknown []string `json:"unknown,omitempty"` // metrics that were asked for and that it does not know

	Report  *File `json:"report,omitempty"`  // absent: there is none
	Raw     *File `json:"raw,omitempty"`     // the report's metrics as CSV
	Details *File `json:"details,omitempty"` // the report's sections as CSV
}

// File names bytes that the worker keeps for Get.
type File struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// String names the file for people.
func (f *File) String() string { return fmt.Sprintf("%.12s (%d bytes)", f.SHA256, f.Bytes) }

// Get asks for a part of a file that the worker keeps.
type Get struct {
	SHA256 string `json:"sha256"`
	Offset int64  `json:"offset"`
}

// GetReply announces the part, which is in the frame's blob: up to MaxBlob bytes, fewer at the end.
type GetReply struct {
	Total int64 `json:"total"`
}

// ProfileLaunches asks for launches that a profiler looks at, and for nothing else around them: no timing, no
// flush, no graph, nothing queued before them.
type ProfileLaunches struct {
	Cell      uint64  `json:"cell,omitempty"`
	Side      int     `json:"side,omitempty"`
	Repeats   int     `json:"repeats"` // how often; the arguments are filled again before each
	DeadlineS float64 `json:"deadline_s,omitempty"`
}

// Profiled answers ProfileLaunches.
type Profiled struct {
	Launches int `json:"launches"` // of kernels, while the profiler looked; -1: host code launches, and only the profiler has counted
}
