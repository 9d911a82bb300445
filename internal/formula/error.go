package formula

import (
	"cmp"
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
	if e != nil {
		e.Offset, e.Width = s.offset, s.width
	}
	return e
}

// check panics with an error that was found at the place, if there is one. Parsing
// leaves its recursion so; catch is where it ends.
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

// What went wrong is worked out here, after an operation had no result, so
// that the operations themselves stay small.

func noInteger(symbol string, operands ...Value) *Error {
	return cmp.Or(undefined(symbol, operands), failf("%s does not fit in a 64-bit integer", applied(symbol, operands)))
}

func noFloat(symbol string, operands ...Value) *Error {
	return cmp.Or(undefined(symbol, operands), failf("%s is not a finite number", applied(symbol, operands)))
}

// undefined returns the error of operands for which there is no result of any size.
func undefined(symbol string, operands []Value) *Error {
	last := operands[len(operands)-1]
	sign := compare(last, Int(0))
	switch symbol {
	case "/", "//", "%", "ceildiv":
		if sign == 0 {
			return failf("division by zero in %s", applied(symbol, operands))
		}
	case "**":
		if sign < 0 && compare(operands[0], Int(0)) == 0 {
			return failf("division by zero in %s", applied(symbol, operands))
		}
	case "<<", ">>":
		if sign < 0 {
			return failf("negative shift count in %s", applied(symbol, operands))
		}
	case "round_up":
		if sign <= 0 {
			return failf("round_up needs a positive multiple, not %s", last)
		}
	}
	return nil
}

// applied writes an operation with the values it had.
func applied(symbol string, operands []Value) string {
	if isLetter(symbol[0]) {
		text := symbol + "(" + operands[0].String()
		for _, v := range operands[1:] {
			text += ", " + v.String()
		}
		return text + ")"
	}
	if len(operands) == 1 {
		return symbol + shielded(operands[0])
	}
	return fmt.Sprintf("%s %s %s", shielded(operands[0]), symbol, shielded(operands[1]))
}

// shielded writes a number so that an operator beside it cannot be misread.
func shielded(v Value) string {
	text := v.String()
	if text[0] == '-' {
		return "(" + text + ")"
	}
	return text
}

func needNumbers(symbol string, a, b Value) *Error {
	return need(Value.isNumber, "numbers", symbol, a, b)
}

func needIntegers(symbol string, a, b Value) *Error {
	return need(Value.isInteger, "integers", symbol, a, b)
}

func need(fits func(Value) bool, wanted, symbol string, a, b Value) *Error {
	switch {
	case !fits(a):
		return wrongKind(symbol, wanted, a)
	case !fits(b):
		return wrongKind(symbol, wanted, b)
	}
	return nil
}

// spoken names an operator in quotes and a function without.
func spoken(symbol string) string {
	if isLetter(symbol[0]) && !words[symbol] {
		return symbol
	}
	return `"` + symbol + `"`
}

func wrongKind(symbol, wanted string, v Value) *Error {
	shown := v.String()
	if v.kind == KindString {
		shown = fmt.Sprintf("%q", shown)
	}
	e := failf("%s needs %s, not the %s %s", spoken(symbol), wanted, v.kind, shown)
	switch {
	case v.kind == KindBool && symbol == "&":
		e.Hint = "use and"
	case v.kind == KindBool && symbol == "|":
		e.Hint = "use or"
	case v.kind == KindBool:
		e.Hint = "int(x) turns a boolean into 0 or 1"
	case v.kind == KindFloat:
		e.Hint = "/ gives a float; //, ceildiv, int, floor and ceil give integers"
	case v.kind == KindString:
		e.Hint = "strings can only be compared with == and !="
	}
	return e
}
