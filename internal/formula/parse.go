package formula

import (
	"math"
	"strings"
)

const (
	maxSource = 4096
	maxDepth  = 200
)

// Parse reads a formula. Its error is an *Error.
func Parse(src string) (e *Expr, err error) {
	if len(src) > maxSource {
		return nil, failf("the formula has %d bytes; at most %d are allowed", len(src), maxSource)
	}
	defer catch(&err)
	p := parser{src: src}
	root := p.formula()
	return &Expr{src: src, root: root, names: p.names}, nil
}

// parser reads a formula; it panics with an *Error where there is none.
type parser struct {
	src   string
	last  token // the one before next
	next  token
	depth int
	names []*nameNode
}

func (p *parser) formula() node {
	p.advance()
	if p.next.kind == tokenEnd {
		panic(failf("the formula is empty"))
	}
	root := p.expression()
	switch {
	case p.next.is(")"):
		panic(failf(`")" has no matching "("`).at(p.next.span()))
	case p.next.kind != tokenEnd:
		panic(p.unexpected("an operator"))
	}
	return root
}

// advance moves on by one token.
func (p *parser) advance() {
	next := scan(p.src, p.next.offset+len(p.next.text))
	p.last, p.next = p.next, next
}

// unexpected says what should have stood where the next token stands.
func (p *parser) unexpected(wanted string) *Error {
	e := failf("expected %s", wanted).at(p.next.span())
	if p.last.text != "" {
		e.Message += " after " + p.last.String()
	}
	if p.next.kind != tokenEnd {
		e.Message += ", found " + p.next.String()
	}
	if word := strings.ToLower(p.next.text); p.next.kind == tokenName && words[word] {
		e.Hint = "use " + word
	}
	return e
}

// enter counts a level of nesting, which the function it returns leaves.
func (p *parser) enter() (leave func()) {
	if p.depth++; p.depth > maxDepth {
		panic(failf("the formula is nested too deeply").at(p.next.span()))
	}
	return func() { p.depth-- }
}

// expression reads a whole expression: a conditional or less.
func (p *parser) expression() node {
	defer p.enter()()
	then := p.operand(powerOr)
	if !p.next.is("if") {
		return then
	}
	place := p.next.span()
	p.advance()
	test := p.operand(powerOr)
	if !p.next.is("else") {
		panic(p.unexpected(`"else"`))
	}
	p.advance()
	return &conditionalNode{place, then, test, p.expression()}
}

// operand reads as far as operators bind at least as tightly as power.
func (p *parser) operand(power int) node {
	defer p.enter()()
	left := p.prefix(power)
	for p.next.kind == tokenSymbol {
		in, ok := infixes[p.next.text]
		if !ok || in.power < power {
			break
		}
		if in.power == powerCompare {
			left = p.comparison(left)
		} else {
			left = p.infix(left, in)
		}
	}
	return left
}

// infix reads the operator and its right side.
func (p *parser) infix(left node, in infix) node {
	place, symbol := p.next.span(), p.next.text
	least := in.power + 1
	if in.power == powerPower {
		least = powerPower // from the right: 2 ** 3 ** 2 is 2 ** 9
	}
	p.advance()
	right := p.operand(least)
	if in.op == nil {
		return &logicNode{place, symbol, symbol == "or", left, right}
	}
	return &binaryNode{place, in.op, left, right}
}

// comparison reads the rest of a comparison, however long the chain.
func (p *parser) comparison(left node) node {
	chain := &chainNode{operands: []node{left}}
	for p.next.kind == tokenSymbol && infixes[p.next.text].power == powerCompare {
		chain.ops = append(chain.ops, infixes[p.next.text].op)
		chain.spans = append(chain.spans, p.next.span())
		p.advance()
		chain.operands = append(chain.operands, p.operand(powerCompare+1))
	}
	if len(chain.ops) == 1 {
		return &binaryNode{chain.spans[0], chain.ops[0], left, chain.operands[1]}
	}
	return chain
}

// prefix reads a value with the operators before it.
func (p *parser) prefix(power int) node {
	t := p.next
	if t.is("not") && power > powerNot {
		panic(failf(`"not" binds too loosely to stand after %s`, p.last).hint("put it in parentheses").at(t.span()))
	}
	op := prefixes[t.text]
	switch {
	case t.is("not"):
		op, power = opNot, powerNot
	case t.kind == tokenSymbol && op != nil:
		power = powerUnary
	default:
		return p.value()
	}
	p.advance()
	if op == opNegate && p.next.kind == tokenNumber && strings.ReplaceAll(p.next.text, "_", "") == "9223372036854775808" {
		return p.lowestInteger(t)
	}
	return &unaryNode{t.span(), op, p.operand(power)}
}

// lowestInteger reads 9223372036854775808, which fits only behind a minus.
func (p *parser) lowestInteger(minus token) node {
	number := p.next
	p.advance()
	if p.next.is("**") {
		panic(failf("%s does not fit in a 64-bit integer", number.text).at(number.span()))
	}
	place := span{minus.offset, number.offset + len(number.text) - minus.offset}
	return &constantNode{place, Int(math.MinInt64)}
}

// value reads a literal, a name, a call or a parenthesis.
func (p *parser) value() node {
	t := p.next
	if t.kind == tokenEnd || t.kind == tokenSymbol && t.text != "(" {
		panic(p.unexpected("a value"))
	}
	p.advance()
	switch t.kind {
	case tokenNumber:
		v, err := number(t.text)
		t.span().check(err)
		return &constantNode{t.span(), v}
	case tokenString:
		return &constantNode{t.span(), String(t.text[1 : len(t.text)-1])}
	case tokenName:
		if v, ok := constants[t.text]; ok {
			return &constantNode{t.span(), v}
		}
		if p.next.is("(") {
			return p.call(t)
		}
		n := &nameNode{span: t.span(), name: t.text}
		p.names = append(p.names, n)
		return n
	}
	inner := p.expression()
	p.closing(t, `an operator or ")"`)
	return inner
}

// closing reads the parenthesis that closes open.
func (p *parser) closing(open token, wanted string) {
	switch {
	case p.next.is(")"):
		p.advance()
	case p.next.kind == tokenEnd:
		panic(failf(`"(" is never closed`).at(open.span()))
	default:
		panic(p.unexpected(wanted))
	}
}

// call reads the arguments of a function.
func (p *parser) call(name token) node {
	f, ok := functions[name.text]
	if !ok {
		e := failf("unknown function %q", name.text).at(name.span()).hint(functionHint(name.text))
		e.Name = name.text
		panic(e)
	}
	open := p.next
	p.advance()
	var args []node
	for !p.next.is(")") || len(args) > 0 {
		args = append(args, p.expression())
		if !p.next.is(",") {
			break
		}
		p.advance()
	}
	p.closing(open, `an operator, "," or ")"`)
	return f.node(name, args)
}
