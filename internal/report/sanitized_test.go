package report

import (
	"fmt"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/term"
)

// sanitizedSample returns a fuzz report with one of all that compute-sanitizer can come to.
func sanitizedSample() *result.Report {
	cases := []string{"M=1 N=1 K=1", "M=64 N=64 K=64"}
	write := result.SanitizerFinding{
		Tool: "memcheck", Severity: "error", Kind: "Invalid __global__ write of size 4 bytes", Kernel: "gemm", File: "gemm.cu", Line: 41, Thread: "(31,0,0)", Block: "(2,0,0)",
		Note: "Address 0x7f2a00001000 is out of bounds; and is 1 bytes after the nearest allocation", Frames: []string{"store at tile.cuh:12", "gemm at gemm.cu:41"}, Count: 256,
	}
	race := result.SanitizerFinding{
		Tool: "racecheck", Severity: "warning", Kind: "Race reported between Write access and Read access", Kernel: "gemm", File: "gemm.cu", Line: 30,
		Note: "Read access at gemm.cu:33, 64 hazards", Count: 1,
	}
	gemm := fuzzRow("gemm", "kernel gemm_ref", caseOf("matrix", "M=64 N=64 K=64", 1e-4, 1e-4, 1e-5))
	gemm.Verification.Sanitizer = []result.SanitizerRun{
		{Tool: "memcheck", Cases: cases, Errors: 256, Findings: []result.SanitizerFinding{write}},
		{Tool: "racecheck", Cases: cases, Findings: []result.SanitizerFinding{race}},
		{Tool: "initcheck", Cases: cases, Skipped: "the tool did not finish", Raw: "========= COMPUTE-SANITIZER\n========= The moon is full\n"},
		{Tool: "synccheck", Cases: cases},
	}
	gemm.Verdict = result.Broken
	gemm.Fault = &result.Fault{Stage: "sanitize", Cause: result.CauseSanitizer, Message: "memcheck: Invalid __global__ write of size 4 bytes at gemm.cu:41", Hint: write.Note}

	clean := fuzzRow("softmax", "built-in softmax", caseOf("matrix", "ROWS=1 COLS=1", 1e-6, 1e-6, 1e-7))
	for _, tool := range []string{"memcheck", "racecheck", "initcheck", "synccheck"} {
		clean.Verification.Sanitizer = append(clean.Verification.Sanitizer, result.SanitizerRun{Tool: tool, Cases: []string{"ROWS=1 COLS=1"}})
	}
	return fuzzOf(gemm, clean, fuzzRow("saxpy", "a * x + y", caseOf("matrix", "N=1", 0, 0, 0)))
}

func TestSanitizerReport(t *testing.T) {
	golden(t, "sanitizer_text", checkedText(t, sanitizedSample(), term.Style{}))
	golden(t, "sanitizer_color", checkedText(t, sanitizedSample(), term.Style{Color: true}))
	golden(t, "sanitizer_markdown", Markdown(sanitizedSample()))
	page := pageOf(t, sanitizedSample())
	checkPage(t, page)
	golden(t, "sanitizer_html", styleSheet.ReplaceAllString(page, "<style/>"))
	if strings.Contains(pageOf(t, briefly()), `id="sanitizer"`) || strings.Contains(Markdown(briefly()), "## Sanitizer") {
		t.Error("a page speaks of tools that were not run")
	}
}

func TestSanitizerWords(t *testing.T) {
	finding := func(severity string) result.SanitizerFinding {
		return result.SanitizerFinding{Severity: severity, Kind: "k", Count: 2}
	}
	both := []result.SanitizerFinding{finding("error"), finding("warning"), finding("warning")}
	for _, test := range []struct {
		word, class string
		run         result.SanitizerRun
	}{
		{"ok", "good", result.SanitizerRun{}},
		{"3 errors", "bad", result.SanitizerRun{Errors: 3}},
		{"1 error", "bad", result.SanitizerRun{Findings: both[:1]}},
		{"300 errors, 2 warnings", "bad", result.SanitizerRun{Errors: 300, Findings: both}},
		// Those of pawl's own kernels, which the tool counts as errors.
		{"2 warnings", "unsure", result.SanitizerRun{Errors: 2, Findings: both[1:]}},
		{"skipped: no such tool", "unsure", result.SanitizerRun{Skipped: "no such tool"}},
		{"skipped: it names none", "unsure", result.SanitizerRun{Errors: 3, Skipped: "it names\nnone"}},
		{"1 warning, incomplete: it ended", "unsure", result.SanitizerRun{Findings: both[1:2], Skipped: "it ended"}},
		{"1 error, incomplete: it ended", "bad", result.SanitizerRun{Findings: both[:1], Skipped: "it ended"}},
	} {
		r := toolRun{&test.run}
		if r.word() != test.word || string(r.tone()) != test.class {
			t.Errorf("got %q, %s; want %q, %s", r.word(), string(r.tone()), test.word, test.class)
		}
	}
}

func TestSanitizerHostileText(t *testing.T) {
	for _, text := range nasty {
		r := sanitizedSample()
		spoilAnswers(r, text)
		if len(text) < 100 {
			page := pageOf(t, r)
			checkPage(t, page)
			if strings.Contains(page, "<script") || strings.Contains(page, "<img") {
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

// However much the tools find, a comment stays a comment and a page a page, and what
// is left out is counted.
func TestSanitizerIsBounded(t *testing.T) {
	long := strings.Repeat("a|`<b>\n", 60)
	few, many := sanitizedSample(), fuzzOf()
	found := few.Rows[0].Verification.Sanitizer[0].Findings[0]
	found.Frames = strings.Split(strings.Repeat("frame at a.cu:1\n", 20), "\n")[:20]
	few.Rows[0].Verification.Sanitizer[0].Findings = nil
	for i := range 8 + 5 {
		found.Line = i
		few.Rows[0].Verification.Sanitizer[0].Findings = append(few.Rows[0].Verification.Sanitizer[0].Findings, found)
	}
	for _, text := range []string{checkedText(t, few, term.Style{}), Markdown(few)} {
		if !strings.Contains(text, "… and 14 more frames") || !strings.Contains(text, "… and 6 more") { // the race is one of them
			t.Errorf("nobody says what is left out:\n%s", text)
		}
	}
	for i := range 120 {
		row := *few.Rows[0]
		v := *row.Verification
		v.Sanitizer = nil
		for range 4 {
			one := few.Rows[0].Verification.Sanitizer[0]
			one.Skipped, one.Raw = long, strings.Repeat(long, 5)
			v.Sanitizer = append(v.Sanitizer, one)
		}
		row.Kernel, row.Verification = fmt.Sprint("k", i, long), &v
		many.Rows = append(many.Rows, &row)
	}
	comment := Markdown(many)
	if f := flaw(comment); f != "" {
		t.Error(f)
	}
	page := pageOf(t, many)
	checkPage(t, page)
	if most := 8 << 20; len(page) > most {
		t.Errorf("a page of %d bytes, more than %d", len(page), most)
	}
	if !strings.Contains(page, "more in the JSON report") {
		t.Error("the page does not say what is left out")
	}
}
