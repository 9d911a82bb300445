package report

import (
	"fmt"
	"strings"

	"pawl/internal/result"
	"pawl/internal/unit"
)

// How much of what compute-sanitizer found is told of one kernel.
const (
	mostFound  = 8 // findings in a text or a comment
	mostFrames = 6
)

// toolRun is what one tool of compute-sanitizer said of a kernel.
type toolRun struct{ *result.SanitizerRun }

// sanitized are the tools that looked at a kernel.
func (t tried) sanitized() []toolRun {
	var out []toolRun
	for i := range t.v.Sanitizer {
		out = append(out, toolRun{&t.v.Sanitizer[i]})
	}
	return out
}

// count is how many findings there are of errors, or of anything less.
func (r toolRun) count() (errors, warnings int) {
	for _, f := range r.Findings {
		if defect(f) {
			errors++
		} else {
			warnings++
		}
	}
	if errors > 0 {
		errors = max(errors, r.Errors) // it counts threads, and some it does not print
	}
	return errors, warnings
}

// defect tells whether a finding fails its kernel.
func defect(f result.SanitizerFinding) bool { return f.Severity == "error" }

// word is what a tool came to: "ok", "3 errors", "skipped: why".
func (r toolRun) word() string {
	errors, warnings := r.count()
	var parts []string
	if errors > 0 {
		parts = append(parts, counted(errors, "error"))
	}
	if warnings > 0 {
		parts = append(parts, counted(warnings, "warning"))
	}
	switch why := flat(r.Skipped); {
	case why != "" && len(parts) == 0:
		return "skipped: " + why
	case why != "":
		return strings.Join(parts, ", ") + ", and not all is known: " + why
	case len(parts) == 0 && r.Errors > 0: // of which none was understood
		return counted(r.Errors, "error")
	case len(parts) == 0:
		return "ok"
	}
	return strings.Join(parts, ", ")
}

// class is how the word looks.
func (r toolRun) class() string {
	errors, warnings := r.count()
	switch {
	case errors > 0 || warnings == 0 && r.Skipped == "" && r.Errors > 0:
		return "bad"
	case warnings > 0 || r.Skipped != "":
		return "unsure"
	}
	return "good"
}

// launchedOn is what the tools launched a kernel on, each once.
func launchedOn(runs []toolRun) string {
	var names []string
	seen := map[string]bool{}
	for _, r := range runs {
		for _, name := range r.Cases {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "launched on " + few(names)
}

// whereFound is the place of a finding, in the source and on the device.
func whereFound(f result.SanitizerFinding) (source, device string) {
	if source = f.File; source != "" && f.Line > 0 {
		source = fmt.Sprintf("%s:%d", source, f.Line)
	}
	var parts []string
	if f.Kernel != "" {
		parts = append(parts, "in "+f.Kernel)
	}
	if f.Thread != "" {
		parts = append(parts, "thread "+f.Thread)
	}
	if f.Block != "" {
		parts = append(parts, "block "+f.Block)
	}
	if f.Count > 1 {
		parts = append(parts, "×"+unit.Count(f.Count))
	}
	return source, strings.Join(parts, ", ")
}

// belowFound are the lines below a finding: what is known of the address, and how
// the place was reached.
func belowFound(f result.SanitizerFinding) []string {
	var out []string
	if f.Note != "" {
		out = append(out, f.Note)
	}
	out = append(out, f.Frames[:min(mostFrames, len(f.Frames))]...)
	if left := len(f.Frames) - mostFrames; left > 0 {
		out = append(out, "… and "+counted(left, "more frame"))
	}
	return out
}

// sanitizerText tells what compute-sanitizer found, kernel by kernel.
func sanitizerText(b *strings.Builder, rows []tried, opts TextOptions) {
	style := opts.Style
	paints := map[string]func(string) string{"good": style.Green, "bad": style.Red, "unsure": style.Yellow}
	for _, t := range rows {
		runs := t.sanitized()
		if len(runs) == 0 {
			continue
		}
		var tools []string
		for _, r := range runs {
			tools = append(tools, printable(flat(r.Tool))+" "+paints[r.class()](printable(opts.shorten(r.word(), mostNote))))
		}
		fmt.Fprintf(b, "\n  %s: %s\n", style.Bold(printable(flat(t.row.Kernel))), strings.Join(tools, " · "))
		if text := launchedOn(runs); text != "" {
			fmt.Fprintf(b, "    %s\n", style.Dim(printable(opts.shorten(flat(text), 2*mostNote))))
		}
		told, left, raw := 0, 0, false
		for _, r := range runs {
			raw = raw || r.Raw != ""
			for _, f := range r.Findings {
				if told == mostFound {
					left++
					continue
				}
				told++
				foundText(b, f, opts)
			}
		}
		if left > 0 {
			fmt.Fprintf(b, "    %s\n", style.Dim("… and "+counted(left, "more finding")+" in the report"))
		}
		if raw {
			fmt.Fprintf(b, "    %s\n", style.Dim("what the tools wrote is in the report"))
		}
	}
}

func foundText(b *strings.Builder, f result.SanitizerFinding, opts TextOptions) {
	style := opts.Style
	paint := style.Yellow
	if defect(f) {
		paint = style.Red
	}
	source, device := whereFound(f)
	parts := []string{paint(printable(flat(f.Severity))) + " " + printable(opts.shorten(flat(f.Kind), 2*mostNote))}
	if source != "" {
		parts = append(parts, style.Bold(printable(flat(source))))
	}
	if device != "" {
		parts = append(parts, printable(opts.shorten(flat(device), 2*mostNote)))
	}
	fmt.Fprintf(b, "    %s\n", strings.Join(parts, "  "))
	for _, line := range belowFound(f) {
		fmt.Fprintf(b, "      %s\n", style.Dim(printable(opts.shorten(flat(line), 2*mostNote))))
	}
}

// sanitizer tells the same in a comment.
func (d *bounded) sanitizer(rows []tried) {
	begun, left, more := false, 0, 0
	add := func(text string) {
		if !begun {
			d.printf("## Sanitizer\n\n")
			begun = true
		}
		if left > 0 || !d.add(text) {
			left++
		}
	}
	for _, t := range rows {
		runs := t.sanitized()
		if len(runs) == 0 {
			continue
		}
		var tools []string
		for _, r := range runs {
			tools = append(tools, inline(r.Tool, 40)+" "+inline(r.word(), 400))
		}
		text := fmt.Sprintf("**%s**: %s\n\n", inline(t.row.Kernel, 120), strings.Join(tools, " · "))
		if on := launchedOn(runs); on != "" {
			text += "- " + inline(on, 400) + "\n\n"
		}
		add(text)
		told := 0
		for _, r := range runs {
			for _, f := range r.Findings {
				if told == mostFound {
					more++
					continue
				}
				told++
				add(foundMarkdown(f))
			}
		}
	}
	if left += more; left > 0 {
		d.printf("… and %s more in the report\n\n", unit.Count(left))
	}
}

func foundMarkdown(f result.SanitizerFinding) string {
	source, device := whereFound(f)
	text := fmt.Sprintf("**%s: %s**", inline(f.Severity, 40), inline(f.Kind, 400))
	if source != "" {
		text += " at " + inline(source, 400)
	}
	if device != "" {
		text += " " + inline(device, 400)
	}
	text += "\n\n"
	for _, line := range belowFound(f) {
		text += "- " + inline(line, 400) + "\n"
	}
	return strings.TrimRight(text, "\n") + "\n\n"
}
