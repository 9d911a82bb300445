package term

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func checkTable(width int) *Table {
	return &Table{
		Columns: []Column{{Header: "config"}, {Header: "verdict"}, {Header: "change", Align: Right}, {Header: "95% interval"}, {Header: "δ", Align: Right, Rank: 2}, {Header: "times", Align: Right, Rank: 1}, {Header: "measured", Align: Right, Rank: 3}, {Header: "note", Words: true}},
		Indent:  2, Width: width,
	}
}

// Columns are left out by their rank, sentences wrap or stand below their row, and at last the first
// column stands above the others.
func TestTableFits(t *testing.T) {
	for width, want := range map[int]string{
		0: `
  config           verdict     change  95% interval     δ           times             measured  note
  softmax/rows_8k  regression   +4.1%  [+3.8, +4.4]  0.82  94.3 → 98.0 µs  12 cells, 240 pairs  bistable; clock effect: −0.2% in cycles
  gemm/4k          maintained   +0.1%  [−0.2, +0.4]        1.21 → 1.21 ms   6 cells, 240 pairs
`,
		130: `
  config           verdict     change  95% interval     δ           times             measured  note
  softmax/rows_8k  regression   +4.1%  [+3.8, +4.4]  0.82  94.3 → 98.0 µs  12 cells, 240 pairs  bistable; clock effect: −0.2% in
                                                                                                cycles
  gemm/4k          maintained   +0.1%  [−0.2, +0.4]        1.21 → 1.21 ms   6 cells, 240 pairs
`,
		80: `
  config           verdict     change  95% interval     δ           times
  softmax/rows_8k  regression   +4.1%  [+3.8, +4.4]  0.82  94.3 → 98.0 µs
      bistable; clock effect: −0.2% in cycles
  gemm/4k          maintained   +0.1%  [−0.2, +0.4]        1.21 → 1.21 ms
`,
		60: `
  config           verdict     change  95% interval     δ
  softmax/rows_8k  regression   +4.1%  [+3.8, +4.4]  0.82
      bistable; clock effect: −0.2% in cycles
  gemm/4k          maintained   +0.1%  [−0.2, +0.4]
`,
		40: `
  config
    verdict     change  95% interval
  softmax/rows_8k
    regression   +4.1%  [+3.8, +4.4]
      bistable; clock effect: −0.2% in
      cycles
  gemm/4k
    maintained   +0.1%  [−0.2, +0.4]
`,
	} {
		table := checkTable(width)
		table.Add("softmax/rows_8k", "regression", "+4.1%", "[+3.8, +4.4]", "0.82", "94.3 → 98.0 µs", "12 cells, 240 pairs", "bistable; clock effect: −0.2% in cycles")
		table.Add("gemm/4k", "maintained", "+0.1%", "[−0.2, +0.4]", "", "1.21 → 1.21 ms", "6 cells, 240 pairs")
		if diff := cmp.Diff(want, "\n"+table.String()); diff != "" {
			t.Errorf("%d columns:\n%s", width, diff)
		}
	}
}

// However narrow the terminal is: no line is longer than it, unless a cell or a word alone is, no
// word of a sentence is lost, and columns without a rank stay.
func TestAnyTableFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := checkTable(rapid.IntRange(45, 200).Draw(t, "width"))
		rows := rapid.IntRange(1, 4).Draw(t, "rows")
		var stays []string
		for i := range rows {
			name := rapid.StringMatching(`[a-z_]{1,30}`).Draw(t, "name")
			note := rapid.StringMatching(`([a-z]{1,12} ){0,12}`).Draw(t, "note")
			interval := fmt.Sprintf("[−%d.0, +%d.0]", i, i)
			stays = append(stays, append([]string{name, interval, "inconclusive"}, strings.Fields(note)...)...)
			table.Add(name, "inconclusive", "+1.0%", interval, "0.10", "1.21 → 1.21 ms", "6 cells, 240 pairs", note)
		}
		text := table.String()
		for line := range strings.Lines(text) {
			if got := DisplayWidth(strings.TrimRight(line, "\n")); got > table.Width {
				t.Fatalf("%d columns in a line of %d:\n%s", got, table.Width, text)
			}
		}
		for _, word := range stays {
			if !strings.Contains(text, word) {
				t.Fatalf("%q is lost:\n%s", word, text)
			}
		}
	})
}

func TestWrap(t *testing.T) {
	style := Style{Color: true}
	for _, test := range []struct {
		width      int
		text, want string
	}{
		{0, "  a line that is not wrapped at all", "  a line that is not wrapped at all"},
		{20, "  short\n  a line that is wrapped\n", "  short\n  a line that is\n    wrapped\n"},
		{20, "see /a/path/that/is/longer/than/a/line now", "see\n  /a/path/that/is/longer/than/a/line\n  now"},
		{12, style.Red("one") + " " + style.Dim("two three four"), style.Red("one") + " \x1b[2mtwo\n  three four\x1b[0m"},
		{20, "  " + style.Dim("  next: a line that is wrapped"), "  \x1b[2m  next: a line\n      that is\n      wrapped\x1b[0m"},
		{10, "日本語 日本語 日本", "日本語\n  日本語\n  日本"},
	} {
		if diff := cmp.Diff(test.want, Wrap(test.text, test.width)); diff != "" {
			t.Errorf("%q in %d columns:\n%s", test.text, test.width, diff)
		}
	}
}

// A column with a rank that no row has a text in is left out, heading and all.
func TestEmptyColumnIsLeftOut(t *testing.T) {
	table := &Table{Columns: []Column{{Header: "name"}, {Header: "compute", Rank: 3}, {Header: "memory", Rank: 3}, {Header: "why", Words: true}}}
	table.Add("k/a", "", "", "check")
	table.Add("k/b", "", "3 GB/s", "accept")
	if got, want := table.String(), "name  memory  why\nk/a           check\nk/b   3 GB/s  accept\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Quantities, and changes of them, are not torn.
func TestFillKeepsQuantities(t *testing.T) {
	got := Fill("against commit 42890af, 55.8 → 359 µs; 3 files → more, of 12 ms.", 22)
	want := []string{"against commit", "42890af,", "55.8 → 359 µs; 3 files", "→ more, of 12 ms."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Details go before short sentences stand below their rows.
func TestShortSentencesStayBeside(t *testing.T) {
	table := &Table{Width: 36, Columns: []Column{{Header: "name"}, {Header: "commit", Rank: 1}, {Header: "memory", Rank: 3}, {Header: "moved by", Words: true}}}
	table.Add("histogram/large", "ea5b036", "14.4 GB/s", "check (me)")
	if got, want := table.String(), "name             commit   moved by\nhistogram/large  ea5b036  check (me)\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
