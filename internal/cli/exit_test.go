package cli

import (
	"testing"

	"pawl/internal/result"
)

// Only a check may pass with an undecided row, and only when it is not strict.
func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		kind   result.Kind
		ending result.Ending
		strict bool
		code   int
		says   string
	}{
		{result.KindCheck, result.Passed, true, exitOK, ""},
		{result.KindCheck, result.Failed, false, exitFailed, "why"},
		{result.KindCheck, result.Undecided, false, exitOK, ""},
		{result.KindCheck, result.Undecided, true, exitUndecided, "why"},
		{result.KindFuzz, result.Undecided, false, exitUndecided, "why"},
		{result.KindCompare, result.Undecided, false, exitUndecided, "why"},
		{result.KindBench, result.Unjudged, false, exitUnjudged, "why"},
		{result.KindBench, result.Interrupted, false, exitInterrupted, "why"},
	} {
		outcome := &result.Outcome{Result: test.ending, Strict: test.strict}
		if test.ending != result.Passed {
			outcome.Reasons = []string{"why"}
		}
		err := outcomeOf(&result.Report{Kind: test.kind, Outcome: outcome})
		said := ""
		if err != nil {
			said = err.Error()
		}
		if exitCode(err) != test.code || said != test.says {
			t.Errorf("%s %s, strict %t: %d %q, want %d %q", test.kind, test.ending, test.strict, exitCode(err), said, test.code, test.says)
		}
	}
}
