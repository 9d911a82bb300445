package check

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/claim"
	"pawl/internal/judge"
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
	judges, err := spec.LoadEarlier(filepath.Join(p.checkout(report.Base.SHA), "pawl.yaml"))
	if err != nil {
		return nil // the base has no kernels
	}
	admitted, err := p.claim(report, judges)
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

// claim lets a trusted job judge a report, honest or not.
func (p *project) claim(report *result.Report, judges *spec.Spec) (*claim.Admitted, error) {
	p.t.Helper()
	raw, err := report.Encode()
	if err != nil {
		p.t.Fatal(err)
	}
	file := filepath.Join(p.t.TempDir(), "report.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		p.t.Fatal(err)
	}
	return claim.Admit(p.t.Context(), claim.Options{
		Report: file, Base: judges, Head: p.load(), BaseSHA: report.Base.SHA, Patterns: p.patterns, Cache: report.Method.Cache, Trust: claim.Own,
	})
}

// Each verdict of a check is reached again from the samples alone: runWith compares. A trio has all
// that a forger can take away: the base, the best-known version, and the accept that makes a slowdown
// one on purpose.
func TestForgeriesOfATrio(t *testing.T) {
	p := newProject(t)
	p.baseline()
	p.kernel("k", 510)
	base := p.commit("slower")
	judges, err := spec.LoadEarlier(filepath.Join(p.dir, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	judges.Dir = p.checkout(base)
	p.kernel("k", 520)
	p.commit("a small step too far")
	honest := p.check()
	mustBe(t, rowOf(t, honest, "k/c"), result.Regression, result.TooFar)
	pass := func(r *result.Report, verdict result.Verdict) {
		r.Rows[0].Verdict, r.Rows[0].Reasons = verdict, nil
		r.Outcome = judge.Outcome(r)
	}
	for name, test := range map[string]struct {
		forge func(*result.Report)
		want  string
	}{
		"no best-known version": {func(r *result.Report) {
			row := r.Rows[0]
			row.Sides = row.Sides[:1]
			row.Play = nil
			row.Sides[0].Change = nil
			pass(r, result.Incomparable)
		}, "the report has no best-known version"},
		"another best-known version": {func(r *result.Report) { r.Rows[0].Sides[1].Commit = base }, "the best-known version is of another commit"},
		"an accept that nobody made": {func(r *result.Report) {
			r.Rows[0].Reasons = append(r.Rows[0].Reasons, result.Accepted)
			r.Outcome = judge.Outcome(r)
		}, "it claims passed, but it is failed"},
		"maintained": {func(r *result.Report) { pass(r, result.Maintained) }, `it claims "maintained", but it is "regression"`},
		"fewer cells": {func(r *result.Report) {
			r.Rows[0].Play.Cells = r.Rows[0].Play.Cells[:4]
			pass(r, result.Inconclusive)
		}, "not every sample that counts was compared"},
	} {
		raw, err := honest.Encode()
		if err != nil {
			t.Fatal(err)
		}
		forged, err := result.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		test.forge(forged)
		got, err := p.claim(forged, judges)
		if err != nil {
			t.Fatal(err)
		}
		if said := fmt.Sprint(got.Contradictions); got.Conclusion() != claim.Failure || !strings.Contains(said, test.want) {
			t.Errorf("%s: %s, %s; want %s", name, got.Conclusion(), said, test.want)
		}
	}
	if row := rowOf(t, honest, "k/c"); row.Play == nil || len(row.Play.Cells) != 8 || len(row.Play.Sides) != 2 {
		t.Errorf("the report does not say which samples were compared: %+v", row.Play)
	}
}

// checkout returns a folder with the files of a commit.
func (p *project) checkout(sha string) string {
	p.t.Helper()
	dir := p.t.TempDir()
	archive := exec.Command("sh", "-c", `git -C "$1" archive "$2" | tar -x -C "$3"`, "sh", p.dir, sha, dir)
	if out, err := archive.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
	return dir
}
