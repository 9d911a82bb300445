package csource

import (
	"slices"
	"strings"
)

// Expression is an expression of C. Op says what it is: "name" and "number" (with their Text),
// "call" (Text is the function, Args its arguments), "[]", "." (Text is the member), "cast" (Text is
// the type), "sizeof" (likewise, or Args), "?:", "{}", "string", the sign of a binary operator or
// assignment, and that of a unary one after "u": "u*", "u++".
type Expression struct {
	Op       string
	Text     string
	Args     []*Expression
	Template []Token // arguments of a called template
}

// maxExpressionDepth bounds the recursion on hostile sources.
const maxExpressionDepth = 600

// ReadExpression reads tokens as one expression; nil where they are none.
func ReadExpression(tokens []Token) *Expression {
	r := &expressionReader{tokens: tokens}
	e := r.binary(0)
	if r.failed || r.at != len(tokens) {
		return nil
	}
	return e
}

// String writes the expression in one form whatever its blanks and superfluous parentheses were.
func (e *Expression) String() string {
	if e == nil {
		return ""
	}
	if e.Op == "name" || e.Op == "number" {
		return e.Text
	}
	parts := make([]string, len(e.Args))
	for i, a := range e.Args {
		parts[i] = a.String()
	}
	return e.Op + " " + e.Text + "(" + strings.Join(parts, ",") + ")"
}

type expressionReader struct {
	tokens []Token
	at     int
	depth  int
	failed bool
}

func (r *expressionReader) is(offset int, text string) bool {
	return r.at+offset < len(r.tokens) && r.tokens[r.at+offset].Is(text)
}

func (r *expressionReader) fail() *Expression {
	r.failed = true
	r.at = len(r.tokens)
	return &Expression{Op: "number", Text: "0"}
}

// binaryLevels are the binary operators, those that bind least first.
var binaryLevels = [][]string{
	{"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="},
	{"?"},
	{"||"},
	{"&&"},
	{"|"},
	{"^"},
	{"&"},
	{"==", "!="},
	{"<=", ">=", "<", ">"},
	{"<<", ">>"},
	{"+", "-"},
	{"*", "/", "%"},
}

// operator returns the binary operator that comes next.
func (r *expressionReader) operator() string {
	text := ""
	for i := range 3 {
		if r.at+i >= len(r.tokens) || r.tokens[r.at+i].Kind != Punct || len(r.tokens[r.at+i].Text) != 1 {
			break
		}
		text += r.tokens[r.at+i].Text
	}
	for n := len(text); n > 0; n-- {
		for _, level := range binaryLevels {
			if slices.Contains(level, text[:n]) {
				return text[:n]
			}
		}
	}
	return ""
}

func (r *expressionReader) binary(level int) *Expression {
	if r.depth++; r.depth > maxExpressionDepth {
		return r.fail()
	}
	defer func() { r.depth-- }()
	if level == len(binaryLevels) {
		return r.unary()
	}
	left := r.binary(level + 1)
	for !r.failed {
		op := r.operator()
		if !slices.Contains(binaryLevels[level], op) {
			break
		}
		r.at += len(op)
		switch {
		case op == "?":
			yes := r.binary(0)
			if !r.is(0, ":") {
				return r.fail()
			}
			r.at++
			return &Expression{Op: "?:", Args: []*Expression{left, yes, r.binary(level)}}
		case level == 0:
			return &Expression{Op: op, Args: []*Expression{left, r.binary(0)}}
		}
		left = &Expression{Op: op, Args: []*Expression{left, r.binary(level + 1)}}
	}
	return left
}

func (r *expressionReader) unary() *Expression {
	if r.depth++; r.depth > maxExpressionDepth || r.at >= len(r.tokens) {
		return r.fail()
	}
	defer func() { r.depth-- }()
	t := r.tokens[r.at]
	if t.Kind == Punct {
		for _, sign := range []string{"+", "-"} {
			if t.Is(sign) && r.is(1, sign) {
				r.at += 2
				return &Expression{Op: "u" + sign + sign, Args: []*Expression{r.unary()}}
			}
		}
		if len(t.Text) == 1 && strings.Contains("+-!~*&", t.Text) {
			r.at++
			return &Expression{Op: "u" + t.Text, Args: []*Expression{r.unary()}}
		}
		if t.Is("(") {
			end := SkipGroup(r.tokens, r.at, "(", ")")
			inside := r.tokens[r.at+1 : max(r.at+1, end)]
			if isCast(inside, r.tokens[min(len(r.tokens), end+1):]) {
				r.at = end + 1
				return &Expression{Op: "cast", Text: join(inside), Args: []*Expression{r.unary()}}
			}
		}
	}
	return r.postfix(r.primary())
}

// operand reports whether the token there can begin an operand: in a - -1 it does, and -- is no
// operator of a.
func (r *expressionReader) operand(offset int) bool {
	return r.at+offset < len(r.tokens) && (r.tokens[r.at+offset].Kind != Punct || r.is(offset, "("))
}

// isCast reports whether a parenthesis holds a type, and what follows is what is converted.
func isCast(inside, after []Token) bool {
	if len(inside) == 0 || len(after) == 0 || after[0].Kind == Punct && !after[0].Is("(") && !(inside[len(inside)-1].Is("*") && (after[0].Is("&") || after[0].Is("*"))) {
		return false
	}
	sure := false
	for i, t := range inside {
		switch {
		case t.Kind == Word:
			sure = sure || t.Is("const") || SureTypes[t.Text].DType != "" || t.Is("void")
		case t.Is("*"):
			if i == 0 || i+1 < len(inside) && inside[i+1].Kind == Word && !inside[i+1].Is("const") {
				return false
			}
			sure = true
		case t.Is("::"):
		default:
			return false
		}
	}
	return sure || len(inside) == 1 && (after[0].Kind != Punct || after[0].Is("("))
}

