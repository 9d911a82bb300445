package report

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pawl/internal/result"
	"pawl/internal/term"
)

func checkedText(t testing.TB, r *result.Report, style term.Style) string {
	t.Helper()
	var b strings.Builder
	if err := Text(&b, r, TextOptions{Style: style, Path: ".pawl/runs/x/report.html"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCheckText(t *testing.T) {
	golden(t, "check_text", checkedText(t, everything(), term.Style{}))
	golden(t, "check_color", checkedText(t, everything(), term.Style{Color: true}))
	golden(t, "check_plan", checkedText(t, plan(), term.Style{}))
}

func TestCheckMarkdown(t *testing.T) {
	golden(t, "check_markdown", Markdown(everything()))
	golden(t, "check_plan_markdown", Markdown(plan()))
}

func TestCheckCSV(t *testing.T) {
	got, err := CSV(everything())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "check_csv", string(got))
}

func TestCheckHeadline(t *testing.T) {
	row := func(v result.Verdict, reasons ...result.Reason) *result.Row { return &result.Row{Kernel: "k", Verdict: v, Reasons: reasons} }
	for _, test := range []struct {
		want string
		r    *result.Report
	}{
		{"nothing to check", checkOf()},
		{"gate failed: 1 regression", checkOf(row(result.Regression), row(result.Improvement))},
		{"gate failed: 2 regressions, 1 incorrect, 1 rejected", checkOf(row(result.Regression), row(result.Incorrect), row(result.Rejected), row(result.Regression))},
		{"gate passed: 1 slower on purpose, 1 improvement", checkOf(row(result.Improvement), row(result.Regression, result.Accepted))},
		{"gate passed: 2 unchanged", checkOf(row(result.Unchanged), row(result.Unchanged))},
		{"1 inconclusive, 1 maintained", checkOf(row(result.Maintained), row(result.Inconclusive))},
		{"2 planned", checkOf(&result.Row{Plan: "measure alone"}, &result.Row{Plan: "measure alone"})},
	} {
		if got := headline(test.r, checkedRows(test.r)); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	r := checkOf(row(result.Maintained))
	r.Interrupted = true
	if got := headline(r, checkedRows(r)); got != "interrupted: 1 maintained" {
		t.Errorf("got %q", got)
	}
}

func TestCheckHeadingCountsKernels(t *testing.T) {
	r := checkOf(
		&result.Row{Kernel: "a", Verdict: result.Unchanged}, &result.Row{Kernel: "a", Verdict: result.Maintained}, // changed for one config
		&result.Row{Kernel: "b", Verdict: result.Unchanged}, &result.Row{Kernel: "c", Verdict: result.New},
		&result.Row{Kernel: "d", Fault: &result.Fault{Cause: result.CauseUnsupported}},
	)
	r.Base = nil
	want := "pawl 0.1.0 · NVIDIA H200 · 1 kernel changed, 1 new, 1 unchanged, 1 not measured · 5 configs"
	if got := checkHeading(r, checkedRows(r)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// What a side says is about not having it, unless the row was accepted.
func TestCheckReasonForBeingSlower(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	row := s.duet("k/c", result.Regression, 1e-3, 0.08, nil, result.Accepted)
	row.Sides[0].Reason = []string{"fewer registers for the next step"}
	r := checkOf(row)
	for name, got := range map[string]string{"text": checkedText(t, r, term.Style{}), "markdown": Markdown(r), "html": render(t, r)} {
		if !strings.Contains(got, "accepted: fewer registers for the next step") {
			t.Errorf("%s does not say why", name)
		}
		if strings.Contains(got, "! k/c") || strings.Contains(got, "- k/c") || strings.Contains(got, `id="warnings"`) {
			t.Errorf("%s warns of it besides", name)
		}
	}
	if !strings.Contains(Markdown(r), "**k/c is slower on purpose: fewer registers for the next step**") {
		t.Error("the comment does not say it loudly")
	}
	row.Sides[0].Reason = nil
	if got := checkedText(t, r, term.Style{}); !strings.Contains(got, "  accepted\n") {
		t.Errorf("without a reason: %s", got)
	}
}

// A bound that is rounded down is none.
func TestFalseAlarmsAreRoundedUp(t *testing.T) {
	r := checkOf()
	for bound, want := range map[float64]string{0.00281: "< 0.3%", 0.003: "< 0.3%", 0.00301: "< 0.4%", 0: "< 0.0%"} {
		r.FalseAlarms = &result.FalseAlarms{PerRun: bound}
		if got := alarms(r); !strings.Contains(got, want+" per run") {
			t.Errorf("%v: got %q, want %q", bound, got, want)
		}
	}
}

func TestCheckOfNothing(t *testing.T) {
	for _, r := range []*result.Report{{Kind: result.KindCheck}, checkOf(), checkOf(&result.Row{}), checkOf(&result.Row{Sides: []*result.Side{{}, {Role: result.Base, Change: &result.Change{}}}})} {
		if got := checkedText(t, r, term.Style{}); !strings.HasPrefix(got, "pawl ") || strings.Contains(got, "\n\n\n") {
			t.Errorf("got %q", got)
		}
		if Markdown(r) == "" {
			t.Error("an empty comment")
		}
		checkPage(t, render(t, r))
		if _, err := CSV(r); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckOfStrangeNumbers(t *testing.T) {
	strange := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e300, 5e-324}
	for i, v := range strange {
		r := everything()
		for _, row := range r.Rows {
			for _, side := range row.Sides {
				if c := side.Change; c != nil {
					c.Median, c.Low, c.High, c.Delta = v, strange[(i+1)%len(strange)], strange[(i+2)%len(strange)], v
					for j := range c.Cells {
						c.Cells[j].Median = strange[(i+j)%len(strange)]
					}
				}
			}
			if row.Timing != nil {
				row.Timing.Stats.Median, row.Timing.Stats.Low, row.Timing.Stats.High = v, v, v
				row.Timing.Samples.Seconds[20], row.Timing.Samples.Seconds[30] = v, strange[(i+1)%len(strange)]
			}
		}
		page := render(t, r)
		checkPage(t, page)
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%v is shown as no number", v)
		}
		checkedText(t, r, term.Style{})
		Markdown(r)
	}
}

// spoil makes every text of a check hostile but those that decide how it is shown.
func spoil(r *result.Report, text string) {
	type words struct {
		verdict result.Verdict
		reasons []result.Reason
		roles   []result.Role
	}
	var kept []words
	for _, row := range r.Rows {
		w := words{verdict: row.Verdict, reasons: append([]result.Reason(nil), row.Reasons...)}
		for _, side := range row.Sides {
			w.roles = append(w.roles, side.Role)
		}
		kept = append(kept, w)
	}
	hostile(reflect.ValueOf(r), text)
	r.Kind = result.KindCheck
	for i, row := range r.Rows {
		row.Verdict, row.Reasons = kept[i].verdict, kept[i].reasons
		for j, side := range row.Sides {
			side.Role = kept[i].roles[j]
		}
		if row.Fault != nil {
			row.Fault.Stage = "build"
		}
		for j := range row.Warnings {
			row.Warnings[j].Code = string(result.Accepted)
		}
	}
}

var nasty = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "a|b|c", "`code` ``` fence", "line\none\r\n\n# two", "**bold** _it_ ~~no~~", `\`, `\|`, "[a](http://b)", "![x](y)",
	"</details><details>", "<!-- ", "@everyone", "\x1b[2J\x00\u0085\u2028x", "\xff\xfe", "&lt;&#60;", "$$x$$", strings.Repeat("long ", 4000), strings.Repeat("`", 5000), strings.Repeat("|", 3000),
}

func TestCheckHostileText(t *testing.T) {
	for _, text := range nasty {
		for _, r := range []*result.Report{everything(), plan()} {
			spoil(r, text)
			page := render(t, r)
			checkPage(t, page)
			if strings.Contains(page, "<script") || strings.Contains(page, "<img") {
				t.Errorf("%.40q is not escaped in the page", text)
			}
			if out := checkedText(t, r, term.Style{}); strings.ContainsAny(out, "\x1b\x00\u0085\r") {
				t.Errorf("%.40q steers the terminal", text)
			}
			holdsTogether(t, Markdown(r), text)
		}
	}
}

var (
	fence = regexp.MustCompile("(?ms)^(`{3,})\\n.*?^(`{3,})$")
	tag   = regexp.MustCompile(`</?(details|summary)>`)
)

// holdsTogether makes sure that a comment is still what it was made to be: its
// tables as wide as their heads, nothing of HTML but folds, nothing in code but
// what compilers wrote, and short enough.
func holdsTogether(t testing.TB, text, from string) {
	t.Helper()
	if n := len(text); n > 65_536 {
		t.Errorf("%.40q: %d bytes", from, n)
	}
	if !utf8.ValidString(text) {
		t.Errorf("%.40q: not UTF-8", from)
	}
	if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
		t.Errorf("%.40q: a fold is not closed", from)
	}
	text = fence.ReplaceAllString(text, "")
	if rest := tag.ReplaceAllString(text, ""); strings.ContainsAny(rest, "<>") {
		t.Errorf("%.40q: HTML gets through", from)
	}
	if strings.Contains(strings.ReplaceAll(text, "\\`", ""), "`") {
		t.Errorf("%.40q: code gets through", from)
	}
	width := 0
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			width = 0
			continue
		}
		bars := strings.Count(line, "|")
		if width != 0 && bars != width {
			t.Fatalf("%.40q: %d bars in a table of %d: %.200s", from, bars, width, line)
		}
		width = bars
	}
	for _, line := range strings.Split(text, "\n") {
		if known := regexp.MustCompile(`^($|# pawl check: |## [A-Z][a-z]+( on purpose)?$|\| |- |… and |\*\*|<)`); !known.MatchString(line) && strings.HasPrefix(strings.TrimSpace(line), "#") {
			t.Errorf("%.40q: a line of its own: %.80s", from, line)
		}
	}
}

// However many rows there are and whatever they say, a comment is short enough.
func TestCheckMarkdownIsBounded(t *testing.T) {
	long := strings.Repeat("a|`<b>\n", 60)
	sample := everything()
	r := checkOf()
	for i := range 5000 {
		row := *sample.Rows[i%len(sample.Rows)]
		row.Kernel, row.Config = row.Kernel+long, strings.Repeat("c", i%7)+row.Config
		if row.Fault != nil {
			row.Fault = &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: long + row.Config, Hint: long}
			row.Build = &result.Build{Output: strings.Repeat(long+"\n", 50)}
		}
		r.Rows = append(r.Rows, &row)
		r.Warnings = append(r.Warnings, result.Warning{Message: long})
	}
	r.Machine.GPU.Name, r.Base.Ref, r.Tool.Version, r.ID = long, long, long, long
	text := Markdown(r)
	holdsTogether(t, text, "5,000 rows")
	for _, want := range []string{"gate failed: ", "## Regressions", "more rows\n", "## Warnings", "- … and ", "<details>"} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q", want)
		}
	}
	page := render(t, r)
	if most := 8 << 20; len(page) > most {
		t.Errorf("a page of %d bytes", len(page))
	}
}

