package selftest

// gap says why an exploit of the research has no subject in some cell kinds.
type gap struct {
	research int
	kinds    []string
	why      string
}

var compiled = []string{Host, CUDA, Launcher}

// gaps are the exploits that cannot be tried, or that would duplicate another subject. Every
// exploit is a subject or a gap in every kind.
var gaps = []gap{
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
