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

type infixRole uint8

const (
	roleBinary infixRole = iota
	roleCompare
	roleLogic
)

type infix struct {
	power int
	role  infixRole
	op    *binary
}

var infixes = map[string]infix{
	"or":  {powerOr, roleLogic, nil},
	"and": {powerAnd, roleLogic, nil},
	"<":   {powerCompare, roleCompare, opLess},
	"<=":  {powerCompare, roleCompare, opLessEqual},
	">":   {powerCompare, roleCompare, opGreater},
	">=":  {powerCompare, roleCompare, opGreaterEqual},
	"==":  {powerCompare, roleCompare, opEqual},
	"!=":  {powerCompare, roleCompare, opNotEqual},
	"|":   {powerBitOr, roleBinary, opBitOr},
	"^":   {powerBitXor, roleBinary, opBitXor},
	"&":   {powerBitAnd, roleBinary, opBitAnd},
	"<<":  {powerShift, roleBinary, opShiftLeft},
	">>":  {powerShift, roleBinary, opShiftRight},
	"+":   {powerAdd, roleBinary, opAdd},
	"-":   {powerAdd, roleBinary, opSubtract},
	"*":   {powerMultiply, roleBinary, opMultiply},
	"/":   {powerMultiply, roleBinary, opDivide},
	"//":  {powerMultiply, roleBinary, opFloorDivide},
	"%":   {powerMultiply, roleBinary, opModulo},
	"**":  {powerPower, roleBinary, opPower},
}

var prefixes = map[string]*unary{"-": opNegate, "+": opPlus, "~": opInvert}

var constants = map[string]Value{
	"True": Bool(true), "true": Bool(true), "False": Bool(false), "false": Bool(false),
}
