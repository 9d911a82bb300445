package report

import (
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/term"
)

// samples has a report of every kind, with all that can happen.
func samples() map[string]*result.Report {
	return map[string]*result.Report{
		"bench": sample(), "check": everything(), "verified": examination(), "plan": plan(), "compare": comparison(), "fuzz": trials(), "sanitizer": sanitizedSample(), "selftest": selftestSample(),
	}
}

func textIn(t testing.TB, r *result.Report, opts TextOptions) string {
	t.Helper()
	var b strings.Builder
	opts.Path = ".pawl/runs/20261110T142233Z-7f3a9c2b1d04/report.html"
	if err := Text(&b, r, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestQuietText(t *testing.T) {
	for name, r := range samples() {
		golden(t, name+"_quiet", textIn(t, r, TextOptions{}))
		golden(t, name+"_80", textIn(t, r, TextOptions{Width: 80}))
	}
}

// No line is wider than the terminal, but for what a compiler wrote and single words, and the interval of every
// change is there.
func TestTextFits(t *testing.T) {
	for name, r := range samples() {
		for _, width := range []int{50, 72, 80, 100, 132} {
			for _, verbose := range []bool{false, true} {
				text := textIn(t, r, TextOptions{Width: width, Verbose: verbose})
				for line := range strings.Lines(text) {
					line = strings.TrimRight(line, "\n")
					if term.DisplayWidth(line) > width && strings.Contains(strings.TrimSpace(line), " ") && !strings.Contains(line, "error:") {
						t.Errorf("%s in %d columns, verbose %t: %d in %q", name, width, verbose, term.DisplayWidth(line), line)
					}
				}
				for _, c := range checkedRows(r) {
					if c.change != nil && !strings.Contains(text, c.interval()) {
						t.Errorf("%s in %d columns does not have the interval %s of %s", name, width, c.interval(), c.row.Name())
					}
				}
			}
		}
	}
}

// Wrapping loses no word, and adds none.
func TestWrappingKeepsWords(t *testing.T) {
	for name, r := range samples() {
		if name != "plan" {
			continue
		}
		wide, narrow := textIn(t, r, TextOptions{Verbose: true}), textIn(t, r, TextOptions{Verbose: true, Width: 60})
		if strings.Join(strings.Fields(wide), " ") != strings.Join(strings.Fields(narrow), " ") {
			t.Errorf("%s:\n%s\n%s", name, wide, narrow)
		}
	}
}

// The last line names what is not decided, and what would decide it.
func TestUndecidedIsNeverSilent(t *testing.T) {
	open := func(name string, needs *result.Needs) *result.Row {
		row := &result.Row{Verdict: result.Inconclusive, Needs: needs}
		row.Kernel, row.Config, _ = strings.Cut(name, "/")
		return row
	}
	kept := func() *result.Row { return &result.Row{Kernel: "k", Config: "kept", Verdict: result.Maintained} }
	suspect := func() *result.Row {
		return &result.Row{Kernel: "k", Config: "odd", Verdict: result.Maintained, Verification: &result.Verification{Passed: 1, Integrity: result.Suspicious}}
	}
	seventy, some := &result.Needs{Cells: 70, BudgetS: 45}, &result.Needs{Cells: 9, BudgetS: 12}
	for _, test := range []struct {
		strict bool
		rows   []*result.Row
		want   string
	}{
		{false, []*result.Row{kept(), open("k/a", seventy)}, "gate passed: 1 inconclusive, 1 maintained; to decide k/a: 70 more cells (--budget 45s) or a quieter machine; in CI use --strict, which exits 2 for this"},
		{true, []*result.Row{kept(), open("k/a", seventy)}, "gate not passed: 1 inconclusive, 1 maintained; to decide k/a: 70 more cells (--budget 45s) or a quieter machine"},
		{false, []*result.Row{open("k/a", seventy), open("k/b", some), kept()}, "gate passed: 2 inconclusive, 1 maintained; to decide k/a, k/b: up to 70 more cells each (--budget 45s) or a quieter machine; in CI use --strict, which exits 2 for this"},
		{false, []*result.Row{kept(), open("k/a", nil)}, "gate passed: 1 inconclusive, 1 maintained; to decide k/a: a quieter machine; in CI use --strict, which exits 2 for this"},
		{false, []*result.Row{kept(), suspect()}, "gate passed: 2 maintained, 1 suspicious; in CI use --strict, which exits 2 for this"},
		{true, []*result.Row{kept(), suspect()}, "gate not passed: 2 maintained, 1 suspicious"},
		{false, []*result.Row{{Kernel: "k", Verdict: result.Regression}, open("k/a", some)}, "gate failed: 1 regression, 1 inconclusive; to decide k/a: 9 more cells (--budget 12s) or a quieter machine"},
		{false, []*result.Row{kept()}, "gate passed: 1 maintained"},
	} {
		r := checkOf(test.rows...)
		r.Outcome = &result.Outcome{Result: result.Undecided, Strict: test.strict}
		if len(test.rows) == 1 {
			r.Outcome.Result = result.Passed
		}
		if test.rows[0].Verdict == result.Regression {
			r.Outcome.Result = result.Failed
		}
		text := textIn(t, r, TextOptions{})
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if got := lines[len(lines)-1]; got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		// Comments and pages say the same.
		_, next, _ := strings.Cut(test.want, "; ")
		if !strings.Contains(Markdown(r), strings.ReplaceAll(next, "_", `\_`)) || !strings.Contains(pageOf(t, r), next) {
			t.Errorf("a comment or a page does not say %q", next)
		}
	}
}

// Doubts are one line with a count, unless everything is asked for.
func TestDoubtsInOneLine(t *testing.T) {
	r := everything()
	quiet, all := textIn(t, r, TextOptions{}), textIn(t, r, TextOptions{Verbose: true})
	if n := strings.Count(quiet, "  ! "); n != 1 || !strings.Contains(quiet, "  ! 6 doubts (-v shows all): fused/mlp: the base version is not available: nvcc exited with status 1\n") {
		t.Errorf("%d lines of doubts:\n%s", n, quiet)
	}
	if n := strings.Count(all, "  ! "); n != 6 {
		t.Errorf("%d lines of doubts with -v", n)
	}
	one := checkOf(&result.Row{Kernel: "k", Verdict: result.Maintained})
	one.Warnings = []result.Warning{{Code: "x", Message: "the only doubt"}}
	if text := textIn(t, one, TextOptions{}); !strings.Contains(text, "  ! the only doubt\n") {
		t.Errorf("one doubt is not shown:\n%s", text)
	}
	if text := textIn(t, examination(), TextOptions{}); strings.Contains(text, "address space") || strings.Count(text, "trust: author") != 1 {
		t.Errorf("trust is more than a word:\n%s", text)
	}
}
