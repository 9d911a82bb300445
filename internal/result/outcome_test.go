package result

import "testing"

func TestPasses(t *testing.T) {
	for _, test := range []struct {
		kind          Kind
		ending        Ending
		plain, strict bool
	}{
		{KindCheck, Passed, true, true},
		{KindCheck, Undecided, true, false},
		{KindCheck, Failed, false, false},
		{KindCheck, Unjudged, false, false},
		{KindCheck, Interrupted, false, false},
		{KindFuzz, Undecided, false, false},
		{KindCompare, Undecided, false, false},
		{KindBench, Passed, true, true},
	} {
		r := &Report{Kind: test.kind, Outcome: &Outcome{Result: test.ending}}
		if r.Passes(false) != test.plain || r.Passes(true) != test.strict {
			t.Errorf("%s %s: %t, strict %t", test.kind, test.ending, r.Passes(false), r.Passes(true))
		}
	}
	if (&Report{Kind: KindCheck}).Passes(false) {
		t.Error("a run without an outcome passes")
	}
}
