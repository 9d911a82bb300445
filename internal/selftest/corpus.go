// Package selftest tries pawl on kernels that cheat, on honest kernels that look like cheats, and
// on kernels with one planted mistake.
package selftest

import "slices"

// Cell kinds of the corpus: the names of its folders. A launcher runs in a cuda cell but has
// another level of trust.
const (
	Host     = "host"
	Python   = "python"
	CUDA     = "cuda"
	Launcher = "launcher"
)

var everywhere = []string{Host, Python, CUDA, Launcher}

// Outcome is the required outcome of a subject.
type Outcome string

// The outcomes. Each is a minimum: a subject that must be suspicious may also be caught, and a
// defused one too. A cheat that ends as a clean improvement would move the baseline: only an open
// one may.
const (
	Caught     Outcome = "caught"
	Suspicious Outcome = "suspicious"
	Defused    Outcome = "defused" // the trick never applies: every launch that counts does all of its work, and is right
	Open       Outcome = "open"    // known to be missed: docs/integrity.md says so, and Why how much it gains
	Pass       Outcome = "pass"    // an honest control: nothing may be said against it
)

// Subject is a kernel of the corpus, and its required outcome.
type Subject struct {
	Kind     string
	Kernel   string
	Honest   string // the kernel of the corpus that the base has under its name
	Exploit  string // its name in docs/integrity.md; "" for a control
	Research []int  // numbers of the exploit in docs/integrity.md's list
	Expect   Outcome
	By       []string // findings, causes and verdicts, of which at least one must be named
	Needs    string   // what a machine must have for it: torch, torch-gpu, cublas, roof
	Drawn    bool     // its detection is random: a short check may miss it; it is then tried once more, and then as long as pawl check does
	Why      string
}

// What may catch a cheat: verdicts and causes of package result, and findings.
const (
	wrong     = "incorrect"           // an answer outside of its tolerance
	stale     = "stale-output"        // the answer to earlier data
	counted   = "host-bound"          // its time on the host is in its samples
	timed     = "timed-only"          // right when verified, wrong when timed
	input     = "modified-input"      // read-only memory has changed
	output    = "output"              // the result is not what pawl.yaml says
	blank     = "no effect"           // nothing was written
	bounds    = "out of bounds"       // a red zone has changed
	crashed   = "crash"               //
	exited    = "exit"                //
	late      = "late-work"           // its own threads, or outputs that change after the end
	stream    = "side-stream"         // work outside the stream that is timed
	forged    = "forged"              // claims that the worker's clock or the protocol contradicts
	tampered  = "tampered-cell"       // functions of the cell are not the cell's
	clocks    = "clock-mismatch"      // clocks that should agree do not
	watched   = "evaluation-detected" // verified samples are the slowest
	repeats   = "skips-repeats"       // a second launch on the same data takes next to no time
	attempts  = "sandbox-attempt"     // it tried what the sandbox refuses
	retained  = "retained-state"      // it leaves state for its next launch
	patched   = "incremental"         // it depends on its last answers
	cliff     = "speed-cliff"         // neighbouring shapes are several times slower
	sensitive = "insensitive"         // its output does not depend on its input
	varies    = "nondeterministic"    // different bits from the same data, undeclared
	launches  = "device-launch"       // device code that launches
	kernels   = "foreign-kernels"     // kernels ran that its source does not have
	pinned    = "persisting-l2"       // lines that a flush does not evict
	roofed    = "over roof"           // faster than the device can be
	blocked   = "timeout"             //
	threads   = "threads"             //
	helped    = "helper-thread"       // its CPUs work longer than its threads can
	unloaded  = "no entry"            //
	refused   = "launch"              //
	uncompile = "compile"             //
)

// Subjects returns the whole corpus except its mutants.
func Subjects() []Subject {
	return slices.Concat(hostSubjects, pythonSubjects, cudaSubjects, launcherSubjects)
}
