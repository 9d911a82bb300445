// Package view describes a report as data that is ready to be shown: sections, tables, badges,
// notes and plots, whose words and numbers are final. It knows neither what a report is made of nor
// what an output format looks like. report.ViewOf makes a View, and package render shows it as
// text, Markdown, HTML or CSV. The dashboard takes the same
// views.
package view

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"pawl/internal/unit"
)

// Form is a set of forms that something is shown in.
type Form uint8

// The forms.
const (
	Text     Form = 1 << iota // for a terminal: the result, and what needs attention
	Verbose                   // for a terminal: all that there is to say (-v)
	Markdown                  // for a comment
	HTML                      // for a page
	CSV                       // for programs
	Terminal = Text | Verbose
	All      = Terminal | Markdown | HTML | CSV
)

// Tone is how something looks. Pages use the names as classes.
type Tone string

// The tones.
const (
	Good   Tone = "good"
	Bad    Tone = "bad"
	Unsure Tone = "unsure"
	Plain  Tone = "plain"
	Faster Tone = "faster"
	Slower Tone = "slower"
	Even   Tone = "even"
	Strong Tone = "strong"
	Quiet  Tone = "quiet"
)

// View is a report as it is shown.
type View struct {
	Kind        string   // such as check
	Title       string   // what the run came to or, where nothing is judged, what ran where
	Brief       string   // the title of a document, where that is another
	Heading     []string // a terminal's first line
	Tool, Run   string   // pawl's version, and the run's id
	Interrupted bool
	Comment     bool // its Markdown is for a forge: short enough, and nothing in it is taken for markup
	Badges      []Badge
	Facts       []Fact
	Sections    []Section
	Ending      []Line     // parts of one line near the end of a terminal's text
	Closing     Line       // a terminal's last line: what the run came to
	Next        string     // what would change that; "": nothing need
	Foot        []string   // parts of a document's last line
	Records     [][]string // for programs; the first names the fields
}

// Badge is a number of the summary.
type Badge struct {
	Tone              Tone // or none, where there is nothing
	Count, Name, Note string
}

// Fact is a thing and what it is.
type Fact struct{ Name, Text string }

// Section is a part of a view. Whatever it has is shown in the order of its fields.
type Section struct {
	In      Form
	ID      string // names it within a page
	Title   string // stands above it
	Name    string // of a part: what it is about
	Variant string // of the name, for a page
	Aside   string // stands beside the name

	Folded bool   // hidden until it is asked for
	Fold   string // what is hidden
	Open   bool   // it was asked for already

	Table   *Table
	Names   []Name
	Lines   []Line
	List    bool // the lines are a list
	Items   []Item
	Tools   []Tool
	Charts  []Chart
	Strips  []Strip
	Changes *Changes
	Duets   []Duet
	History []History
	Picture *Picture
	Code    Code
	Facts   []Fact
	Parts   []Section

	Noun  string // one of what may find no room
	Of    string // stands before that, such as "the cases of "
	Left  int    // how many were left out already
	Count int    // how many the section stands for, should it find no room itself
	End   bool   // has its place kept free in a comment
}

// Shown reports whether a form has the section.
func (s Section) Shown(form Form) bool { return s.In&form != 0 }

// Empty reports whether a section has nothing to show.
func (s Section) Empty() bool {
	parts := len(s.Names) + len(s.Lines) + len(s.Items) + len(s.Tools) + len(s.Charts) + len(s.Strips) + len(s.Duets) + len(s.History) + len(s.Parts)
	return s.Table == nil && s.Picture == nil && s.Code.Text == "" && s.Changes == nil && s.Facts == nil && s.Left == 0 && parts == 0
}

// Picture is a drawing of pawl's own, for a page.
type Picture struct {
	SVG    string // it follows the reader's theme
	Narrow string // the same for a narrow screen; may be empty
	Says   string // for those who cannot see it
}

// Code is lines to be copied as they are, from a document.
type Code struct {
	Text     string
	Language string // as Markdown names it
}

// Name is a row, or several of one kernel.
type Name struct {
	Text string
	Rows int
}

// Line is a sentence.
type Line struct {
	Text string
	Tone Tone
	Mark string // stands before it on a terminal, in its tone
	In   Form   // zero is all of them
}

// Item is something that went wrong, with what explains it.
type Item struct {
	Mark     string // such as FAIL
	Name     string // what it is about
	Badge    Cell
	Message  string
	Hint     string
	Findings []Finding
	Lines    []Line
	Maps     []Map
	Output   string // of the compiler
	Log      string // what it printed
	Built    bool   // the output explains it
	Open     bool
}

// Finding is what speaks against somebody's honesty.
type Finding struct {
	Exploit, Message string
	Badge            Cell
}

// Tool is what one tool said of a kernel.
type Tool struct {
	Name     string
	Badge    Cell
	Brief    string // the badge's text without the reason of a skip
	Skipped  string
	Findings []Found
	Raw      string
}

// Found is one thing that a tool found.
type Found struct {
	Badge                Cell // its severity
	Kind, Source, Device string
	Lines                []string
}

// Table is rows of cells below heads.
type Table struct {
	Look    string // how a page shows it: results, sheet, cases, overall
	Empty   string // what a page says when it has no rows
	Columns []Column
	Rows    []Row
}

// Column is what the cells of a column have in common.
type Column struct {
	Head   string
	Number bool // aligned as one
	Badge  bool // what rows came to
	Rank   int  // where a terminal is narrow, columns of a lower rank stay; 0: always
	Words  bool // sentences: a terminal wraps them
	Bytes  int  // that a comment has room for; 0: pawl's own words, few and harmless
}

// Row is a line of a table.
type Row struct {
	Cells []Cell
	Sub   bool   // what the row above was measured against
	Note  string // stands below it on a page
	Items []Item // what explains it
}

// Cell is one place of a table.
type Cell struct {
	Text string
	Rest string // what follows with less weight, such as an interval
	Tone Tone
}

// Counted writes a number of things, thousands apart: "1,200 rows".
func Counted(n int, noun string) string { return unit.Plural(n, noun, noun+"s") }

// Count is Counted for numbers that are never that large.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Shorten cuts a text to this many characters.
func Shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return strings.TrimRight(string(runes[:most-1]), " ") + "…"
	}
	return text
}

// Flat returns a text in one line.
func Flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// Printable drops control characters: what a kernel prints must not steer the
// terminal it is shown on.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// Short drops the zeros at the end of a decimal.
func Short(number string) string {
	if !strings.Contains(number, ".") {
		return number
	}
	return strings.TrimRight(strings.TrimRight(number, "0"), ".")
}

// Percent writes a change in as few digits as it takes.
func Percent(v float64) string {
	if math.Abs(v) < 1e-9 {
		return "0"
	}
	text := Short(fmt.Sprintf("%.2f", math.Abs(100*v))) + "%"
	if v < 0 {
		return "−" + text
	}
	return "+" + text
}
