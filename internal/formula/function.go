package formula

import (
	"maps"
	"math"
	"slices"
)

// function is what a name before a parenthesis means. A call is parsed into
// the operators it stands for, so nothing behind the parser knows calls.
type function struct {
	one  *unary  // applied to a single argument
	two  *binary // applied to two
	many bool    // two takes in any further arguments from left to right
}

var functions = map[string]function{
	"abs":       {one: numberUnary("abs", absInt, math.Abs)},
	"ceil":      {one: rounding("ceil", math.Ceil)},
	"ceildiv":   {two: integerBinary("ceildiv", ceilDivInt)},
	"cos":       {one: floatUnary("cos", math.Cos)},
	"erf":       {one: floatUnary("erf", math.Erf)},
	"exp":       {one: floatUnary("exp", math.Exp)},
	"float":     {one: &unary{symbol: "float", values: toFloat, real: sameReal}},
	"floor":     {one: rounding("floor", math.Floor)},
	"gcd":       {two: integerBinary("gcd", gcdInt)},
	"int":       {one: &unary{symbol: "int", bools: true, ints: sameInt, values: truncate, real: math.Trunc}},
	"log":       {one: floatUnary("log", math.Log)},
	"log2":      {one: floatUnary("log2", math.Log2)},
	"max":       {one: sameNumber("max"), two: extreme("max", maxInt, 1, func(a, b float64) float64 { return max(a, b) }), many: true},
	"min":       {one: sameNumber("min"), two: extreme("min", minInt, -1, func(a, b float64) float64 { return min(a, b) }), many: true},
	"next_pow2": {one: integerUnary("next_pow2", nextPow2Int)},
	"round_up":  {two: integerBinary("round_up", roundUpInt)},
	"sin":       {one: floatUnary("sin", math.Sin)},
	"sqrt":      {one: floatUnary("sqrt", math.Sqrt)},
	"tanh":      {one: floatUnary("tanh", math.Tanh)},
}

// elsewhere are names that other tools have for what is here.
var elsewhere = map[string]string{
	"cdiv":            "use ceildiv(a, b)",
	"next_power_of_2": "use next_pow2(x)",
	"ln":              "use log(x)",
	"pow":             "use a ** b",
}

// Functions returns the names of all functions, sorted.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }

func functionHint(name string) string {
	if hint, ok := elsewhere[name]; ok {
		return hint
	}
	return misspelt(name, Functions())
}

// node returns the call of f with args.
func (f function) node(name token, args []node) node {
	switch {
	case len(args) == 1 && f.one != nil:
		return &unaryNode{name.span(), f.one, args[0]}
	case len(args) == 2 && f.two != nil, len(args) > 2 && f.many:
		n := args[0]
		for _, arg := range args[1:] {
			n = &binaryNode{name.span(), f.two, n, arg}
		}
		return n
	}
	wanted := "1 argument"
	switch {
	case f.many:
		wanted = "at least 1 argument"
	case f.two != nil:
		wanted = "2 arguments"
	}
	panic(failf("%s needs %s, not %d", name.text, wanted, len(args)).at(name.span()))
}

// floatUnary always gives a float.
func floatUnary(name string, f func(float64) float64) *unary {
	return &unary{symbol: name, real: f, values: func(a Value) (Value, *Error) {
		if !a.isNumber() {
			return Value{}, wrongKind(name, "a number", a)
		}
		return finite(f(a.number()), name, a)
	}}
}

// rounding always gives an integer.
func rounding(name string, round func(float64) float64) *unary {
	return &unary{symbol: name, ints: sameInt, real: round, values: func(a Value) (Value, *Error) {
		switch a.kind {
		case KindInt:
			return a, nil
		case KindFloat:
			i, ok := toInt(round(a.float()))
			return exact(i, ok, name, a)
		}
		return Value{}, wrongKind(name, "a number", a)
	}}
}

var rounded = rounding("int", math.Trunc)

func truncate(a Value) (Value, *Error) {
	if a.kind == KindBool {
		return Int(a.int()), nil
	}
	return rounded.values(a)
}

func toFloat(a Value) (Value, *Error) {
	if a.kind == KindString {
		return Value{}, wrongKind("float", "a number", a)
	}
	if a.kind == KindFloat {
		return a, nil
	}
	return Float(float64(a.int())), nil
}

// extreme keeps the first of two equal operands, like Python. Its real is NaN when either operand
// is, as NumPy's minimum and maximum: a reference that loses a NaN would excuse the kernel that does.
func extreme(name string, ints func(a, b int64) (int64, bool), sign int, real func(a, b float64) float64) *binary {
	return &binary{symbol: name, ints: ints, real: real, values: func(a, b Value) (Value, *Error) {
		if err := needNumbers(name, a, b); err != nil {
			return Value{}, err
		}
		if compare(b, a) == sign {
			return b, nil
		}
		return a, nil
	}}
}
