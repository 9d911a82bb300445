package result

// Why says why a kernel takes its time or, with two versions, why one takes longer than the other. It
// explains, and no verdict is read from it: profiling slows kernels down.
type Why struct {
	Kernel   string          `json:"kernel"`             // function that was launched
	Sentence string          `json:"sentence,omitempty"` // why the versions differ
	Cause    *Bottleneck     `json:"cause,omitempty"`    // that only the slower version has, or that weighs more there
	Slowdown float64         `json:"slowdown,omitempty"` // time after over time before under the profiler; 0: not known
	Moves    []Move          `json:"moves,omitempty"`    // counters that moved further than repeats differ, the most telling first
	Repeats  [2]int          `json:"repeats,omitzero"`   // launches that the moves are of, before and after
	Static   []Move          `json:"static,omitempty"`   // registers, spills, occupancy, shared memory
	Code     []string        `json:"code,omitempty"`     // what became of the instructions
	Build    []string        `json:"build,omitempty"`    // compilers and flags that differ
	Versions []ExplainedSide `json:"versions"`           // before and after, or one
	Limits   []Warning       `json:"limits,omitempty"`   // what could not be seen, and what would show it
	Profiler *Profiler       `json:"profiler,omitempty"` // nil: none ran
}

// Last returns the version that the row is about.
func (w *Why) Last() *ExplainedSide { return &w.Versions[len(w.Versions)-1] }

// Profiler says how a profile was taken.
type Profiler struct {
	Tool    string   `json:"tool"`            // with its version
	Cache   string   `json:"cache,omitempty"` // state of the caches before each pass: all (flushed) or none
	Clock   string   `json:"clock,omitempty"` // none (as it is), base or boost
	Replay  string   `json:"replay,omitempty"`
	Full    bool     `json:"full,omitempty"` // all counters, and not just those that pawl reads
	Command []string `json:"command,omitempty"`
	Files   []string `json:"files,omitempty"` // in the folder of the run
}

// ExplainedSide is what is known of one version of a kernel.
type ExplainedSide struct {
	Version string          `json:"version,omitempty"` // as of a Side, or change; "": the only one
	Label   string          `json:"label"`             // the kernel with its launch
	Device  string          `json:"device,omitempty"`
	CC      int             `json:"cc,omitempty"` // compute capability × 10
	Grid    [3]int          `json:"grid,omitzero"`
	Block   [3]int          `json:"block,omitzero"`
	Place   string          `json:"place,omitempty"` // file and line that it was read from
	Repeats int             `json:"repeats,omitempty"`
	Metrics map[string]Fact `json:"metrics"`
	Waits   []Wait          `json:"waits,omitempty"`   // the largest share first
	Limiter []string        `json:"limiter,omitempty"` // what limits occupancy
	Roof    *Roofline       `json:"roof,omitempty"`

	Findings []Bottleneck `json:"findings"` // the most promising first
	Remarks  []Remark     `json:"remarks,omitempty"`
	Excepted []Remark     `json:"excepted,omitempty"` // entries whose conditions hold, and why they do not apply
	Unseen   []Unseen     `json:"unseen,omitempty"`
}

// Get returns a reading; ok is false where there is none: a missing reading is not zero.
func (s *ExplainedSide) Get(metric string) (value float64, ok bool) {
	fact, ok := s.Metrics[metric]
	return fact.Value, ok
}

// Fact is a number with its unit and where it comes from.
type Fact struct {
	Value float64  `json:"value"`
	Unit  string   `json:"unit,omitempty"`
	From  []string `json:"from,omitempty"`
}

// Wait is a reason for which warps did not issue.
type Wait struct {
	Reason string  `json:"reason"`
	Share  float64 `json:"share"` // percent of the time between two instructions of a warp
}

// Roofline is where a launch stands between its arithmetic and its memory traffic.
type Roofline struct {
	Intensity float64 `json:"intensity"` // operations per byte
	Rate      float64 `json:"rate"`      // operations a second
	Bandwidth float64 `json:"bandwidth"` // bytes a second that the memory could move
	Peak      float64 `json:"peak"`      // operations a second that the units used could do
	Pipe      string  `json:"pipe"`      // whose peak that is
	Percent   float64 `json:"percent"`   // Rate, in percent of the roof at this intensity
	Measured  bool    `json:"measured,omitempty"`
	Declared  bool    `json:"declared,omitempty"` // operations and bytes are those that the user declared
}

// Bottleneck is a named reason for the time that a kernel takes.
type Bottleneck struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Evidence   string   `json:"evidence"`
	Rests      []string `json:"rests_on"` // which evidence
	Gain       string   `json:"gain"`     // the bound, in words
	Bound      float64  `json:"bound,omitempty"`
	Headroom   float64  `json:"headroom"` // share of the time that is in reach with the work as it is
	Confidence float64  `json:"confidence"`
	First      string   `json:"first"` // what to do
	Deeper     []string `json:"deeper,omitempty"`
	Next       string   `json:"next,omitempty"`    // the exact next step
	Also       []string `json:"also,omitempty"`    // rules of thumb that agree
	Settled    bool     `json:"settled,omitempty"` // nothing is left to gain
	Own        bool     `json:"own,omitempty"`     // an entry of pawl.yaml
	Static     bool     `json:"static,omitempty"`  // by the weaker evidence, without a profiler
}

// Remark is something that was noticed about an entry of the catalogue.
type Remark struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Unseen is an entry of the catalogue that could not be judged.
type Unseen struct {
	ID      string   `json:"id"`
	Missing []string `json:"missing"`
}

// Move is a number before and after.
type Move struct {
	Metric string  `json:"metric,omitempty"`
	Words  string  `json:"words"`
	Unit   string  `json:"unit,omitempty"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Noise  float64 `json:"noise,omitempty"`    // how much repeats of one version differ
	Limit  bool    `json:"limiting,omitempty"` // it belongs to what limits the slower version
}
