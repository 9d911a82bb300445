package result

import "time"

// Role is the role of a side relative to the candidate.
type Role string

// The roles.
const (
	Base  Role = "base"  // the version that the change was made to: the merge base
	Best  Role = "best"  // the best-known version, as the baseline names it
	Other Role = "other" // the first of two files

	Defaults Role = "defaults" // the params as pawl.yaml has them, beside those that a search has found
)

// Side is another version of a row, measured in turns with it.
type Side struct {
	Role   Role     `json:"role"`
	Commit string   `json:"commit,omitempty"`
	Row    *Row     `json:"row,omitempty"`    // its measurements; absent when it is not available
	Change *Change  `json:"change,omitempty"` // of the candidate, against it
	Reason []string `json:"reason,omitempty"` // why it is not available, in sentences

	StoredS float64 `json:"stored_s,omitempty"` // for a best-known version: the median when it became the baseline, for the same problem
	Known   string  `json:"known,omitempty"`    // commit that the baseline names, when this is also that version
}

// BaseRef is the commit that a change was made to.
type BaseRef struct {
	Ref string `json:"ref"` // as people name it
	SHA string `json:"sha"`
}

// Gate holds the slowdown that fails and the speedup that moves the baseline, as fractions.
type Gate struct {
	Regression  float64 `json:"regression"`
	Improvement float64 `json:"improvement"`
}

// FalseAlarms bounds how often the gate fails a change that is none, by this machine's calibration.
type FalseAlarms struct {
	KernelAlarms
	Configs    int            `json:"configs"` // judged in this run
	PerRun     float64        `json:"per_run"` // the bound for all of them together
	Calibrated time.Time      `json:"calibrated"`
	Others     []KernelAlarms `json:"others,omitempty"` // the same for other kernels, with fewer decisions
}

// KernelAlarms says how often equal code failed, for one of pawl's own kernels.
type KernelAlarms struct {
	Kernel      string  `json:"kernel"`
	Decisions   int     `json:"decisions"`    // of the calibration, on equal code
	Sets        int     `json:"sets"`         // sets of cells that they were made in
	Failed      int     `json:"failed"`       // of those
	PerDecision float64 `json:"per_decision"` // one-sided 95% bound
}

// Moved says that a row became the best-known version, or why it did not.
type Moved struct {
	Done    bool    `json:"done"`
	FromS   float64 `json:"from_s,omitempty"` // median of the version before; 0: there was none, or it solved a different problem
	From    string  `json:"from,omitempty"`   // its commit
	ToS     float64 `json:"to_s,omitempty"`   // stored median; it may differ from the row's, which may have been lucky
	Refused string  `json:"refused,omitempty"`
	Hint    string  `json:"hint,omitempty"`

	Asked       bool `json:"asked,omitempty"`       // --update-baseline was given
	Uncommitted bool `json:"uncommitted,omitempty"` // it would move, once the tree is committed
	Already     bool `json:"already,omitempty"`     // this branch has already made it the baseline, and the base does not have that yet
	Anchor      bool `json:"anchor,omitempty"`      // it is the best-known version, and only its commit changes
}

// Change is the candidate's time against another side's: 0.05 is 5% slower.
type Change struct {
	Median float64 `json:"median"`
	Low    float64 `json:"ci_95_low"`
	High   float64 `json:"ci_95_high"`

	Paired bool         `json:"paired"`           // measured in turns; else two lists
	Cells  []CellChange `json:"cells,omitempty"`  // for a duet: the result of each cell
	Pairs  int          `json:"pairs,omitempty"`  // pairs of turns that were compared
	Delta  float64      `json:"delta"`            // effect size: of paired signs, or Cliff's; 1: always slower
	Shift  float64      `json:"shift_s"`          // Hodges–Lehmann, seconds
	U      *float64     `json:"u,omitempty"`      // Mann–Whitney, of unpaired lists
	P      *float64     `json:"p,omitempty"`      // of U, two-sided
	Cycles *float64     `json:"cycles,omitempty"` // the same change in clock cycles, where the clock is known

	// For claims among several comparisons: the chance that files without any change hold a claim
	// of the same strength and direction anywhere; and the number of comparisons.
	PAdjusted *float64 `json:"p_adjusted,omitempty"`
	Family    int      `json:"family,omitempty"`

	Fastest *float64 `json:"fastest,omitempty"` // the change of the fastest samples of turns: a diagnostic
	Tail    *Tail    `json:"tail,omitempty"`    // for a duet: how the slow samples changed

	Bistable  bool   `json:"bistable,omitempty"`  // the cells fall into two groups
	Exact     bool   `json:"exact"`               // the interval is as narrow as required
	Confirmed bool   `json:"confirmed,omitempty"` // a second, independent set of cells was played and is included
	Stopped   string `json:"stopped,omitempty"`   // width, budget, interrupted
}

