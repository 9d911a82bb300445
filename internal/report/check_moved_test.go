package report

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/term"
)

// What happens to the baseline besides moving forward.
func TestCheckBaselineOfThisVersion(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	for name, test := range map[string]struct {
		moved result.Moved
		row   string // of a table
		lines []string
		never string
	}{
		"moved on this branch": {
			result.Moved{Already: true, From: bestCommit, FromS: 1.2e-3}, "is the baseline of this branch already", nil, "--update-baseline",
		},
		"of a commit that is gone": {
			result.Moved{Anchor: true, From: bestCommit, FromS: 1.2e-3, Hint: "--update-baseline binds the baseline to this commit"},
			"is the baseline; its commit is gone",
			[]string{"k/c: is the best-known version; its commit 1a2b3c4 can no longer be built", "--update-baseline binds the baseline to this commit"},
			"makes it the baseline",
		},
		"not committed": {
			result.Moved{Anchor: true, From: bestCommit, FromS: 1.2e-3, Refused: "files have changed since its commit", Hint: "commit them"},
			"baseline stays",
			[]string{"; the baseline stays bound to that commit: files have changed since its commit", "commit them"},
			"does not become",
		},
		"bound to this commit": {
			result.Moved{Anchor: true, Done: true, From: bestCommit, FromS: 1.2e-3, ToS: 1.2e-3}, "baseline bound to this commit", nil, "baseline moved:",
		},
	} {
		row := s.duet("k/c", result.Improvement, 1e-3, -0.2, nil)
		row.Moved = &test.moved
		r := checkOf(row)
		for form, got := range map[string]string{"text": checkedText(t, r, term.Style{}), "markdown": Markdown(r), "html": pageOf(t, r)} {
			for _, want := range append(test.lines, test.row) {
				if !strings.Contains(got, want) {
					t.Errorf("%s: %s does not say %q", name, form, want)
				}
			}
			if strings.Contains(got, test.never) {
				t.Errorf("%s: %s says %q", name, form, test.never)
			}
		}
	}
}

// Every form says which baselines moved although nothing about their rows changed,
// and takes no binding to a commit for a move.
func TestCheckMovesOfUnchanged(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	first, bound := unchangedRow("a", "c"), unchangedRow("b", "c")
	first.Timing, first.Moved = drawn(s.Rand, 1e-3, 100), &result.Moved{Done: true, ToS: 1e-3}
	bound.Moved = &result.Moved{Anchor: true, Done: true, From: bestCommit, FromS: 1.2e-3, ToS: 1.2e-3}
	const said, moved, compared = "first baseline of a/c", "baseline bound to this commit: b/c", "Nothing was compared."
	for name, test := range map[string]struct {
		rows        []*result.Row
		lines       []string
		never       string
		count, page string
	}{
		"both":    {[]*result.Row{first, bound}, []string{said, moved}, "", "| 1 |", compared},
		"first":   {[]*result.Row{first}, []string{said}, "bound", "| 1 |", compared},
		"bound":   {[]*result.Row{bound}, []string{moved}, "first baseline", "| 0 |", "Nothing was measured."},
		"neither": {[]*result.Row{unchangedRow("a", "c")}, nil, "baseline bound", "| 0 |", "Nothing was measured."},
	} {
		r := checkOf(test.rows...)
		page, comment := pageOf(t, r), Markdown(r)
		checkPage(t, page)
		for form, got := range map[string]string{"text": checkedText(t, r, term.Style{}), "markdown": comment, "html": page} {
			for _, want := range test.lines {
				if !strings.Contains(got, want) {
					t.Errorf("%s: %s does not say %q", name, form, want)
				}
			}
			if test.never != "" && strings.Contains(got, test.never) {
				t.Errorf("%s: %s says %q", name, form, test.never)
			}
		}
		if totals := strings.Split(comment, "\n")[4]; !strings.HasSuffix(totals, test.count) {
			t.Errorf("%s: %s, want baseline moved %s", name, totals, test.count)
		}
		if !strings.Contains(page, test.page) {
			t.Errorf("%s: the page does not say %q", name, test.page)
		}
	}
	raw, err := CSV(checkOf(first, bound))
	if lines := strings.Split(string(raw), "\n"); err != nil || !strings.Contains(lines[1], ",moved,") || !strings.Contains(lines[2], ",bound,"+bestCommit) {
		t.Errorf("%s, %v", raw, err)
	}
}

// A refused --update-baseline is said without -v: each reason once, and the last line does not sound
// as if the baseline had been made.
func TestRefusedUpdateIsNeverSilent(t *testing.T) {
	const why, remedy = "the kernel has no oracle", "give it an oracle"
	row := func(config string, verdict result.Verdict, moved result.Moved) *result.Row {
		return &result.Row{Kernel: "k", Config: config, Verdict: verdict, Moved: &moved}
	}
	stays := result.Moved{Asked: true, Refused: why, Hint: remedy}
	done := result.Moved{Asked: true, Done: true}
	for name, test := range map[string]struct {
		rows []*result.Row
		last string
		said string // before it; "": nothing
	}{
		"all":      {[]*result.Row{row("a", result.New, stays), row("b", result.New, stays)}, "gate passed: 2 new; no baseline was made", "  ! k/a, k/b: do not become the baseline: the kernel has no oracle (give it an oracle)\n"},
		"some":     {[]*result.Row{row("a", result.New, stays), row("b", result.New, done)}, "gate passed: 2 new; 1 of 2 did not become the baseline", "  ! k/a: does not become"},
		"a faster": {[]*result.Row{row("a", result.Improvement, result.Moved{Asked: true, Refused: why, From: bestCommit})}, "gate passed: 1 improvement; the baseline did not move", "  ! k/a: does not become"},
		"unasked":  {[]*result.Row{row("a", result.New, result.Moved{Refused: why})}, "gate passed: 1 new", ""},
		"none":     {[]*result.Row{row("a", result.New, done)}, "gate passed: 1 new", ""},
	} {
		r := checkOf(test.rows...)
		r.Warnings = []result.Warning{{Message: "one doubt"}, {Message: "another"}}
		text := textIn(t, r, TextOptions{})
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if got := lines[len(lines)-1]; got != test.last {
			t.Errorf("%s: %q, want %q", name, got, test.last)
		}
		if !strings.Contains(text, test.said) || test.said == "" && strings.Contains(text, "does not become") {
			t.Errorf("%s:\n%s", name, text)
		}
		if all := textIn(t, r, TextOptions{Verbose: true}); strings.Count(all, why) != 1-strings.Count(name, "none") {
			t.Errorf("%s, with -v:\n%s", name, all)
		}
	}
}
