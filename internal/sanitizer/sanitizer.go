// Package sanitizer reads the output of NVIDIA's compute-sanitizer: out-of-bounds accesses, races,
// reads of uninitialized memory, and barriers that not every thread reaches. Host backtraces are
// left out: the host is pawl.
package sanitizer

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/pattern"
	"pawl/internal/result"
)

// Tools are those of compute-sanitizer, in the order in which they are run: what
// memcheck finds explains much of what the others say.
var Tools = []string{"memcheck", "racecheck", "initcheck", "synccheck"}

// Severities of a finding.
const (
	Error   = "error"
	Warning = "warning"
)

// Output is what one run of a tool said.
type Output struct {
	Findings []result.SanitizerFinding // each once, in order
	Errors   int                       // as the tool counts them
	Summed   bool                      // it came to its end and counted
	Problems []string                  // of the tool itself: what it could not do, and lines that are not understood
}

// Understood reports whether the findings are all that the tool had to say.
func (o *Output) Understood() bool {
	return o.Summed && len(o.Problems) == 0 && (o.Errors == 0 || len(o.Findings) > 0)
}

// Worst returns the first finding that is an error; nil: there is none.
func (o *Output) Worst() *result.SanitizerFinding {
	at := slices.IndexFunc(o.Findings, func(f result.SanitizerFinding) bool { return f.Severity == Error })
	if at < 0 {
		return nil
	}
	return &o.Findings[at]
}

const prefix = "========="

var (
	errorSummary = pattern.New(`^ERROR SUMMARY: (\d+) errors?$`)
	raceSummary  = pattern.New(`^RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, \d+ warnings?\)$`)
	leveled      = pattern.New(`^(?i:(error|warn(?:ing)?|info)): ?(.*)$`)
)

// Parse reads the text of one run. Source is the file whose lines a finding is best
// told in: inside of a header's function it is the line that calls it.
func Parse(tool, text, source string) *Output {
	out := &Output{}
	var open *record
	for line := range strings.Lines(text) {
		body, ours := strings.CutPrefix(strings.TrimLeft(line, " \t"), prefix)
		if !ours {
			continue // the program's own output
		}
		body = strings.TrimRight(body, " \t\r\n")
		said := strings.TrimLeft(body, " \t")
		switch {
		case said == "":
			out.add(tool, source, open)
			open = nil
		case isDetail(said) || len(body)-len(said) > 2:
			if open != nil {
				open.details = append(open.details, said)
			}
		default:
			out.add(tool, source, open)
			open = nil
			if !out.summary(said) {
				open = &record{head: said}
			}
		}
	}
	out.add(tool, source, open)
	return out
}

// summary takes in a line about the whole run.
func (o *Output) summary(said string) bool {
	for _, summary := range []*pattern.Pattern{errorSummary, raceSummary} {
		if m := summary.FindStringSubmatch(said); m != nil {
			n, err := strconv.Atoi(m[1])
			o.Errors, o.Summed = n, err == nil
			return true
		}
	}
	return startsWith(said, "COMPUTE-SANITIZER", "LEAK SUMMARY:", "ERROR SUMMARY:", "This tool is deprecated")
}

// add takes in a record that is complete.
func (o *Output) add(tool, source string, r *record) {
	if r == nil {
		return
	}
	found, ok := r.finding()
	if !ok {
		if !slices.Contains(o.Problems, r.head) {
			o.Problems = append(o.Problems, r.head)
		}
		return
	}
	found.Tool, found.Count = tool, 1
	r.locate(&found, path.Base(source))
	if i := slices.IndexFunc(o.Findings, func(known result.SanitizerFinding) bool { return same(known, found) }); i >= 0 {
		o.Findings[i].Count++
		return
	}
	o.Findings = append(o.Findings, found)
}

// same reports whether two findings differ in the thread and the address alone.
func same(a, b result.SanitizerFinding) bool {
	return a.Severity == b.Severity && a.Kind == b.Kind && a.Kernel == b.Kernel && a.File == b.File && a.Line == b.Line &&
		slices.Equal(a.Frames, b.Frames)
}
