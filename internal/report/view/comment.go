package view

import (
	"strings"
	"unicode"
)

// Comment is what a reviewer sees of a report below a pull request: a sentence, the rows that need
// attention, one line about trust and what to do next. The rest is folded.
type Comment struct {
	Mark    string // stands before the sentence
	Bold    string // its beginning
	Verdict string // its end
	Reason  string // somebody else's words: why the report does not count
	Axis    string // of the charts
	Rows    []CommentRow
	Causes  []Phrase // why rows changed
	Folds   []Fold
	Trust   []Phrase
	Next    []Command
}

// Phrase is a piece of a line: pawl's own words, then somebody else's, which are shown as code, or a
// link to somewhere that the caller names.
type Phrase struct{ Own, Quoted, URL string }

// CommentRow is a row of a comment's table.
type CommentRow struct {
	Word     string // its verdict
	Loud     bool   // the verdict fails the check
	Name     string // somebody else's words
	Effect   string
	Interval string
	Chart    string
	Note     string // somebody else's words, in place of the chart
}

// Fold is what a reviewer opens on demand.
type Fold struct {
	Title string
	Axis  string
	Rows  []CommentRow
	Items []FoldItem
	Names []string // somebody else's words
	Left  int      // how much the report has besides
	Noun  string   // one of that
}

// FoldItem is one thing that a fold explains.
type FoldItem struct {
	Phrase
	Code string // somebody else's words, of several lines
}

// Command is what somebody may run next. Its text is safe to be copied into a shell.
type Command struct{ Text, Why string }

// Plain returns the sentence of a comment without its mark.
func (c Comment) Plain() string { return c.Bold + c.Verdict }

// Harmless replaces characters that are not seen, or that change how others are: control characters,
// directions of writing, marks above and below.
func Harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == ' ':
			return r
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Mn, unicode.Me, unicode.Variation_Selector):
			return unicode.ReplacementChar
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}
