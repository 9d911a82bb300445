package report

import (
	"cmp"
	"fmt"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// sanitized returns what the tools of compute-sanitizer said, kernel by kernel.
func sanitized(rows []tried) []view.Section {
	var out []view.Section
	for _, t := range rows {
		if len(t.v.Sanitizer) == 0 {
			continue
		}
		s := view.Section{In: view.All, Name: t.row.Kernel, Variant: variant(t.row)}
		var launched []string
		for i := range t.v.Sanitizer {
			r := toolRun{&t.v.Sanitizer[i]}
			launched = append(launched, r.Cases...)
			badge := view.Cell{Text: r.word(), Tone: r.tone()}
			s.Tools = append(s.Tools, view.Tool{Name: r.Tool, Badge: badge, Brief: r.brief(), Skipped: r.Skipped, Findings: each(r.Findings, foundOf), Raw: r.Raw})
		}
		s.Aside = prefixed("launched on ", few(distinct(launched)))
		out = append(out, s)
	}
	return out
}

func foundOf(f result.SanitizerFinding) view.Found {
	tone := view.Unsure
	if defect(f) {
		tone = view.Bad
	}
	source, device := whereFound(f)
	return view.Found{Badge: view.Cell{Text: f.Severity, Tone: tone}, Kind: f.Kind, Source: source, Device: device, Lines: belowFound(f)}
}

// mostFrames of a finding are told.
const mostFrames = 6

// toolRun is what one tool of compute-sanitizer said of a kernel.
type toolRun struct{ *result.SanitizerRun }

// count returns how many findings there are of errors, or of anything less.
func (r toolRun) count() (errors, warnings int) {
	errors = len(where(r.Findings, defect))
	warnings = len(r.Findings) - errors
	if errors > 0 {
		errors = max(errors, r.Errors) // it counts threads, and some it does not print
	}
	return errors, warnings
}

// defect reports whether a finding fails its kernel.
func defect(f result.SanitizerFinding) bool { return f.Severity == "error" }

// word returns what a tool came to: "ok", "3 errors", "skipped: why".
func (r toolRun) word() string {
	switch text, why := r.counted(), view.Flat(r.Skipped); {
	case why != "" && text == "":
		return "skipped: " + why
	case why != "":
		return text + ", incomplete: " + why
	case text == "" && r.Errors > 0: // of which none was understood
		return view.Counted(r.Errors, "error")
	default:
		return cmp.Or(text, "ok")
	}
}

// brief returns the word without the reason of a skip.
func (r toolRun) brief() string { return cmp.Or(r.counted(), string(skipped)) }

// counted counts the findings: "3 errors, 1 warning".
func (r toolRun) counted() string {
	errors, warnings := r.count()
	return strings.Join(present(when(errors > 0, view.Counted(errors, "error")), when(warnings > 0, view.Counted(warnings, "warning"))), ", ")
}

// tone returns how the word looks.
func (r toolRun) tone() view.Tone {
	errors, warnings := r.count()
	switch {
	case errors > 0 || warnings == 0 && r.Skipped == "" && r.Errors > 0:
		return view.Bad
	case warnings > 0 || r.Skipped != "":
		return view.Unsure
	}
	return view.Good
}

// whereFound returns the place of a finding, in the source and on the device.
func whereFound(f result.SanitizerFinding) (source, device string) {
	source = f.File + when(f.File != "" && f.Line > 0, fmt.Sprintf(":%d", f.Line))
	parts := present(prefixed("in ", f.Kernel), prefixed("thread ", f.Thread), prefixed("block ", f.Block), when(f.Count > 1, "×"+unit.Count(f.Count)))
	return source, strings.Join(parts, ", ")
}

// belowFound returns the lines below a finding: what is known of the address, and how
// the place was reached.
func belowFound(f result.SanitizerFinding) []string {
	out := append(present(f.Note), f.Frames[:min(mostFrames, len(f.Frames))]...)
	left := len(f.Frames) - mostFrames
	return append(out, present(when(left > 0, "… and "+view.Counted(left, "more frame")))...)
}
