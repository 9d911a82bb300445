package judge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
)

func row(verdict result.Verdict, reasons ...result.Reason) *result.Row {
	return &result.Row{Verdict: verdict, Reasons: reasons}
}

var (
	killed  = &result.Row{Fault: fault(result.CauseKilled)}
	noBase  = &result.Row{Verdict: result.Incomparable, Sides: []*result.Side{{Role: result.Base, Row: &result.Row{Fault: fault(result.CauseCompile)}}}}
	suspect = &result.Row{Verdict: result.Improvement, Verification: &result.Verification{Passed: 1, Integrity: result.Suspicious}}
	lostRow = &result.Row{Verdict: result.Incomparable, Sides: []*result.Side{{Role: result.Best, Row: &result.Row{Fault: fault(result.CauseCompile)}}}}
)

// A failure outweighs a row that could not be judged, which outweighs an undecided one.
func TestOutcome(t *testing.T) {
	passed := &result.Row{Verification: &result.Verification{Passed: 3}}
	untried := &result.Row{Kernel: "scale", Verdict: result.Inconclusive, Verification: &result.Verification{Passed: 4, Skipped: 6}}
	unknown := &result.Row{Fault: fault(result.CauseOracle)}
	for _, test := range []struct {
		kind   result.Kind
		rows   []*result.Row
		result result.Ending
		reason string
	}{
		{result.KindBench, []*result.Row{{}, {}}, result.Passed, ""},
		{result.KindBench, []*result.Row{{}, killed, row(result.Broken)}, result.Failed, "1 kernel config failed"},
		{result.KindBench, []*result.Row{row(result.Rejected), row(result.Incorrect)}, result.Failed, "2 kernel configs failed"},
		{result.KindBench, []*result.Row{{}, killed}, result.Unjudged, "1 kernel config could not be measured"},
		{result.KindBench, nil, result.Unjudged, "0 kernel configs could not be measured"},

		{result.KindCheck, []*result.Row{row(result.Maintained), row(result.New), row(result.Unchanged)}, result.Passed, ""},
		{result.KindCheck, []*result.Row{{Plan: "duet"}}, result.Passed, ""},
		{result.KindCheck, []*result.Row{row(result.Regression, result.Accepted)}, result.Passed, ""},
		{result.KindCheck, []*result.Row{row(result.Broken), row(result.Regression), row(result.Regression), killed, row(result.Inconclusive)}, result.Failed, "gate failed: 1 config broken, 2 regressions"},
		{result.KindCheck, []*result.Row{row(result.Maintained), killed, row(result.Inconclusive)}, result.Unjudged, "1 kernel config could not be judged"},
		{result.KindCheck, []*result.Row{noBase, killed, lostRow}, result.Unjudged, "2 kernel configs could not be judged"},
		{result.KindCheck, nil, result.Unjudged, "0 kernel configs could not be judged"},
		{result.KindCheck, []*result.Row{lostRow, row(result.Inconclusive), row(result.Improvement)}, result.Undecided, "2 kernel configs could not be decided"},
		{result.KindCheck, []*result.Row{row(result.Maintained), suspect}, result.Undecided, "1 kernel config is suspicious"},
		{result.KindCheck, []*result.Row{suspect, row(result.Inconclusive), suspect}, result.Undecided, "1 kernel config could not be decided, 2 kernel configs are suspicious"},
		{result.KindCheck, []*result.Row{suspect, row(result.Broken)}, result.Failed, "gate failed: 1 config broken"},

		{result.KindCompare, []*result.Row{row(result.Maintained), row(result.New)}, result.Passed, ""},
		{result.KindCompare, []*result.Row{row(result.Regression), row(result.Incomparable)}, result.Failed, "1 regression"},
		{result.KindCompare, []*result.Row{row(result.New), {}}, result.Unjudged, "the files have no benchmark in common"},
		{result.KindCompare, []*result.Row{row(result.Inconclusive), row(result.Incomparable)}, result.Undecided, "2 benchmarks undecided, 1 of them incomparable"},
		{result.KindCompare, []*result.Row{row(result.Inconclusive)}, result.Undecided, "no significant difference in 1 benchmark"},

		{result.KindCompare, []*result.Row{row(result.Inconclusive), row(result.Improvement)}, result.Undecided, "no significant difference in 1 benchmark"},
		{result.KindCompare, []*result.Row{row(result.Improvement), row(result.Maintained)}, result.Passed, ""},
		{result.KindCompare, []*result.Row{row(result.Maintained), row(result.Unchanged)}, result.Passed, ""},

		{result.KindFuzz, []*result.Row{passed}, result.Passed, ""},
		{result.KindFuzz, []*result.Row{suspect}, result.Passed, ""},
		{result.KindFuzz, []*result.Row{{Verification: &result.Verification{Passed: 1}}}, result.Passed, ""},
		{result.KindFuzz, []*result.Row{passed, row(result.Incorrect)}, result.Failed, "1 kernel gives wrong answers"},
		{result.KindFuzz, []*result.Row{passed, row(result.Broken)}, result.Failed, "1 kernel is broken"},
		{result.KindFuzz, []*result.Row{row(result.Broken), row(result.Broken), unknown}, result.Failed, "2 kernels are broken"},
		{result.KindFuzz, []*result.Row{row(result.Rejected)}, result.Failed, "1 kernel is rejected"},
		{result.KindFuzz, []*result.Row{row(result.Broken), row(result.Incorrect), row(result.Incorrect)}, result.Failed, "2 kernels give wrong answers, 1 kernel is broken"},
		{result.KindFuzz, []*result.Row{passed, untried}, result.Undecided, "nothing that pawl.yaml asks for was tried of scale: every such case was skipped"},
		{result.KindFuzz, []*result.Row{untried, row(result.Incorrect)}, result.Failed, "1 kernel gives wrong answers"},
		{result.KindFuzz, []*result.Row{passed, unknown}, result.Unjudged, "1 kernel could not be judged"},
		{result.KindFuzz, []*result.Row{{Verification: &result.Verification{Skipped: 3}}}, result.Undecided, "no case could be tried"},
	} {
		got := Outcome(&result.Report{Kind: test.kind, Rows: test.rows})
		if got.Result != test.result || len(got.Reasons) > 0 && test.reason == "" || strings.Join(got.Reasons, "; ") != test.reason {
			t.Errorf("%s: %s %q, want %s %q", test.kind, got.Result, got.Reasons, test.result, test.reason)
		}
		stopped := Outcome(&result.Report{Kind: test.kind, Rows: test.rows, Interrupted: true})
		if stopped.Result != result.Interrupted || !strings.HasPrefix(stopped.Reasons[0], "interrupted: ") {
			t.Errorf("%s: interrupted, and the outcome is %s %q", test.kind, stopped.Result, stopped.Reasons)
		}
	}
}

