// Package result defines the Report, the one document of pawl: every run returns it, every face
// shows it and every file holds it. The package reads and writes Reports; it does not know how
// their numbers came about.
package result

import "time"

// Schema is the version of the Report's JSON form. Readers accept this major
// version only.
const Schema = 1

// Kind says which command made a report.
type Kind string

// The kinds.
const (
	KindBench    Kind = "bench"
	KindCheck    Kind = "check"
	KindCompare  Kind = "compare"
	KindProfile  Kind = "profile"
	KindTune     Kind = "tune"
	KindFuzz     Kind = "fuzz"     // about answers instead of times
	KindSelftest Kind = "selftest" // the same
)

// Kinds are all that there are.
var Kinds = []Kind{KindBench, KindCheck, KindCompare, KindProfile, KindTune, KindFuzz, KindSelftest}

// Report holds everything that a run found.
type Report struct {
	Schema      int         `json:"schema"`
	Kind        Kind        `json:"kind"`
	ID          string      `json:"id"`
	Tool        Tool        `json:"tool"`
	Command     []string    `json:"command"`
	Started     time.Time   `json:"started"`
	Finished    time.Time   `json:"finished"`
	Interrupted bool        `json:"interrupted,omitempty"`
	Outcome     *Outcome    `json:"outcome,omitempty"` // older reports have none
	Spec        SpecRef     `json:"spec"`
	Commit      *Commit     `json:"commit,omitempty"`
	Origin      *Origin     `json:"origin,omitempty"` // older reports have none
	Base        *BaseRef    `json:"base,omitempty"`   // the version that the change was compared with
	DeviceClass string      `json:"device_class"`
	Machine     Fingerprint `json:"machine"`
	Method      Method      `json:"method"`
	Inputs      []Input     `json:"inputs,omitempty"` // the two files of a comparison
	Rows        []*Row      `json:"rows"`
	Warnings    []Warning   `json:"warnings,omitempty"`

	Gate        *Gate        `json:"gate,omitempty"`         // the gate of a check
	FalseAlarms *FalseAlarms `json:"false_alarms,omitempty"` // for a check, where the machine is calibrated
	Uncited     string       `json:"uncited,omitempty"`      // why the calibration of this machine says nothing about the check
	OwnFindings []string     `json:"own_findings,omitempty"` // ids of the entries of pawl.yaml that kernels are explained by
	Selftest    *Selftest    `json:"selftest,omitempty"`
	Bisect      *Bisect      `json:"bisect,omitempty"` // the search that a check ended
	Tuning      *Tuning      `json:"tuning,omitempty"`
	Cost        *Cost        `json:"cost,omitempty"` // older reports have none
}

// Tool is the pawl that made a report.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
}

// SpecRef names the spec a run used.
type SpecRef struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// Commit is the state of the user's repository.
type Commit struct {
	SHA   string `json:"sha"`
	Dirty bool   `json:"dirty"`
}

// Origin says which line of work the measured commit belongs to. Empty fields are not known.
type Origin struct {
	Branch string `json:"branch,omitempty"` // that the commit is on; of a pull request: the one it comes from
	Pull   int64  `json:"pull,omitempty"`   // number of the pull request; 0: it is of none
	Fork   bool   `json:"fork,omitempty"`   // a stranger's change
}

// Method says how the run measured.
type Method struct {
	Cache      string  `json:"cache"`                 // cold or hot
	BudgetS    float64 `json:"budget_s"`              // per row
	MinSamples int     `json:"min_samples"`           //
	MaxSamples int     `json:"max_samples,omitempty"` // 0: no bound but the budget
	HalfWidth  float64 `json:"half_width"`            // relative width at which sampling stops
	Seed       uint64  `json:"seed"`                  // of the inputs
	Interval   string  `json:"interval,omitempty"`    // of medians, in a comparison
}

// Verdict is the verdict on a row.
type Verdict string

// All verdicts.
const (
	Regression   Verdict = "regression"
	Improvement  Verdict = "improvement"
	Maintained   Verdict = "maintained"
	Inconclusive Verdict = "inconclusive"
	Unchanged    Verdict = "unchanged"
	New          Verdict = "new"
	Incomparable Verdict = "incomparable"
	Incorrect    Verdict = "incorrect"
	Broken       Verdict = "broken"
	Rejected     Verdict = "rejected"
)

// Verdicts are all that there are, those first that somebody should look at.
var Verdicts = []Verdict{Incorrect, Broken, Rejected, Regression, Inconclusive, Incomparable, Improvement, New, Maintained, Unchanged}

