package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/demo"
	"pawl/internal/report"
	"pawl/internal/result"
	"pawl/internal/term"
)

// chapterReport is what a check of a chapter may come to, with as many words as there can be.
func chapterReport(c *demo.Chapter, kernel string, verdict result.Verdict) *result.Report {
	timing := &result.Timing{Stats: result.Stats{Count: 618, Median: 477e-6, Low: 470e-6, High: 480e-6}}
	row := &result.Row{Kernel: kernel, Config: "square", Trust: "author", Verdict: verdict, Timing: timing}
	other := &result.Row{Kernel: "layernorm", Config: "rows_1k", Trust: "author", Verdict: result.Unchanged}
	side := func(role result.Role) *result.Side {
		return &result.Side{Role: role, Commit: "1234567890", Row: &result.Row{Timing: timing}, Change: &result.Change{
			Median: 0.095, Low: 0.073, High: 0.117, Delta: 0.51, Paired: true, Pairs: 672, Cells: make([]result.CellChange, 28), Tail: &result.Tail{Change: 0.1},
		}}
	}
	switch verdict {
	case result.Unchanged:
	case result.New:
		row.Moved, other.Verdict, other.Timing, other.Moved = &result.Moved{Done: true}, result.New, timing, &result.Moved{Done: true}
	default:
		row.Sides = []*result.Side{side(result.Base), side(result.Best)}
		row.Reasons = []result.Reason{result.Bistable, result.SlowTail}
	}
	if verdict == result.Regression {
		why := &result.Why{Kernel: kernel, Sentence: "it is slower: more bytes go through DRAM than the work needs (bytes moved per byte declared 1 → 1.3×)", Versions: make([]result.ExplainedSide, 2), Repeats: [2]int{3, 3}}
		for range 9 {
			why.Moves = append(why.Moves, result.Move{Words: "requests for instructions beyond the SM", Unit: "inst", Before: 123456789, After: 223456789, Limit: true})
		}
		row.Why = []*result.Why{why}
	}
	r := &result.Report{Kind: result.KindCheck, ID: "20261110T142233Z-7f3a9c2b1d04", Rows: []*result.Row{row, other}, Method: result.Method{HalfWidth: 0.005}}
	r.Warnings = []result.Warning{{Message: "the machine was not quiet"}, {Message: "and more"}}
	return r
}

// The demo takes at most 40 lines, on a terminal and elsewhere, and ends with what it has shown.
func TestDemoIsShort(t *testing.T) {
	story, err := demo.Host()
	if err != nil {
		t.Fatal(err)
	}
	for _, busy := range []bool{false, true} {
		for _, width := range []int{0, 80} {
			var out strings.Builder
			dir := t.TempDir()
			if err := story.Begin(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			tale := &tale{env: &env{stdout: &out}, self: "bin/pawl", width: width}
			tale.check = func(c *demo.Chapter) (*result.Report, int, error) {
				verdict := c.Want
				if busy && (verdict == result.Maintained || verdict == result.Regression) {
					verdict = result.Inconclusive
				}
				made := chapterReport(c, story.Kernel, verdict)
				fmt.Fprintf(&out, "  $ git commit -m %q && pawl check\n", c.Commit)
				return made, 0, report.Text(&out, made, report.TextOptions{Brief: true, Width: width})
			}
			if err := tale.tell(story, dir); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			if n := strings.Count(text, "\n"); n > 40 {
				t.Errorf("%d lines in %d columns:\n%s", n, width, text)
			}
			for line := range strings.Lines(text) {
				if line = strings.TrimRight(line, "\n"); width > 0 && term.DisplayWidth(line) > width && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%d columns in %q", term.DisplayWidth(line), line)
				}
			}
			if want := "\n" + term.ShellLine("bin/pawl", "serve", "-f", filepath.Join(dir, "pawl.yaml")) + "\n"; !strings.HasSuffix(text, want) {
				t.Errorf("the last line is not%s%s", want, text)
			}
			flat := strings.Join(strings.Fields(text), " ")
			want := "a harmless change passes, a comment is not measured, a different launch is measured, a hidden slowdown fails, an improvement moves the baseline."
			if busy {
				want = "the first run stores a baseline, a comment is not measured, an improvement moves the baseline; not decided, because the machine was busy: change 2, 4, 5."
			}
			if cause := "why gemm/square is slower: more bytes go through DRAM"; strings.Contains(flat, cause) == busy {
				t.Errorf("the cause of the slowdown:\n%s", text)
			}
			if !strings.Contains(flat, want) || strings.Contains(text, "not quiet") {
				t.Errorf("does not end with what was shown, or says more:\n%s", text)
			}
		}
	}
}

func TestDemoGoesWrong(t *testing.T) {
	story, err := demo.Host()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	dir := t.TempDir()
	if err := story.Begin(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	tale := &tale{env: &env{stdout: &out}, check: func(c *demo.Chapter) (*result.Report, int, error) {
		verdict := c.Want
		if verdict == result.Regression {
			verdict = result.Maintained
		}
		return chapterReport(c, story.Kernel, verdict), 0, nil
	}}
	if err := tale.tell(story, dir); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "5. A slowdown hidden in a change: a part of the work is done twice: expected regression, got maintained") {
		t.Errorf("got %v", err)
	}
}
