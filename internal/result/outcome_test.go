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
		for strict, want := range map[bool]bool{false: test.plain, true: test.strict} {
			r := &Report{Kind: test.kind, Outcome: &Outcome{Result: test.ending, Strict: strict}}
			if r.Passes() != want {
				t.Errorf("%s %s, strict %t: passes %t", test.kind, test.ending, strict, r.Passes())
			}
		}
	}
	if (&Report{Kind: KindCheck}).Passes() {
		t.Error("a run without an outcome passes")
	}
}
