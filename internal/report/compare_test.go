package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
	"pawl/internal/term"
)

// comparison has one of everything that two files can come to.
func comparison() *result.Report {
	side := func(median float64, n int) *result.Row {
		seconds := make([]float64, n)
		for i := range seconds {
			seconds[i] = median * (1 + 0.001*float64(i-n/2))
		}
		return &result.Row{Timing: &result.Timing{
			Samples: result.Samples{Seconds: seconds},
			Stats:   result.Stats{Count: n, Median: median, Low: median * 0.997, High: median * 1.003, P95: median * 1.01},
		}}
	}
	row := func(name string, verdict result.Verdict, was, is, delta, p float64, reasons ...result.Reason) *result.Row {
		row, before := side(is, 100), side(was, 100)
		row.Kernel, row.Config, _ = strings.Cut(name, "/")
		before.Kernel, before.Config = row.Kernel, row.Config
		u := 1234.5
		change := is/was - 1
		row.Verdict, row.Reasons = verdict, reasons
		row.Sides = []*result.Side{{Role: result.Other, Row: before, Change: &result.Change{
			Median: change, Low: change - 0.006, High: change + 0.006, Delta: delta, U: &u, P: &p, Shift: is - was,
		}}}
		return row
	}
	few := row("few/one", result.Inconclusive, 1e-3, 1.2e-3, 1, 1, result.TooFew)
	few.Timing.Stats.Count, few.Timing.Stats.Low, few.Timing.Stats.High = 1, 1.2e-3, 1.2e-3
	broken := side(1, 1)
	broken.Kernel, broken.Timing, broken.Verdict, broken.Fault = "a_broken|one", nil, result.Incomparable, &result.Fault{Message: "it crashed"}
	broken.Sides = []*result.Side{{Role: result.Other, Row: side(2e-3, 20), Reason: []string{"in new.json: it crashed"}}}
	broken.Sides[0].Row.Kernel = broken.Kernel
	born, gone := side(1e-6, 10), side(2e-6, 10)
	born.Kernel, born.Verdict = "born", result.New
	gone.Kernel = "gone"
	renamed := row("after", result.Improvement, 1.21e-3, 1.06e-3, -1, 1e-9, result.ClockEffect)
	renamed.Sides[0].Row.Kernel = "before"
	cycles := -0.002
	renamed.Sides[0].Change.Cycles = &cycles
	return &result.Report{
		Schema: result.Schema, Kind: result.KindCompare, Tool: result.Tool{Version: "0.1.0"}, Command: []string{"pawl", "compare", "old.json", "new.json"},
		Started: time.Date(2026, 11, 10, 14, 22, 33, 0, time.UTC), DeviceClass: "nvidia-h200", Machine: result.Fingerprint{GPU: &result.GPU{Name: "NVIDIA H200"}},
		Method: result.Method{Interval: "percentile bootstrap, 10,000 resamples, seed 42"},
		Inputs: []result.Input{{File: "old.json", Format: "pawl", DeviceClass: "nvidia-h200"}, {File: "new.json", Format: "nvbench", DeviceClass: "nvidia-h200"}},
		Rows: []*result.Row{
			row("gemm/4k", result.Maintained, 861e-6, 862e-6, 0.02, 0.312),
			few, broken, born,
			row("attention/training_512", result.Regression, 52.1e-6, 54.8e-6, 0.97, 0.00001),
			row("softmax/rows", result.Maintained, 2e-6, 2.03e-6, 0.6, 0.004, result.Slower),
			renamed,
			{Kernel: "gone", Reasons: []result.Reason{result.Removed}, Sides: []*result.Side{{Role: result.Other, Row: gone}}},
		},
		Warnings: []result.Warning{{Code: "apart", Message: "measured apart", Hint: "pawl check"}},
	}
}

