package term

import (
	"slices"
	"strings"
)

// leastWords is the narrowest column that sentences are wrapped in; in less room they stand below
// their row.
const leastWords = 30

// layout is how the rows of a table lie in the columns of a terminal.
type layout struct {
	*Table
	widths  []int
	columns []int // those that are shown, without the sentences that do not stand beside the others
	words   int   // the column of sentences; -1: none
	beside  int   // width that they wrap at, beside the others; 0: they stand below
	stacked bool  // the first column stands above the others
}

// layout finds a place for all rows. Where they do not fit, sentences wrap or stand below their row,
// then columns are left out by their rank, and at last the first one stands above the others.
func (t *Table) layout(rows [][]Cell) *layout {
	l := &layout{Table: t, widths: make([]int, len(t.Columns)), words: -1}
	for i, column := range t.Columns {
		l.columns = append(l.columns, i)
		if column.Words && i == len(t.Columns)-1 {
			l.words = i
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			l.widths[i] = max(l.widths[i], DisplayWidth(cell.Text))
		}
	}
	if l.words >= 0 {
		l.beside = l.widths[l.words]
	}
	if t.Width <= 0 || l.total() <= t.Width {
		return l
	}
	if l.words >= 0 {
		l.beside -= l.total() - t.Width
		if l.beside < leastWords {
			l.beside, l.columns = 0, l.columns[:len(l.columns)-1]
		}
	}
	for l.total() > t.Width {
		least := -1
		for at, i := range l.columns {
			if rank := t.Columns[i].Rank; rank > 0 && (least < 0 || rank >= t.Columns[l.columns[least]].Rank) {
				least = at
			}
		}
		if least < 0 {
			l.stacked = len(l.columns) > 1
			break
		}
		l.columns = slices.Delete(l.columns, least, least+1)
	}
	return l
}

// total returns the width of a line.
func (l *layout) total() int {
	sum := l.Indent + len(gutter)*(len(l.columns)-1)
	for _, i := range l.columns {
		if i == l.words {
			sum += l.beside
		} else {
			sum += l.widths[i]
		}
	}
	return sum
}

// row writes the lines of a row.
func (l *layout) row(b *strings.Builder, row []Cell) {
	shown := l.columns
	if l.stacked && len(row) > 0 {
		b.WriteString(strings.Repeat(" ", l.Indent) + row[0].styled() + "\n")
		shown = shown[1:]
		if !slices.ContainsFunc(shown, func(i int) bool { return i < len(row) && row[i].Text != "" }) {
			shown = nil
		}
	}
	if len(shown) > 0 {
		l.line(b, row, shown)
	}
	if l.words < 0 || l.beside > 0 || l.words >= len(row) || row[l.words].Text == "" {
		return
	}
	below := l.Indent + 2*len(gutter)
	for _, text := range words(row[l.words].Text, l.Width-below) {
		b.WriteString(strings.Repeat(" ", below) + Cell{text, row[l.words].Style}.styled() + "\n")
	}
}

// line writes the cells of a row that stand beside each other.
func (l *layout) line(b *strings.Builder, row []Cell, shown []int) {
	// Spaces are owed, and paid only before a text: so none end a line.
	owed := l.Indent
	if l.stacked {
		owed += len(gutter)
	}
	start, more := owed, []string(nil)
	for at, i := range shown {
		if at > 0 {
			owed += len(gutter)
			start += len(gutter)
		}
		if i >= len(row) {
			break
		}
		cell := row[i]
		if i == l.words {
			more = words(cell.Text, l.beside)
			cell.Text = more[0]
			more = more[1:]
		}
		free := max(0, l.widths[i]-DisplayWidth(cell.Text))
		if cell.Text == "" {
			owed += free
			start += l.widths[i]
			continue
		}
		if l.Columns[i].Align == Right {
			owed += free
			free = 0
		}
		b.WriteString(strings.Repeat(" ", owed) + cell.styled())
		owed = free
		if i != l.words {
			start += l.widths[i]
		}
	}
	b.WriteByte('\n')
	for _, text := range more {
		b.WriteString(strings.Repeat(" ", start) + Cell{text, row[l.words].Style}.styled() + "\n")
	}
}

// styled returns the text of a cell as it looks.
func (c Cell) styled() string {
	if c.Style == nil || c.Text == "" {
		return c.Text
	}
	return c.Style(c.Text)
}
