package report

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

// withFinding is a report about a kernel with a finding, and with others that nobody could judge.
func withFinding() *result.Report {
	r := sample()
	r.Kind = result.KindProfile
	r.Rows = r.Rows[:1]
	r.Rows[0].Why = []*result.Why{{Kernel: "gemm", Versions: []result.ExplainedSide{{
		Repeats:  1,
		Findings: []result.Bottleneck{{ID: "spills", Title: "registers spill", Gain: "at most 2.0× faster", Evidence: "24 loads", First: "allow more registers"}},
		Unseen:   []result.Unseen{{ID: "dram-bound", Missing: []string{"dram_pct", "ipc"}}, {ID: "at-roof", Missing: []string{"roof_pct"}}},
	}}}}
	return r
}

// What belongs to a finding stands below it, and a picture is no wider than the page.
func TestFindingsOfPage(t *testing.T) {
	page := pageOf(t, withFinding())
	checkPage(t, page)
	for _, want := range []string{
		`<ul class="lines">`, "<li>registers spill (spills), at most 2.0× faster</li>", `<li class="under">  24 loads</li>`, `<li class="under">  do: allow more registers</li>`,
		".picture { max-width: 100%", ".wide .pairs tbody { display: grid", ".lines .under {",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if !strings.Contains(page, `<table class="sheet pairs">`) {
		t.Error("the numbers are no pairs")
	}
}

// Each finding that was not judged stands alone, with what it lacks.
func TestUnseenOfPage(t *testing.T) {
	if got, want := pageOf(t, withFinding()), "not judged, for want of counters: dram-bound (dram_pct, ipc); at-roof (roof_pct)"; !strings.Contains(got, want) {
		t.Errorf("no %q", want)
	}
}
