package result

// Integrity says whether a result can be trusted.
type Integrity string

// From the best to the worst.
const (
	Clean      Integrity = "clean"
	Suspicious Integrity = "suspicious" // nothing is proven, but the baseline does not move
	Cheated    Integrity = "rejected"   // an exploit, by name
)

// BaseVersion is the Oracle of answers that were compared with the base version's.
const BaseVersion = "the base version"

// Verification is what was found out about a kernel's answers.
type Verification struct {
	Oracle    string    `json:"oracle,omitempty"` // where right answers come from, in words; "": there is none
	Integrity Integrity `json:"integrity"`
	Seed      uint64    `json:"seed"`
	Cases     []*Case   `json:"cases"`
	Passed    int       `json:"passed"`
	Failed    int       `json:"failed"`
	Skipped   int       `json:"skipped"`
	Findings  []Finding `json:"findings,omitempty"` // evidence against the kernel's honesty
	Limits    []string  `json:"limits,omitempty"`   // what could not be guaranteed, in words
	Kernels   []string  `json:"kernels,omitempty"`  // kernels that ran on the device, for code that launches by itself

	Neighbours []Neighbour `json:"neighbours,omitempty"` // sizes next to the row's own that a check chose to try

	Sanitizer []SanitizerRun `json:"sanitizer,omitempty"` // one for each requested tool
}

// Suspect adds findings. They make a clean result suspicious.
func (v *Verification) Suspect(found ...Finding) {
	v.Findings = append(v.Findings, found...)
	if len(found) > 0 && v.Integrity == Clean {
		v.Integrity = Suspicious
	}
}

// Convict sets the integrity that follows from the findings, and returns the fault of a kernel that
// was caught cheating.
func (v *Verification) Convict() *Fault {
	for _, f := range v.Findings {
		if f.Severity == Cheated {
			v.Integrity = Cheated
			return &Fault{Cause: CauseCheat, Message: f.Exploit + ": " + f.Message, Hint: "docs/integrity.md explains how this is detected"}
		}
		v.Integrity = Suspicious
	}
	return nil
}

// Finding is an exploit that a kernel was caught at or suspected of.
type Finding struct {
	Exploit  string    `json:"exploit"` // its name, as docs/integrity.md lists it
	Severity Integrity `json:"severity"`
	Message  string    `json:"message"` // the evidence
}

// Neighbour is a size next to that of a row.
type Neighbour struct {
	Size    string `json:"size"`              // the variable that is larger: "N=4097"
	Untried string `json:"untried,omitempty"` // why nothing is known of it; "": it was tried

	// Slower is how many times as long the same work takes there, if that is far longer and a size
	// that is as aligned as the row's, Aligned, does not take far longer.
	Slower  float64 `json:"slower,omitempty"`
	Aligned string  `json:"aligned,omitempty"` // "N=4352"
}

// TimedLane is the lane of cases that are timed samples.
const TimedLane = "timed"

// Case is one problem whose answer was verified.
type Case struct {
	Lane    string            `json:"lane"` // matrix, config, shape, timed, … ; why it was tried
	Vars    map[string]string `json:"vars"` // of the config
	Names   []string          `json:"names"`
	Fill    string            `json:"fill,omitempty"`  // of the inputs, in words; "": the kernel's own
	Seed    uint64            `json:"seed"`            // of the data
	Batch   int               `json:"batch,omitempty"` //
	Steps   int               `json:"steps,omitempty"` // by which the batch's data was changed
	Repeats int               `json:"repeats,omitempty"`
	Outputs []OutputError     `json:"outputs,omitempty"`
	Fault   *Fault            `json:"fault,omitempty"`
	Skipped string            `json:"skipped,omitempty"` // why it was not tried, or says nothing
	Reason  string            `json:"reason,omitempty"`  // why it failed, in words; "": it passed
	Shrunk  *Case             `json:"shrunk,omitempty"`  // the smallest that still fails
	Stored  string            `json:"stored,omitempty"`  // file that keeps it
	Replay  bool              `json:"replay,omitempty"`  // it failed before
	WallS   float64           `json:"wall_s,omitempty"`
}

