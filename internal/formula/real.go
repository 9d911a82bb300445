package formula

import "math"

// Real is a formula in the arithmetic of float64, for the elements of data: every
// value is a float or a truth, infinities and NaN are values like others, and
// nothing that is computed is an error. It may be used by many goroutines at once.
type Real struct {
	slots int
	run   realCode
}

// realCode computes a number, or a truth as 0 or 1.
type realCode func(env []float64) float64

// realPart is the code of a part of a formula.
type realPart struct {
	run   realCode
	truth bool
}

// CompileReal turns the formula into a Real whose Eval takes the values of names
// in the same order. Its error is an *Error: of an unknown name, with Name set, of
// an operator for integers or strings, or of a truth where a number is needed.
func (e *Expr) CompileReal(names []string) (*Real, error) {
	slots, err := e.slots(names)
	if err != nil {
		return nil, err
	}
	root, failed := realOf(e.root, slots)
	if failed != nil {
		return nil, failed
	}
	return &Real{slots: len(names), run: root.run}, nil
}

// Eval computes the formula; a truth is 1 or 0. It panics unless there is one
// value for each name.
func (r *Real) Eval(values []float64) float64 {
	if len(values) != r.slots {
		panic(failf("%d values given for %d names", len(values), r.slots).Message)
	}
	return r.run(values)
}

func truthOf(b bool) float64 { return float64(bit(b)) }

var realUnary = map[string]func(float64) float64{
	"-": func(a float64) float64 { return -a }, "+": sameReal, "max": sameReal, "min": sameReal,
	"abs": math.Abs, "ceil": math.Ceil, "cos": math.Cos, "erf": math.Erf, "exp": math.Exp, "float": sameReal, "floor": math.Floor,
	"int": math.Trunc, "log": math.Log, "log2": math.Log2, "sin": math.Sin, "sqrt": math.Sqrt, "tanh": math.Tanh,
	"not": func(a float64) float64 { return truthOf(a == 0) },
}

func sameReal(a float64) float64 { return a }

// min and max are NaN when either operand is, as NumPy's minimum and maximum: a
// reference that loses a NaN would excuse the kernel that does.
var realBinary = map[string]func(a, b float64) float64{
	"+":   func(a, b float64) float64 { return a + b },
	"-":   func(a, b float64) float64 { return a - b },
	"*":   func(a, b float64) float64 { return a * b },
	"/":   func(a, b float64) float64 { return a / b },
	"%":   modulo,
	"//":  floorDivideReal,
	"**":  math.Pow,
	"max": func(a, b float64) float64 { return max(a, b) },
	"min": func(a, b float64) float64 { return min(a, b) },
	"<":   func(a, b float64) float64 { return truthOf(a < b) },
	"<=":  func(a, b float64) float64 { return truthOf(a <= b) },
	">":   func(a, b float64) float64 { return truthOf(a > b) },
	">=":  func(a, b float64) float64 { return truthOf(a >= b) },
	"==":  func(a, b float64) float64 { return truthOf(a == b) },
	"!=":  func(a, b float64) float64 { return truthOf(a != b) },
}

func floorDivideReal(a, b float64) float64 {
	if b == 0 || !isFinite(a) || !isFinite(b) {
		return math.Floor(a / b)
	}
	return floorDivide(a, b)
}

func realOf(n node, slots map[string]int) (realPart, *Error) {
	switch x := n.(type) {
	case constantNode:
		return realConstant(x)
	case nameNode:
		slot := slots[x.name]
		return realPart{run: func(env []float64) float64 { return env[slot] }}, nil
	case unaryNode:
		return realOne(x, slots)
	case binaryNode:
		return realTwo(x, slots)
	case chainNode:
		return realChain(x, slots)
	case logicNode:
		return realLogic(x, slots)
	}
	return realConditional(n.(conditionalNode), slots)
}

func realConstant(n constantNode) (realPart, *Error) {
	var value float64
	switch n.value.kind {
	case KindString:
		return realPart{}, failf("the string %q has no place among numbers", n.value).at(n.span)
	case KindFloat:
		value = n.value.float()
	default:
		value = float64(n.value.int())
	}
	return realPart{func([]float64) float64 { return value }, n.value.kind == KindBool}, nil
}

