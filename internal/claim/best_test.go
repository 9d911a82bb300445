package claim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pawl/internal/judge"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
)

const bestCommit = "3333333333333333333333333333333333333333"

// keep puts a version into the baseline beside a pawl.yaml, accepted for a reason.
func keep(t *testing.T, s *spec.Spec, identity, commit string) {
	t.Helper()
	row := &result.Row{Kernel: "k", Config: "c", Cell: spec.CellHost, Class: "test-device", Identity: identity, Timing: timed(rand.New(rand.NewPCG(7, 7)), 100e-6, 40)}
	err := ratchet.Open(s.Dir).Update(t.Context(), "test-device", func(f *ratchet.File) error {
		_, err := f.Accept(ratchet.Candidate{Class: "test-device", Row: row, Commit: &result.Commit{SHA: commit}, Time: testNow, Run: "1", Who: "ann"}, "smaller")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// best adds a best-known version to a row, with a change that nobody measured.
func best(row *result.Row, commit string) {
	side := *row.Sides[0]
	side.Role, side.Commit = result.Best, commit
	row.Sides = append(row.Sides, &side)
}

// The base's baseline says what the best-known version is, and the change's own only what it accepts of
// its own code.
func TestBaselines(t *testing.T) {
	accepts := func(r *result.Report) {
		r.Rows[0].Reasons = append(r.Rows[0].Reasons, result.Accepted)
		r.Outcome = judge.Outcome(r)
	}
	for name, test := range map[string]struct {
		slower float64
		change func(r *result.Report, base, head *spec.Spec)
		want   Conclusion
		says   string
	}{
		"no baseline": {1, func(*result.Report, *spec.Spec, *spec.Spec) {}, Success, ""},
		"the best-known version is left out": {1, func(_ *result.Report, base, head *spec.Spec) {
			keep(t, base, "best", bestCommit)
		}, Failure, "the base's baseline has this row, but the report has no best-known version"},
		"left out, for the fork's baseline has none": {1, func(_ *result.Report, base, head *spec.Spec) {
			keep(t, base, "best", bestCommit)
			keep(t, head, "old", testBase)
		}, Failure, "the report has no best-known version"},
		"the base is the best-known version": {1, func(r *result.Report, base, _ *spec.Spec) {
			keep(t, base, "old", testBase)
			r.Rows[0].Sides[0].Known = testBase
		}, Success, ""},
		"the fork's best-known version": {1, func(r *result.Report, base, head *spec.Spec) {
			keep(t, base, "best", bestCommit)
			keep(t, head, "slow", testHead)
			best(r.Rows[0], testHead)
		}, Failure, `the best-known version is of another commit: it claims "` + testHead + `", but it is ` + bestCommit},
		"a change that nobody measured": {1, func(r *result.Report, base, _ *spec.Spec) {
			keep(t, base, "best", bestCommit)
			best(r.Rows[0], bestCommit)
		}, Failure, "it claims a change against the best version, which did not play"},
		"slower, and accepted": {1.2, func(r *result.Report, _, head *spec.Spec) {
			keep(t, head, "new", testHead)
			accepts(r)
		}, Success, ""},
		"slower, and other code is accepted": {1.2, func(r *result.Report, _, head *spec.Spec) {
			keep(t, head, "other", testHead)
			accepts(r)
		}, Failure, "it claims passed, but it is failed"},
		"slower, and accepted long ago": {1.2, func(r *result.Report, base, head *spec.Spec) {
			keep(t, base, "new", testHead)
			keep(t, head, "new", testHead)
			accepts(r)
		}, Failure, "it claims passed, but it is failed"},
	} {
		t.Run(name, func(t *testing.T) {
			report, opts := honest(t, 1, test.slower), options(t)
			opts.Head = parsed(t, testSpec)
			test.change(report, opts.Base, opts.Head)
			got, err := admitted(t, report, opts)
			if err != nil {
				t.Fatal(err)
			}
			if said := fmt.Sprint(got.Contradictions); got.Conclusion() != test.want || !strings.Contains(said, test.says) || test.says == "" && len(got.Contradictions) > 0 {
				t.Errorf("%s, %+v, %s; want %s, %s", got.Conclusion(), got.Outcome, said, test.want, test.says)
			}
		})
	}
}