func TestCheckMarkdownBound(t *testing.T) {
	sample := everything()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom(nasty))
		r := checkOf()
		for range rapid.IntRange(0, 300).Draw(t, "rows") {
			row := *sample.Rows[rapid.IntRange(0, len(sample.Rows)-1).Draw(t, "row")]
			r.Rows = append(r.Rows, &row)
		}
		name, message := text.Draw(t, "name"), text.Draw(t, "message")
		for _, row := range r.Rows {
			row.Kernel = name
			row.Warnings = []result.Warning{{Code: message, Message: message}}
			if row.Fault != nil {
				row.Fault = &result.Fault{Stage: "build", Message: message, Hint: name}
				row.Build = &result.Build{Output: message}
			}
		}
		var fake testing.T
		holdsTogether(&fake, Markdown(r), name)
		if fake.Failed() {
			t.Fatalf("a comment with name %q and message %q falls apart", name, message)
		}
	})
}

// Rows that need no attention are folded when there are many, and others never.
func TestCheckMarkdownFolds(t *testing.T) {
	text := Markdown(sixty())
	fold := strings.Index(text, "<details><summary>57 configs</summary>")
	if fold < 0 || fold < strings.Index(text, "## Maintained") {
		t.Errorf("57 maintained rows are not folded:\n%s", text)
	}
	if last := strings.LastIndex(text, "**regression**"); last < 0 || last > fold {
		t.Error("a regression is folded away")
	}
	if strings.Contains(Markdown(everything()), "<details>") {
		t.Error("three rows are folded")
	}
}