// Row is one kernel on one config.
type Row struct {
	Kernel   string            `json:"kernel"`
	Config   string            `json:"config"`
	Params   map[string]string `json:"params,omitempty"`
	Vars     map[string]string `json:"vars,omitempty"` // the config's own values
	Cell     string            `json:"cell"`           // host, cuda, python
	Trust    string            `json:"trust,omitempty"`
	Class    string            `json:"class,omitempty"`  // device class that its numbers belong to; check
	Device   string            `json:"device,omitempty"` // UUID of the GPU, where several GPUs shared the rows
	Flush    string            `json:"flush,omitempty"`  // how caches were made cold, or none
	Key      string            `json:"key,omitempty"`
	Code     string            `json:"code,omitempty"`
	Identity string            `json:"identity,omitempty"`
	Former   string            `json:"former_identity,omitempty"` // Identity as pawl computed it before it told the kernels of a file apart; CUDA only
	Dropped  bool              `json:"dropped,omitempty"`         // only the base has this config: it is judged but never stored
	Verdict  Verdict           `json:"verdict,omitempty"`         // empty: measured, with nothing to judge against
	Build    *Build            `json:"build,omitempty"`
	Sandbox  *Sandbox          `json:"sandbox,omitempty"`
	Fault    *Fault            `json:"fault,omitempty"`
	Timing   *Timing           `json:"timing,omitempty"`
	Log      string            `json:"log,omitempty"` // output of the kernel, bounded
	Warnings []Warning         `json:"warnings,omitempty"`
	Rivals   []*Rival          `json:"rivals,omitempty"`
	Sides    []*Side           `json:"sides,omitempty"`   // other versions of this kernel; check and compare
	Play     *Play             `json:"play,omitempty"`    // how the row and its sides took turns; check
	Plan     string            `json:"plan,omitempty"`    // what a check would do with the row
	Moved    *Moved            `json:"moved,omitempty"`   // the move of the baseline
	Reasons  []Reason          `json:"reasons,omitempty"` // of the verdict
	Needs    *Needs            `json:"needs,omitempty"`   // what would decide an inconclusive row; check
	History  []HistoryPoint    `json:"history,omitempty"` // of the best-known version before this run, the oldest first; check

	Why []*Why `json:"why,omitempty"` // why it takes its time, or changed: one for each launched function

	Verification *Verification `json:"verification,omitempty"` // of its answers
}

// Needs is what would decide a row, if the machine stays as noisy as it was.
type Needs struct {
	Cells   int     `json:"cells"`    // besides those that were played
	BudgetS float64 `json:"budget_s"` // the --budget that has time for all of them
}

// Rival is another implementation of a row's problem, measured in turns with it.
type Rival struct {
	Label string `json:"label"`           // as the user named it
	Row   *Row   `json:"row"`             // the same as for a kernel
	Ratio *Ratio `json:"ratio,omitempty"` // its time over the row's
}

// Name returns kernel/config, as selectors and tables write it. Other tools' benchmarks may have no
// config.
func (r *Row) Name() string {
	if r.Config == "" {
		return r.Kernel
	}
	return r.Kernel + "/" + r.Config
}

// Is reports whether the row has an identity that was stored, by this version of pawl or an older
// one.
func (r *Row) Is(stored string) bool {
	return stored != "" && (stored == r.Identity || stored == r.Former)
}

// Build says how a row's artifact was built.
type Build struct {
	Cached   bool     `json:"cached"`
	Seconds  float64  `json:"seconds"`
	Compiler string   `json:"compiler"`
	Flags    []string `json:"flags,omitempty"`  // pawl's own, then the kernel's; without the macros of its params
	Output   string   `json:"output,omitempty"` // as the compiler wrote it

	Resources []Resources `json:"resources,omitempty"` // of each launch; CUDA only
	Sandbox   *Sandbox    `json:"sandbox,omitempty"`   // sandbox of the compiler, where one ran

	WholeFile string `json:"whole_file,omitempty"` // why the identity covers all of a CUDA file, and not just the launched kernels
}

// Resources are the resources of a multiprocessor that a GPU kernel needs.
type Resources struct {
	Entry       string  `json:"entry"`
	Registers   int     `json:"registers"`    // per thread
	Shared      int64   `json:"shared"`       // bytes per block, static
	Constant    int64   `json:"constant"`     // bytes that the source declares, of the whole module
	Stack       int64   `json:"stack"`        // bytes per thread
	SpillStores int64   `json:"spill_stores"` // bytes per thread
	SpillLoads  int64   `json:"spill_loads"`
	Dynamic     int64   `json:"dynamic,omitempty"`   // shared bytes per block, at launch
	Occupancy   float64 `json:"occupancy,omitempty"` // theoretical, of the SM's threads
}

