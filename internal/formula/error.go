package formula

import (
	"fmt"
	"strings"
)

// Error is what is wrong with a formula, and where in its source.
type Error struct {
	Offset  int    // bytes before the text at fault
	Width   int    // bytes of the text at fault; 0 when something is missing at the end
	Message string // lower case, no full stop
	Hint    string // what to do, or what was probably meant; may be empty
	Name    string // the unknown name or function, when that is the error
}

// Error returns the message, without place and hint.
func (e *Error) Error() string { return e.Message }

// span is a place in the source, in bytes.
type span struct{ offset, width int }

func failf(format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

// at sets the place; only who calls an operator knows where it stands.
func (e *Error) at(s span) *Error {
	e.Offset, e.Width = s.offset, s.width
	return e
}

// check panics with an error that was found at the place, if there is one. Parsing
// and evaluation leave their recursion so; catch is where it ends.
func (s span) check(err *Error) {
	if err != nil {
		panic(err.at(s))
	}
}

// catch sets err to the *Error that a deferring function panicked with.
func catch(err *error) {
	switch failed := recover().(type) {
	case nil:
	case *Error:
		*err = failed
	default:
		panic(failed)
	}
}

// hint sets the hint.
func (e *Error) hint(text string) *Error {
	e.Hint = text
	return e
}

// misspelt returns the hint for an unknown word: the nearest name, or all of them.
func misspelt(word string, names []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, name := range names {
		if d := distance(word, name); d < least {
			best, least = name, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "expected one of: " + strings.Join(names, ", ")
}

// distance returns the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
