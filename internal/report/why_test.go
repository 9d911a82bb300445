package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pawl/internal/report/view"
	"pawl/internal/result"
)

// explainedCheck has a slower row with a cause, and a faster one without.
func explainedCheck() (slower, faster *result.Why, r *result.Report) {
	r = everything()
	for _, row := range r.Rows {
		for _, w := range row.Why {
			if w.Cause != nil {
				slower = w
			} else {
				faster = w
			}
		}
	}
	return slower, faster, r
}

func TestCauses(t *testing.T) {
	slower, faster, r := explainedCheck()
	lines := Causes(r, 5, 2)
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "why attention/training_512 is slower: registers spill") ||
		!strings.Contains(lines[1], "local memory *") || !strings.Contains(lines[2], "128") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	if lines := Causes(r, 0, 2); len(lines) != 0 {
		t.Errorf("%s", lines)
	}
	faster.Build = []string{"flag added: -O3"} // now something shows why
	if lines := Causes(r, 1, 0); len(lines) != 1 {
		t.Errorf("%s", lines)
	}
	if lines := Causes(r, 2, 0); len(lines) != 2 || !strings.HasPrefix(lines[1], "why gemm/4k is faster") {
		t.Errorf("%s", lines)
	}
	slower.Kernel = "evil\x1b[2J"
	slower.Moves[0].Words = "evil\x1b[2J\nline"
	if text := strings.Join(Causes(r, 1, 9), "\n"); strings.Contains(text, "\x1b") || strings.Count(text, "\n") != 3 {
		t.Errorf("%q", text)
	}
}

// What made a version faster is not to be undone.
func TestNothingToDoAboutAGain(t *testing.T) {
	slower, _, r := explainedCheck()
	do := func() (seen []bool) {
		for _, text := range []string{Markdown(r), Comment(r, CommentOptions{}), shownText(t, r, true)} {
			seen = append(seen, strings.Contains(text, "do: allow more registers"))
		}
		return seen
	}
	if seen := do(); !slices.Equal(seen, []bool{false, true, true}) {
		t.Errorf("a loss: %v", seen)
	}
	slower.Slowdown = 0.9
	if seen := do(); slices.Contains(seen, true) {
		t.Errorf("a gain: %v", seen)
	}
}

