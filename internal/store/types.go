package store

import (
	"time"

	"pawl/internal/result"
)

// Run is what lists show of a run.
type Run struct {
	ID       string        `json:"id"`
	Kind     result.Kind   `json:"kind"`
	Started  time.Time     `json:"started"` // to the millisecond
	Finished time.Time     `json:"finished"`
	Commit   string        `json:"commit,omitempty"` // full; "": the project had none
	Dirty    bool          `json:"dirty,omitempty"`  // files differed from the commit
	Base     string        `json:"base,omitempty"`   // commit that the change was compared with
	Branch   string        `json:"branch,omitempty"` // "": not known
	Pull     int64         `json:"pull,omitempty"`   // number of the pull request; 0: none
	Fork     bool          `json:"fork,omitempty"`   // of a stranger's repository
	Class    string        `json:"class"`            // device class
	Machine  string        `json:"machine"`          // digest of the fingerprint
	Outcome  result.Ending `json:"outcome,omitempty"`
	Tool     string        `json:"tool,omitempty"` // version of pawl, or the tool that measured
	Rows     int           `json:"rows"`

	seq int64
}

// Row is what lists and pictures show of one kernel on one config in one run.
type Row struct {
	Kernel  string         `json:"kernel"`
	Config  string         `json:"config"`
	Class   string         `json:"class"` // device class that its numbers belong to
	N       int            `json:"n"`     // place among the report's rows, from 0
	Verdict result.Verdict `json:"verdict,omitempty"`
	Fault   result.Cause   `json:"fault,omitempty"`

	MedianS float64 `json:"median_s,omitempty"` // 0: not measured
	LowS    float64 `json:"ci_95_low,omitempty"`
	HighS   float64 `json:"ci_95_high,omitempty"`
	Samples int     `json:"samples,omitempty"`
	RoofPct float64 `json:"roof_pct,omitempty"` // 0: not known

	Base *Change `json:"base,omitempty"` // against the merge base
	Best *Change `json:"best,omitempty"` // against the best-known version

	Identity string `json:"identity,omitempty"`
	Moved    bool   `json:"moved,omitempty"`   // it became the best-known version
	Dropped  bool   `json:"dropped,omitempty"` // only the base has this config
}

// Change is a row's time against another version's, measured in turns: 0.05 is 5% slower.
type Change struct {
	Commit string  `json:"commit,omitempty"`
	Median float64 `json:"median"`
	Low    float64 `json:"ci_95_low"`
	High   float64 `json:"ci_95_high"`
}

// Name returns kernel/config, as selectors and tables write it.
func (r *Row) Name() string {
	if r.Config == "" {
		return r.Kernel
	}
	return r.Kernel + "/" + r.Config
}

// Point is a row with its run: one point of a series. Rows of a run share theirs, and so do later
// answers: nobody may change it.
type Point struct {
	Run *Run `json:"run"`
	Row
}

// Series names all rows of one kernel on one config on one class of devices.
type Series struct {
	Kernel string `json:"kernel"`
	Config string `json:"config"`
	Class  string `json:"class"`

	id int64
}

// NoteKind says what a note means for the point that it is about.
type NoteKind string

// The kinds of notes.
const (
	Remark       NoteKind = "note"
	Acknowledged NoteKind = "ack"     // seen, and accepted as it is
	Invalid      NoteKind = "invalid" // the point is wrong: lines and trends leave it out
)

// NoteKinds are all that there are.
var NoteKinds = []NoteKind{Remark, Acknowledged, Invalid}

// Note is what somebody wrote about a run, or about one kernel or one row of it.
type Note struct {
	ID     int64     `json:"id"`
	Run    string    `json:"run"`
	Kernel string    `json:"kernel,omitempty"` // "": all
	Config string    `json:"config,omitempty"` // "": all
	Kind   NoteKind  `json:"kind"`
	At     time.Time `json:"at"`
	Author string    `json:"author,omitempty"`
	Text   string    `json:"text,omitempty"`
}

// About reports whether a note is about a row of its run.
func (n *Note) About(r *Row) bool {
	return (n.Kernel == "" || n.Kernel == r.Kernel) && (n.Config == "" || n.Config == r.Config)
}

// Scope selects runs by whether they are of a pull request.
type Scope int

// The scopes.
const (
	All     Scope = iota
	Main          // of no pull request and of a clean tree: what may be on main's line
	Pulls         // of pull requests
	Private       // of a dirty tree
)

// Filter selects runs and points. The zero value selects all.
type Filter struct {
	Kinds   []result.Kind
	Kernel  string // pattern: * ? [a-z]; "": all
	Config  string // the same
	Class   string
	Branch  string
	Pull    int64
	Commit  string // its beginning
	Outcome result.Ending
	Verdict result.Verdict // of a point; of any row of a run
	Scope   Scope
	Since   time.Time // started then or later
	Until   time.Time // started before
	Limit   int       // 0: no limit
	Before  string    // ID of a run: those after it in the list, which is the next page
}
