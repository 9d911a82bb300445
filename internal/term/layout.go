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

// empty reports whether no row has a text in a column.
func (t *Table) empty(column int) bool {
	return !slices.ContainsFunc(t.Rows, func(row []Cell) bool { return column < len(row) && row[column].Text != "" })
}

// layout finds a place for all rows. A column with a rank is left out where no row has a text in it. Where they do not fit, sentences wrap or stand below their row,
// then columns are left out by their rank, and at last the first one stands above the others.
func (t *Table) layout(rows [][]Cell) *layout {
	l := &layout{Table: t, widths: make([]int, len(t.Columns)), words: -1}
	for i, column := range t.Columns {
		if column.Rank > 0 && t.empty(i) {
			continue
		}
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
	if l.words >= 0 && l.beside < leastWords && l.leaveDetails() {
		return l
	}
	if l.words >= 0 {
		l.beside -= l.total() - t.Width
		if l.beside < leastWords {
			l.beside, l.columns = 0, l.columns[:len(l.columns)-1]
		}
	}
	l.choose()
	return l
}

// details is the rank from which columns go before short sentences stand below their rows.
const details = 3

// leaveDetails leaves out the columns of details, if the others then fit.
func (l *layout) leaveDetails() bool {
	all := l.columns
	l.columns = slices.DeleteFunc(slices.Clone(all), func(i int) bool { return l.Columns[i].Rank >= details })
	if l.total() > l.Width {
		l.columns = all
		return false
	}
	return true
}

// choose leaves columns out: it keeps those without a rank, and of the others, the lowest rank first,
// those that there is room for.
func (l *layout) choose() {
	all, ranks := l.columns, []int(nil)
	for _, i := range all {
		ranks = append(ranks, l.Columns[i].Rank)
	}
	slices.Sort(ranks)
	var kept []int // ranks
	for _, rank := range slices.Compact(ranks) {
		before := l.columns
		kept = append(kept, rank)
		l.columns = slices.DeleteFunc(slices.Clone(all), func(i int) bool { return !slices.Contains(kept, l.Columns[i].Rank) })
		if rank > 0 && l.total() > l.Width {
			kept, l.columns = kept[:len(kept)-1], before
		}
	}
	l.stacked = l.total() > l.Width && len(l.columns) > 1
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
	line, shown := "", l.columns
	if l.stacked && len(row) > 0 {
		line, shown = strings.Repeat(" ", l.Indent)+row[0].styled(), shown[1:]
		if slices.ContainsFunc(shown, func(i int) bool { return i < len(row) && row[i].Text != "" }) {
			b.WriteString(line + "\n")
			line = l.line(row, shown)
		}
	} else {
		line = l.line(row, shown)
	}
	b.WriteString(line)
	if l.words < 0 || l.beside > 0 || l.words >= len(row) || row[l.words].Text == "" {
		b.WriteByte('\n')
		return
	}
	said := row[l.words]
	if last := line[strings.LastIndexByte(line, '\n')+1:]; shownWidth(last)+len(gutter)+DisplayWidth(said.Text) <= l.Width { // a short row has room beside it
		b.WriteString(gutter + said.styled() + "\n")
		return
	}
	below := strings.Repeat(" ", l.Indent+2*len(gutter))
	for _, text := range Fill(said.Text, l.Width-len(below)) {
		b.WriteString("\n" + below + Cell{text, said.Style}.styled())
	}
	b.WriteByte('\n')
}

// line returns the cells of a row that stand beside each other, in more lines where sentences wrap.
func (l *layout) line(row []Cell, shown []int) string {
	var b strings.Builder
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
			more = Fill(cell.Text, l.beside)
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
	for _, text := range more {
		b.WriteString("\n" + strings.Repeat(" ", start) + Cell{text, row[l.words].Style}.styled())
	}
	return b.String()
}

// styled returns the text of a cell as it looks.
func (c Cell) styled() string {
	if c.Style == nil || c.Text == "" {
		return c.Text
	}
	return c.Style(c.Text)
}
