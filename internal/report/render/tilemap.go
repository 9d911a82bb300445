package render

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/unit"
)

// shades are how much of a tile is wrong: nothing, some, over a third, over two
// thirds, all of it.
var shades = []rune("·░▒▓█")

const shadeKey = "· right  ░ some wrong  ▒ over a third  ▓ over two thirds  █ all wrong"

// tileMap is where the wrong elements of an output lie.
type tileMap struct{ view.Map }

// shade returns an index into shades. A tile at the edge may be smaller than the others;
// it then looks lighter than it is.
func (m tileMap) shade(row, column int) int {
	wrong := float64(m.Wrong[row*m.Columns+column])
	share := wrong / (float64(m.TileRows) * float64(m.TileCols))
	switch {
	case wrong <= 0:
		return 0
	case share >= 1:
		return 4
	case share > 2.0/3:
		return 3
	case share > 1.0/3:
		return 2
	}
	return 1
}

// cover says which elements a tile stands for: "28 rows × 4 columns".
func (m tileMap) cover() string {
	return view.Counted(int(m.TileRows), "row") + " × " + view.Counted(int(m.TileCols), "column")
}

func whole(n int64) string { return unit.Count(int(n)) }

// start returns the first row (or column) of the nth tile. A report may claim any size.
func start(n int, size int64) int64 {
	if size > math.MaxInt64/64 {
		return math.MaxInt64
	}
	return int64(n) * size
}

// lines draw the map two characters a tile, which is about a square, or one where so many columns
// are too few, with the first row of each line of tiles before it and the first column of each tile
// above. A width below 1 is any.
func (m tileMap) lines(width int) []string {
	labels, wide := make([]string, m.Rows), 0
	for r := range labels {
		labels[r] = fmt.Sprint(start(r, m.TileRows))
		wide = max(wide, len(labels[r]))
	}
	last := fmt.Sprint(start(m.Columns-1, m.TileCols))
	head, wider := "0", 2
	if width > 0 && wide+2+2*m.Columns > width {
		wider = 1
	}
	if free := wider*m.Columns - len(head) - len(last); m.Columns > 1 && free > 0 {
		head += strings.Repeat(" ", free) + last
	}
	out := []string{strings.Repeat(" ", wide+2) + head}
	for r, label := range labels {
		var line strings.Builder
		for c := range m.Columns {
			line.WriteString(strings.Repeat(string(shades[m.shade(r, c)]), wider))
		}
		out = append(out, strings.Repeat(" ", wide-len(label))+label+"  "+line.String())
	}
	return out
}

// svg draws the map for a page. Numbers are all that it takes from the report.
func (m tileMap) svg() template.HTML {
	var b strings.Builder
	total := int64(0)
	for _, n := range m.Wrong {
		total += n
	}
	fmt.Fprintf(&b, `<svg class="tilemap" role="img" aria-label="wrong elements by tile: %d in %d of %s" width="%d" height="%d" viewBox="0 0 %d %d">`,
		total, m.affected(), view.Count(len(m.Wrong), "tile"), 16*m.Columns, 16*m.Rows, 16*m.Columns, 16*m.Rows)
	for r := range m.Rows {
		for c := range m.Columns {
			fmt.Fprintf(&b, `<rect class="heat%d" x="%d" y="%d" width="15" height="15"><title>rows from %d, columns from %d: %d wrong</title></rect>`,
				m.shade(r, c), 16*c, 16*r, start(r, m.TileRows), start(c, m.TileCols), m.Wrong[r*m.Columns+c])
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// affected returns how many tiles have wrong elements.
func (m tileMap) affected() int {
	n := 0
	for _, wrong := range m.Wrong {
		if wrong > 0 {
			n++
		}
	}
	return n
}

// caption says what the map shows.
func (m tileMap) caption() string {
	text := fmt.Sprintf("where %s is wrong: %d of %s, each %s", m.Output, m.affected(), view.Count(len(m.Wrong), "tile"), m.cover())
	if m.Dimensions > 2 {
		text += " (a row: all dimensions but the last)"
	}
	return text
}

// edges says which rows and columns the tiles of a picture begin at.
func (m tileMap) edges() string {
	from := func(n int, size int64) string {
		if n == 1 {
			return "0"
		}
		text := "0, " + whole(size)
		if n > 2 {
			text += " … " + whole(start(n-1, size))
		}
		return text
	}
	return "the stronger the colour, the more of a tile is wrong; tiles begin at rows " + from(m.Rows, m.TileRows) + " and columns " + from(m.Columns, m.TileCols)
}