func realOne(n unaryNode, slots map[string]int) (realPart, *Error) {
	x, err := realOf(n.x, slots)
	if err != nil {
		return realPart{}, err
	}
	op := realUnary[n.op.symbol]
	switch symbol := n.op.symbol; {
	case op == nil:
		return realPart{}, integersOnly(symbol).at(n.span)
	case x.truth && symbol != "not" && symbol != "int" && symbol != "float":
		return realPart{}, truthAsNumber(symbol).at(n.span)
	}
	run := x.run
	return realPart{func(env []float64) float64 { return op(run(env)) }, n.op.boolean}, nil
}

func realTwo(n binaryNode, slots map[string]int) (realPart, *Error) {
	x, err := realOf(n.x, slots)
	if err != nil {
		return realPart{}, err
	}
	y, err := realOf(n.y, slots)
	if err != nil {
		return realPart{}, err
	}
	op := realBinary[n.op.symbol]
	switch symbol := n.op.symbol; {
	case op == nil:
		return realPart{}, integersOnly(symbol).at(n.span)
	case (x.truth || y.truth) && symbol != "==" && symbol != "!=":
		return realPart{}, truthAsNumber(symbol).at(n.span)
	}
	runX, runY := x.run, y.run
	return realPart{func(env []float64) float64 { return op(runX(env), runY(env)) }, n.op.boolean}, nil
}

func realChain(n chainNode, slots map[string]int) (realPart, *Error) {
	runs := make([]realCode, len(n.operands))
	ops := make([]func(a, b float64) float64, len(n.ops))
	for i, operand := range n.operands {
		p, err := realOf(operand, slots)
		if err != nil {
			return realPart{}, err
		}
		if p.truth {
			at := max(0, i-1)
			return realPart{}, truthAsNumber(n.ops[at].symbol).at(n.spans[at])
		}
		runs[i] = p.run
	}
	for i, op := range n.ops {
		ops[i] = realBinary[op.symbol]
	}
	return realPart{truth: true, run: func(env []float64) float64 {
		left := runs[0](env)
		for i, op := range ops {
			right := runs[i+1](env)
			if op(left, right) == 0 {
				return 0
			}
			left = right
		}
		return 1
	}}, nil
}

func realLogic(n logicNode, slots map[string]int) (realPart, *Error) {
	x, err := realOf(n.x, slots)
	if err != nil {
		return realPart{}, err
	}
	y, err := realOf(n.y, slots)
	switch {
	case err != nil:
		return realPart{}, err
	case x.truth != y.truth:
		return realPart{}, mixed(n.symbol).at(n.span)
	}
	runX, runY, stop := x.run, y.run, n.stop
	return realPart{truth: x.truth, run: func(env []float64) float64 {
		if a := runX(env); (a != 0) == stop {
			return a
		}
		return runY(env)
	}}, nil
}

func realConditional(n conditionalNode, slots map[string]int) (realPart, *Error) {
	var parts [3]realPart
	for i, child := range []node{n.then, n.test, n.other} {
		p, err := realOf(child, slots)
		if err != nil {
			return realPart{}, err
		}
		parts[i] = p
	}
	if parts[0].truth != parts[2].truth {
		return realPart{}, mixed("if").at(n.span)
	}
	then, test, other := parts[0].run, parts[1].run, parts[2].run
	return realPart{truth: parts[0].truth, run: func(env []float64) float64 {
		if test(env) != 0 {
			return then(env)
		}
		return other(env)
	}}, nil
}

func integersOnly(symbol string) *Error {
	return failf("%s works on integers, and these are floats", spoken(symbol))
}

func truthAsNumber(symbol string) *Error {
	return failf("%s needs numbers, not a boolean", spoken(symbol)).hint("int(x) turns a boolean into 0 or 1")
}

func mixed(symbol string) *Error {
	return failf("%s would give a number here and a boolean there", spoken(symbol)).hint("int(x) turns a boolean into 0 or 1")
}
