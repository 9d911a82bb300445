package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"pawl/internal/result"
	"pawl/internal/term"
)

// TextOptions say how a report looks on a terminal.
type TextOptions struct {
	Style term.Style
	Path  string // where the report was saved; may be empty

	whole bool // it goes to a file or another program, which has room for what a terminal has not
}

// shorten cuts a text to the characters that a terminal has room for.
func (o TextOptions) shorten(text string, most int) string {
	const wholeText = 400 // a report may claim anything
	if o.whole {
		most = max(most, wholeText)
	}
	return shorten(text, most)
}

// Text writes the report for a terminal: what ran where, a table, and then only
// what needs attention.
func Text(w io.Writer, r *result.Report, opts TextOptions) error {
	opts.whole = !term.IsTerminal(w)
	return writeText(w, r, opts)
}

func writeText(w io.Writer, r *result.Report, opts TextOptions) error {
	switch r.Kind {
	case result.KindCompare:
		return compareText(w, r, opts.Style)
	case result.KindCheck:
		return checkText(w, r, opts)
	case result.KindFuzz:
		return fuzzText(w, r, opts)
	case result.KindSelftest:
		return selftestText(w, r, opts)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", heading(r))
	table(r, opts.Style).writeTo(&b)
	faults(&b, r, opts)
	warnings(&b, r, opts.Style)
	ending(&b, opts)
	_, err := io.WriteString(w, b.String())
	return err
}

// ending is the last line: how to do it again, and where the report is.
func ending(b *strings.Builder, opts TextOptions, parts ...string) {
	parts = slices.DeleteFunc(append(parts, prefixed("report: ", opts.Path)), func(part string) bool { return part == "" })
	if len(parts) > 0 {
		fmt.Fprintf(b, "\n  %s\n", strings.Join(parts, "   "))
	}
}

func heading(r *result.Report) string {
	kernels, configs := map[string]bool{}, len(r.Rows)
	for _, row := range r.Rows {
		kernels[row.Kernel] = true
	}
	parts := []string{"pawl " + r.Tool.Version, machineLine(r), count(len(kernels), "kernel") + ", " + count(configs, "config")}
	parts = append(parts, methodLine(r))
	return strings.Join(parts, " · ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

type rendered struct{ term.Table }

func (t *rendered) writeTo(b *strings.Builder) {
	if len(t.Rows) > 0 {
		b.WriteString(t.String())
	}
}

// table has a line for every row, and below it one for every rival; one that
// failed says so in place of numbers.
func table(r *result.Report, style term.Style) *rendered {
	all := lines(r)
	shown := present(all)
	t := &rendered{term.Table{Indent: 2, HeaderStyle: style.Dim, Columns: []term.Column{{Header: "kernel/config"}}}}
	for _, c := range shown {
		t.Columns = append(t.Columns, term.Column{Header: c.head, Align: term.Right})
	}
	t.Columns = append(t.Columns, term.Column{Header: lastHeading(all)})
	for _, l := range all {
		name := term.Cell{Text: l.label, Style: style.Bold}
		if l.rival != nil {
			name = term.Cell{Text: "  against " + l.label}
		}
		cells := []term.Cell{name}
		for _, c := range shown {
			cell := term.Cell{}
			if measured(l.row) {
				cell.Text = c.text(l.row)
			}
			cells = append(cells, cell)
		}
		t.AddCells(append(cells, term.Cell{Text: l.outcome(), Style: l.paint(style)})...)
	}
	return t
}

// lastHeading names the last column where it holds more than verdicts.
func lastHeading(all []line) string {
	for _, l := range all {
		if l.rival != nil {
			return "speedup"
		}
	}
	return ""
}

func (l line) paint(style term.Style) func(string) string {
	switch {
	case l.rival != nil && l.rival.Ratio != nil && l.rival.Ratio.Low <= 1 && l.rival.Ratio.High >= 1:
		return style.Dim // no difference was shown
	case l.rival != nil && l.rival.Ratio != nil && l.rival.Ratio.Median < 1:
		return style.Yellow
	case l.row.Verdict == result.Broken || l.row.Verdict == result.Rejected || l.row.Verdict == result.Incorrect || l.row.Verdict == result.Regression:
		return style.Red
	case l.row.Fault != nil:
		return style.Yellow
	}
	return style.Green
}

// faults explains every row that failed, a failed build with the compiler's own
// words. Rows of one kernel that failed alike are explained once, and all kernels
// together that this machine cannot build for one reason.
func faults(b *strings.Builder, r *result.Report, opts TextOptions) {
	seen := map[string]bool{}
	for _, l := range lines(r) {
		row, f := l.row, l.row.Fault
		if f == nil || f.Cause == result.CauseInterrupted {
			continue
		}
		name, id := row.Name(), row.Kernel+"\x00"+f.Message
		if f.Stage == "build" {
			name = row.Kernel + variant(row)
		}
		if unbuildable(f) {
			id = f.Message
			if alike := kernelsWith(r, f.Message); len(alike) > 1 {
				name = few(alike)
			}
		}
		if f.Stage == "build" && seen[id] {
			continue
		}
		seen[id] = true
		fmt.Fprintf(b, "\n  %s: %s\n", opts.Style.Red(printable(name)), indented(strings.Map(visible, f.Message)))
		if f.Hint != "" {
			fmt.Fprintf(b, "    hint: %s\n", printable(f.Hint))
		}
		if row.Build != nil && f.Stage == "build" && row.Build.Output != "" {
			b.WriteString(strings.TrimRight(strings.Map(visible, row.Build.Output), "\n") + "\n")
		}
		if text := lastLines(row.Log, 5, opts); text != "" {
			fmt.Fprintf(b, "    it printed:\n%s", text)
		}
	}
}

// unbuildable tells whether a fault is the machine's and not the kernel's.
func unbuildable(f *result.Fault) bool {
	return f != nil && f.Stage == "build" && f.Cause == result.CauseUnsupported
}

// kernelsWith are those that this machine cannot build for one reason.
func kernelsWith(r *result.Report, message string) []string {
	var names []string
	for _, l := range lines(r) {
		if f := l.row.Fault; unbuildable(f) && f.Message == message && !slices.Contains(names, l.row.Kernel) {
			names = append(names, l.row.Kernel)
		}
	}
	return names
}

func variant(row *result.Row) string {
	if len(row.Params) == 0 {
		return ""
	}
	var parts []string
	for _, name := range sortedKeys(row.Params) {
		parts = append(parts, name+"="+row.Params[name])
	}
	return " " + strings.Join(parts, " ")
}

func indented(message string) string { return strings.ReplaceAll(message, "\n", "\n    ") }

// lastLines is the end of a log, indented.
func lastLines(log string, most int, opts TextOptions) string {
	log = strings.TrimRight(log, "\n")
	if log == "" {
		return ""
	}
	lines := strings.Split(log, "\n")
	if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	var b strings.Builder
	for _, line := range lines {
		const widest = 200
		fmt.Fprintf(&b, "      %s\n", printable(opts.shorten(strings.ToValidUTF8(line, ""), widest)))
	}
	return b.String()
}

// printable drops control characters: what a kernel prints must not steer the
// terminal it is shown on.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

func warnings(b *strings.Builder, r *result.Report, style term.Style) {
	all := allWarnings(r)
	if len(all) == 0 {
		return
	}
	b.WriteString("\n")
	for _, text := range all {
		fmt.Fprintf(b, "  %s %s\n", style.Yellow("!"), printable(strings.ReplaceAll(text, "\n", " ")))
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
