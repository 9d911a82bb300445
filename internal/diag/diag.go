// Package diag describes errors in a user's text: where the error is, what was expected, and what
// was probably meant. Every reader of user input (the YAML spec, formulas, command-line selectors)
// reports through it, so that all errors look alike and several can be shown at once.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pos is a place in a text file. Line and Column count from 1; Column counts
// runes. The zero Pos means "no place known".
type Pos struct {
	File   string
	Line   int
	Column int
}

// String renders file:line:column, leaving out what is not known.
func (p Pos) String() string {
	var known []string
	if p.File != "" {
		known = append(known, p.File)
	}
	if p.Line > 0 {
		known = append(known, strconv.Itoa(p.Line))
		if p.Column > 0 {
			known = append(known, strconv.Itoa(p.Column))
		}
	}
	return strings.Join(known, ":")
}

// SettingError is a setting of a run that makes no sense.
type SettingError struct {
	Setting  string // its flag, without dashes
	Value    any
	Expected string
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("--%s %v: expected %s", e.Setting, e.Value, e.Expected)
}

// Problem is one thing wrong at one place.
type Problem struct {
	Pos     Pos
	Message string // what is wrong and what was expected; lower case, no full stop
	Hint    string // what to do, or what was probably meant; may be empty
	Excerpt string // the source line; filled by List.Err from the source text
	Width   int    // runes to underline; 0 means 1
}

// At returns a problem at a byte of a file's text, with its line.
func At(file, text string, offset int, message, hint string) *Problem {
	before := text[:max(0, min(offset, len(text)))]
	start := strings.LastIndexByte(before, '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return &Problem{
		Pos:     Pos{File: file, Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[start:]) + 1},
		Message: message, Hint: hint, Excerpt: strings.TrimRight(line, "\r"),
	}
}

// Error renders the problem as one line, without excerpt.
func (p *Problem) Error() string {
	if place := p.Pos.String(); place != "" {
		return place + ": " + p.Message
	}
	return p.Message
}

// Detail renders the problem as people read it: the place, the line it stands
// on with a caret below, and the hint.
func (p *Problem) Detail() string {
	var b strings.Builder
	b.WriteString(p.Error())
	if p.Excerpt != "" {
		number := strconv.Itoa(p.Pos.Line)
		line, column := window(p.Excerpt, p.Pos.Column)
		fmt.Fprintf(&b, "\n  %s | %s", number, line)
		if column > 0 {
			// What is underlined may go on where the line shown ends.
			room := utf8.RuneCountInString(line) - column + 1
			fmt.Fprintf(&b, "\n  %s | %s%s", strings.Repeat(" ", len(number)),
				caretIndent(line, column), strings.Repeat("^", max(1, min(p.Width, room))))
		}
	}
	if p.Hint != "" {
		b.WriteString("\n  hint: " + p.Hint)
	}
	return b.String()
}

// window returns the part of a line around column that people can take in, with
// the column moved along; a line of a megabyte helps nobody. Control
// characters, which could rewrite the terminal, are replaced.
func window(line string, column int) (string, int) {
	const most = 160
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\t' }
	if strings.ContainsFunc(line, control) {
		line = strings.Map(func(r rune) rune {
			if control(r) {
				return utf8.RuneError
			}
			return r
		}, line)
	}
	if utf8.RuneCountInString(line) <= most {
		return line, column
	}
	runes := []rune(line)
	start := max(0, min(column-1-most/2, len(runes)-most))
	shown := string(runes[start : start+most])
	if start+most < len(runes) {
		shown += "…"
	}
	if start > 0 {
		return "…" + shown, column - start + 1
	}
	return shown, column
}

// caretIndent keeps tabs, so that the caret stands under its column whatever
// the width of a tab is.
func caretIndent(line string, column int) string {
	var b strings.Builder
	for _, r := range line {
		if column--; column <= 0 {
			return b.String()
		}
		if r == '\t' {
			b.WriteRune('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String() + strings.Repeat(" ", max(0, column-1))
}

// List collects the problems of one source text. Its zero value is ready.
type List struct {
	problems []*Problem
}

// Add records a problem.
func (l *List) Add(p *Problem) { l.problems = append(l.problems, p) }

// Addf records a problem from its parts.
func (l *List) Addf(pos Pos, format string, args ...any) *Problem {
	p := &Problem{Pos: pos, Message: fmt.Sprintf(format, args...)}
	l.Add(p)
	return p
}

// Len returns the number of problems so far.
func (l *List) Len() int { return len(l.problems) }

// Err returns nil when there are no problems, else an Errors sorted by place,
// with the source line of each filled in from source.
func (l *List) Err(source []byte) error {
	if len(l.problems) == 0 {
		return nil
	}
	lines := strings.Split(string(source), "\n")
	for _, p := range l.problems {
		if p.Excerpt == "" && p.Pos.Line >= 1 && p.Pos.Line <= len(lines) {
			p.Excerpt = strings.TrimRight(lines[p.Pos.Line-1], "\r")
		}
	}
	slices.SortStableFunc(l.problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return Errors(l.problems)
}

// Errors is one or more problems as an error.
type Errors []*Problem

// Error renders all problems in detail, a blank line between them.
func (e Errors) Error() string {
	parts := make([]string, len(e))
	for i, p := range e {
		parts[i] = p.Detail()
	}
	return strings.Join(parts, "\n\n")
}

// Problems returns the problems inside err, if it holds any.
func Problems(err error) []*Problem {
	if list, found := errors.AsType[Errors](err); found {
		return list
	}
	if one, found := errors.AsType[*Problem](err); found {
		return []*Problem{one}
	}
	return nil
}
