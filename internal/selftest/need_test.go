package selftest

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

// A subject whose need the machine lacks is skipped with the reason; otherwise it is judged, and a
// cheat that gets through is missed all the same.
func TestNeeds(t *testing.T) {
	roofed := func(percent float64) *result.Row {
		return &result.Row{Kernel: "k", Timing: &result.Timing{Stats: result.Stats{RoofPct: percent}}}
	}
	over := roofed(140)
	over.Verdict, over.Fault = result.Rejected, &result.Fault{Stage: "measure", Cause: result.CauseOverRoof}
	wrongToo := roofed(0)
	wrongToo.Verdict = result.Incorrect
	ran := func(kernels ...string) *result.Row {
		return &result.Row{Kernel: "k", Verification: &result.Verification{Integrity: result.Clean, Kernels: kernels}}
	}
	caught := ran("gemm_tiles", "cutlass_80_simt_sgemm")
	caught.Verification.Integrity = result.Suspicious
	caught.Verification.Findings = []result.Finding{{Exploit: kernels, Severity: result.Suspicious}}
	broken := func(output string) *result.Row {
		return &result.Row{
			Kernel: "k", Verdict: result.Broken, Fault: &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: "nvcc exited with status 1"},
			Build: &result.Build{Output: output},
		}
	}
	inflated := Subject{Kernel: "k", Expect: Caught, By: []string{string(result.CauseOverRoof)}, Needs: needsRoof}
	library := Subject{Kernel: "k", Expect: Suspicious, By: []string{kernels}, Needs: needsCuBLAS}
	aside := Subject{Kernel: "k", Expect: Suspicious, By: []string{stream}, Needs: needsTorchGPU}
	joined := Subject{Kernel: "k", Expect: Pass, Needs: needsTorchGPU}
	cached := Subject{Kernel: "k", Expect: Caught, By: []string{stale}, Needs: needsTorch}
	crash := &result.Row{Kernel: "k", Verdict: result.Broken, Fault: &result.Fault{Stage: "verify", Cause: result.CauseCrash, Message: "the function raised RuntimeError"}}
	missing := &result.Row{Kernel: "k", Fault: &result.Fault{Stage: "load", Cause: result.CauseUnsupported, Message: "python3 has no torch"}}
	gpu := &result.GPU{Name: "NVIDIA H200"}
	for _, test := range []struct {
		name    string
		subject Subject
		row     *result.Row
		gpu     *result.GPU
		outcome string
		why     string
	}{
		{"no peaks", inflated, roofed(0), gpu, "skipped", "pawl calibrate --roofline"},
		{"no timing", inflated, &result.Row{Kernel: "k"}, gpu, "skipped", "pawl calibrate --roofline"},
		{"under the roof", inflated, roofed(60), gpu, "missed", ""},
		{"over the roof", inflated, over, gpu, "caught", ""},
		{"fails otherwise", inflated, wrongToo, gpu, "missed", ""},
		{"no library to link", library, broken("/usr/bin/ld: cannot find -lcublas"), gpu, "skipped", "cuBLAS is missing: nvcc exited"},
		{"another mistake", library, broken("patch.cu(3): error"), gpu, "missed", ""},
		{"no library to load", library, ran("gemm_tiles"), gpu, "skipped", "cuBLAS cannot be loaded"},
		{"its kernels are not known", library, ran(), gpu, "missed", ""},
		{"the library's kernel, unseen", library, ran("cutlass_80_simt_sgemm"), gpu, "missed", ""},
		{"the library's kernel", library, caught, gpu, "suspicious", ""},
		{"no GPU, a cheat", aside, crash, nil, "skipped", "no GPU"},
		{"no GPU, a control", joined, crash, nil, "skipped", "no GPU"},
		{"neither a GPU nor PyTorch", aside, missing, nil, "skipped", "has no torch"},
		{"a GPU, a cheat", aside, crash, gpu, "missed", ""},
		{"a GPU, a control", joined, crash, gpu, "failed", ""},
		{"PyTorch alone is enough", cached, crash, nil, "missed", ""},
	} {
		s := &selftest{report: &result.Report{Selftest: &result.Selftest{}}}
		s.judge(test.subject, evidenceOf("k", &result.Report{Machine: result.Fingerprint{GPU: test.gpu}, Rows: []*result.Row{test.row}}))
		got := s.report.Selftest.Subjects[0]
		if got.Outcome != test.outcome || !strings.Contains(got.Why, test.why) {
			t.Errorf("%s: %s (%s), want %s (%s)", test.name, got.Outcome, got.Why, test.outcome, test.why)
		}
	}
}

// Every need is one that the code checks.
func TestNeedsAreKnown(t *testing.T) {
	for _, s := range Subjects() {
		switch s.Needs {
		case "", needsTorch, needsTorchGPU, needsRoof, needsCuBLAS:
		default:
			t.Errorf("%s/%s needs %s", s.Kind, s.Kernel, s.Needs)
		}
	}
}

func TestPatterns(t *testing.T) {
	for pattern, want := range map[string]bool{
		Host: true, "cuda/cache_*": true, "host/attention_mutant": true, "*/softmax": true,
		"": false, "ho": false, "cuda/": false, "launcher/attention_mutant": false, "host/[": false,
	} {
		if Known(pattern) != want {
			t.Errorf("%q: %v", pattern, !want)
		}
	}
	if wanted([]string{"python/torch_*"}, Python, "softmax") || !wanted([]string{"host", "python/torch_*"}, Python, "torch_softmax") || !wanted(nil, CUDA, "race") {
		t.Error("patterns choose others")
	}
}
