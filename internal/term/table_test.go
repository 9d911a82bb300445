package term

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTable(t *testing.T) {
	table := Table{
		Columns: []Column{{Header: "kernel"}, {Header: "verdict"}, {Header: "change", Align: Right}, {Header: "time", Align: Right}, {Header: "note"}},
		Indent:  2,
	}
	table.Add("attention/training_512", "regression", "+5.2%", "52.1 → 54.8 µs", "6 cells, 240 pairs")
	table.Add("gemm/4k", "improvement", "−12.4%", "1.21 → 1.06 ms")
	table.Add("softmax/日本", "new", "", "861 µs", "")
	table.Add()
	want := strings.Join([]string{
		"  kernel                  verdict      change            time  note",
		"  attention/training_512  regression    +5.2%  52.1 → 54.8 µs  6 cells, 240 pairs",
		"  gemm/4k                 improvement  −12.4%  1.21 → 1.06 ms",
		"  softmax/日本            new                          861 µs",
		"",
		"",
	}, "\n")
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTableStylesDoNotMoveCells(t *testing.T) {
	style := Style{Color: true}
	table := Table{Columns: []Column{{Header: "a"}, {Header: "b", Align: Right}, {Header: "c"}}, HeaderStyle: style.Dim}
	table.AddCells(Cell{"left", style.Red}, Cell{"1", style.Bold}, Cell{"", style.Green})
	table.AddCells(Cell{"l", nil}, Cell{"22", style.Bold}, Cell{"end", style.Green})
	want := strings.Join([]string{
		"\x1b[2ma\x1b[0m      \x1b[2mb\x1b[0m  \x1b[2mc\x1b[0m",
		"\x1b[31mleft\x1b[0m   \x1b[1m1\x1b[0m",
		"l     \x1b[1m22\x1b[0m  \x1b[32mend\x1b[0m",
		"",
	}, "\n")
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTableWithoutHeaders(t *testing.T) {
	table := Table{Columns: make([]Column, 2)}
	table.Add("a", "b")
	if got := table.String(); got != "a  b\n" {
		t.Errorf("got %q", got)
	}
	if got := (&Table{}).String(); got != "" {
		t.Errorf("an empty table is %q", got)
	}
}

func TestTableKeepsForeignTextOnItsLine(t *testing.T) {
	table := Table{Columns: make([]Column, 2)}
	table.Add("evil\x1b[2J\nname", "b")
	if got := table.String(); got != "evil [2J name  b\n" {
		t.Errorf("got %q", got)
	}
}

func TestTableRefusesLongRows(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a row longer than its table was taken")
		}
	}()
	table := Table{Columns: make([]Column, 1)}
	table.Add("a", "b")
}

type failing struct{}

var errDisk = errors.New("disk full")

func (failing) Write([]byte) (int, error) { return 0, errDisk }

func TestTableReportsWriteErrors(t *testing.T) {
	table := Table{Columns: make([]Column, 1)}
	table.Add("a")
	if err := table.Render(failing{}); !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
}

// Every cell starts (or, on the right, ends) in the same column on all lines,
// and no line ends in a space.
func TestTableProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`[a-zµ→−δ·日]{0,6}`)
		columns := rapid.IntRange(1, 5).Draw(t, "columns")
		table := Table{Columns: make([]Column, columns), Indent: rapid.IntRange(0, 4).Draw(t, "indent")}
		for i := range table.Columns {
			table.Columns[i].Align = Align(rapid.IntRange(0, 1).Draw(t, "align"))
		}
		widths := make([]int, columns)
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			row := rapid.SliceOfN(cell, columns, columns).Draw(t, "row")
			table.Add(row...)
			for i, text := range row {
				widths[i] = max(widths[i], DisplayWidth(text))
			}
		}
		rendered := strings.Split(table.String(), "\n")
		if len(rendered) != len(table.Rows)+1 {
			t.Fatalf("%d rows on %d lines", len(table.Rows), len(rendered)-1)
		}
		for r, row := range table.Rows {
			line := rendered[r]
			if strings.HasSuffix(line, " ") {
				t.Fatalf("line %q ends in a space", line)
			}
			at := table.Indent
			for i, cell := range row {
				start := at
				if table.Columns[i].Align == Right {
					start += widths[i] - DisplayWidth(cell.Text)
				}
				if cell.Text != "" && !strings.HasPrefix(afterColumn(line, start), cell.Text) {
					t.Fatalf("%q is not at column %d of %q", cell.Text, start, line)
				}
				at += widths[i] + len(gutter)
			}
		}
	})
}

func afterColumn(line string, column int) string {
	for i, r := range line {
		if column <= 0 {
			return line[i:]
		}
		column -= DisplayWidth(string(r))
	}
	return ""
}
