package check

import (
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/worker/puppet"
)

// A base that disagrees with itself proves nothing against a change. The change is measured, its
// answers count as not verified, and its row says so once.
func TestUnsteadyBase(t *testing.T) {
	for name, tc := range map[string]struct {
		base, change string // how their answers are wrong
		says         string // of the base's answers; "": the change is incorrect
		hint         string
		timed        bool // the first answers agree; those of timed samples do not
	}{
		"both race":                {base: "race", change: "race", says: "of 64 elements (out[", hint: "tolerance:"},
		"the change does not race": {base: "race", says: "of 64 elements (out[", hint: "tolerance:"},
		"timed samples race":       {base: "timedrace", says: "of 64 elements (out[", hint: "tolerance:", timed: true},
		"other bits of both":       {base: "bits", change: "bits", says: "of 64 elements (out[0] is", hint: "or deterministic: false,"},
		"the change races":         {change: "race"},
		"the change's bits":        {change: "bits"},
		"wrong beside other bits":  {base: "bits", change: "always"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "both race" || name == "the change does not race" || name == "the change's bits") {
				t.Skip("long: run by make long")
			}
			p := newProject(t)
			p.spec("", withoutOracle("k"))
			p.script("k", puppet.Script{Micros: 500, Wrong: tc.base})
			p.commit("base")
			p.script("k", puppet.Script{Micros: 400, Wrong: tc.change})
			p.commit("faster")
			report := p.check(update)
			row := rowOf(t, report, "k/c")
			said := slices.IndexFunc(row.Warnings, func(w result.Warning) bool { return strings.HasPrefix(w.Code, "unsteady") })
			if tc.says == "" {
				mustBe(t, row, result.Incorrect)
				if said >= 0 {
					t.Errorf("it says %q", row.Warnings[said].Message)
				}
				return
			}
			mustBe(t, row, result.Improvement)
			if said < 0 {
				t.Fatalf("warnings %+v", row.Warnings)
			}
			w := row.Warnings[said]
			if !strings.Contains(w.Message, "base version's own answers to the same data differ from launch to launch: out: ") || !strings.Contains(w.Message, tc.says) ||
				!strings.Contains(w.Hint, "oracle:") || !strings.Contains(w.Hint, tc.hint) || (w.Code == "unsteady-bits") != (tc.change == "bits") || !strings.Contains(w.Hint, "pawl fuzz --sanitize") {
				t.Errorf("%q, %q", w.Message, w.Hint)
			}
			v := row.Verification
			if v.Passed+v.Failed != 0 || v.Skipped != len(v.Cases) || v.Integrity != result.Clean || len(v.Findings)+len(v.Limits) != 0 || (len(v.Cases) > 1) != tc.timed {
				t.Errorf("%+v", v)
			}
			if m := row.Moved; m != nil && m.Done || m == nil || !strings.Contains(m.Refused, "differ from launch to launch") || p.stored() != nil {
				t.Errorf("moved %+v", m)
			}
			if report.Outcome.Result != result.Passed {
				t.Errorf("outcome %+v", report.Outcome)
			}
		})
	}
}

// With an oracle a base that disagrees with itself is wrong, and so is a change that does.
func TestUnsteadyBaseWithOracle(t *testing.T) {
	p := newProject(t)
	p.script("k", puppet.Script{Micros: 500, Wrong: "race"})
	p.commit("base")
	p.script("k", puppet.Script{Micros: 400, Wrong: "race"})
	p.commit("faster")
	mustBe(t, rowOf(t, p.check(), "k/c"), result.Incorrect)
}

// A base that varies only at the size next to a config's is no reason to suspect the change.
func TestUnsteadyBaseBeside(t *testing.T) {
	p := newProject(t)
	p.spec("", withoutOracle("k"))
	p.script("k", puppet.Script{Micros: 500, Wrong: "race", Only: 65})
	p.commit("base")
	p.script("k", puppet.Script{Micros: 400})
	p.commit("faster")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Improvement)
	if v := row.Verification; v.Passed != 1+judgedFaster || len(v.Findings) != 0 {
		t.Errorf("%+v", v)
	}
}