// Fault says why a row has no (or no trustworthy) timing.
type Fault struct {
	Stage   string `json:"stage"` // build, load, prepare, measure
	Cause   Cause  `json:"cause"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Error makes a Fault usable as an error.
func (f *Fault) Error() string { return f.Message }

// Cause is the kind of a fault.
type Cause string

// The causes.
const (
	CauseSpec        Cause = "spec"          // a formula of pawl.yaml has no usable value here
	CauseCompile     Cause = "compile"       // the compiler refused the source
	CauseNoEntry     Cause = "no entry"      // the source has no such function
	CauseTimeout     Cause = "timeout"       // killed at its deadline
	CauseCrash       Cause = "crash"         // ended by a signal
	CauseExit        Cause = "exit"          // the kernel ended its own process
	CauseLaunch      Cause = "launch"        // the device refuses the launch: too much shared memory, too many registers
	CauseOutput      Cause = "output"        // the result is not what the spec says
	CauseWrong       Cause = "wrong answers" // they differ from the oracle's
	CauseNoEffect    Cause = "no effect"     // none of its outputs was written
	CauseOutOfBounds Cause = "out of bounds" // wrote outside its buffers
	CauseMemory      Cause = "memory"        // more than there is, or than it may use
	CauseThreads     Cause = "threads"       // more threads than it may start
	CauseOracle      Cause = "oracle"        // no right answer was available to compare with
	CauseNoOracle    Cause = "no oracle"     // nobody knows the right answers
	CauseCheat       Cause = "cheat"         // caught using one of the exploits of docs/integrity.md
	CauseSanitizer   Cause = "sanitizer"     // compute-sanitizer found an error in device code
	CauseForged      Cause = "forged"        // answers that contradict the worker
	CauseOverRoof    Cause = "over roof"     // faster than the measured peak of the device
	CauseKilled      Cause = "killed"        // cell or worker was ended from outside, or the worker does not answer
	CauseProtocol    Cause = "protocol"      // the peer does not speak this protocol
	CauseInternal    Cause = "internal"      // the machine failed pawl: disk, descriptors
	CauseUnsupported Cause = "unsupported"   // this machine or this version cannot run it
	CauseInterrupted Cause = "interrupted"   // the user ended the run
	CauseSkipped     Cause = "skipped"       // by the tool that measured the other rows
	CauseClaim       Cause = "claim"         // a report that somebody else's job wrote does not hold
)

// Sandbox describes the cell's sandbox, and the attempts of the candidate that it refused.
type Sandbox struct {
	Level    string   `json:"level"`              // full, partial, off
	Missing  []string `json:"missing,omitempty"`  // what the kernel could not give
	Attempts []string `json:"attempts,omitempty"` // refused, in order, each once
}

// Warning is a doubt about a number, with its evidence.
type Warning struct {
	Code    string `json:"code"` // cv, drift, throttle, foreign, …
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	File    string `json:"file,omitempty"` // compare: the result file that it belongs to; the message begins with it
}

// Outcome is the outcome of a whole run. Faces show it, and the exit code expresses it.
type Outcome struct {
	Result   Ending          `json:"result"`
	Reasons  []string        `json:"reasons,omitempty"`  // why it did not pass
	Verdicts map[Verdict]int `json:"verdicts,omitempty"` // how many rows have each

	Suspicious int  `json:"suspicious,omitempty"` // rows with evidence against them, whatever their verdict
	Strict     bool `json:"strict,omitempty"`     // an undecided check does not pass
}

// Passes reports whether a run passes. A check with undecided or suspicious rows passes unless it is
// strict; any other run that is undecided does not.
func (r *Report) Passes() bool {
	return r.Outcome != nil && (r.Outcome.Result == Passed || r.Outcome.Result == Undecided && r.Kind == KindCheck && !r.Outcome.Strict)
}

// Ending is the way a run ended.
type Ending string

// All endings.
const (
	Passed      Ending = "passed"
	Failed      Ending = "failed"      // a regression, wrong, broken or rejected: the kernels' fault
	Undecided   Ending = "undecided"   // judged, but some row is undecided or suspicious
	Unjudged    Ending = "unjudged"    // something could not be judged, and the kernels are not to blame
	Interrupted Ending = "interrupted" // by the user; the report has the results until then
)

// Endings are all that there are.
var Endings = []Ending{Passed, Failed, Undecided, Unjudged, Interrupted}