func TestCompareText(t *testing.T) {
	for name, style := range map[string]term.Style{"compare_text": {}, "compare_color": {Color: true}} {
		var b strings.Builder
		if err := Text(&b, comparison(), TextOptions{Style: style, Verbose: true}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
}

// Lists measured in turns have pairs, and no U.
func TestCompareTextOfPairs(t *testing.T) {
	r := comparison()
	r.Rows = r.Rows[4:5]
	r.Inputs[1].Format = r.Inputs[0].Format
	c := r.Rows[0].Sides[0].Change
	c.Paired, c.Pairs, c.U, c.P = true, 240, nil, nil
	var b strings.Builder
	if err := Text(&b, r, TextOptions{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare_paired", b.String())
}

// A doubt about one file is not taken for one about the other.
func TestDoubtsOfTwoFiles(t *testing.T) {
	noisy := func(name, file string) *result.Row {
		return &result.Row{Kernel: name, Warnings: []result.Warning{{Code: "cv", File: file, Message: file + ": samples vary by 20%"}}}
	}
	got := allWarnings(&result.Report{Rows: []*result.Row{noisy("a", "old.json"), noisy("b", "new.json"), noisy("c", "old.json")}})
	want := []string{"a: old.json: samples vary by 20%; likewise c", "b: new.json: samples vary by 20%"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCompareMarkdown(t *testing.T) { golden(t, "compare_markdown", Markdown(comparison())) }

// A long comparison shows what needs attention, folds the rest, and stays below what
// a forge takes as a comment.
func TestCompareMarkdownOfMany(t *testing.T) {
	r := comparison()
	one := r.Rows[0]
	for i := range 5000 {
		row := *one
		row.Kernel = fmt.Sprintf("k%d", i)
		row.Sides = []*result.Side{{Row: &result.Row{Kernel: row.Kernel, Config: row.Config, Timing: one.Sides[0].Row.Timing}, Change: one.Sides[0].Change}}
		r.Rows = append(r.Rows, &row)
	}
	text := Markdown(r)
	if n := len([]rune(text)); n > 65_536 {
		t.Errorf("%d characters", n)
	}
	for _, want := range []string{
		"| attention/training\\_512 | regression |", "<details><summary>5,002 maintained, 1 new, 1 removed</summary>", "| k0/4k | maintained |",
		"more rows are left out: `-o x.csv` has all of them", "## Warnings", "</details>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q", want)
		}
	}
	if strings.Index(text, "regression |") > strings.Index(text, "<details>") {
		t.Error("the regression is folded away")
	}
}

// Names come from other tools' files, and must not become markup.
func TestCompareOfHostileNames(t *testing.T) {
	r := comparison()
	r.Rows[0].Kernel, r.Inputs[0].File = "<script>|`x`\x1b[2J\n# no", "<b>.json"
	r.Rows[0].Sides[0].Row.Kernel = r.Rows[0].Kernel
	html, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := Text(&text, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for form, got := range map[string]string{"Markdown": Markdown(r), "HTML": string(html)} {
		if strings.Contains(got, "<script>") || strings.Contains(got, "<b>.json") || strings.ContainsRune(got, 0x1b) || form == "Markdown" && strings.Contains(got, "\n# no") {
			t.Errorf("%s lets a name through", form)
		}
	}
	if strings.ContainsRune(text.String(), 0x1b) || strings.Contains(text.String(), "\n# no") {
		t.Error("text lets a name steer the terminal")
	}
}

func TestCompareCSV(t *testing.T) {
	got, err := CSV(comparison())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "compare_csv", string(got))
}

func TestCompareHTML(t *testing.T) {
	got, err := HTML(comparison())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<h1>old.json (pawl) → new.json (nvbench)</h1>", "1 regression, 1 improvement", "attention/training_512", "&#43;5.2%", "[−13.0, −11.8]", "it crashed",
		">gone<", "percentile bootstrap", "before → after",
	} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("does not show %q", want)
		}
	}
	r := comparison()
	for i := range 5000 {
		row := *r.Rows[0]
		row.Kernel = fmt.Sprintf("k%d", i)
		r.Rows = append(r.Rows, &row)
	}
	if got, err = HTML(r); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(got, []byte("the first 100 of 5,008 benchmarks")) {
		t.Error("does not say what was left out of the pictures")
	}
}

func TestCompareOfNothing(t *testing.T) {
	var b strings.Builder
	r := &result.Report{Kind: result.KindCompare}
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	Markdown(r)
	if _, err := HTML(r); err != nil {
		t.Error(err)
	}
	if _, err := CSV(r); err != nil {
		t.Error(err)
	}
}

// Files without a common benchmark say why nothing was judged.
func TestCompareNothingInCommon(t *testing.T) {
	r := comparison()
	r.Outcome = &result.Outcome{Result: result.Unjudged, Reasons: []string{"the files have no benchmark in common"}}
	if text := textIn(t, r, TextOptions{}); !strings.HasSuffix(text, "; the files have no benchmark in common\n") {
		t.Error(text)
	}
}

// No number of samples makes equal code slower or faster: none is recommended.
func TestCompareOfEqualCode(t *testing.T) {
	r := comparison()
	r.Rows = r.Rows[1:2] // the one with few samples
	if next := compareNext(r, rowsOf(r)); !strings.Contains(next, "pawl calibrate --power") {
		t.Errorf("few samples: %q", next)
	}
	r.Rows[0].Reasons = []result.Reason{result.SameCode}
	if next := compareNext(r, rowsOf(r)); next != "" {
		t.Errorf("equal code: %q", next)
	}
}
