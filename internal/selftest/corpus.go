// Package selftest tries pawl on kernels that cheat, on honest ones that look like
// it, and on kernels with one planted mistake.
package selftest

// Cell kinds of the corpus: the names of its folders. A launcher runs in a cuda
// cell and is another thing to trust.
const (
	Host     = "host"
	Python   = "python"
	CUDA     = "cuda"
	Launcher = "launcher"
)

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

// Gap says why an exploit of the research has no subject in some cell kinds.
type Gap struct {
	Research int
	Kinds    []string
	Why      string
}

var (
	everywhere = []string{Host, Python, CUDA, Launcher}
	compiled   = []string{Host, CUDA, Launcher}
)

// Gaps are the exploits that cannot be tried, or that would be another subject
// again. A test holds that every exploit is a subject or a gap in every kind.
var Gaps = []Gap{
	{1, []string{Host}, "a processor has no streams; threads are number 2"},
	{2, []string{CUDA}, "device code only: nothing of the author's runs on the host"},
	{3, []string{CUDA, Launcher}, "outputs are pawl's own buffers, and plain memory that the device writes"},
	{4, compiled, "nothing is looked up by name when a sample is taken; patching machine code is number 5"},
	{5, []string{Python}, "the same instructions through ctypes as host/patch_clock, contradicted by the same clock"},
	{5, []string{CUDA}, "device code only"},
	{6, []string{Launcher}, "the same device code as cuda/skip_when_done"},
	{9, []string{Host, CUDA}, "no graphs on a processor; pawl makes those of device code itself, from the launches that pawl.yaml lists"},
	{10, everywhere, "there is no score over several configs: every row is judged by itself"},
	{11, []string{Python}, "no framework offers it; through ctypes it is launcher/persisting_l2"},
	{12, []string{Python, CUDA}, "a wait is inside the clock, sides take turns, and the clock of every sample is recorded; a slower base gains nothing for code that does not run there"},
	{13, []string{CUDA}, "device code reaches no descriptor"},
	{14, []string{CUDA}, "device code reaches no memory of the process; what lies on the device is cuda/scan_memory"},
	{14, []string{Launcher}, "as host/forge_with_stolen_id"},
	{16, []string{CUDA}, "device globals are restored before every sample: cuda/cache_pointer"},
	{17, []string{Launcher}, "the reference never runs in that process: cuda/scan_memory finds nothing either"},
	{18, []string{Launcher}, "as cuda/scan_memory and host/scan_memory"},
	{19, []string{Launcher}, "the same device code as cuda/nan_output"},
	{20, []string{Host, Launcher}, "errors are counted in another process; what lies near is host/stash_past_end and cuda/zero_neighbours"},
	{21, []string{Python, Launcher}, "as host/known_seed: the seed is drawn anew for every run"},
	{22, []string{CUDA}, "device code opens no files"},
	{24, []string{Python, Launcher}, "as host/assume_mean, host/assume_equal_rows and cuda/assume_mean"},
	{30, []string{Host, CUDA}, "host libraries are linked by the flags of pawl.yaml; a cubin holds all that it runs"},
	{30, []string{Python}, "Python functions are made of libraries; what they gain over one is what --against shows"},
	{31, compiled, "the comparison is another process's"},
	{32, []string{CUDA}, "device code only"},
	{34, []string{Host, Python}, "no shared memory; stacks and heaps hold what the process itself left there"},
	{34, []string{Launcher}, "the same device code as cuda/uninitialised_shared"},
	{36, []string{CUDA, Launcher}, "loading knows neither data nor sizes, and the seed is secret; what depends on sizes alone may be kept (python/weigh)"},
	{37, everywhere, "nothing is judged by reading its source"},
	{38, []string{Host, Python, Launcher}, "the same check as for cuda/inflated_work, where the machine's roof is known"},
	{39, []string{Host, CUDA, Launcher}, "nothing of the harness can be read from a cell: test/system reads files and environment, and is refused"},
	{40, everywhere, "findings are measurements; nothing guesses"},
}
