package term

import (
	"fmt"
	"io"
	"strings"
)

// Align is the side of its column that a cell stands on.
type Align int

// The sides.
const (
	Left Align = iota
	Right
)

// Column is a column of a Table.
type Column struct {
	Header string
	Align  Align
	Rank   int  // where there is no room for all, columns of a lower rank stay, and where no row has a text, none of a rank; 0: always
	Words  bool // sentences, which may wrap or stand below their row; of one column, the last
}

// Cell is one place of a Table. Its text is plain; Style, which may be nil,
// colours it after its width has been counted.
type Cell struct {
	Text  string
	Style func(string) string
}

// Table is rows of cells under headers. It is data until Render writes it.
type Table struct {
	Columns     []Column
	Rows        [][]Cell
	Indent      int                 // columns left free before every line
	Width       int                 // columns of the terminal; 0: the table takes what it needs
	HeaderStyle func(string) string // may be nil
}

// gutter stands between two columns.
const gutter = "  "

// Add appends a row of unstyled cells.
func (t *Table) Add(texts ...string) {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	t.AddCells(row...)
}

// AddCells appends a row. It may be shorter than the table is wide, not longer.
func (t *Table) AddCells(cells ...Cell) {
	if len(cells) > len(t.Columns) {
		panic(fmt.Sprintf("term: a row of %d cells in a table of %d columns", len(cells), len(t.Columns)))
	}
	t.Rows = append(t.Rows, cells)
}

// Render writes the table, aligned, without spaces at the end of any line.
// Where no column has a header there is no line for them.
func (t *Table) Render(w io.Writer) error {
	_, err := io.WriteString(w, t.String())
	return err
}

// String returns what Render writes.
func (t *Table) String() string {
	header := make([]Cell, len(t.Columns))
	titled := false
	for i, column := range t.Columns {
		header[i] = Cell{column.Header, t.HeaderStyle}
		titled = titled || column.Header != ""
	}
	rows := make([][]Cell, 0, len(t.Rows)+1)
	if titled {
		rows = append(rows, clean(header))
	}
	for _, row := range t.Rows {
		rows = append(rows, clean(row))
	}

	l := t.layout(rows)
	if titled && l.words >= 0 && l.beside == 0 { // a header names nothing that stands below its row
		rows[0][l.words].Text = ""
	}
	var b strings.Builder
	for _, row := range rows {
		l.row(&b, row)
	}
	return b.String()
}

// clean prepares the cells of a row for a line.
func clean(row []Cell) []Cell {
	cleaned := make([]Cell, len(row))
	for i, cell := range row {
		cleaned[i] = Cell{strings.TrimRight(Plain(cell.Text), " "), cell.Style}
	}
	return cleaned
}
