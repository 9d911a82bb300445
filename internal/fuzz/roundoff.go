package fuzz

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// inexact is a value and how far that of an honest kernel may be from it.
type inexact struct{ value, off float64 }

// arithmetic follows a formula as a kernel computes it, with the rounding errors that
// are fair: a few units in the last place for every operation.
type arithmetic struct {
	unit  float64 // relative error of one operation
	limit float64 // beyond it numbers of the type are infinite
	env   map[string]inexact
}

// follows are the functions whose errors are known: the derivative's size, and by how
// much more than one rounding an approximation is off.
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

var (
	power       = regexp.MustCompile(`(\b[A-Za-z_]\w*|\([^()]*\)) *\*\* *(\d+)`)
	conditional = regexp.MustCompile(`^(.+) if (.+) else (.+)$`)
)

// followed is a formula in parts: what it comes to, or what else, by a comparison.
type followed struct{ then, condition, otherwise ast.Expr }

// follow reads a formula; false where it has more than can be followed. Sums, products
// and calls are written in Go as in formulas; powers are not, nor what depends.
func follow(text string) (followed, bool) {
	if strings.Contains(text, "//") {
		return followed{}, false
	}
	text = power.ReplaceAllString(text, "pow($1, $2)")
	parts := []string{text}
	if found := conditional.FindStringSubmatch(text); found != nil {
		parts = found[1:]
	}
	list := make([]ast.Expr, 3)
	for i, part := range parts {
		expr, err := parser.ParseExpr(part)
		if err != nil {
			return followed{}, false
		}
		list[i] = expr
	}
	return followed{list[0], list[1], list[2]}, true
}

// result is what a formula comes to; false where it is not known, or is no number.
func (a *arithmetic) result(f followed) (inexact, bool) {
	if f.condition == nil {
		return a.of(f.then)
	}
	compared, ok := f.condition.(*ast.BinaryExpr)
	if !ok {
		return inexact{}, false
	}
	x, first := a.of(compared.X)
	y, second := a.of(compared.Y)
	then, third := a.of(f.then)
	otherwise, fourth := a.of(f.otherwise)
	chosen := otherwise
	switch compared.Op {
	case token.GTR, token.GEQ:
		if x.value > y.value {
			chosen = then
		}
	case token.LSS, token.LEQ:
		if x.value < y.value {
			chosen = then
		}
	default:
		return inexact{}, false
	}
	if x.value == y.value || math.Abs(x.value-y.value) <= x.off+y.off { // either may be chosen
		chosen.off += math.Abs(then.value - otherwise.value)
	}
	return chosen, first && second && third && fourth
}

// of is what an expression comes to.
func (a *arithmetic) of(e ast.Expr) (inexact, bool) {
	var v inexact
	ok := false
	switch x := e.(type) {
	case *ast.ParenExpr:
		return a.of(x.X)
	case *ast.Ident:
		v, ok = a.env[x.Name]
	case *ast.BasicLit:
		number, err := strconv.ParseFloat(x.Value, 64)
		v, ok = inexact{number, a.unit * math.Abs(number)}, err == nil
		if number == math.Trunc(number) {
			v.off = 0
		}
	case *ast.UnaryExpr:
		if v, ok = a.of(x.X); x.Op == token.SUB {
			v.value = -v.value
		} else {
			ok = ok && x.Op == token.ADD
		}
	case *ast.BinaryExpr:
		v, ok = a.two(x)
	case *ast.CallExpr:
		v, ok = a.call(x)
	}
	return v, ok && math.Abs(v.value)+v.off < a.limit // nor NaN
}

func (a *arithmetic) two(e *ast.BinaryExpr) (inexact, bool) {
	x, first := a.of(e.X)
	y, second := a.of(e.Y)
	var v inexact
	switch e.Op {
	case token.ADD:
		v = inexact{x.value + y.value, x.off + y.off}
	case token.SUB:
		v = inexact{x.value - y.value, x.off + y.off}
	case token.MUL:
		v = inexact{x.value * y.value, math.Abs(x.value)*y.off + math.Abs(y.value)*x.off + x.off*y.off}
	case token.QUO:
		// What is near zero is nearer at other points than those that are looked at.
		_, number := e.Y.(*ast.BasicLit)
		least := math.Abs(y.value) - y.off
		if least < 0x1p-4 && !number || least <= 0 {
			return inexact{}, false
		}
		v = inexact{x.value / y.value, (x.off + math.Abs(x.value/y.value)*y.off) / least}
	default:
		return inexact{}, false
	}
	v.off += a.unit * math.Abs(v.value)
	return v, first && second
}

func (a *arithmetic) call(e *ast.CallExpr) (inexact, bool) {
	name, ok := e.Fun.(*ast.Ident)
	if !ok || len(e.Args) == 0 {
		return inexact{}, false
	}
	x, ok := a.of(e.Args[0])
	if known := follows[name.Name]; known != nil && len(e.Args) == 1 {
		value, slope, more := known(x.value)
		off := a.unit * (math.Abs(value) + more)
		if x.off > 0 {
			off += slope * x.off * 2
		}
		return inexact{value, off}, ok
	}
	if len(e.Args) != 2 || !ok {
		return inexact{}, false
	}
	y, ok := a.of(e.Args[1])
	switch name.Name {
	case "max":
		return inexact{max(x.value, y.value), max(x.off, y.off)}, ok
	case "min":
		return inexact{min(x.value, y.value), max(x.off, y.off)}, ok
	case "pow": // of a whole exponent, see power
		v := math.Pow(x.value, y.value)
		slope := y.value * math.Pow(math.Abs(x.value), y.value-1)
		return inexact{v, slope*x.off*2 + a.unit*(1+y.value)*math.Abs(v)}, ok
	}
	return inexact{}, false
}