// OutputError says how one output differs from the oracle's.
type OutputError struct {
	Name   string  `json:"name"`
	Count  int64   `json:"count"`
	Wrong  int64   `json:"wrong"`
	NaNs   int64   `json:"nans,omitempty"`
	Blank  int64   `json:"blank,omitempty"` // elements unchanged since before the launch
	MaxAbs float64 `json:"max_abs"`
	MaxRel float64 `json:"max_rel"`
	RMS    float64 `json:"rms"`

	Atol  float64 `json:"atol"`
	Rtol  float64 `json:"rtol"`
	Exact bool    `json:"exact,omitempty"` // judged bit by bit

	RivalMaxAbs float64 `json:"rival_max_abs,omitempty"` // error of a rival of the same precision, against the same oracle
	RivalRMS    float64 `json:"rival_rms,omitempty"`

	Worst *Element `json:"worst,omitempty"` // among the wrong ones
	Tiles *Tiles   `json:"tiles,omitempty"` // for a failure
}

// Element is one element of an output. Numbers are text: JSON has no NaN.
type Element struct {
	Index []int64 `json:"index"`
	Got   string  `json:"got"`
	Want  string  `json:"want"`
}

// Tiles counts the wrong elements of an output, tile by tile. The output is seen as a matrix whose
// columns are its last dimension.
type Tiles struct {
	Rows     int     `json:"rows"` // of tiles
	Columns  int     `json:"columns"`
	TileRows int64   `json:"tile_rows"` // elements of a tile
	TileCols int64   `json:"tile_columns"`
	Wrong    []int64 `json:"wrong"` // row by row
}

// Selftest is the outcome of all cheats, honest controls and mistakes that the checks themselves
// were tried on.
type Selftest struct {
	Caught         int               `json:"caught"`
	Suspicious     int               `json:"suspicious"`
	Missed         int               `json:"missed"`
	Defused        int               `json:"defused,omitempty"` // cheats whose trick never applies: every launch that counts does its work
	Open           int               `json:"open,omitempty"`    // cheats that are known not to be caught
	ControlsPassed int               `json:"controls_passed"`
	ControlsFailed int               `json:"controls_failed"`
	MutantsKilled  int               `json:"mutants_killed"`
	Mutants        int               `json:"mutants"`
	Skipped        int               `json:"skipped"`
	Seed           uint64            `json:"seed"` // of the data: the same makes the same run
	Subjects       []SelftestSubject `json:"subjects"`
}

// SelftestSubject is one kernel of a selftest.
type SelftestSubject struct {
	Name    string  `json:"name"`
	Kind    string  `json:"kind"`              // host, python, cuda, launcher
	Role    string  `json:"role"`              // cheat, control, mutant
	Exploit string  `json:"exploit,omitempty"` // what it does, as docs/integrity.md names it
	Outcome string  `json:"outcome"`           // caught, suspicious, defused, missed, open; passed, failed; killed, survived; skipped
	By      string  `json:"by,omitempty"`      // what caught it
	Why     string  `json:"why,omitempty"`     // why it was skipped, missed, or failed
	Seconds float64 `json:"seconds,omitempty"`

	Verdict string   `json:"verdict,omitempty"` // of the match with an honest kernel
	Change  *float64 `json:"change,omitempty"`  // change in time against that kernel: -0.3 is 30% less
}

// SanitizerRun is the output of one tool of compute-sanitizer about a kernel's launches.
type SanitizerRun struct {
	Tool     string             `json:"tool"`               // memcheck, racecheck, initcheck, synccheck
	Cases    []string           `json:"cases,omitempty"`    // launched cases, in words
	Findings []SanitizerFinding `json:"findings,omitempty"` // each once
	Errors   int                `json:"errors"`             // as the tool counts them
	Skipped  string             `json:"skipped,omitempty"`  // why it says nothing, or not everything
	Raw      string             `json:"raw,omitempty"`      // its output, bounded, where it was not fully understood
	Sandbox  *Sandbox           `json:"sandbox,omitempty"`  // sandbox of the cell
	WallS    float64            `json:"wall_s,omitempty"`
}

// SanitizerFinding is an error or a warning of compute-sanitizer in device code.
type SanitizerFinding struct {
	Tool     string   `json:"tool"`
	Severity string   `json:"severity"` // error or warning
	Kind     string   `json:"kind"`     // in the tool's words: "Invalid __global__ write of size 4 bytes"
	Kernel   string   `json:"kernel,omitempty"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Thread   string   `json:"thread,omitempty"` // the first one: "(31,0,0)"
	Block    string   `json:"block,omitempty"`
	Note     string   `json:"note,omitempty"`   // about the address, or the other side of a race
	Frames   []string `json:"frames,omitempty"` // innermost first, where there are several
	Count    int      `json:"count"`            // how often, over all threads
}
