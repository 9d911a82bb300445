package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// checkText writes a check for a terminal: a line for everything that was measured,
// the rest in one, and then only what needs attention.
func checkText(w io.Writer, r *result.Report, opts TextOptions) error {
	style := opts.Style
	rows := checkedRows(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", printable(checkHeading(r, rows)))
	unchanged := of(rows, same)
	shown := of(rows, slowed, failed, onPurpose, faster, undecided, kept, fresh, planned)
	if len(shown) > 0 {
		b.WriteString("\n")
	}
	if len(of(rows, planned)) > 0 {
		planTable(shown, style).writeTo(&b)
	} else {
		checkTable(shown, opts).writeTo(&b)
	}
	if len(unchanged) > 0 {
		line := unit.Count(len(unchanged)) + " unchanged: " + gathered(unchanged, rows)
		fmt.Fprintf(&b, "\n  %s\n", style.Dim(printable(line)))
		for _, line := range movedLines(unchanged) {
			fmt.Fprintf(&b, "  %s\n", printable(line))
		}
	}
	const many = 12 // more lines than are counted at a glance
	if text := summary(rows); len(shown) > many && strings.Contains(text, ",") {
		fmt.Fprintf(&b, "\n  %s\n", text)
	}
	if text := verifiedLines(rows, style); text != "" {
		b.WriteString("\n" + text)
	}
	accusations(&b, r.Rows, rowName, opts)
	faults(&b, r, opts)
	warnings(&b, calm(attentive(r)), style)
	for _, note := range checkNotes(r) {
		fmt.Fprintf(&b, "\n  %s\n", style.Dim(printable(flat(note))))
	}
	data := ""
	if examined(rows) {
		data = prefixed("data: ", replayed(r))
	}
	ending(&b, opts, alarms(r), data)
	_, err := io.WriteString(w, b.String())
	return err
}

// checkHeading says what was checked where, and against what.
func checkHeading(r *result.Report, rows []checked) string {
	parts := []string{"pawl " + r.Tool.Version, machineLine(r)}
	if kernels := kernelsLine(rows); kernels != "" {
		parts = append(parts, kernels)
	}
	parts = append(parts, counted(len(rows), "config"))
	if r.Base != nil {
		parts = append(parts, "against "+strings.TrimSpace(r.Base.Ref+" "+shortSHA(r.Base.SHA)))
	}
	return strings.Join(parts, " · ")
}

// What a change does to a kernel.
const (
	changedWord   = "changed"
	newWord       = "new"
	unchangedWord = "unchanged"
	unknownWord   = "not measured"
)

// origin is what the change does to a row's code, whatever came of it.
func (c checked) origin() string {
	former := c.former()
	switch at := c.section(); {
	case at == same, former != nil && c.row.Identity != "" && former.Identity == c.row.Identity:
		return unchangedWord
	case at == fresh, len(c.row.Sides) == 0 && (at == planned || at == failed):
		return newWord
	case c.word() == unknownWord, former != nil && former.Fault != nil && !measured(c.row): // neither was built
		return unknownWord
	}
	return changedWord
}

// former is what a row was made from: the base's version or, where there is no base,
// the best-known; nil where neither is known.
func (c checked) former() *result.Row {
	for _, role := range []result.Role{result.Base, result.Best} {
		for _, side := range c.row.Sides {
			if side.Role == role {
				return side.Row
			}
		}
	}
	return nil
}

// kernelsLine counts kernels by what the change does to them: "2 kernels changed,
// 3 unchanged".
func kernelsLine(rows []checked) string {
	words := []string{changedWord, newWord, unchangedWord, unknownWord}
	state := map[string]string{}
	var names []string
	for _, c := range rows {
		word := c.origin()
		known, seen := state[c.row.Kernel]
		switch {
		case !seen:
			names = append(names, c.row.Kernel)
			state[c.row.Kernel] = word
		case known != word:
			state[c.row.Kernel] = changedWord
		}
	}
	var out []string
	for _, word := range words {
		n := 0
		for _, name := range names {
			if state[name] == word {
				n++
			}
		}
		switch {
		case n == 0:
		case len(out) == 0:
			out = append(out, counted(n, "kernel")+" "+word)
		default:
			out = append(out, fmt.Sprintf("%d %s", n, word))
		}
	}
	return strings.Join(out, ", ")
}

func planTable(rows []checked, style term.Style) *rendered {
	t := &rendered{term.Table{Indent: 2, Columns: make([]term.Column, 2)}}
	for _, c := range rows {
		t.AddCells(term.Cell{Text: c.row.Name(), Style: style.Bold}, term.Cell{Text: c.row.Plan})
	}
	return t
}

// checkTable has a line for every row and, where the best-known version played
// too, one for that.
func checkTable(rows []checked, opts TextOptions) *rendered {
	const right = term.Right
	style := opts.Style
	t := &rendered{term.Table{Indent: 2, Columns: []term.Column{{}, {}, {Align: right}, {}, {Align: right}, {Align: right}, {Align: right}, {}}}}
	dim := func(text string) term.Cell { return term.Cell{Text: text, Style: style.Dim} }
	for _, c := range rows {
		effect := ""
		if c.row.Verdict == result.Regression || c.row.Verdict == result.Improvement {
			effect = prefixed("δ ", c.effect())
		}
		text, paint := c.note(opts)
		t.AddCells(
			term.Cell{Text: c.row.Name(), Style: style.Bold}, term.Cell{Text: c.word(), Style: c.paint(style)},
			term.Cell{Text: c.changed()}, dim(c.interval()), term.Cell{Text: effect},
			term.Cell{Text: c.times(c.first)}, dim(c.extent()), term.Cell{Text: text, Style: paint},
		)
		if c.best != nil {
			best := compared{change: c.best.Change}
			t.AddCells(dim("  against "+sideName(c.best)), dim(""), dim(best.changed()), dim(best.interval()), dim(""), dim(c.times(c.best)), dim(""), dim(""))
		}
	}
	t.dropEmpty()
	return t
}

// dropEmpty takes away the columns that no row has anything in, of rows that are
// all as long as the table is wide.
func (t *rendered) dropEmpty() {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if slices.ContainsFunc(t.Rows, func(row []term.Cell) bool { return row[i].Text != "" }) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for r := range t.Rows {
			t.Rows[r] = slices.Delete(t.Rows[r], i, i+1)
		}
	}
}

// paint is the colour of a verdict.
func (c checked) paint(style term.Style) func(string) string {
	switch c.section() {
	case slowed, failed:
		return style.Red
	case faster, kept:
		return style.Green
	case onPurpose, undecided:
		return style.Yellow
	}
	return nil
}

// doubtful reports whether a reason is one to look into, though nothing fails.
func doubtful(r result.Reason) bool {
	return r == result.Creep || r == result.Bistable || r == result.SlowTail
}

// note is the end of a line, and its colour.
func (c checked) note(opts TextOptions) (string, func(string) string) {
	const most = 160
	style := opts.Style
	parts, moves := c.notes(), c.moves()
	for i := range parts {
		parts[i] = opts.shorten(parts[i], most)
	}
	paint := style.Dim
	switch {
	case c.section() == failed && c.honesty() != "":
		paint = style.Red
	case c.accepted() || suspicious(c.row):
		paint = style.Yellow
	case c.row.Moved != nil && c.row.Moved.Done:
		paint = style.Green
	case slices.ContainsFunc(c.row.Reasons, doubtful):
		paint = style.Yellow
	}
	if moves != "" {
		parts = append(parts, moves)
	}
	return strings.Join(parts, "; "), paint
}
