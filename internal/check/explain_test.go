package check

import (
	"strings"
	"testing"

	"pawl/internal/diag"
	"pawl/internal/explain"
	"pawl/internal/result"
)

// finding is an entry of pawl.yaml that holds for every kernel that was measured.
func finding(id string) string {
	return "findings: [{id: " + id + ", title: it is " + id + ", when: [seconds > 0], gain: 50, confidence: 1, evidence: \"{seconds}\", first: f}]\n"
}

// A row that became slower is explained, by the findings of the base: a change cannot say what was its fault.
func TestExplainedByTheBase(t *testing.T) {
	p := newProject(t)
	p.spec("configs: {c: {N: 64}}\n"+finding("theirs"), entry("k"))
	p.kernel("k", 500)
	p.commit("base")
	p.spec("configs: {c: {N: 64}}\n"+finding("mine"), entry("k"))
	p.kernel("k", 600)
	p.commit("change")
	report := p.check(func(o *Options) { o.Explain = &explain.Settings{} })
	row := rowOf(t, report, "k/c")
	mustBe(t, row, result.Regression)
	if len(report.OwnFindings) != 1 || report.OwnFindings[0] != "theirs" || len(row.Why) != 1 || len(row.Why[0].Versions) != 2 {
		t.Fatalf("explained by %v: %+v", report.OwnFindings, row.Why)
	}
	why := row.Why[0]
	if before := why.Versions[0]; before.Version != "base" || why.Last().Version != "change" || why.Sentence == "" {
		t.Errorf("%+v", why)
	}
	for i, want := range []float64{row.Sides[0].Row.Timing.Median(), row.Timing.Median()} {
		if got, known := why.Versions[i].Get("seconds"); !known || got != want {
			t.Errorf("version %d took %g, want %g", i, got, want)
		}
	}
	if found := why.Last().Findings; len(found) == 0 || found[0].ID != "theirs" {
		t.Errorf("%+v", found)
	}
}

// A finding that names no fact is a mistake in pawl.yaml, whether anything is explained or not.
func TestWrongFindingIsRefused(t *testing.T) {
	p := newProject(t)
	p.spec("configs: {c: {N: 64}}\n"+strings.Replace(finding("mine"), "seconds > 0", "secnods > 0", 1), entry("k"))
	p.kernel("k", 500)
	p.commit("change")
	_, err := p.run()
	if found := diag.Problems(err); len(found) != 1 || found[0].Pos.Line == 0 || !strings.Contains(found[0].Message, "secnods") {
		t.Errorf("%v", err)
	}
}
