package formula

import "math"

// How tightly operators bind.
const (
	powerOr = iota
	powerAnd
	powerNot
	powerCompare
	powerBitOr
	powerBitXor
	powerBitAnd
	powerShift
	powerAdd
	powerMultiply
	powerUnary
	powerPower
)

type infix struct {
	power int
	op    *binary // nil for and, or
}

var infixes = map[string]infix{
	"or":  {powerOr, nil},
	"and": {powerAnd, nil},
	"<":   {powerCompare, ordering("<", lessInt, func(a, b float64) float64 { return truthOf(a < b) })},
	"<=":  {powerCompare, ordering("<=", lessEqualInt, func(a, b float64) float64 { return truthOf(a <= b) })},
	">":   {powerCompare, ordering(">", greaterInt, func(a, b float64) float64 { return truthOf(a > b) })},
	">=":  {powerCompare, ordering(">=", greaterEqualInt, func(a, b float64) float64 { return truthOf(a >= b) })},
	"==":  {powerCompare, equality("==", equalInt, func(a, b float64) float64 { return truthOf(a == b) })},
	"!=":  {powerCompare, equality("!=", notEqualInt, func(a, b float64) float64 { return truthOf(a != b) })},
	"|":   {powerBitOr, integerBinary("|", bitOrInt)},
	"^":   {powerBitXor, integerBinary("^", bitXorInt)},
	"&":   {powerBitAnd, integerBinary("&", bitAndInt)},
	"<<":  {powerShift, integerBinary("<<", shiftLeftInt)},
	">>":  {powerShift, integerBinary(">>", shiftRightInt)},
	"+":   {powerAdd, numberBinary("+", addInt, func(a, b float64) float64 { return a + b })},
	"-":   {powerAdd, numberBinary("-", subtractInt, func(a, b float64) float64 { return a - b })},
	"*":   {powerMultiply, numberBinary("*", multiplyInt, func(a, b float64) float64 { return a * b })},
	"/":   {powerMultiply, &binary{symbol: "/", values: divide, real: func(a, b float64) float64 { return a / b }}},
	"//":  {powerMultiply, numberBinary("//", floorDivideInt, floorDivide)},
	"%":   {powerMultiply, numberBinary("%", moduloInt, modulo)},
	"**":  {powerPower, &binary{symbol: "**", ints: powerInt, values: power, real: math.Pow}},
}

var prefixes = map[string]*unary{"-": opNegate, "+": sameNumber("+"), "~": integerUnary("~", invertInt)}

var constants = map[string]Value{
	"True": Bool(true), "true": Bool(true), "False": Bool(false), "false": Bool(false),
}
