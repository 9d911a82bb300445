package render

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pawl/internal/report/view"
)

func TestTileMap(t *testing.T) {
	m := tileMap{view.Map{Output: "out", Dimensions: 4, Rows: 2, Columns: 3, TileRows: 10, TileCols: 4, Wrong: []int64{0, 1, 14, 27, 40, 41}}}
	want := "    0    8\n 0  ··░░▒▒\n10  ▓▓████"
	if got := strings.Join(m.lines(0), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := m.caption(), "where out is wrong: 5 of 6 tiles, each 10 rows × 4 columns (a row: all dimensions but the last)"; got != want {
		t.Errorf("got %q", got)
	}
	if got, want := m.edges(), "the stronger the colour, the more of a tile is wrong; tiles begin at rows 0, 10 and columns 0, 4 … 8"; got != want {
		t.Errorf("got %q", got)
	}
	one := tileMap{view.Map{Output: "out", Dimensions: 1, Rows: 1, Columns: 1, TileRows: 1, TileCols: 1, Wrong: []int64{1}}}
	if got, want := one.caption(), "where out is wrong: 1 of 1 tile, each 1 row × 1 column"; got != want {
		t.Errorf("got %q", got)
	}
	if got := strings.Join(one.lines(0), "\n"); got != "   0\n0  ██" {
		t.Errorf("got\n%s", got)
	}
}

func TestTileMapsThatAreNone(t *testing.T) {
	for name, tiles := range map[string]view.Map{
		"empty": {}, "short": {Rows: 2, Columns: 2, TileRows: 1, TileCols: 1, Wrong: []int64{1}}, "no size": {Rows: 1, Columns: 1, Wrong: []int64{1}},
		"negative": {Rows: -1, Columns: -1, TileRows: 1, TileCols: 1, Wrong: []int64{1}}, "vast": {Rows: 1000, Columns: 1000, TileRows: 1, TileCols: 1, Wrong: make([]int64, 1_000_000)},
	} {
		if tiles.Drawable() {
			t.Errorf("%s is drawn", name)
		}
	}
}

// Whatever the counts, a map has a line for every row of tiles, all equally wide, and
// a tile that has something wrong is never drawn as right.
func TestTileMapProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.Int64Range(1, 5000), rapid.Just(int64(math.MaxInt64)))
		m := tileMap{view.Map{
			Rows: rapid.IntRange(1, 16).Draw(t, "rows"), Columns: rapid.IntRange(1, 16).Draw(t, "columns"), TileRows: size.Draw(t, "tile rows"), TileCols: size.Draw(t, "tile columns"),
		}}
		for range m.Rows * m.Columns {
			m.Wrong = append(m.Wrong, rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()).Draw(t, "wrong"))
		}
		m.Wrong[0] = rapid.Int64Range(2, math.MaxInt64).Draw(t, "wrong in the first tile")
		if !m.Drawable() {
			t.Fatal("not drawn")
		}
		lines := m.lines(0)
		if len(lines) != m.Rows+1 {
			t.Fatalf("%d lines", len(lines))
		}
		for _, line := range lines[1:] {
			if utf8.RuneCountInString(line) != utf8.RuneCountInString(lines[1]) {
				t.Fatalf("%q is not as wide as %q", line, lines[1])
			}
		}
		for i, wrong := range m.Wrong {
			if (wrong > 0) != (m.shade(i/m.Columns, i%m.Columns) > 0) {
				t.Fatalf("%d wrong is drawn as %d", wrong, m.shade(i/m.Columns, i%m.Columns))
			}
		}
		if strings.Count(string(m.svg()), "<rect") != m.Rows*m.Columns {
			t.Fatal("tiles are missing")
		}
	})
}
