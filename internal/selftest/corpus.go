// Package selftest tries pawl on kernels that cheat, on honest kernels that look like cheats, and
// on kernels with one planted mistake.
package selftest

// Cell kinds of the corpus: the names of its folders. A launcher runs in a cuda
// cell and is another thing to trust.
const (
	Host     = "host"
	Python   = "python"
	CUDA     = "cuda"
	Launcher = "launcher"
)

var everywhere = []string{Host, Python, CUDA, Launcher}

// Outcome is what must come of a subject.
type Outcome string

// The outcomes. Each is the least that will do: a subject that is to be suspicious
// may be caught as well, and a defused one too. A cheat that ends as a clean improvement
// would move the baseline: only an open one may.
const (
	Caught     Outcome = "caught"
	Suspicious Outcome = "suspicious"
	Defused    Outcome = "defused" // the trick never applies: every launch that counts does all of its work, and is right
	Open       Outcome = "open"    // known to be missed: docs/integrity.md says so, and Why how much it gains
	Pass       Outcome = "pass"    // an honest control: nothing may be said against it
)

// Subject is a kernel of the corpus, and what must come of it.
type Subject struct {
	Kind     string
	Kernel   string
	Honest   string // the kernel of the corpus that the base has under its name
	Exploit  string // its name in docs/integrity.md; "" for a control
	Research []int  // numbers of the exploit in docs/integrity.md's list
	Expect   Outcome
	By       []string // findings, causes and verdicts of which one at least must be named
	Needs    string   // what a machine must have for it: torch, torch-gpu, cublas, roof
	Drawn    bool     // what catches it is drawn: it gets past once in a hundred checks, and is then tried once more
	Why      string
}

// What may catch a cheat: verdicts and causes of package result, and findings.
const (
	wrong     = "incorrect"        // an answer outside of its tolerance
	stale     = "stale-output"     // the answer to earlier data
	counted   = "host-bound"       // its time on the host is in its samples
	timed     = "timed-only"       // right when looked at, wrong when timed
	input     = "modified-input"   // what may only be read has changed
	output    = "output"           // what came back is not what pawl.yaml says
	blank     = "no effect"        // nothing was written
	bounds    = "out of bounds"    // a red zone has changed
	crashed   = "crash"            //
	exited    = "exit"             //
	late      = "late-work"        // threads of its own, or outputs that change after the end
	stream    = "side-stream"      // work past the stream that is timed
	forged    = "forged"           // claims that the worker's clock or the protocol contradicts
	tampered  = "tampered-cell"    // functions of the cell are not the cell's
	clocks    = "clock-mismatch"   // clocks that should agree do not
	repeats   = "skips-repeats"    // a second launch on the same data takes next to no time
	attempts  = "sandbox-attempt"  // it tried what the sandbox refuses
	retained  = "retained-state"   // it leaves something behind for its next launch
	patched   = "incremental"      // it lives on its last answers
	cliff     = "speed-cliff"      // neighbouring shapes are several times slower
	sensitive = "insensitive"      // its output does not depend on its input
	varies    = "nondeterministic" // other bits from the same data, undeclared
	launches  = "device-launch"    // device code that launches
	kernels   = "foreign-kernels"  // kernels ran that its source does not have
	pinned    = "persisting-l2"    // lines that a flush does not evict
	roofed    = "over roof"        // faster than the device can be
	blocked   = "timeout"          //
	threads   = "threads"          //
	helped    = "helper-thread"    // its processors work longer than its threads can
	unloaded  = "no entry"         //
	refused   = "launch"           //
	uncompile = "compile"          //
)

// Subjects is the whole corpus but its mutants.
func Subjects() []Subject {
	var all []Subject
	for _, part := range [][]Subject{hostSubjects, pythonSubjects, cudaSubjects, launcherSubjects} {
		all = append(all, part...)
	}
	return all
}
