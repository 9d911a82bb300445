package draft

import (
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/pattern"
)

// ceilName matches functions that divide and round up.
var ceilName = pattern.New(`(?i)^(.*::)?(ceil_?div|cdiv|i?div_?up|div_?ceil|i?div_?round_?up|round_?up_?div|up_?div)$`)

// eval evaluates an expression of host code.
func (h *host) eval(e *csource.Expression, env map[string]value) value {
	if h.work++; e == nil || h.work > maxWork {
		return value{}
	}
	v := h.evaluate(e, env)
	if v.sum.tooLarge() || v.divisor.tooLarge() || len(v.text) > maxNameLength {
		return value{}
	}
	return v
}

func (h *host) evaluate(e *csource.Expression, env map[string]value) value {
	switch e.Op {
	case "number":
		return literal(e.Text)
	case "name":
		return h.variable(e.Text, env)
	case "cast":
		return h.cast(e.Text, h.eval(e.Args[0], env))
	case "sizeof":
		return h.sizeof(e.Text, env)
	case "u&", "u+":
		return h.eval(e.Args[0], env)
	case "u-":
		switch v := h.eval(e.Args[0], env); v.kind {
		case integer:
			return integerValue(number(0).plus(v.sum, -1))
		case real:
			return value{kind: real, text: "-" + v.text}
		}
	case "u!":
		if n, ok := h.numeric(h.eval(e.Args[0], env)); ok && n != 0 {
			return integerValue(nil)
		} else if ok {
			return integerValue(number(1))
		}
	case "[]":
		return h.eval(e.Args[0], env)
	case ".":
		v := h.eval(e.Args[0], env)
		if axis := strings.Index("xyz", e.Text); v.kind == dimensions && axis >= 0 && len(e.Text) == 1 {
			return integerValue(v.dims[axis])
		}
	case "{}":
		v := value{kind: list}
		for _, a := range e.Args {
			v.items = append(v.items, h.eval(a, env))
		}
		return v
	case "?:":
		return h.conditional(e, env)
	case "call":
		return h.call(e, env)
	default:
		if len(e.Args) == 2 {
			return h.binary(e, env)
		}
	}
	return value{}
}

func literal(text string) value {
	plain := strings.ToLower(strings.ReplaceAll(text, "'", ""))
	if n, err := strconv.ParseInt(strings.TrimRight(plain, "ul"), 0, 64); err == nil && n <= maxFactor {
		return integerValue(number(n))
	}
	if f, err := strconv.ParseFloat(strings.TrimRight(plain, "fl"), 64); err == nil {
		written := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(written, ".e") {
			written += ".0"
		}
		return value{kind: real, text: written}
	}
	return value{}
}

// variable looks a name up: of this function, of the file, of a macro that is a param.
func (h *host) variable(name string, env map[string]value) value {
	if v, ok := env[name]; ok {
		return v
	}
	if h.file.macro(name) {
		return integerValue(named(name))
	}
	if n, ok := h.file.packSize(name); ok {
		return integerValue(number(n))
	}
	switch name {
	case "true":
		return integerValue(number(1))
	case "false":
		return integerValue(nil)
	}
	if h.member {
		return integerValue(h.file.unknownSize(name))
	}
	return value{}
}

func (h *host) cast(kind string, v value) value {
	words := strings.Fields(kind)
	switch {
	case len(words) > 0 && words[len(words)-1] == "*":
		return v
	case h.integral(words) && v.kind == ratio:
		return integerValue(v.sum.over(v.divisor))
	case len(words) > 0 && (words[0] == "float" || words[0] == "double") && v.kind == integer:
		return value{kind: ratio, sum: v.sum, divisor: number(1)}
	}
	return v
}

func (h *host) sizeof(kind string, env map[string]value) value {
	words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(kind, "const", ""), "*", ""))
	t, ok := h.typeOf(words)
	if strings.Contains(kind, "*") { // of what a variable points to
		ok = false
		if v := env[strings.Join(words, "")]; v.kind == buffer {
			t, ok = h.typeOf(strings.Fields(v.element))
		}
	}
	if ok {
		return integerValue(number(int64(t.dtype.Size() * t.width)))
	}
	return value{}
}

func (h *host) conditional(e *csource.Expression, env map[string]value) value {
	if n, ok := h.numeric(h.eval(e.Args[0], env)); ok {
		if n != 0 {
			return h.eval(e.Args[1], env)
		}
		return h.eval(e.Args[2], env)
	}
	if e.Args[0].Op == "call" || strings.Contains(e.Args[0].String(), "argc") { // a number from outside, or the usual one
		return h.eval(e.Args[2], env)
	}
	return value{}
}

