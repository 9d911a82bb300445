package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"pawl/internal/claim"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// admit lets a trusted job judge the report of a check as if a stranger had sent it. Every test of
// this package is an honest report, so it must come to the same verdicts. It returns nil where such a
// job would have nothing to go by.
func (p *project) admit(report *result.Report, opts Options) *claim.Admitted {
	p.t.Helper()
	if report == nil || report.Base == nil || opts.Update || opts.PlanOnly || report.Method.HalfWidth != measure.Default().HalfWidth {
		return nil
	}
	base := p.t.TempDir()
	archive := exec.Command("sh", "-c", `git -C "$1" archive "$2" | tar -x -C "$3"`, "sh", p.dir, report.Base.SHA, base)
	if out, err := archive.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
	judges, err := spec.LoadEarlier(filepath.Join(base, "pawl.yaml"))
	if err != nil {
		return nil // the base has no kernels
	}
	raw, err := report.Encode()
	if err != nil {
		p.t.Fatal(err)
	}
	file := filepath.Join(p.t.TempDir(), "report.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		p.t.Fatal(err)
	}
	admitted, err := claim.Admit(p.t.Context(), claim.Options{
		Report: file, Base: judges, Head: p.load(), BaseSHA: report.Base.SHA, Patterns: p.patterns, Cache: report.Method.Cache, Trust: claim.Own, Strict: opts.Strict,
	})
	if err != nil {
		p.t.Errorf("an honest report is not admitted: %v", err)
		return nil
	}
	for _, c := range admitted.Contradictions {
		p.t.Errorf("an honest report contradicts itself: %s", c)
	}
	for i, row := range report.Rows {
		again := admitted.Report.Rows[i]
		if again.Verdict != row.Verdict || !slices.Equal(again.Reasons, row.Reasons) {
			p.t.Errorf("%s was judged %q %v, and then %q %v", row.Name(), row.Verdict, row.Reasons, again.Verdict, again.Reasons)
		}
	}
	was, now := report.Outcome.Result, admitted.Outcome.Result
	if doubted := was == result.Passed && now == result.Undecided && admitted.Outcome.Suspicious > report.Outcome.Suspicious; was != now && !doubted {
		p.t.Errorf("the run %s, and then %s", was, now)
	}
	return admitted
}

// Each verdict is reached again from the samples alone.
func TestEveryVerdictIsReachedAgain(t *testing.T) {
	p := newProject(t)
	p.baseline()
	p.kernel("k", 600)
	p.commit("slower")
	report := p.check() // admit compares
	mustBe(t, rowOf(t, report, "k/c"), result.Regression)
	if row := rowOf(t, report, "k/c"); row.Play == nil || len(row.Play.Cells) != 8 {
		t.Errorf("the report does not say which samples were compared: %+v", row.Play)
	}
}
