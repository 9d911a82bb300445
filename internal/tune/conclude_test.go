package tune

import (
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// A search that suggests nothing says why, in the words of what happened.
func TestNoSuggestion(t *testing.T) {
	today := &result.Trial{N: 1, Params: map[string]string{"A": "1"}, Status: result.TrialOK, Cost: 1}
	fast := &result.Trial{N: 2, Params: map[string]string{"A": "2"}, Status: result.TrialOK, Cost: 0.5}
	wrong := &result.Trial{N: 1, Status: result.TrialWrong}
	stopped := &result.Finalist{Trial: 2, Fault: &result.Fault{Cause: result.CauseInterrupted, Message: "cancelled"}}
	crashed := &result.Finalist{Trial: 2, Fault: &result.Fault{Cause: result.CauseCrash, Message: "it crashed"}}
	for want, test := range map[string]struct {
		trials    []*result.Trial
		best      *result.Trial
		finalists []*result.Finalist
	}{
		"the search ended before anything was tried":                                         {},
		"the only setting that was tried does not work":                                      {[]*result.Trial{wrong}, nil, nil},
		"none of the 2 settings that were tried works":                                       {[]*result.Trial{wrong, wrong}, nil, nil},
		"only today's defaults were tried":                                                   {[]*result.Trial{today}, today, nil},
		"ended before the best could play against today's defaults: A=2 looked 50.0% faster": {[]*result.Trial{today, fast}, fast, []*result.Finalist{stopped}},
		"played in turns, none of the best is faster than today's defaults":                  {[]*result.Trial{today, fast}, fast, []*result.Finalist{{Trial: 2, Overall: 0.007}}},
		"no finalist could play to the end: it crashed":                                      {[]*result.Trial{today, fast}, fast, []*result.Finalist{crashed}},
	} {
		s := &tune{
			Options: Options{Objective: Time}, best: test.best, defaultsWork: test.best != nil, journal: &journal{}, report: &result.Report{},
			kernel: &spec.Kernel{Name: "k", Params: []*spec.Param{{Name: "A"}}}, tuning: &result.Tuning{Trials: test.trials, Finalists: test.finalists},
		}
		if s.conclude(); !strings.Contains(s.tuning.NoSuggestion, want) {
			t.Errorf("found %q, want %q", s.tuning.NoSuggestion, want)
		}
	}
}

// A compiler's fault names its first error.
func TestExplained(t *testing.T) {
	fault := &result.Fault{Cause: result.CauseCompile, Message: "cc exited with status 1 compiling k.c"}
	log := "k.c: In function 'k':\nk.c:1:8: error: 'foo' undeclared\nk.c:2:8: error: another\n"
	if got := explained(fault, log).Message; got != fault.Message+": k.c:1:8: error: 'foo' undeclared" {
		t.Error(got)
	}
	if got := explained(fault, "nothing"); got != fault {
		t.Error(got)
	}
}
