package claim

import (
	"fmt"
	"strings"
	"testing"

	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// putBaseline writes a baseline beside a spec that names a version of k/c, by a check or accepted.
func putBaseline(t *testing.T, s *spec.Spec, identity, commit, reason string) {
	t.Helper()
	report := honest(t, 3, 1)
	row := *report.Rows[0]
	row.Identity, row.Verdict, row.Sides = identity, result.New, nil
	report.Commit = &result.Commit{SHA: commit}
	err := ratchet.Open(s.Dir).Update(t.Context(), "test-device", func(f *ratchet.File) error {
		c := ratchet.CandidateOf(report, &row, nil, "somebody")
		if reason != "" {
			_, err := f.Accept(c, reason)
			return err
		}
		_, err := f.Move(c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBaselineOfTheChange: a change can write any baseline into its own branch. It counts for nothing
// but an accept of the very code that was measured.
func TestBaselineOfTheChange(t *testing.T) {
	const other = "3333333333333333333333333333333333333333"
	for name, c := range map[string]struct {
		base, head func(*testing.T, *spec.Spec)
		want       Conclusion
		said       string
	}{
		"none": {want: Failure},
		"its slow code is the best known": {
			head: func(t *testing.T, s *spec.Spec) { putBaseline(t, s, "new", testHead, "") }, want: Failure,
		},
		"another code is accepted": {
			head: func(t *testing.T, s *spec.Spec) { putBaseline(t, s, "else", testHead, "wanted") }, want: Failure,
		},
		"the code is accepted": {
			head: func(t *testing.T, s *spec.Spec) { putBaseline(t, s, "new", testHead, "wanted") }, want: Success,
		},
		"the best known is gone from the change": {
			base: func(t *testing.T, s *spec.Spec) { putBaseline(t, s, "best", other, "") }, want: Failure, said: "the report has no best-known version",
		},
		"the best known is another in the change": {
			base: func(t *testing.T, s *spec.Spec) { putBaseline(t, s, "best", other, "") },
			head: func(t *testing.T, s *spec.Spec) { putBaseline(t, s, "old", testBase, "") }, want: Failure, said: "the report has no best-known version",
		},
	} {
		t.Run(name, func(t *testing.T) {
			report, opts := honest(t, 1, 1.2), options(t)
			opts.Head = parsed(t, testSpec)
			if c.base != nil {
				c.base(t, opts.Base)
			}
			if c.head != nil {
				c.head(t, opts.Head)
			}
			report.Rows[0].Reasons = append(report.Rows[0].Reasons, result.Accepted) // so it says
			report.Outcome.Result = result.Passed
			got, err := admitted(t, report, opts)
			if err != nil {
				t.Fatal(err)
			}
			if got.Conclusion() != c.want || !strings.Contains(fmt.Sprint(got.Contradictions), c.said) {
				t.Errorf("%s, %+v, %v; want %s", got.Conclusion(), got.Outcome, got.Contradictions, c.want)
			}
		})
	}
}
