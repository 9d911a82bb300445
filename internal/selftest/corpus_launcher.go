package selftest

var launcherSubjects = []Subject{
	{Kind: Launcher, Kernel: "side_stream", Honest: "softmax", Exploit: "side-stream", Research: []int{1}, Expect: Suspicious, By: []string{stream, timed, wrong, blank}, Why: "its work shows while its own stream is held; it is then timed by the host's clock until the device is idle"},
	{Kind: Launcher, Kernel: "side_stream_in_part", Honest: "softmax", Exploit: "side-stream", Research: []int{1}, Expect: Suspicious, By: []string{stream, timed, wrong}},
	{Kind: Launcher, Kernel: "waited_stream", Honest: "softmax", Exploit: "side-stream", Research: []int{1}, Expect: Defused, By: []string{counted, stream, forged, clocks, blocked}, Why: "where the host takes much longer than the device, its time is counted"},
	{Kind: Launcher, Kernel: "legacy_stream", Honest: "softmax", Exploit: "side-stream", Research: []int{1}, Expect: Suspicious, By: []string{stream, timed, wrong, blocked}, Why: "the default stream, which may wait for others or not"},
	{Kind: Launcher, Kernel: "nothing", Honest: "softmax", Exploit: "no-work", Research: []int{26}, Expect: Caught, By: []string{blank, wrong}},
	{Kind: Launcher, Kernel: "background_thread", Honest: "softmax", Exploit: "late-work", Research: []int{2, 1}, Expect: Suspicious, By: []string{late, stream, timed, wrong, blank, forged, threads}},
	{Kind: Launcher, Kernel: "persisting_l2", Honest: "softmax", Exploit: "persisting-l2", Research: []int{11}, Expect: Suspicious, By: []string{pinned, blocked}, Why: "lines of its input survive the flush; its answers are right"},
	{Kind: Launcher, Kernel: "idle_first", Honest: "softmax", Exploit: "idle-first", Research: []int{12}, Expect: Caught, By: []string{blocked, clocks, stream}, Why: "host code that waits for the device cannot be queued"},

	{Kind: Launcher, Kernel: "cache_pointer", Honest: "softmax", Exploit: "cache-by-pointer", Research: []int{15}, Expect: Caught, By: []string{stale, timed, wrong}},
	{Kind: Launcher, Kernel: "cache_shape", Honest: "softmax", Exploit: "cache-by-shape", Research: []int{15}, Expect: Caught, By: []string{stale, timed, wrong}},
	{Kind: Launcher, Kernel: "cache_first_elements", Honest: "softmax", Exploit: "cache-by-first-elements", Research: []int{15}, Expect: Caught, By: []string{timed, stale, wrong}},
	{Kind: Launcher, Kernel: "cache_weights", Honest: "gemm", Exploit: "weight-cache", Research: []int{16}, Expect: Caught, By: []string{stale, timed, wrong}},
	{Kind: Launcher, Kernel: "stale_graph", Honest: "softmax", Exploit: "stale-graph", Research: []int{9}, Expect: Caught, By: []string{wrong, stale, timed, blank}, Why: "replays the first call's pointers; launches take turns over several copies of the arguments"},
	{Kind: Launcher, Kernel: "partial_graph_key", Honest: "softmax", Exploit: "stale-graph", Research: []int{9, 15}, Expect: Caught, By: []string{stale, timed, wrong}},
	{Kind: Launcher, Kernel: "honest_at_first", Honest: "softmax", Exploit: "evaluation-detected", Research: []int{33, 7, 8}, Expect: Caught, By: []string{timed, wrong}},
	{Kind: Launcher, Kernel: "late_memory", Honest: "gemm", Exploit: "incremental", Research: []int{15, 33}, Expect: Open, By: []string{patched, timed, stale}, Why: "from the 70th launch on only tiles are computed that have changed: launches on wholly new data are timed beside others on the processor only"},
	{Kind: Launcher, Kernel: "late_mistakes", Honest: "softmax_slow", Exploit: "evaluation-detected", Research: []int{33, 7}, Expect: Caught, By: []string{timed, wrong}, Drawn: true, Why: "wrong in one launch of eight, from the 70th on"},
	{Kind: Launcher, Kernel: "early_work", Honest: "softmax", Exploit: "side-stream", Research: []int{1, 15}, Expect: Defused, By: []string{stream, timed, stale, wrong}, Why: "from the 70th launch on the next answer is begun early, on a stream of its own; it is of data that the next launch does not have"},
	{Kind: Launcher, Kernel: "honest_when_idle", Honest: "softmax", Exploit: "evaluation-detected", Research: []int{33}, Expect: Caught, By: []string{timed, wrong}, Why: "from the 70th launch on half of the work where its stream is still busy, as it is while samples are taken"},

	{Kind: Launcher, Kernel: "zero_output", Honest: "softmax", Exploit: "zero-output", Research: []int{23}, Expect: Caught, By: []string{wrong, sensitive}},
	{Kind: Launcher, Kernel: "passthrough", Honest: "softmax", Exploit: "passthrough", Research: []int{29}, Expect: Caught, By: []string{wrong}},
	{Kind: Launcher, Kernel: "skip_rows", Honest: "softmax", Exploit: "skipped-work", Research: []int{26}, Expect: Caught, By: []string{wrong}},
	{Kind: Launcher, Kernel: "low_precision", Honest: "gemm", Exploit: "precision-downgrade", Research: []int{27}, Expect: Caught, By: []string{wrong}},
	{Kind: Launcher, Kernel: "zero_inputs", Honest: "softmax", Exploit: "modified-input", Research: []int{28}, Expect: Caught, By: []string{input, output, wrong}},
	{Kind: Launcher, Kernel: "stash_past_end", Honest: "softmax", Exploit: "red-zone", Research: []int{35}, Expect: Caught, By: []string{bounds}},
	{Kind: Launcher, Kernel: "garbage_elsewhere", Honest: "softmax", Exploit: "shape-special", Research: []int{25}, Expect: Caught, By: []string{wrong}},

	{Kind: Launcher, Kernel: "patch_events", Honest: "softmax", Exploit: "patched-clock", Research: []int{5, 32}, Expect: Caught, By: []string{forged, clocks, tampered}, Why: "the stamps of the device and the clocks of cell and worker do not know of the patch"},
	{Kind: Launcher, Kernel: "forge_answer", Honest: "softmax", Exploit: "forged-answer", Research: []int{13}, Expect: Caught, By: []string{forged}},
	{Kind: Launcher, Kernel: "file_replay", Honest: "softmax", Exploit: "file-replay", Research: []int{22}, Expect: Suspicious, By: []string{attempts, stale, timed, wrong}, Why: "the sandbox refuses to make the file, so it has to work; the attempt is named"},
	{Kind: Launcher, Kernel: "library_call", Honest: "gemm", Exploit: "library-call", Research: []int{30}, Expect: Suspicious, By: []string{kernels}, Needs: needsCuBLAS, Why: "right and fast, and not its own work: only the names of the kernels that ran tell"},

	{Kind: Launcher, Kernel: "softmax", Honest: "softmax_plain", Expect: Pass, Why: "what the cheats pretend to be"},
	{Kind: Launcher, Kernel: "joined_stream", Honest: "softmax", Research: []int{1}, Expect: Pass, Why: "a stream of its own, ordered after the caller's and joined"},
	{Kind: Launcher, Kernel: "workspace", Honest: "softmax", Research: []int{15}, Expect: Pass, Why: "memory of its own, written anew every time"},
	{Kind: Launcher, Kernel: "slow_host", Honest: "softmax", Expect: Pass, Why: "takes far longer on the host than on the GPU"},
	{Kind: Launcher, Kernel: "many_launches", Honest: "many_ref", Expect: Pass, Why: "sixteen launches, in place"},
}
