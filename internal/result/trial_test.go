package result

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTrialMeans(t *testing.T) {
	two := &Trial{On: []TrialConfig{{Config: "a", MedianS: 1e-6, Joules: 2}, {Config: "b", MedianS: 4e-6}}}
	for name, test := range map[string]struct{ got, want float64 }{
		"geometric mean of times":  {two.Seconds(2), 2e-6},
		"not on all configs":       {two.Seconds(3), 0},
		"energy of one is missing": {two.Joules(2), 0},
		"nothing measured":         {(&Trial{}).Seconds(0), 0},
		"no number":                {(&Trial{On: []TrialConfig{{MedianS: math.NaN()}}}).Seconds(1), 0},
		"endless":                  {(&Trial{On: []TrialConfig{{MedianS: math.Inf(1)}}}).Seconds(1), 0},
	} {
		if math.Abs(test.got-test.want) > 1e-12*test.want {
			t.Errorf("%s: %g, want %g", name, test.got, test.want)
		}
	}
}

func TestTrialStatus(t *testing.T) {
	for status, want := range map[TrialStatus][2]bool{ // measured, failed
		TrialOK: {true, false}, TrialCut: {false, false}, TrialSame: {false, false}, TrialUnfit: {false, false}, TrialLost: {false, false},
		TrialCompileError: {false, true}, TrialCompileTimeout: {false, true}, TrialResources: {false, true}, TrialLaunchError: {false, true},
		TrialWrong: {false, true}, TrialTimeout: {false, true}, TrialCrash: {false, true}, TrialRejected: {false, true},
	} {
		trial := &Trial{Status: status, Cost: 1}
		if got := [2]bool{trial.Measured(), trial.Failed()}; got != want {
			t.Errorf("%s: %v, want %v", status, got, want)
		}
	}
}

func TestTuningFinds(t *testing.T) {
	today, other := &Trial{N: 2, Params: map[string]string{"A": "1", "B": "2"}}, &Trial{N: 1, Params: map[string]string{"A": "1", "B": "4"}}
	wrong, right := &Finalist{Trial: 1, Fault: &Fault{}}, &Finalist{Trial: 2}
	made := &Tuning{
		Space:  Space{Params: []SpaceParam{{Name: "A", Default: "1"}, {Name: "B", Default: "2"}}},
		Trials: []*Trial{other, today}, Finalists: []*Finalist{wrong, right},
	}
	if got := made.Default(); got != today {
		t.Errorf("today's defaults: %+v", got)
	}
	if got := made.Trial(1); got != other {
		t.Errorf("trial 1: %+v", got)
	}
	if got := made.Winner(); got != right {
		t.Errorf("winner: %+v", got)
	}
	made.Trials, made.Finalists = made.Trials[:1], made.Finalists[:1]
	if made.Default() != nil || made.Trial(2) != nil || made.Winner() != nil {
		t.Error("what is not there is found")
	}
	if today.Is(map[string]string{"A": "1"}) || !today.Is(map[string]string{"B": "2", "A": "1"}) {
		t.Error("params are compared in part")
	}
}

// A search comes back from JSON as it was.
func TestTuningRoundTrip(t *testing.T) {
	want := &Report{Schema: Schema, Kind: KindTune, Rows: []*Row{}, Tuning: &Tuning{
		Kernel: "k", Configs: []string{"a"}, Space: Space{Params: []SpaceParam{{Name: "A", Values: []string{"1", "2"}, Default: "1"}}, Cartesian: 2, Size: 2, Exact: true},
		Strategy: "portfolio", Objective: "both", Over: "mean", BudgetS: 60, SpentS: 61, Ended: "budget", Warm: []string{"an earlier run"},
		Trials: []*Trial{
			{N: 1, Params: map[string]string{"A": "1"}, Status: TrialOK, Cost: 1e-6, On: []TrialConfig{{Config: "a", MedianS: 1e-6, Low: 9e-7, High: 1.1e-6, Samples: 12, Joules: 1e-3}}, AtS: 1},
			{N: 2, Params: map[string]string{"A": "2"}, Status: TrialCompileError, Fault: &Fault{Stage: "build", Cause: CauseCompile, Message: "no"}, AtS: 2},
		},
		Finalists: []*Finalist{{Trial: 1, Params: map[string]string{"A": "1"}, Changes: map[string]*Change{"a": {Median: -0.1}}, Overall: -0.1}},
		Picks:     []*Pick{{Config: "a", Trial: 1, Gain: 0.05}},
		Effects:   []Effect{{Param: "A", Share: 0.5, Values: []EffectValue{{Value: "1", Trials: 1, Best: 1e-6, Median: 1e-6}}}},
		Front:     []int{1}, DeviceBusyS: 3, Workers: 1,
	}}
	raw, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
