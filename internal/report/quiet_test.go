package report

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/term"
)

// samples has a report of every kind, with all that can happen.
func samples() map[string]*result.Report {
	return map[string]*result.Report{
		"bench": sample(), "check": everything(), "verified": examination(), "plan": plan(), "compare": comparison(), "fuzz": trials(), "sanitizer": sanitizedSample(), "selftest": selftestSample(),
		"tune": attentionSearch(), "tune_noise": softmaxSearch(), "tune_failed": searchOfFailures(), "tune_stopped": stoppedSearch(),
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
		{false, []*result.Row{{Kernel: "k", Verdict: result.Regression}, open("k/a", some)}, "gate failed: 1 regression, 1 inconclusive; if the regression is meant: pawl baseline accept k --reason '…'; to decide k/a: 9 more cells (--budget 12s) or a quieter machine"},
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
		if !strings.Contains(Markdown(r), strings.ReplaceAll(next, "_", `\_`)) || !strings.Contains(pageOf(t, r), strings.ReplaceAll(next, "'", "&#39;")) {
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

// A failed gate says what to do next.
func TestFailedGateNamesNextStep(t *testing.T) {
	slower := func(name string) *result.Row {
		return &result.Row{Kernel: "k", Config: name, Verdict: result.Regression}
	}
	wrong := func(kernel, oracle string) *result.Row {
		return &result.Row{Kernel: kernel, Config: "c", Verdict: result.Incorrect, Verification: &result.Verification{Oracle: oracle, Failed: 1}}
	}
	for _, test := range []struct {
		rows []*result.Row
		want string
	}{
		{[]*result.Row{slower("a b")}, "gate failed: 1 regression; if the regression is meant: pawl baseline accept 'k/a b' --reason '…'"},
		{[]*result.Row{slower("a"), slower("b")}, "gate failed: 2 regressions; if the regressions are meant: pawl baseline accept --reason '…'"},
		{[]*result.Row{wrong("k", "softmax"), wrong("k", "softmax"), wrong("m", "softmax")}, "gate failed: 3 incorrect; pawl fuzz k m finds the smallest case that fails"},
		{[]*result.Row{wrong("k", result.BaseVersion)}, "gate failed: 1 incorrect"},
	} {
		text := textIn(t, checkOf(test.rows...), TextOptions{})
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if got := lines[len(lines)-1]; got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// A small step that fails for an older debt says whose it is; words that are not everyday ones are
// explained where there is room.
func TestWordsAreExplained(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	most, half := 0.05, 0.031
	old, new := s.duet("k/old", result.Regression, 1e-3, 0.004, &most, result.TooFar), s.duet("k/new", result.Regression, 1e-3, 0.02, &half, result.TooFar)
	for i, want := range []string{"slower than its base, and 5.0% behind best 1a2b3c4: most of that is older than this change", "slower than its base, and 3.1% behind best 1a2b3c4"} {
		r := checkOf([]*result.Row{old, new}[i])
		if got := strings.Join(checkedRows(r)[0].remarks(), "; "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	row := s.duet("k/c", result.Maintained, 1e-3, 0, nil, result.Bistable)
	row.Verification = &result.Verification{Integrity: result.Suspicious, Findings: []result.Finding{{Exploit: "shape-special"}}}
	r := checkOf(row)
	for _, want := range []string{"bistable: the cells, which are fresh processes, fall into", "shape-special: right at the sizes"} {
		if !strings.Contains(textIn(t, r, TextOptions{Verbose: true}), want) || !strings.Contains(pageOf(t, r), want) {
			t.Errorf("a form does not say %q", want)
		}
		if strings.Contains(textIn(t, r, TextOptions{}), want) {
			t.Errorf("said without -v: %q", want)
		}
	}
	if text := textIn(t, r, TextOptions{Verbose: true}); strings.Contains(text, "creep:") || strings.Contains(text, "slow tail:") {
		t.Errorf("words that are not used:\n%s", text)
	}
}

// A row without anything to compare with shows how exact its median is.
func TestMedianAloneHasItsInterval(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	row := &result.Row{Kernel: "k", Config: "c", Verdict: result.New, Timing: drawn(s.Rand, 1e-3, 100)}
	row.Timing.HalfWidth = 0.0042
	if text := textIn(t, checkOf(row), TextOptions{}); !strings.Contains(text, " ms ± 0.4%  100 samples") {
		t.Error(text)
	}
}