func TestCheckHTML(t *testing.T) {
	for name, r := range map[string]*result.Report{"everything": everything(), "plan": plan(), "sixty": sixty()} {
		t.Run(name, func(t *testing.T) {
			page := render(t, r)
			checkPage(t, page)
			for _, link := range regexp.MustCompile(`href="#(\w+)"`).FindAllStringSubmatch(page, -1) {
				if strings.Count(page, `id="`+link[1]+`"`) != 1 {
					t.Errorf("#%s is not there once", link[1])
				}
			}
		})
	}
	page := render(t, everything())
	for _, want := range []string{
		"<h1>gate failed: 2 regressions, 2 broken</h1>", "<b>2</b> regressions", "<b>11</b> unchanged", "false alarms on this GPU: &lt; 0.3% per run",
		"against</span> best 1a2b3c4", "creep: behind best by 6.1%", "baseline moved: 1.20 ms (1a2b3c4) → 1.06 ms (0123456)", "accepted: deterministic sums are worth 8%",
		"each cell against base 89abcde", "fused (base 89abcde)", "attention (base 89abcde)", `class="point second"`, "base loaded first", "best 1a2b3c4, as stored",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("does not show %q", want)
		}
	}
	if n := strings.Count(page, `<details class="duet"`); n != 10 {
		t.Errorf("%d duets are drawn", n)
	}
}

