package trial

import (
	"math"

	"pawl/internal/formula"
)

// inexact is a value and the allowed error of an honest kernel.
type inexact struct{ value, off float64 }

// arithmetic evaluates a formula as a kernel computes it, with fair rounding errors: a few units in
// the last place for every operation.
type arithmetic struct {
	unit  float64 // relative error of one operation
	limit float64 // beyond it numbers of the type are infinite
	env   map[string]inexact

	unknown bool // the formula has an operation whose errors are not known
}

// follows are the functions whose errors are known: the magnitude of the derivative, and the error
// of an approximation beyond one rounding.
var follows = map[string]func(a float64) (value, slope, more float64){
	"abs": func(a float64) (value, slope, more float64) { return math.Abs(a), 1, 0 },
	"exp": func(a float64) (value, slope, more float64) {
		return math.Exp(a), math.Exp(a), math.Exp(a) * math.Abs(a)
	},
	"tanh": func(a float64) (value, slope, more float64) { return math.Tanh(a), 1 - math.Tanh(a)*math.Tanh(a), 1 },
	"erf":  func(a float64) (value, slope, more float64) { return math.Erf(a), 2 * math.Exp(-a*a), 1 },
	"sin":  func(a float64) (value, slope, more float64) { return math.Sin(a), 1, 1 + math.Abs(a) },
	"cos":  func(a float64) (value, slope, more float64) { return math.Cos(a), 1, 1 + math.Abs(a) },
	"sqrt": func(a float64) (value, slope, more float64) { return math.Sqrt(a), 1 / math.Sqrt(a), 0 },
	"log":  func(a float64) (value, slope, more float64) { return math.Log(a), 1 / math.Abs(a), 1 },
	"log2": func(a float64) (value, slope, more float64) { return math.Log2(a), 2 / math.Abs(a), 1 },
}

// of returns the value of a part of a formula; false where it is not known, or is not a number.
func (a *arithmetic) of(p formula.Part) (inexact, bool) {
	var v inexact
	ok := false
	switch {
	case p.Symbol == "if":
		return a.choice(p.Operands[0], p.Operands[1], p.Operands[2])
	case p.Name != "":
		v, ok = a.env[p.Name]
	case p.Symbol == "":
		if v.value, ok = number(p); v.value != math.Trunc(v.value) {
			v.off = a.unit * math.Abs(v.value)
		}
	case len(p.Operands) == 1:
		v, ok = a.one(p.Symbol, p.Operands[0])
	default:
		v, ok = a.two(p.Symbol, p.Operands[0], p.Operands[1])
	}
	return v, ok && math.Abs(v.value)+v.off < a.limit // nor NaN
}

// number returns the value of a part that is a number.
func number(p formula.Part) (float64, bool) {
	if p.Symbol != "" || p.Name != "" || p.Value.Kind() == formula.KindBool {
		return 0, false
	}
	return p.Value.Float()
}

// choice returns the value of a conditional, by its comparison.
func (a *arithmetic) choice(yes, condition, no formula.Part) (inexact, bool) {
	less := false
	switch condition.Symbol {
	case ">", ">=":
	case "<", "<=":
		less = true
	default:
		a.unknown = true
		return inexact{}, false
	}
	x, first := a.of(condition.Operands[0])
	y, second := a.of(condition.Operands[1])
	then, third := a.of(yes)
	otherwise, fourth := a.of(no)
	chosen := otherwise
	if less && x.value < y.value || !less && x.value > y.value {
		chosen = then
	}
	if x.value == y.value || math.Abs(x.value-y.value) <= x.off+y.off { // either may be chosen
		chosen.off += math.Abs(then.value - otherwise.value)
	}
	return chosen, first && second && third && fourth
}

func (a *arithmetic) one(symbol string, operand formula.Part) (inexact, bool) {
	x, ok := a.of(operand)
	switch known := follows[symbol]; {
	case symbol == "-":
		x.value = -x.value
		return x, ok
	case symbol == "+":
		return x, ok
	case known != nil:
		value, slope, more := known(x.value)
		off := a.unit * (math.Abs(value) + more)
		if x.off > 0 {
			off += slope * x.off * 2
		}
		return inexact{value, off}, ok
	}
	a.unknown = true
	return inexact{}, false
}

func (a *arithmetic) two(symbol string, left, right formula.Part) (inexact, bool) {
	x, first := a.of(left)
	y, second := a.of(right)
	exponent, constant := number(right)
	var v inexact
	switch symbol {
	case "max":
		return inexact{max(x.value, y.value), max(x.off, y.off)}, first && second
	case "min":
		return inexact{min(x.value, y.value), max(x.off, y.off)}, first && second
	case "+":
		v = inexact{x.value + y.value, x.off + y.off}
	case "-":
		v = inexact{x.value - y.value, x.off + y.off}
	case "*":
		v = inexact{x.value * y.value, math.Abs(x.value)*y.off + math.Abs(y.value)*x.off + x.off*y.off}
	case "/":
		// A value near zero may be nearer to it at points that are not sampled.
		least := math.Abs(y.value) - y.off
		if least < 0x1p-4 && !constant || least <= 0 {
			return inexact{}, false
		}
		v = inexact{x.value / y.value, (x.off + math.Abs(x.value/y.value)*y.off) / least}
	case "**":
		if !constant || exponent != math.Trunc(exponent) {
			a.unknown = true
			return inexact{}, false
		}
		power := math.Pow(x.value, exponent)
		slope := exponent * math.Pow(math.Abs(x.value), exponent-1)
		return inexact{power, slope*x.off*2 + a.unit*(1+exponent)*math.Abs(power)}, first
	default:
		a.unknown = true
		return inexact{}, false
	}
	v.off += a.unit * math.Abs(v.value)
	return v, first && second
}
