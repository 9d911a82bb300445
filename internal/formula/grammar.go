package formula

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
	"<":   {powerCompare, opLess},
	"<=":  {powerCompare, opLessEqual},
	">":   {powerCompare, opGreater},
	">=":  {powerCompare, opGreaterEqual},
	"==":  {powerCompare, opEqual},
	"!=":  {powerCompare, opNotEqual},
	"|":   {powerBitOr, opBitOr},
	"^":   {powerBitXor, opBitXor},
	"&":   {powerBitAnd, opBitAnd},
	"<<":  {powerShift, opShiftLeft},
	">>":  {powerShift, opShiftRight},
	"+":   {powerAdd, opAdd},
	"-":   {powerAdd, opSubtract},
	"*":   {powerMultiply, opMultiply},
	"/":   {powerMultiply, opDivide},
	"//":  {powerMultiply, opFloorDivide},
	"%":   {powerMultiply, opModulo},
	"**":  {powerPower, opPower},
}

var prefixes = map[string]*unary{"-": opNegate, "+": opPlus, "~": opInvert}

var constants = map[string]Value{
	"True": Bool(true), "true": Bool(true), "False": Bool(false), "false": Bool(false),
}
