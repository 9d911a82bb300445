package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pawl/internal/result"
)

func TestCheckMarkdown(t *testing.T) {
	golden(t, "check_markdown", Markdown(everything()))
	golden(t, "check_plan_markdown", Markdown(plan()))
}

var (
	fence  = regexp.MustCompile("(?ms)^(`{3,})[a-z]*\\n.*?^(`{3,})$")
	tag    = regexp.MustCompile(`</?(details|summary)>`)
	begins = regexp.MustCompile(`^($|# pawl (check|fuzz|selftest|tune): |## [A-Z][a-z]+( on purpose)?$|## (Best params|What was |What each param|How to apply|The best |Tied with|Time and energy)|(Nothing|Interrupted|Every candidate|[\d.−]+% less|The best is|The share of|No other setting|The gain is)\b|.*, by (pawl|hand).*:$|(nvcc|CMake|the compiler|Python)\b.*:$|## Cell |\| |- |… and |\*\*|</?details|[\d,]+ (configs?: |skipped|more settings? )|Next: |on |cache |trust: author for |pawl )`)
)

// flaw says how a comment is no longer what it was made to be: tables wider than
// their heads, HTML that is no fold, code that no compiler wrote, too long.
func flaw(text string) string {
	switch {
	case len(text) > 65_536:
		return fmt.Sprintf("%d bytes", len(text))
	case !utf8.ValidString(text):
		return "not UTF-8"
	case strings.Count(text, "<details>") != strings.Count(text, "</details>"):
		return "a fold is not closed"
	}
	text = fence.ReplaceAllString(text, "")
	if strings.ContainsAny(tag.ReplaceAllString(text, ""), "<>") {
		return "HTML gets through"
	}
	if strings.Contains(strings.ReplaceAll(text, "\\`", ""), "`") {
		return "code gets through"
	}
	width := 0
	for line := range strings.SplitSeq(text, "\n") {
		bars := strings.Count(line, "|")
		switch {
		case !begins.MatchString(line):
			return fmt.Sprintf("an unknown line: %.100q", line)
		case !strings.HasPrefix(line, "|"):
			width = 0
		case width != 0 && bars != width:
			return fmt.Sprintf("%d bars in a table of %d: %.200s", bars, width, line)
		default:
			width = bars
		}
	}
	return ""
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
	if f := flaw(text); f != "" {
		t.Error(f)
	}
	for _, want := range []string{"gate failed: ", "## Regressions", "more rows\n", "## Warnings", "- … and ", "<details>"} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q", want)
		}
	}
}

func TestCheckMarkdownBound(t *testing.T) {
	sample := everything()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom(nasty))
		r := checkOf()
		for range rapid.IntRange(0, 60).Draw(t, "rows") {
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
		if f := flaw(Markdown(r)); f != "" {
			t.Fatal(f)
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
