package formula

import (
	"cmp"
	"fmt"
)

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
	switch {
	case !a.isNumber():
		return wrongKind(symbol, "numbers", a)
	case !b.isNumber():
		return wrongKind(symbol, "numbers", b)
	}
	return nil
}

func needIntegers(symbol string, a, b Value) *Error {
	switch {
	case a.kind != KindInt:
		return wrongKind(symbol, "integers", a)
	case b.kind != KindInt:
		return wrongKind(symbol, "integers", b)
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
