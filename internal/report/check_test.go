package report

import (
	"html"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/term"
)

// checkedText returns all that a terminal can show of a report.
func checkedText(t testing.TB, r *result.Report, style term.Style) string {
	t.Helper()
	var b strings.Builder
	if err := Text(&b, r, TextOptions{Style: style, Path: ".pawl/runs/x/report.html", Verbose: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCheckText(t *testing.T) {
	golden(t, "check_text", checkedText(t, everything(), term.Style{}))
	golden(t, "check_color", checkedText(t, everything(), term.Style{Color: true}))
	golden(t, "check_plan", checkedText(t, plan(), term.Style{}))
}

func TestCheckCSV(t *testing.T) {
	got, err := CSV(everything())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "check_csv", string(got))
}

func TestCheckHeadline(t *testing.T) {
	row := func(v result.Verdict, reasons ...result.Reason) *result.Row {
		return &result.Row{Kernel: "k", Verdict: v, Reasons: reasons}
	}
	for _, test := range []struct {
		want string
		r    *result.Report
	}{
		{"nothing to check", checkOf()},
		{"gate failed: 1 regression", checkOf(row(result.Regression), row(result.Improvement))},
		{"gate failed: 2 regressions, 1 incorrect, 1 rejected", checkOf(row(result.Regression), row(result.Incorrect), row(result.Rejected), row(result.Regression))},
		{"gate passed: 1 slower on purpose, 1 improvement", checkOf(row(result.Improvement), row(result.Regression, result.Accepted))},
		{"gate passed: 2 unchanged", checkOf(row(result.Unchanged), row(result.Unchanged))},
		{"gate passed: 1 inconclusive, 1 maintained", checkOf(row(result.Maintained), row(result.Inconclusive))},
		{"2 planned", checkOf(&result.Row{Plan: "measure alone"}, &result.Row{Plan: "measure alone"})},
	} {
		if got := headline(test.r, checkedRows(test.r)); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	r := checkOf(row(result.Maintained))
	r.Interrupted = true
	unjudged := checkOf(row(result.Maintained))
	unjudged.Outcome = &result.Outcome{Result: result.Unjudged}
	if got := headline(unjudged, checkedRows(unjudged)); got != "not judged: 1 maintained" { // as the exit code says
		t.Error(got)
	}
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
	if got := strings.Join(checkHeading(r, checkedRows(r)), " · "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// The heading is about what the change does to the code, whatever came of it.
func TestCheckHeadingOfFailures(t *testing.T) {
	side := func(role result.Role, identity string, fault *result.Fault) *result.Side {
		return &result.Side{Role: role, Row: &result.Row{Identity: identity, Fault: fault}}
	}
	fault := &result.Fault{Stage: "build", Cause: result.CauseCompile}
	for _, test := range []struct {
		want string
		row  result.Row
	}{
		{"1 kernel new", result.Row{Verdict: result.Rejected, Identity: "x"}},
		{"1 kernel new", result.Row{Verdict: result.Broken, Fault: fault}},
		{"1 kernel changed", result.Row{Verdict: result.Incorrect, Identity: "x", Sides: []*result.Side{side(result.Base, "y", nil)}}},
		{"1 kernel unchanged", result.Row{Verdict: result.Incorrect, Identity: "x", Sides: []*result.Side{side(result.Base, "x", nil)}}},
		{"1 kernel unchanged", result.Row{Verdict: result.Incorrect, Identity: "x", Sides: []*result.Side{side(result.Best, "x", nil)}}},
		{"1 kernel changed", result.Row{Verdict: result.Incorrect, Identity: "x", Sides: []*result.Side{side(result.Best, "x", nil), side(result.Base, "y", nil)}}},
		{"1 kernel changed", result.Row{Verdict: result.Broken, Fault: fault, Sides: []*result.Side{side(result.Base, "y", nil)}}},
		{"1 kernel not measured", result.Row{Verdict: result.Broken, Fault: fault, Sides: []*result.Side{side(result.Base, "", fault)}}},
	} {
		test.row.Kernel = "k"
		if got := kernelsLine(checkedRows(checkOf(&test.row))); got != test.want {
			t.Errorf("%+v: %s, want %s", test.row, got, test.want)
		}
	}
}

func TestCheckSaysOnceThatTheSandboxWasOff(t *testing.T) {
	r := checkOf(unchangedRow("a", "c"), unchangedRow("b", "c"))
	const words = "the sandbox was off"
	if text := checkedText(t, r, term.Style{}); strings.Contains(text, words) {
		t.Error("a sandbox that nobody knows of was off")
	}
	for _, row := range r.Rows {
		row.Sandbox = &result.Sandbox{Level: sandboxOff}
	}
	for name, text := range map[string]string{"text": checkedText(t, r, term.Style{}), "markdown": Markdown(r), "html": pageOf(t, r)} {
		if n := strings.Count(text, words); n != 1 {
			t.Errorf("%s says %d times that the sandbox was off", name, n)
		}
	}
}

// What a side says is about not having it, unless the row was accepted.
func TestCheckReasonForBeingSlower(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	row := s.duet("k/c", result.Regression, 1e-3, 0.08, nil, result.Accepted)
	row.Sides[0].Reason = []string{"fewer registers for the next step"}
	r := checkOf(row)
	for name, got := range map[string]string{"text": checkedText(t, r, term.Style{}), "markdown": Markdown(r), "html": pageOf(t, r)} {
		if !strings.Contains(got, "accepted: fewer registers for the next step") {
			t.Errorf("%s does not say why", name)
		}
		if strings.Contains(got, "! k/c") || strings.Contains(got, "- k/c") || strings.Contains(got, `id="warnings"`) {
			t.Errorf("%s warns of it besides", name)
		}
	}
	if !strings.Contains(Markdown(r), "**k/c is slower on purpose, accepted: fewer registers for the next step**") {
		t.Error("the comment does not say it loudly")
	}
	row.Sides[0].Reason = nil
	if got := checkedText(t, r, term.Style{}); !strings.Contains(got, "  accepted\n") {
		t.Errorf("without a reason: %s", got)
	}
}

// A row that was cut short has numbers that nobody judged, and no other reason.
func TestCheckInterrupted(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	row := s.duet("k/c", "", 1e-3, -0.332, nil)
	row.Fault = &result.Fault{Stage: "measure", Cause: result.CauseInterrupted, Message: "interrupted"}
	row.Sides[0].Change.Stopped = "interrupted"
	r := checkOf(row)
	r.Interrupted = true
	text, page := checkedText(t, r, term.Style{}), pageOf(t, r)
	if !strings.Contains(text, " · 1 kernel changed · ") || !regexp.MustCompile(`k/c +not judged +−33\.2% .* interrupted\n`).MatchString(text) {
		t.Error(text)
	}
	for form, got := range map[string]string{"text": text, "markdown": Markdown(r), "html": page} {
		if strings.Contains(got, "not measured") || strings.Contains(got, "stopped by interrupted") || !strings.Contains(got, "interrupted") {
			t.Errorf("%s:\n%s", form, got)
		}
	}
	if !strings.Contains(Markdown(r), "interrupted: 1 not judged") {
		t.Error(Markdown(r))
	}
	row.Timing, row.Sides[0].Change = nil, nil
	if text := checkedText(t, r, term.Style{}); !strings.Contains(text, "not measured") {
		t.Error(text)
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
		checkPage(t, pageOf(t, r))
		if _, err := CSV(r); err != nil {
			t.Error(err)
		}
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

// A slow tail is said wherever its row is shown, with what it is.
func TestSlowTailIsSaid(t *testing.T) {
	row := stage{rand.New(rand.NewPCG(7, 8))}.duet("attention/training_512", result.Maintained, 52.1e-6, 0.002, nil, result.SlowTail)
	row.Sides[0].Change.Tail = &result.Tail{BeforeS: 53e-6, AfterS: 65e-6, Change: 0.226, P: 1e-6}
	r := checkOf(row)
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	for format, text := range map[string]string{"text": checkedText(t, r, term.Style{}), "Markdown": Markdown(r), "HTML": html.UnescapeString(string(page))} {
		if !strings.Contains(text, "slow tail: P90 +22.6%") {
			t.Errorf("%s says nothing of it:\n%s", format, text)
		}
	}
}

func TestCheckHostileText(t *testing.T) {
	for _, text := range nasty {
		for _, r := range []*result.Report{everything(), plan()} {
			spoil(r, text)
			if len(text) < 100 { // how long it is does not matter to a page
				page := pageOf(t, r)
				checkPage(t, page)
				if strings.Contains(page, "<script") || strings.Count(page, "<img") != strings.Count(page, `<img class="picture" alt="`) {
					t.Errorf("%.40q is not escaped in the page", text)
				}
			}
			if out := checkedText(t, r, term.Style{}); strings.ContainsAny(out, "\x1b\x00\u0085\r") {
				t.Errorf("%.40q steers the terminal", text)
			}
			if f := flaw(Markdown(r)); f != "" {
				t.Errorf("%.40q: %s", text, f)
			}
		}
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

// Rows that say the same share a line; what one row says twice, of two files, are two.
func TestAllWarnings(t *testing.T) {
	noisy := func(file string) result.Warning { return result.Warning{Code: "cv", Message: file + ": samples vary"} }
	r := &result.Report{Rows: []*result.Row{
		{Kernel: "a", Warnings: []result.Warning{noisy("old"), noisy("new")}}, {Kernel: "b", Warnings: []result.Warning{noisy("old")}},
	}}
	want := []string{"a: old: samples vary; likewise b", "a: new: samples vary"}
	if got := allWarnings(r); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What was measured exactly enough is undecided for another reason than its width.
func TestCheckOfUnconfirmed(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	got := checkedText(t, checkOf(s.duet("a/b", result.Inconclusive, 1e-3, 0.05, nil, result.Unconfirmed)), term.Style{})
	if !strings.Contains(got, "second set of cells not played") || strings.Contains(got, "asked for") {
		t.Error(got)
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

func TestUnquiet(t *testing.T) {
	if got := unquiet(1, 1); !strings.Contains(got, "vary by up to 100.0%") {
		t.Error(got)
	}
	if got := unquiet(2, 9.2); strings.Contains(got, "%") || !strings.Contains(got, "busy with other work: some samples of 2 configs") {
		t.Error(got)
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

// Why a calibration is not cited is a detail.
func TestUncitedCalibration(t *testing.T) {
	r := checkOf(&result.Row{Kernel: "k", Verdict: result.Maintained})
	r.Uncited = "false alarms are not known: too few decisions"
	if strings.Contains(textIn(t, r, TextOptions{}), r.Uncited) || !strings.Contains(textIn(t, r, TextOptions{Verbose: true}), r.Uncited) {
		t.Error(textIn(t, r, TextOptions{}), textIn(t, r, TextOptions{Verbose: true}))
	}
}
