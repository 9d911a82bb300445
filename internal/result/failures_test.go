package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFailures(t *testing.T) {
	of := func(status TrialStatus, message string) *Trial {
		trial := &Trial{Status: status}
		if message != "" {
			trial.Fault = &Fault{Message: message, Hint: "hint of " + message}
		}
		return trial
	}
	made := &Tuning{Trials: []*Trial{
		of(TrialCrash, ""), of(TrialOK, ""), of(TrialCompileError, "rare"), of(TrialCompileError, "often\n  so"), of(TrialUnfit, "no"),
		of(TrialCompileError, "often so"), of(TrialWrong, "a"), of(TrialWrong, "b"),
	}}
	want := []Failure{
		{Status: TrialCompileError, Trials: 3, Message: "often so", Hint: "hint of often\n  so", Said: 2},
		{Status: TrialWrong, Trials: 2, Message: "a", Hint: "hint of a", Said: 1},
		{Status: TrialCrash, Trials: 1, Said: 1},
	}
	got := made.Failures()
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Failure{}, "First")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got[0].First != made.Trials[3] {
		t.Errorf("the first with the commonest message: %+v", got[0].First)
	}
	if n := made.Count(TrialOK, TrialUnfit); n != 2 {
		t.Errorf("counted %d, want 2", n)
	}
}