func join(tokens []Token) string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = t.Text
	}
	return strings.Join(words, " ")
}

func (r *expressionReader) primary() *Expression {
	if r.failed || r.at >= len(r.tokens) {
		return r.fail()
	}
	t := r.tokens[r.at]
	r.at++
	switch {
	case t.Kind == Number:
		return &Expression{Op: "number", Text: t.Text}
	case t.Kind == String:
		for r.at < len(r.tokens) && r.tokens[r.at].Kind == String {
			r.at++
		}
		return &Expression{Op: "string"}
	case t.Is("("):
		return r.inside(")")
	case t.Is("{"):
		r.at--
		return &Expression{Op: "{}", Args: r.list("{", "}")}
	case t.Kind != Word || t.Is("return"):
		return r.fail()
	case t.Is("sizeof"):
		if r.is(0, "(") {
			end := SkipGroup(r.tokens, r.at, "(", ")")
			e := &Expression{Op: "sizeof", Text: join(r.tokens[r.at+1 : max(r.at+1, end)])}
			r.at = end + 1
			return e
		}
		return &Expression{Op: "sizeof", Text: r.unary().Text}
	}
	name := t.Text
	for r.is(0, "::") && r.at+1 < len(r.tokens) && r.tokens[r.at+1].Kind == Word {
		name += "::" + r.tokens[r.at+1].Text
		r.at += 2
	}
	if end, ok := r.template(); ok {
		arguments := r.tokens[r.at+1 : end]
		r.at = end + 1
		if strings.HasSuffix(name, "_cast") && r.is(0, "(") {
			r.at++
			return &Expression{Op: "cast", Text: join(arguments), Args: []*Expression{r.inside(")")}}
		}
		if r.is(0, "::") && r.at+1 < len(r.tokens) { // a member of the type
			name += "::" + r.tokens[r.at+1].Text
			r.at += 2
		}
		if !r.is(0, "(") && !r.is(0, "{") {
			return &Expression{Op: "name", Text: name, Template: arguments}
		}
		return &Expression{Op: "call", Text: name, Args: r.arguments(), Template: arguments}
	}
	if r.is(0, "(") || r.is(0, "{") {
		return &Expression{Op: "call", Text: name, Args: r.arguments()}
	}
	return &Expression{Op: "name", Text: name}
}

// arguments takes the list of a call, in parentheses or braces.
func (r *expressionReader) arguments() []*Expression {
	if r.is(0, "{") {
		return r.list("{", "}")
	}
	return r.list("(", ")")
}

// template reports whether angle brackets with the arguments of a template come next, and where
// they end.
func (r *expressionReader) template() (int, bool) {
	if !r.is(0, "<") || r.is(1, "<") {
		return 0, false
	}
	depth := 0
	for i := r.at; i < len(r.tokens); i++ {
		switch t := r.tokens[i]; {
		case t.Is("<"):
			depth++
		case t.Is(">"):
			if depth--; depth == 0 {
				next := Token{}
				if i+1 < len(r.tokens) {
					next = r.tokens[i+1]
				}
				return i, next.Is("(") || next.Is("{") || next.Is("::")
			}
		case t.Kind == Word, t.Kind == Number, t.Is(","), t.Is("*"), t.Is("::"), t.Is("/"), t.Is("+"), t.Is("-"):
		default:
			return 0, false
		}
	}
	return 0, false
}

// inside reads an expression and the bracket that closes it. Of several, as commas divide them, it
// returns the last.
func (r *expressionReader) inside(closing string) *Expression {
	e := r.binary(0)
	for r.is(0, ",") && !r.failed {
		r.at++
		e = r.binary(0)
	}
	if !r.is(0, closing) {
		return r.fail()
	}
	r.at++
	return e
}

// list reads a bracketed list of expressions.
func (r *expressionReader) list(open, closing string) []*Expression {
	if !r.is(0, open) {
		r.fail()
		return nil
	}
	r.at++
	var list []*Expression
	for !r.failed && !r.is(0, closing) {
		list = append(list, r.binary(0))
		if !r.is(0, ",") {
			break
		}
		r.at++
	}
	if !r.is(0, closing) {
		r.fail()
	}
	r.at++
	return list
}

func (r *expressionReader) postfix(e *Expression) *Expression {
	for !r.failed && r.at < len(r.tokens) {
		switch t := r.tokens[r.at]; {
		case t.Is("["):
			r.at++
			e = &Expression{Op: "[]", Args: []*Expression{e, r.inside("]")}}
		case t.Is(".") || t.Is("->"):
			if r.at+1 >= len(r.tokens) || r.tokens[r.at+1].Kind != Word {
				return r.fail()
			}
			e = &Expression{Op: ".", Text: r.tokens[r.at+1].Text, Args: []*Expression{e}}
			r.at += 2
			if end, ok := r.template(); ok { // x.data_ptr<float>()
				r.at = end + 1
			}
			if r.is(0, "(") {
				e = &Expression{Op: "call", Text: "." + e.Text, Args: append([]*Expression{e.Args[0]}, r.list("(", ")")...)}
			}
		case (t.Is("+") || t.Is("-")) && r.is(1, t.Text) && !r.operand(2):
			r.at += 2
			e = &Expression{Op: "u" + t.Text + t.Text, Args: []*Expression{e}}
		default:
			return e
		}
	}
	return e
}