func TestOutcomeOfASelftest(t *testing.T) {
	for want, totals := range map[string]result.Selftest{
		"passed ":                                  {Caught: 3, ControlsPassed: 2, Mutants: 4, MutantsKilled: 4},
		"failed 2 cheats were missed":              {Missed: 2, ControlsFailed: 1},
		"failed 1 honest kernel was refused":       {ControlsFailed: 1, Mutants: 1},
		"failed 3 planted mistakes were not found": {Mutants: 4, MutantsKilled: 1},
		"unjudged nothing could be tried here":     {Skipped: 9},
	} {
		got := Outcome(&result.Report{Kind: result.KindSelftest, Selftest: &totals})
		if said := string(got.Result) + " " + strings.Join(got.Reasons, "; "); said != want {
			t.Errorf("%s, want %s", said, want)
		}
	}
}

// Whatever was tried, something was.
func TestOutcomeOfAShortSelftest(t *testing.T) {
	for _, totals := range []result.Selftest{
		{Caught: 1, Suspicious: 1},
		{Suspicious: 1, Defused: 1},
		{Defused: 1, Open: 1},
		{Open: 1, ControlsPassed: 1},
		{ControlsPassed: 1, Mutants: 1, MutantsKilled: 1},
	} {
		if got := Outcome(&result.Report{Kind: result.KindSelftest, Selftest: &totals}); got.Result != result.Passed {
			t.Errorf("%+v: %s %q", totals, got.Result, got.Reasons)
		}
	}
}

func TestVerdictsAreCounted(t *testing.T) {
	got := Outcome(&result.Report{Kind: result.KindCheck, Rows: []*result.Row{row(result.New), row(result.Regression), row(result.New), killed}})
	if diff := cmp.Diff(map[result.Verdict]int{result.New: 2, result.Regression: 1}, got.Verdicts); diff != "" {
		t.Error(diff)
	}
}

func TestSuspiciousRowsAreCounted(t *testing.T) {
	for _, kind := range []result.Kind{result.KindCheck, result.KindFuzz} {
		if got := Outcome(&result.Report{Kind: kind, Rows: []*result.Row{suspect, row(result.New), suspect}}); got.Suspicious != 2 {
			t.Errorf("%s: %d rows are counted as suspicious, want 2", kind, got.Suspicious)
		}
	}
}

func TestOfFault(t *testing.T) {
	for cause, want := range map[result.Cause]result.Verdict{
		result.CauseForged: result.Rejected, result.CauseCheat: result.Rejected, result.CauseOverRoof: result.Rejected, result.CauseWrong: result.Incorrect,
		result.CauseCrash: result.Broken, result.CauseTimeout: result.Broken, result.CauseCompile: result.Broken, result.CauseMemory: result.Broken,
		result.CauseKilled: "", result.CauseProtocol: "", result.CauseOracle: "", result.CauseNoOracle: "", result.CauseInterrupted: "", result.CauseInternal: "", result.CauseUnsupported: "",
	} {
		if got := OfFault(fault(cause)); got != want {
			t.Errorf("%s: %q, want %q", cause, got, want)
		}
	}
}
