package result

import "time"

// Role is what a side is to the candidate.
type Role string

// The roles there are.
const (
	Base  Role = "base"  // what the change is made to: the merge base
	Best  Role = "best"  // the best-known version, as the baseline names it
	Other Role = "other" // the first of two files
)

// Side is another version of a row, measured in turns with it.
type Side struct {
	Role   Role     `json:"role"`
	Commit string   `json:"commit,omitempty"`
	Row    *Row     `json:"row,omitempty"`    // what it measured; absent when it could not be had
	Change *Change  `json:"change,omitempty"` // of the candidate, against it
	Reason []string `json:"reason,omitempty"` // why it could not be had, in sentences

	StoredS float64 `json:"stored_s,omitempty"` // median when it became the baseline, of the same problem; of a best-known version
	Known   string  `json:"known,omitempty"`    // commit that the baseline names, when this is that very version too
}

// BaseRef is the commit that a change is made to.
type BaseRef struct {
	Ref string `json:"ref"` // as people name it
	SHA string `json:"sha"`
}

// Gate is how much slower fails, and how much faster moves the baseline, as
// fractions.
type Gate struct {
	Regression  float64 `json:"regression"`
	Improvement float64 `json:"improvement"`
}

// FalseAlarms is how often the gate fails a change that is none, as this machine's
// calibration bounds it.
type FalseAlarms struct {
	KernelAlarms
	Configs    int            `json:"configs"` // judged in this run
	PerRun     float64        `json:"per_run"` // the bound for all of them together
	Calibrated time.Time      `json:"calibrated"`
	Others     []KernelAlarms `json:"others,omitempty"` // the same of other kernels, with fewer decisions
}

// KernelAlarms is how often equal code failed, of one of pawl's own kernels.
type KernelAlarms struct {
	Kernel      string  `json:"kernel"`
	Decisions   int     `json:"decisions"`    // of the calibration, on equal code
	Sets        int     `json:"sets"`         // of cells that they were made in
	Failed      int     `json:"failed"`       // of those
	PerDecision float64 `json:"per_decision"` // one-sided 95% bound
}

// Moved says that a row became the best-known version, or why it did not.
type Moved struct {
	Done    bool    `json:"done"`
	FromS   float64 `json:"from_s,omitempty"` // median of the version before; 0: there was none, or it solved another problem
	From    string  `json:"from,omitempty"`   // its commit
	ToS     float64 `json:"to_s,omitempty"`   // median that was stored; it need not be the row's, which luck may have chosen
	Refused string  `json:"refused,omitempty"`
	Hint    string  `json:"hint,omitempty"`

	Uncommitted bool `json:"uncommitted,omitempty"` // it would move, once the tree is committed
	Already     bool `json:"already,omitempty"`     // this branch made it the baseline before, and the base does not know yet
	Anchor      bool `json:"anchor,omitempty"`      // it is the best-known version, and only the commit that it is built from changes
}

// Change is the candidate's time against another side's: 0.05 is 5% slower.
type Change struct {
	Median float64 `json:"median"`
	Low    float64 `json:"ci_95_low"`
	High   float64 `json:"ci_95_high"`

	Paired bool         `json:"paired"`           // measured in turns; else two lists
	Cells  []CellChange `json:"cells,omitempty"`  // of a duet: what each cell alone found
	Pairs  int          `json:"pairs,omitempty"`  // of turns that were compared
	Delta  float64      `json:"delta"`            // effect size: of paired signs, or Cliff's; 1: always slower
	Shift  float64      `json:"shift_s"`          // Hodges–Lehmann, seconds
	U      *float64     `json:"u,omitempty"`      // Mann–Whitney, of unpaired lists
	P      *float64     `json:"p,omitempty"`      // of U, two-sided
	Cycles *float64     `json:"cycles,omitempty"` // the same change in clock cycles, where the clock is known

	// Of claims among several comparisons: the chance that files without any change
	// hold a claim as strong, of the same direction, anywhere; and how many they are.
	PAdjusted *float64 `json:"p_adjusted,omitempty"`
	Family    int      `json:"family,omitempty"`

	Fastest *float64 `json:"fastest,omitempty"` // the change of the fastest samples of turns: a diagnostic
	Tail    *Tail    `json:"tail,omitempty"`    // of a duet: how the slow samples changed

	Bistable  bool   `json:"bistable,omitempty"`  // the cells fall into two groups
	Exact     bool   `json:"exact"`               // the interval is as narrow as was asked for
	Confirmed bool   `json:"confirmed,omitempty"` // a second, independent set of cells was played, and counts
	Stopped   string `json:"stopped,omitempty"`   // width, budget, interrupted
}

// Tail compares the slow samples of two sides: medians say nothing of a tenth of
// the launches.
type Tail struct {
	BeforeS float64 `json:"before_p90_s"`
	AfterS  float64 `json:"after_p90_s"`
	Change  float64 `json:"change"` // of the P90
	P       float64 `json:"p"`      // that slow samples fall to the candidate this often by chance, one-sided
}

// HalfWidth is half the interval's width.
func (c *Change) HalfWidth() float64 { return (c.High - c.Low) / 2 }

// CellChange is the median change in one cell.
type CellChange struct {
	Median float64 `json:"median"`
	Pairs  int     `json:"pairs"`
	Set    int     `json:"set"`              // 0: the first set of cells, 1: the confirming one
	First  Role    `json:"loaded,omitempty"` // the side that was loaded first; empty: the candidate
}

// Reason is why a verdict is what it is, beyond the numbers.
type Reason string

// The reasons there are.
const (
	Bistable           Reason = "bistable"            // cells fall into two groups
	SlowTail           Reason = "slow tail"           // the median is inside the gate, the slowest tenth is not
	Creep              Reason = "creep"               // behind the best-known, but not by this change
	TooFar             Reason = "too far behind best" // a small step, and behind the best-known by more than the gate
	ClockEffect        Reason = "clock effect"        // there in time, not in cycles
	OverRoof           Reason = "over roof"           // faster than the device was measured to be
	FingerprintDiffers Reason = "fingerprint differs" // measured on another machine, or with another toolchain
	TooSmall           Reason = "below 0.5 µs"        // the absolute difference is too small to fail anything
	Slower             Reason = "slower"              // within the gate, but the interval excludes 0
	Faster             Reason = "faster"
	Accepted           Reason = "accepted" // slower on purpose: a recorded reason covers it
	NoBaseline         Reason = "no baseline"
	BaseDraft          Reason = "base is a draft" // its pawl.yaml still has TODO comments about the kernel: it judges nothing
	NotConfirmed       Reason = "not confirmed"   // a second set of cells did not agree

	Unconfirmed Reason = "second set of cells not played" // which would have confirmed a regression or improvement
)