func (h *host) call(e *csource.Expression, env map[string]value) value {
	var args []value
	for _, a := range e.Args {
		args = append(args, h.eval(a, env))
	}
	integers := len(args) == 2 && args[0].kind == integer && args[1].kind == integer
	switch name := strings.TrimPrefix(e.Text, "std::"); {
	case name == "dim3":
		return dimensionsOf(args)
	case ceilName.MatchString(name) && integers:
		return integerValue(args[0].sum.ceilOver(args[1].sum))
	case (name == "min" || name == "max") && integers:
		return integerValue(named(fmt.Sprintf("%s(%s, %s)", name, args[0].sum, args[1].sum)))
	case (name == "ceil" || name == "ceilf") && len(args) == 1 && args[0].kind == ratio:
		return integerValue(args[0].sum.ceilOver(args[0].divisor))
	case (name == "ceil" || name == "ceilf" || name == "floor" || name == "floorf") && len(args) == 1 && args[0].kind == integer:
		return args[0]
	case (name == "sqrt" || name == "sqrtf") && len(args) == 1:
		if text, ok := args[0].formula(); ok {
			return value{kind: real, text: bracketed(text) + " ** 0.5"}
		}
	case (name == "pow" || name == "powf") && len(args) == 2:
		base, ok := args[0].formula()
		exponent, also := args[1].formula()
		if ok && also {
			return value{kind: real, text: bracketed(base) + " ** " + bracketed(exponent)}
		}
	case (name == "thrust::raw_pointer_cast" || name == ".data" || name == ".data_ptr" || name == ".begin" || name == ".get") && len(args) > 0:
		return args[0]
	case name == "torch::zeros" || name == "torch::zeros_like":
		return value{kind: buffer, zero: true}
	case (name == "int" || name == "float" || name == "size_t" || name == "unsigned" || name == "double") && len(args) == 1:
		return h.cast(name, args[0])
	}
	fn, ok := h.functions[e.Text]
	if !ok || fn.Name == "main" {
		return value{}
	}
	if args == nil {
		args = []value{}
	}
	return h.run(fn, args, e.Template)
}

// formula writes a number as pawl.yaml does.
func (v value) formula() (string, bool) {
	switch v.kind {
	case integer:
		return v.sum.String(), true
	case real:
		return v.text, true
	case ratio:
		if n, ok := v.divisor.constant(); ok && n == 1 {
			return "float(" + v.sum.String() + ")", true
		}
		return v.sum.operand() + " / " + v.divisor.operand(), true
	}
	return "", false
}

func (h *host) binary(e *csource.Expression, env map[string]value) value {
	a, b := h.eval(e.Args[0], env), h.eval(e.Args[1], env)
	if a.kind == ratio || b.kind == ratio || a.kind == real || b.kind == real {
		return realBinary(e.Op, a, b)
	}
	if a.kind == buffer && (e.Op == "+" || e.Op == "-") { // inside of the buffer
		return value{kind: buffer, name: a.name, element: a.element}
	}
	if a.kind != integer || b.kind != integer {
		return value{}
	}
	out := integerValue(nil)
	switch e.Op {
	case "+":
		if n, ok := b.sum.constant(); ok && n == 1 && e.Args[0].Op == "/" && takesOne(e.Args[0].Args[0]) {
			top, divisor := h.eval(e.Args[0].Args[0], env), h.eval(e.Args[0].Args[1], env)
			return integerValue(top.sum.plus(number(1), 1).ceilOver(divisor.sum))
		}
		out.sum = a.sum.plus(b.sum, 1)
	case "-":
		out.sum = a.sum.plus(b.sum, -1)
	case "*":
		out.sum = a.sum.times(b.sum)
	case "/":
		out.sum = quotientOf(a.sum, b.sum)
	case "<<", ">>":
		n, ok := b.sum.constant()
		if !ok || n < 0 || n > 40 {
			return value{}
		}
		if out.sum = a.sum.times(number(1 << n)); e.Op == ">>" {
			out.sum = a.sum.over(number(1 << n))
		}
	case "%":
		out.sum = named("(" + a.sum.operand() + " % " + b.sum.operand() + ")")
		if n, ok := a.sum.constant(); ok {
			if m, ok := b.sum.constant(); ok && m > 0 {
				out.sum = number(n % m)
			}
		}
	default:
		n, ok := evaluate(fmt.Sprintf("int(%s %s %s)", a.sum.operand(), pythonOperator(e.Op), b.sum.operand()), h.values())
		if !ok {
			return value{}
		}
		out.sum = number(n)
	}
	if out.sum.tooLarge() {
		return value{}
	}
	return out
}

// takesOne reports whether an expression takes one away: N - 1.
func takesOne(e *csource.Expression) bool {
	return e.Op == "-" && e.Args[1].Op == "number" && e.Args[1].Text == "1"
}

func pythonOperator(op string) string {
	switch op {
	case "&&":
		return "and"
	case "||":
		return "or"
	}
	return op
}

// quotientOf divides; (N + B - 1) / B rounds up.
func quotientOf(a, b sum) sum {
	if n, ok := b.constant(); ok && n == 0 {
		return nil
	}
	if n, ok := b.constant(); ok && len(a) > 1 {
		if rest := a.plus(number(n-1), -1); !hasConstant(rest) {
			return rest.ceilOver(b)
		}
	}
	if without := a.plus(b, -1).plus(number(1), 1); len(without) < len(a) && len(without) > 0 && !hasConstant(without) {
		return without.ceilOver(b)
	}
	return a.over(b)
}

func hasConstant(s sum) bool {
	for _, t := range s {
		if len(t.names) == 0 {
			return true
		}
	}
	return false
}

// realBinary computes with numbers that are not whole.
func realBinary(op string, a, b value) value {
	if op == "/" && a.kind != real && b.kind != real {
		if a.kind == integer {
			a.divisor = number(1)
		}
		if b.kind == integer {
			b.divisor = number(1)
		}
		if a.kind != unknown && b.kind != unknown && a.kind != buffer && b.kind != buffer {
			return value{kind: ratio, sum: a.sum.times(b.divisor), divisor: a.divisor.times(b.sum)}
		}
	}
	left, ok := a.formula()
	right, also := b.formula()
	if !ok || !also || len(op) != 1 || !strings.Contains("+-*/", op) {
		return value{}
	}
	return value{kind: real, text: bracketed(left) + " " + op + " " + bracketed(right)}
}

func bracketed(text string) string {
	if strings.ContainsAny(text, " ") {
		return "(" + text + ")"
	}
	return text
}
