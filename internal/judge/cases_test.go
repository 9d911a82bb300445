package judge

import (
	"testing"

	"pawl/internal/result"
)

func TestOfCases(t *testing.T) {
	right, wrong := &result.Case{}, &result.Case{Reason: "differs"}
	crashed := &result.Case{Reason: "crashed", Fault: &result.Fault{Cause: result.CauseCrash}}
	for _, test := range []struct {
		cases   []*result.Case
		failed  int
		unasked bool
		want    result.Verdict
	}{
		{[]*result.Case{right}, 0, false, ""},
		{[]*result.Case{right}, 0, true, result.Inconclusive},
		{[]*result.Case{right, crashed}, 1, true, result.Broken},
		{[]*result.Case{crashed, wrong}, 2, true, result.Incorrect},
	} {
		if got := OfCases(&result.Verification{Cases: test.cases, Failed: test.failed}, test.unasked); got != test.want {
			t.Errorf("%d failed, unasked %t: %q, want %q", test.failed, test.unasked, got, test.want)
		}
	}
}
