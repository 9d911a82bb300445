package judge

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

// A search passes when it did its work; it fails when no candidate worked, and is not judged when none
// could be tried.
func TestOutcomeOfASearch(t *testing.T) {
	n := 0
	of := func(value string, status result.TrialStatus, cost float64, message ...string) *result.Trial {
		n++
		trial := &result.Trial{N: n, Params: map[string]string{"A": value}, Status: status, Cost: cost}
		if len(message) > 0 {
			trial.Fault = &result.Fault{Message: message[0]}
		}
		return trial
	}
	today := of("1", result.TrialOK, 2)
	failing := of("3", result.TrialCompileError, 0, "error: no")
	for name, test := range map[string]struct {
		trials []*result.Trial
		ended  string
		why    string // NoSuggestion
		want   result.Ending
		reason string
	}{
		"found, or not":         {[]*result.Trial{today, of("2", result.TrialOK, 3), failing}, "budget", "none is faster", result.Passed, ""},
		"all are slow":          {[]*result.Trial{today, of("2", result.TrialCut, 9)}, "exhausted", "", result.Passed, ""},
		"today's fail":          {[]*result.Trial{of("1", result.TrialWrong, 0), of("2", result.TrialOK, 3)}, "exhausted", "", result.Passed, ""},
		"equal to today's":      {[]*result.Trial{today, of("2", result.TrialSame, 2)}, "exhausted", "", result.Passed, ""},
		"all fail":              {[]*result.Trial{of("1", result.TrialCrash, 0), failing, of("2", result.TrialCompileError, 0, "error: no")}, "exhausted", "", result.Failed, "every candidate failed: 2 × compile error (error: no)"},
		"all others fail":       {[]*result.Trial{today, failing, of("2", result.TrialLost, 0)}, "budget", "", result.Failed, "every candidate failed, and only today's defaults work: 1 × compile error (error: no)"},
		"equal to one that did": {[]*result.Trial{failing, of("4", result.TrialSame, 0)}, "budget", "", result.Failed, "every candidate failed: 1 × compile error (error: no)"},
		"all lost":              {[]*result.Trial{today, of("2", result.TrialLost, 0), of("3", result.TrialLost, 0)}, "budget", "", result.Unjudged, "nothing could be tried: the worker of 2 candidates ended"},
		"none fits":             {[]*result.Trial{of("2", result.TrialUnfit, 0)}, "exhausted", "", result.Unjudged, "nothing could be tried: this device can run none of the candidates"},
		"one point":             {[]*result.Trial{today}, "exhausted", "", result.Passed, ""},
		"only today's":          {[]*result.Trial{today}, "budget", "the budget ended", result.Unjudged, "nothing could be tried: the budget ended"},
		"nothing":               {nil, "budget", "", result.Unjudged, "nothing could be tried"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &result.Report{Kind: result.KindTune, Tuning: &result.Tuning{
				Space:  result.Space{Params: []result.SpaceParam{{Name: "A", Values: []string{"1", "2", "3", "4"}, Default: "1"}}},
				Trials: test.trials, Ended: test.ended, NoSuggestion: test.why,
			}}
			got := Outcome(r)
			if got.Result != test.want || strings.Join(got.Reasons, "; ") != test.reason {
				t.Errorf("%s %q, want %s %q", got.Result, got.Reasons, test.want, test.reason)
			}
			if r.Outcome = got; r.Passes() != (test.want == result.Passed) {
				t.Errorf("%s: passes %t", got.Result, r.Passes())
			}
		})
	}
	for _, test := range []struct {
		r    *result.Report
		want result.Ending
		says string
	}{
		{&result.Report{Kind: result.KindTune}, result.Unjudged, "no search"},
		{&result.Report{Kind: result.KindTune, Interrupted: true, Tuning: &result.Tuning{Trials: []*result.Trial{today}}}, result.Interrupted, "--resume"},
	} {
		if got := Outcome(test.r); got.Result != test.want || !strings.Contains(strings.Join(got.Reasons, ""), test.says) {
			t.Errorf("%s %q, want %s with %q", got.Result, got.Reasons, test.want, test.says)
		}
	}
}