func shownText(t *testing.T, r *result.Report, verbose bool) string {
	t.Helper()
	var b strings.Builder
	if err := Text(&b, r, TextOptions{Verbose: verbose}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A comment says the first causes, folds a few, and counts the others.
func TestCausesInAComment(t *testing.T) {
	_, _, r := explainedCheck()
	var slow *result.Row
	for _, row := range r.Rows {
		if len(row.Why) > 0 && row.Why[0].Cause != nil {
			slow = row
		}
	}
	r.Rows = nil
	for i := range 9 {
		copied := *slow
		copied.Config = fmt.Sprint("c", i)
		r.Rows = append(r.Rows, &copied)
	}
	c := CommentOf(r, CommentOptions{})
	at := slices.IndexFunc(c.Folds, func(f view.Fold) bool { return strings.HasPrefix(f.Title, "Root cause") })
	if len(c.Causes) != 2 || at < 0 {
		t.Fatalf("%d causes, fold %d", len(c.Causes), at)
	}
	if f := c.Folds[at]; f.Title != "Root cause: 9 kernels" || len(f.Items) != 6 || f.Left != 3 {
		t.Errorf("%s: %d, and %d left", f.Title, len(f.Items), f.Left)
	}
}

// What no counter shows is said once, in every form.
func TestUnknownCausesAreSaidOnce(t *testing.T) {
	_, unknown, r := explainedCheck()
	var slow *result.Row
	for _, row := range r.Rows {
		if slices.Contains(row.Why, unknown) {
			slow = row
		}
	}
	for i := range 4 {
		copied := *slow
		copied.Config = fmt.Sprint("c", i)
		r.Rows = append(r.Rows, &copied)
	}
	const want = "no counter shows why these changed: gemm/4k, gemm/c0, gemm/c1 and 2 more"
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"text": shownText(t, r, false), "verbose": shownText(t, r, true), "markdown": Markdown(r), "HTML": string(page), "comment": Comment(r, CommentOptions{}),
	} {
		if strings.Count(text, want) != 1 || strings.Contains(text, "and no counter shows why") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestAdvise(t *testing.T) {
	slower, faster, r := explainedCheck()
	slower.Last().Remarks = []result.Remark{{ID: "x", Text: "a remark"}}
	r.Rows = slices.DeleteFunc(r.Rows, func(row *result.Row) bool { return len(row.Why) == 0 })
	said := func(verbose bool) string {
		var b strings.Builder
		if err := Advise(&b, r, TextOptions{Verbose: verbose}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	plain := said(false)
	for _, want := range []string{
		"profiled 2026-", ", 2 configs", "attention/training_512", "55.0 µs\n", "why attention/training_512 is slower", " 1 registers spill to local memory (register-spills), at most 1.3× faster",
		"do: allow more registers", "next: rebuild with -Xptxas -v", "gemm/4k\n", "nothing stands out", "ncu was not found",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, plain)
		}
	}
	if strings.Contains(plain, "a remark") || strings.Count(said(true), "a remark") != 1 || strings.Count(said(true), "nothing stands out") != 1 {
		t.Errorf("%s\n%s", plain, said(true))
	}
	faster.Sentence = ""
	if strings.Contains(said(false), "why gemm/4k") {
		t.Error(said(false))
	}
}

// Numbers of a single launch have no noise to be compared with.
func TestLaunchesWithoutRepeats(t *testing.T) {
	slower, _, r := explainedCheck()
	for _, test := range []struct {
		repeats [2]int
		want    bool
	}{{[2]int{3, 3}, false}, {[2]int{1, 3}, true}, {[2]int{3, 1}, true}} {
		slower.Repeats = test.repeats
		if got := strings.Contains(shownText(t, r, true), "not repeated"); got != test.want {
			t.Errorf("%v: %v", test.repeats, got)
		}
	}
}

// A picture has the samples of a row's versions, unless they are of several functions together.
func TestSamplesOfAPicture(t *testing.T) {
	_, _, r := explainedCheck()
	w := explained(r.Rows)[0]
	before, after := w.row.Sides[0].Row.Timing.Samples.Kept(), w.row.Timing.Samples.Kept()
	got := w.samples()
	if len(got) != 2 || !slices.Equal(got[0], before) || !slices.Equal(got[1], after) {
		t.Fatalf("%d lists", len(got))
	}
	w.own = true
	if got := w.samples(); got != nil {
		t.Errorf("%d lists of several functions", len(got))
	}
	w.own, w.Versions = false, w.Versions[1:]
	if got := w.samples(); len(got) != 1 || !slices.Equal(got[0], after) {
		t.Errorf("%d lists of one version", len(got))
	}
}

// Without a profiler a table has how far kernels are from the roof.
func TestOverviewOfTheRoof(t *testing.T) {
	r := &result.Report{Schema: result.Schema, Kind: result.KindProfile}
	for _, name := range []string{"a", "b"} {
		r.Rows = append(r.Rows, &result.Row{Kernel: name, Config: "c", Why: []*result.Why{{Kernel: name, Versions: []result.ExplainedSide{{
			Label: name, Metrics: map[string]result.Fact{"seconds": {Value: 1e-3, Unit: "s"}, "roof_pct": {Value: 43, Unit: "%"}},
		}}}}})
	}
	heads := func() (heads []string) {
		for _, c := range overview(explained(r.Rows)).Columns {
			heads = append(heads, c.Head)
		}
		return heads
	}
	if !slices.Contains(heads(), "of roof") {
		t.Errorf("%s", heads())
	}
	r.Rows[1].Why[0].Versions[0].Repeats = 1
	if slices.Contains(heads(), "of roof") {
		t.Errorf("%s, with a profile that has a better number", heads())
	}
}
