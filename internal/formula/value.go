package formula

import (
	"math"
	"strconv"
	"strings"
	"unique"
)

// Kind says which kind of value a Value is.
type Kind uint8

// The kinds.
const (
	KindInt Kind = iota
	KindFloat
	KindBool
	KindString
)

// String names the kind as messages do: integer, float, boolean, string.
func (k Kind) String() string {
	return [...]string{"integer", "float", "boolean", "string"}[k]
}

// Value is an integer, a float, a boolean or a string. Two Values are equal
// with == when they have the same kind and the same content. The zero Value is
// the integer 0.
type Value struct {
	// Interned, so that a Value is three words instead of four: evaluation
	// copies Values far more often than it makes strings.
	text unique.Handle[string]
	bits uint64
	kind Kind
}

// Int makes an integer value.
func Int(i int64) Value { return Value{kind: KindInt, bits: uint64(i)} }

// Float makes a float value.
func Float(f float64) Value { return Value{kind: KindFloat, bits: math.Float64bits(f)} }

// Bool makes a boolean value.
func Bool(b bool) Value { return Value{kind: KindBool, bits: uint64(bit(b))} }

// String makes a string value.
func String(s string) Value { return Value{kind: KindString, text: unique.Make(s)} }

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.kind }

// Int returns an integer value; a float is never one, whatever its fraction.
func (v Value) Int() (int64, bool) {
	if v.kind != KindInt {
		return 0, false
	}
	return int64(v.bits), true
}

// Float returns a float value, or an integer as the nearest float.
func (v Value) Float() (float64, bool) {
	switch v.kind {
	case KindInt:
		return float64(int64(v.bits)), true
	case KindFloat:
		return math.Float64frombits(v.bits), true
	}
	return 0, false
}

// Bool returns a boolean value.
func (v Value) Bool() (bool, bool) { return v.kind == KindBool && v.bits != 0, v.kind == KindBool }

// Text returns a string value.
func (v Value) Text() (string, bool) {
	if v.kind != KindString {
		return "", false
	}
	return v.text.Value(), true
}

// String renders the value as it is written in a formula, strings without
// quotes: 64, 0.125, 2.0, True, f16.
func (v Value) String() string {
	switch v.kind {
	case KindFloat:
		return formatFloat(v.float())
	case KindBool:
		if v.bits != 0 {
			return "True"
		}
		return "False"
	case KindString:
		return v.text.Value()
	}
	return strconv.FormatInt(v.int(), 10)
}

// formatFloat writes the shortest text that reads back as f, and never one
// that reads back as an integer.
func formatFloat(f float64) string {
	if !isFinite(f) {
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	}
	if size := math.Abs(f); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// int returns the content of an integer or boolean.
func (v Value) int() int64 { return int64(v.bits) }

// float returns the content of a float.
func (v Value) float() float64 { return math.Float64frombits(v.bits) }

func (v Value) isNumber() bool { return v.kind <= KindFloat }

func (v Value) isInteger() bool { return v.kind == KindInt }

// number returns the content of an integer or float as a float.
func (v Value) number() float64 {
	if v.kind == KindInt {
		return float64(int64(v.bits))
	}
	return math.Float64frombits(v.bits)
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