// Tail compares the slow samples of two sides: medians do not show a tenth of the launches.
type Tail struct {
	BeforeS float64 `json:"before_p90_s"`
	AfterS  float64 `json:"after_p90_s"`
	Change  float64 `json:"change"` // of the P90
	P       float64 `json:"p"`      // one-sided p-value: chance that slow samples fall to the candidate this often
}

// HalfWidth returns half the interval's width.
func (c *Change) HalfWidth() float64 { return (c.High - c.Low) / 2 }

// CellChange is the median change in one cell.
type CellChange struct {
	Median float64 `json:"median"`
	Pairs  int     `json:"pairs"`
	Set    int     `json:"set"`              // 0: the first set of cells, 1: the confirming one
	First  Role    `json:"loaded,omitempty"` // the side that was loaded first; empty: the candidate
}

// Play says which samples of a row and its sides were compared with each other. With it their
// changes can be computed again from the samples alone. Older reports have none.
type Play struct {
	Sides  []Role     `json:"sides"`            // the sides that took turns with the row, in order
	Shared bool       `json:"shared,omitempty"` // all sides shared a cell, where a turn is one sample
	Floor  float64    `json:"floor"`            // smallest half-width of an interval, in log-ratio
	Cells  []PlayCell `json:"cells"`
}

// PlayCell is one cell of a Play.
type PlayCell struct {
	Set    int   `json:"set"`
	First  Role  `json:"loaded,omitempty"` // the side that was loaded first; empty: the row
	From   []int `json:"from"`             // first sample of the cell's turns, for the row and each side
	Rounds int   `json:"rounds"`           // how often the order of turns was played
	Turns  []int `json:"turns,omitempty"`  // samples of every turn, in order, unless the cell is shared
	Data   []int `json:"data,omitempty"`   // batch of the data that each turn begins with; absent: 0
}

// Reason explains a verdict beyond its numbers.
type Reason string

// The reasons.
const (
	Bistable           Reason = "bistable"            // cells fall into two groups
	SlowTail           Reason = "slow tail"           // the median is inside the gate, the slowest tenth is not
	Creep              Reason = "creep"               // behind the best-known, but not by this change
	TooFar             Reason = "too far behind best" // a small step, and behind the best-known by more than the gate
	ClockEffect        Reason = "clock effect"        // in time, but not in cycles
	OverRoof           Reason = "over roof"           // faster than the measured peak of the device
	FingerprintDiffers Reason = "fingerprint differs" // measured on another machine, or with another toolchain
	TooSmall           Reason = "below 0.5 µs"        // the absolute difference is too small to fail anything
	Slower             Reason = "slower"              // within the gate, but the interval excludes 0
	Faster             Reason = "faster"
	Accepted           Reason = "accepted" // slower on purpose: a recorded reason covers it
	NoBaseline         Reason = "no baseline"
	BaseDraft          Reason = "base is a draft" // its pawl.yaml still has TODO comments about the kernel: it judges nothing
	NotConfirmed       Reason = "not confirmed"   // a second set of cells did not agree

	Unconfirmed Reason = "second set of cells not played" // it would have confirmed a regression or improvement
)

// HistoryPoint is the best-known version after one move of the baseline.
type HistoryPoint struct {
	Commit  string    `json:"commit,omitempty"` // commit that it is built from
	Time    time.Time `json:"time"`
	MedianS float64   `json:"median_s,omitempty"` // as stored then; 0: a reset removed it
	LowS    float64   `json:"ci_95_low,omitempty"`
	HighS   float64   `json:"ci_95_high,omitempty"` // 0: the interval is no longer known
	By      string    `json:"by"`                   // check, accept, reset
	Reason  string    `json:"reason,omitempty"`
}

// Input is one of the files of a comparison.
type Input struct {
	File        string      `json:"file"`
	Format      string      `json:"format"` // the tool that wrote it
	DeviceClass string      `json:"device_class,omitempty"`
	Machine     Fingerprint `json:"machine,omitzero"`
	Commit      *Commit     `json:"commit,omitempty"`
	Measured    time.Time   `json:"measured,omitzero"`
}

// Reasons of comparisons.
const (
	TooFew  Reason = "too few samples" // so few that even completely separate lists would show nothing
	Removed Reason = "removed"         // only the first file has it

	// It would be a regression or an improvement if the two files held nothing else.
	AmongMany Reason = "not significant among all comparisons"

	SameCode  Reason = "same code: only the machine differs" // equal code is neither slower nor faster, whatever its times
	TooCoarse Reason = "interval too wide"                   // it reaches into the gate, and is several gates wide
)
