package selftest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
)

// The kind of a subject does not depend on its outcome.
func TestJudge(t *testing.T) {
	cheat := Subject{Kind: Host, Kernel: "cheat", Expect: Caught, By: []string{wrong}}
	control := Subject{Kind: Host, Kernel: "control", Expect: Pass}
	defused := Subject{Kind: Host, Kernel: "defused", Expect: Defused, By: []string{wrong}}
	timed := Subject{Kind: Host, Kernel: "timed", Expect: Defused, By: []string{counted}, Why: "its time is counted"}
	skipped, refused := evidence{skipped: "no GPU", names: []string{"unsupported"}}, evidence{failed: true, names: []string{wrong}}
	mutant, none := Mutant{Kind: Host, Number: 1, What: "wrong scale"}, Mutant{Kind: Host, What: "no mistake"}
	less := -0.3
	faster, doubted := evidence{improves: true, verdict: "improvement", change: &less}, evidence{improves: true, suspicious: true, verdict: "improvement", names: []string{patched}}
	open := Subject{Kind: Host, Kernel: "open", Expect: Open, By: []string{forged}, Why: "gains 30%"}
	remembers := Subject{Kind: Host, Kernel: "remembers", Expect: Suspicious, By: []string{patched}}
	var s selftest
	for _, test := range []struct {
		judge func()
		want  result.SelftestSubject
		total result.Selftest
	}{
		{func() { s.judge(cheat, refused) }, result.SelftestSubject{Name: "cheat", Role: "cheat", Outcome: "caught", By: wrong}, result.Selftest{Caught: 1}},
		{func() { s.judge(cheat, evidence{}) }, result.SelftestSubject{Name: "cheat", Role: "cheat", Outcome: "missed"}, result.Selftest{Missed: 1}},
		{func() { s.judge(cheat, skipped) }, result.SelftestSubject{Name: "cheat", Role: "cheat", Outcome: "skipped", Why: "no GPU"}, result.Selftest{Skipped: 1}},
		{func() { s.judge(control, evidence{}) }, result.SelftestSubject{Name: "control", Role: "control", Outcome: "passed"}, result.Selftest{ControlsPassed: 1}},
		{func() { s.judge(control, skipped) }, result.SelftestSubject{Name: "control", Role: "control", Outcome: "skipped", Why: "no GPU"}, result.Selftest{Skipped: 1}},
		{
			func() { s.judge(defused, evidence{}) },
			result.SelftestSubject{Name: "defused", Role: "cheat", Outcome: "defused", Why: "the trick has no effect: every timed launch does its work"},
			result.Selftest{Defused: 1},
		},
		{func() { s.judge(timed, evidence{}) }, result.SelftestSubject{Name: "timed", Role: "cheat", Outcome: "missed", Why: "its time is counted"}, result.Selftest{Missed: 1}},
		{
			func() { s.judge(timed, evidence{names: []string{counted}}) },
			result.SelftestSubject{Name: "timed", Role: "cheat", Outcome: "defused", By: counted, Why: "its time is counted"},
			result.Selftest{Defused: 1},
		},
		// A cheat that would become the baseline is missed, unless it is known to be.
		{
			func() { s.judge(defused, faster) },
			result.SelftestSubject{Name: "defused", Role: "cheat", Outcome: "missed", By: "improvement (-30%)", Verdict: "improvement", Change: &less},
			result.Selftest{Missed: 1},
		},
		{
			func() { s.judge(remembers, faster) },
			result.SelftestSubject{Name: "remembers", Role: "cheat", Outcome: "missed", By: "improvement (-30%)", Verdict: "improvement", Change: &less},
			result.Selftest{Missed: 1},
		},
		{
			func() { s.judge(remembers, doubted) },
			result.SelftestSubject{Name: "remembers", Role: "cheat", Outcome: "suspicious", By: patched, Verdict: "improvement"},
			result.Selftest{Suspicious: 1},
		},
		{
			func() { s.judge(control, faster) },
			result.SelftestSubject{Name: "control", Role: "control", Outcome: "passed", Verdict: "improvement", Change: &less},
			result.Selftest{ControlsPassed: 1},
		},
		{
			func() { s.judge(control, doubted) },
			result.SelftestSubject{Name: "control", Role: "control", Outcome: "failed", By: patched, Verdict: "improvement"},
			result.Selftest{ControlsFailed: 1},
		},
		{
			func() { s.judge(open, faster) },
			result.SelftestSubject{Name: "open", Role: "cheat", Outcome: "open", By: "improvement (-30%)", Why: "gains 30%", Verdict: "improvement", Change: &less},
			result.Selftest{Open: 1},
		},
		{
			func() { s.judge(open, evidence{failed: true, names: []string{forged}}) },
			result.SelftestSubject{Name: "open", Role: "cheat", Outcome: "caught", By: forged, Why: "gains 30%"},
			result.Selftest{Caught: 1},
		},
		{
			func() { s.judge(Subject{Kind: Host, Kernel: "lucky", Expect: Suspicious, Drawn: true}, evidence{}) },
			result.SelftestSubject{Name: "lucky", Role: "cheat", Outcome: "defused", Why: "its answers were right, and it gained nothing here"},
			result.Selftest{Defused: 1},
		},
		{
			func() { s.judge(Subject{Kind: Host, Kernel: "lucky", Expect: Suspicious, Drawn: true}, faster) },
			result.SelftestSubject{Name: "lucky", Role: "cheat", Outcome: "missed", By: "improvement (-30%)", Verdict: "improvement", Change: &less},
			result.Selftest{Missed: 1},
		},
		{func() { s.judgeMutant(mutant, "m-1", refused) }, result.SelftestSubject{Name: "m-1", Role: "mutant", Exploit: "wrong scale", Outcome: "killed", By: wrong}, result.Selftest{Mutants: 1, MutantsKilled: 1}},
		{func() { s.judgeMutant(mutant, "m-1", skipped) }, result.SelftestSubject{Name: "m-1", Role: "mutant", Exploit: "wrong scale", Outcome: "skipped", Why: "no GPU"}, result.Selftest{Skipped: 1}},
		{func() { s.judgeMutant(none, "m-0", evidence{}) }, result.SelftestSubject{Name: "m-0", Role: "control", Outcome: "passed", Why: "the mutants' source without a mistake"}, result.Selftest{ControlsPassed: 1}},
		{func() { s.judgeMutant(none, "m-0", skipped) }, result.SelftestSubject{Name: "m-0", Role: "control", Outcome: "skipped", Why: "no GPU"}, result.Selftest{Skipped: 1}},
	} {
		s.report = &result.Report{Selftest: &result.Selftest{}}
		test.judge()
		test.want.Kind = Host
		test.total.Subjects = []result.SelftestSubject{test.want}
		if diff := cmp.Diff(&test.total, s.report.Selftest); diff != "" {
			t.Error(diff)
		}
	}
}

