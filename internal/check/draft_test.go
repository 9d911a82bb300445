package check

import (
	"strings"
	"testing"

	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// guessed returns a kernel as pawl init drafts it: nobody has reviewed its oracle and inputs.
func guessed(name string) string {
	drafted := strings.ReplaceAll(entry(name), "oracle: {elementwise: in}", "oracle: {elementwise: in + 1} # TODO: check")
	return strings.ReplaceAll(drafted, "{name: in, dtype: f32, shape: [N]}", "{name: in, dtype: f32, shape: [N], init: zero} # TODO: check")
}

// A base whose pawl.yaml has only a draft of the kernel judges nothing of it: not its time, its
// answers, its inputs or its configs. The finished parts of the same file do judge.
func TestDraftOfTheBaseJudgesNothing(t *testing.T) {
	p := newProject(t)
	p.spec("configs: {c: {N: 32}} # TODO: choose sizes\n", guessed("k"))
	p.commit("drafted")
	p.spec("configs: {c: {N: 64}}\n")
	p.kernel("k", 700)
	p.commit("finished")
	report := p.check()
	row := rowOf(t, report, "k/c")
	mustBe(t, row, result.New, result.BaseDraft)
	mustWarn(t, row.Warnings, "draft", "kernel k is a draft in the base: line 8 of its pawl.yaml says TODO")
	if row.Vars["N"] != "64" || len(row.Sides) > 0 || row.Verification == nil || row.Verification.Oracle != "in" || row.Verification.Passed == 0 {
		t.Errorf("vars %v, sides %s, verification %+v", row.Vars, sidesOf(row), row.Verification)
	}
	for _, w := range row.Warnings {
		if w.Code == "init" || w.Code == "config" {
			t.Errorf("judged by the draft: %+v", w)
		}
	}
	if m := row.Moved; m == nil || m.Refused != "" {
		t.Errorf("moved %+v", m)
	}
	if row = rowOf(t, p.check(update), "k/c"); row.Moved == nil || !row.Moved.Done {
		t.Errorf("moved %+v", row.Moved)
	}
}

func TestFinishedKernelsOfADraftJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestDraftOfAConfig plays what is finished")
	}
	p := newProject(t)
	p.spec("gate: {regression: 50%} # TODO: decide\n", entry("k"), guessed("other"), entry("third", "configs: {c: {N: 32}} # TODO: sizes"))
	p.kernel("other", 500)
	p.kernel("third", 500)
	p.commit("half a draft")
	p.spec("", entry("k"), entry("other"))
	p.kernel("k", 700)
	p.kernel("other", 700)
	p.commit("slower")
	report := p.check()
	mustBe(t, rowOf(t, report, "k/c"), result.Regression)
	mustBe(t, rowOf(t, report, "other/c"), result.New, result.BaseDraft)
	if report.Gate.Regression != 0.03 {
		t.Errorf("judged by the gate of a draft: %+v", report.Gate)
	}
	mustWarn(t, report.Warnings, "draft", "gate is a draft in the base")
	for _, w := range report.Warnings {
		if w.Code == "removed" {
			t.Errorf("a draft that was dropped: %+v", w)
		}
	}
}

// A config of the base that is a guess leaves its kernels alone: they play at this
// change's own values.
func TestDraftOfAConfig(t *testing.T) {
	p := newProject(t)
	p.spec("configs:\n  c: {N: 32} # TODO: choose\n  gone: {N: 8} # TODO: choose\n  kept: {N: 16}\n")
	p.commit("drafted sizes")
	p.spec("configs: {c: {N: 64}, kept: {N: 99}}\n")
	p.kernel("k", 700)
	p.commit("slower")
	report := p.check(planOnly)
	if len(report.Rows) != 2 {
		t.Errorf("%d rows: %v", len(report.Rows), report.Rows)
	}
	row := rowOf(t, report, "k/c")
	if row.Vars["N"] != "64" || !strings.HasPrefix(row.Plan, "play against base ") {
		t.Errorf("%v, %s", row.Vars, row.Plan)
	}
	mustWarn(t, row.Warnings, "draft", "config c is a draft in the base: line 13 of its pawl.yaml says TODO")
	if row := rowOf(t, report, "k/kept"); row.Vars["N"] != "16" {
		t.Errorf("%v of a config that is finished", row.Vars)
	}
}

// An oracle that is itself a draft says nothing of a kernel that is finished.
func TestOracleThatIsADraft(t *testing.T) {
	p := newProject(t)
	with := strings.ReplaceAll(entry("k"), "oracle: {elementwise: in}", "oracle: {kernel: ref}")
	p.kernel("ref", 100)
	p.spec("", with, guessed("ref"))
	p.commit("a reference that is a draft")
	p.spec("", entry("k"), entry("ref"))
	p.kernel("k", 505)
	p.commit("hardly slower")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Maintained, result.Slower)
	if row.Verification.Oracle != "in" {
		t.Errorf("judged by %q", row.Verification.Oracle)
	}
	mustWarn(t, row.Warnings, "draft", "kernel ref")
}

// A best-known version whose commit describes it by a draft judges nothing either.
func TestBestKnownOfADraft(t *testing.T) {
	p := newProject(t)
	p.spec("", guessed("k"))
	drafted := p.commit("drafted")
	p.spec("")
	p.commit("finished")
	report := p.check(planOnly)
	row := rowOf(t, report, "k/c")
	row.Verdict, report.Commit.SHA = result.New, drafted
	row.Timing = &result.Timing{Samples: result.Samples{Seconds: []float64{400e-6}}, Stats: result.Stats{Count: 1, Median: 400e-6, Low: 400e-6, High: 400e-6}}
	err := ratchet.Open(p.dir).Update(t.Context(), class, func(f *ratchet.File) error {
		return moveElsewhere(f, ratchet.CandidateOf(report, row, nil, "Ann"))
	})
	if err != nil {
		t.Fatal(err)
	}
	p.kernel("k", 700)
	p.commit("slower, and a baseline of the draft")
	row = rowOf(t, p.check(func(o *Options) { o.Base = drafted }), "k/c")
	mustBe(t, row, result.New, result.BaseDraft)
	mustWarn(t, row.Warnings, "draft", "the best-known version is not compared with: at commit "+drafted[:7]+" kernel k is a draft")
	if m := row.Moved; m == nil || !strings.Contains(m.Refused, "a draft") || !strings.Contains(m.Hint, "pawl baseline") {
		t.Errorf("moved %+v", m)
	}
}