func TestUnchangedAreGathered(t *testing.T) {
	var rows []*result.Row
	for _, name := range []string{"a/1", "a/2", "b/1", "c/1", "c/2", "d/1", "e/1", "f/1", "f/2"} {
		kernel, config, _ := strings.Cut(name, "/")
		rows = append(rows, unchangedRow(kernel, config))
	}
	rows[3].Verdict = result.Maintained
	all := checkedRows(checkOf(rows...))
	if got, want := gathered(of(all, same), all), "a/*, b/1, c/2, d/1 and 3 more"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The unrest of a machine is one line where the duet allows for it, and told in
// full where it may be the cause.
func TestUnrestIsOneLine(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	restless := []result.Warning{{Code: "cv", Message: "samples vary"}, {Code: "foreign", Message: "others"}, {Code: "sandbox", Message: "tried"}}
	r := checkOf(s.duet("a/b", result.Maintained, 1, 0, nil), s.duet("a/c", result.Maintained, 1, 0, nil), s.duet("a/d", result.Inconclusive, 1, 0, nil))
	for _, row := range r.Rows {
		row.Warnings = restless
	}
	got := allWarnings(calm(attentive(r)))
	want := []string{"the machine was not quiet: samples of 2 configs", "a/b: tried; likewise a/c, a/d", "a/d: samples vary", "a/d: others"}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
	if all := allWarnings(attentive(r)); len(all) != 3 {
		t.Errorf("the page leaves something out: %q", all)
	}
}

func TestCheckWriteFile(t *testing.T) {
	dir := t.TempDir()
	for _, ending := range Endings {
		if err := WriteFile(filepath.Join(dir, "report"+ending), everything()); err != nil {
			t.Errorf("%s: %v", ending, err)
		}
	}
}

// A report of 14 rows with 1,000 samples a side, in all forms that check writes.
func BenchmarkCheckReport(b *testing.B) {
	s := stage{rand.New(rand.NewPCG(3, 4))}
	var rows []*result.Row
	change := 0.02
	for i := range 14 {
		row := s.duet("kernel/"+strings.Repeat("c", i+1), result.Regression, 1e-4, 0.05, &change)
		row.Timing = drawn(s.Rand, 1e-4, 1000)
		for _, side := range row.Sides {
			side.Row.Timing = drawn(s.Rand, 1e-4, 1000)
		}
		rows = append(rows, row)
	}
	r := checkOf(rows...)
	for b.Loop() {
		render(b, r)
		Markdown(r)
		checkedText(b, r, term.Style{})
	}
}

// TestCheckPages writes pages for people to look at.
func TestCheckPages(t *testing.T) {
	if *pages == "" {
		t.Skip("-pages names no folder")
	}
	for name, r := range map[string]*result.Report{"check": everything(), "plan": plan(), "sixty": sixty()} {
		for _, ending := range Endings {
			if err := WriteFile(filepath.Join(*pages, name+ending), r); err != nil {
				t.Error(err)
			}
		}
	}
}