// A cheat that has been found out is not tried further, and a control always is.
func TestEnough(t *testing.T) {
	doubted, refused := evidence{suspicious: true, names: []string{patched}}, evidence{failed: true, names: []string{patched}}
	for _, test := range []struct {
		expect Outcome
		found  evidence
		by     string
		want   bool
	}{
		{Caught, refused, patched, true},
		{Caught, refused, wrong, false},
		{Caught, doubted, patched, false},
		{Suspicious, doubted, patched, true},
		{Suspicious, doubted, wrong, false},
		{Defused, doubted, patched, false},
		{Open, refused, patched, true},
		{Pass, refused, patched, false},
	} {
		if got := test.found.enough(Subject{Expect: test.expect, By: []string{test.by}}); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// A second check is only for subjects that the first finds by chance.
func TestUnsettled(t *testing.T) {
	subjects := []Subject{
		{Kernel: "found", Expect: Caught, By: []string{wrong}, Drawn: true},
		{Kernel: "lucky", Expect: Caught, By: []string{wrong}, Drawn: true},
		{Kernel: "control", Expect: Pass},
	}
	reports := []*result.Report{{Rows: []*result.Row{{Kernel: "found", Verdict: result.Incorrect}, {Kernel: "lucky", Verdict: result.Improvement}, {Kernel: "control", Verdict: result.Maintained}}}}
	for _, test := range []struct {
		drawn   bool
		reports []*result.Report
		want    []string
	}{
		{false, nil, []string{"found", "lucky", "control"}},
		{true, reports, []string{"lucky"}},
		{false, reports, []string{"lucky", "control"}},
	} {
		if diff := cmp.Diff(test.want, unsettled(subjects, test.drawn, test.reports)); diff != "" {
			t.Error(diff)
		}
	}
}
