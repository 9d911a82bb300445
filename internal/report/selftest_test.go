package report

import (
	"fmt"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/term"
)

// selftestSample returns a selftest on a machine without a GPU, where not all went well.
func selftestSample() *result.Report {
	subject := func(kind, role, name, exploit, outcome, by, why string) result.SelftestSubject {
		return result.SelftestSubject{Kind: kind, Role: role, Name: name, Exploit: exploit, Outcome: outcome, By: by, Why: why, Seconds: 0.8}
	}
	s := &result.Selftest{
		Caught: 4, Suspicious: 1, Defused: 1, Missed: 1, Open: 1, ControlsPassed: 2, ControlsFailed: 1, MutantsKilled: 299, Mutants: 300, Skipped: 7,
		Subjects: []result.SelftestSubject{
			subject("cuda", "cheat", "known_seed", "known-seed", "skipped", "", "this machine has no GPU"),
			subject("host", "control", "in_place", "", "passed", "", ""),
			subject("host", "cheat", "cache_pointer", "stale-output", "caught", "stale-output: other data at the same addresses", ""),
			subject("host", "cheat", "skip_rows", "skipped-work", "caught", "wrong answer", ""),
			subject("host", "cheat", "thread_after", "work-after-return", "suspicious", "worker's clock", "its own clock is 12% ahead"),
			subject("host", "cheat", "skip_when_done", "batch-and-skip", "defused", "", "several launches in one sample, or back to back, do the work of one; a poisoned output before every launch leaves it nothing to skip"),
			subject("host", "cheat", "patch_clock", "patched-clock", "missed", "", "the cell and the worker agree: 18.3 µs"),
			subject("host", "cheat", "helper_thread", "helper-thread", "open", "improvement (-43%)", "half of its work is another core's: 43% faster"),
			subject("host", "mutant", "drop_tile", "", "killed", "wrong answer in 16 of 256 tiles", ""),
			subject("host", "mutant", "half_scale", "", "survived", "", "max abs 1.9e-03 is within atol 2e-03"),
			subject("host", "control", "l2_resident", "", "failed", "over roof", "rejected: 108% of dram"),
			subject("python", "cheat", "forge_report", "forged-answers", "caught", "the worker's own hashes", ""),
			subject("python", "control", "torch_softmax", "", "passed", "", ""),
			subject("python", "cheat", "torch_stream", "other-stream", "skipped", "", "No module named 'torch'"),
		},
	}
	for i := range 5 {
		s.Subjects = append(s.Subjects, subject("cuda", "cheat", fmt.Sprintf("cheat_%d", i), "zero-output", "skipped", "", "this machine has no GPU"))
	}
	s.Subjects = append(s.Subjects, subject("launcher", "cheat", "side_stream", "other-stream", "caught", "work on other streams", ""))
	r := checkOf()
	r.Kind, r.Base, r.Command, r.Selftest, r.Machine.GPU = result.KindSelftest, nil, []string{"pawl", "selftest"}, s, nil
	return r
}

func TestSelftest(t *testing.T) {
	r := selftestSample()
	golden(t, "selftest_text", checkedText(t, r, term.Style{}))
	golden(t, "selftest_color", checkedText(t, r, term.Style{Color: true}))
	golden(t, "selftest_markdown", Markdown(r))
	golden(t, "selftest_html", styleSheet.ReplaceAllString(pageOf(t, r), "<style/>"))
	raw, err := CSV(r)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "selftest_csv", string(raw))
}

// Whole reasons are shown, unless nobody would read them.
func TestWholeReasons(t *testing.T) {
	r, end := selftestSample(), "leaves it nothing to skip"
	if text := checkedText(t, r, term.Style{}); !strings.Contains(text, end) {
		t.Errorf("a reason is cut:\n%s", text)
	}
	r.Selftest.Subjects[0].Why = strings.Repeat("long ", 1000)
	if text := checkedText(t, r, term.Style{}); strings.Contains(text, strings.Repeat("long ", 100)) {
		t.Error("a reason of 5000 characters is not cut")
	}
}

func TestSelftestTotals(t *testing.T) {
	for want, s := range map[string]result.Selftest{
		"31 caught, 2 suspicious, 3 defused, 0 missed · 12 of 12 controls pass · mutants 20/20 killed (100%)":            {Caught: 31, Suspicious: 2, Defused: 3, ControlsPassed: 12, MutantsKilled: 20, Mutants: 20},
		"0 caught, 0 suspicious, 0 defused, 1 missed · 1 of 2 controls pass · mutants 999/1000 killed (99%) · 3 skipped": {Missed: 1, ControlsPassed: 1, ControlsFailed: 1, MutantsKilled: 999, Mutants: 1000, Skipped: 3},
		"1 caught, 0 suspicious, 0 defused, 0 missed · 1 of 1 control pass · 2 open":                                     {Caught: 1, ControlsPassed: 1, Open: 2},
		"0 caught, 0 suspicious, 0 defused, 0 missed · 0 of 0 controls pass":                                             {},
	} {
		if got := selftestTotals(&s); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if healthy(&s) != (s.Caught > 0) {
			t.Errorf("%s is healthy: %v", want, healthy(&s))
		}
	}
}

// A report that does not sum up has its rows.
func TestSelftestOfRows(t *testing.T) {
	r := selftestSample()
	r.Selftest = nil
	r.Interrupted = true
	r.Rows = []*result.Row{{Kernel: "cache_pointer", Cell: "host", Plan: "cheat", Verdict: result.Rejected, Fault: &result.Fault{Cause: result.CauseCheat, Message: "stale"}}}
	for name, got := range map[string]string{"text": checkedText(t, r, term.Style{}), "markdown": strings.ReplaceAll(Markdown(r), `\_`, "_"), "html": pageOf(t, r)} {
		for _, want := range []string{"cache_pointer", "rejected: cheat", "interrupted", "stale"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
}
