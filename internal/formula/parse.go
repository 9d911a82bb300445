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
func Parse(src string) (*Expr, error) {
	if len(src) > maxSource {
		return nil, failf("the formula has %d bytes; at most %d are allowed", len(src), maxSource)
	}
	p := parser{src: src}
	root, err := p.formula()
	if err != nil {
		return nil, err
	}
	return &Expr{src: src, root: root, names: p.names}, nil
}

type parser struct {
	src   string
	last  token // the one before next
	next  token
	depth int
	names []nameNode
}

func (p *parser) formula() (node, *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.next.kind == tokenEnd {
		return nil, failf("the formula is empty")
	}
	root, err := p.expression()
	if err != nil {
		return nil, err
	}
	switch {
	case p.next.is(")"):
		return nil, failf(`")" has no matching "("`).at(p.next.span())
	case p.next.kind != tokenEnd:
		return nil, p.unexpected("an operator")
	}
	return root, nil
}

// advance moves on by one token.
func (p *parser) advance() *Error {
	t, err := scan(p.src, p.next.offset+len(p.next.text))
	p.last, p.next = p.next, t
	return err
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

func (p *parser) enter() *Error {
	if p.depth++; p.depth > maxDepth {
		return failf("the formula is nested too deeply").at(p.next.span())
	}
	return nil
}

// expression reads a whole expression: a conditional or less.
func (p *parser) expression() (node, *Error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	then, err := p.operand(powerOr)
	if err != nil || !p.next.is("if") {
		return then, err
	}
	place := p.next.span()
	if err := p.advance(); err != nil {
		return nil, err
	}
	test, err := p.operand(powerOr)
	if err != nil {
		return nil, err
	}
	if !p.next.is("else") {
		return nil, p.unexpected(`"else"`)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	other, err := p.expression()
	if err != nil {
		return nil, err
	}
	return conditionalNode{place, then, test, other}, nil
}

// operand reads as far as operators bind at least as tightly as power.
func (p *parser) operand(power int) (node, *Error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	left, err := p.prefix(power)
	if err != nil {
		return nil, err
	}
	for p.next.kind == tokenSymbol {
		in, ok := infixes[p.next.text]
		if !ok || in.power < power {
			break
		}
		if in.role == roleCompare {
			left, err = p.comparison(left)
		} else {
			left, err = p.infix(left, in)
		}
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// infix reads the operator and its right side.
func (p *parser) infix(left node, in infix) (node, *Error) {
	place, symbol := p.next.span(), p.next.text
	least := in.power + 1
	if in.power == powerPower {
		least = powerPower // from the right: 2 ** 3 ** 2 is 2 ** 9
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.operand(least)
	if err != nil {
		return nil, err
	}
	if in.role == roleLogic {
		return logicNode{place, symbol, symbol == "or", left, right}, nil
	}
	return binaryNode{place, in.op, left, right}, nil
}

// comparison reads the rest of a comparison, however long the chain.
func (p *parser) comparison(left node) (node, *Error) {
	chain := chainNode{operands: []node{left}}
	for p.next.kind == tokenSymbol && infixes[p.next.text].role == roleCompare {
		chain.ops = append(chain.ops, infixes[p.next.text].op)
		chain.spans = append(chain.spans, p.next.span())
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := p.operand(powerCompare + 1)
		if err != nil {
			return nil, err
		}
		chain.operands = append(chain.operands, right)
	}
	if len(chain.ops) == 1 {
		return binaryNode{chain.spans[0], chain.ops[0], left, chain.operands[1]}, nil
	}
	return chain, nil
}

// prefix reads a value with the operators before it.
func (p *parser) prefix(power int) (node, *Error) {
	t := p.next
	if t.is("not") && power > powerNot {
		return nil, failf(`"not" binds too loosely to stand after %s`, p.last).
			hint("put it in parentheses").at(t.span())
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
	if err := p.advance(); err != nil {
		return nil, err
	}
	if op == opNegate && p.next.kind == tokenNumber {
		if lowest, ok, err := p.lowestInteger(t); ok || err != nil {
			return lowest, err
		}
	}
	x, err := p.operand(power)
	if err != nil {
		return nil, err
	}
	return unaryNode{t.span(), op, x}, nil
}

// lowestInteger reads 9223372036854775808, which fits only behind a minus.
func (p *parser) lowestInteger(minus token) (node, bool, *Error) {
	number := p.next
	if strings.ReplaceAll(number.text, "_", "") != "9223372036854775808" {
		return nil, false, nil
	}
	if err := p.advance(); err != nil {
		return nil, false, err
	}
	if p.next.is("**") {
		return nil, false, failf("%s does not fit in a 64-bit integer", number.text).at(number.span())
	}
	place := span{minus.offset, number.offset + len(number.text) - minus.offset}
	return constantNode{place, Int(math.MinInt64)}, true, nil
}

// value reads a literal, a name, a call or a parenthesis.
func (p *parser) value() (node, *Error) {
	t := p.next
	if t.kind == tokenEnd || t.kind == tokenSymbol && t.text != "(" {
		return nil, p.unexpected("a value")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch t.kind {
	case tokenNumber:
		v, err := number(t.text)
		if err != nil {
			return nil, err.at(t.span())
		}
		return constantNode{t.span(), v}, nil
	case tokenString:
		return constantNode{t.span(), String(t.text[1 : len(t.text)-1])}, nil
	case tokenName:
		if v, ok := constants[t.text]; ok {
			return constantNode{t.span(), v}, nil
		}
		if p.next.is("(") {
			return p.call(t)
		}
		n := nameNode{span: t.span(), name: t.text}
		p.names = append(p.names, n)
		return n, nil
	}
	inner, err := p.expression()
	if err != nil {
		return nil, err
	}
	return inner, p.closing(t, `an operator or ")"`)
}

// closing reads the parenthesis that closes open.
func (p *parser) closing(open token, wanted string) *Error {
	switch {
	case p.next.is(")"):
		return p.advance()
	case p.next.kind == tokenEnd:
		return failf(`"(" is never closed`).at(open.span())
	}
	return p.unexpected(wanted)
}

// call reads the arguments of a function.
func (p *parser) call(name token) (node, *Error) {
	f, ok := functions[name.text]
	if !ok {
		e := failf("unknown function %q", name.text).at(name.span()).hint(functionHint(name.text))
		e.Name = name.text
		return nil, e
	}
	open := p.next
	if err := p.advance(); err != nil {
		return nil, err
	}
	var args []node
	for !p.next.is(")") || len(args) > 0 {
		arg, err := p.expression()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if !p.next.is(",") {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if err := p.closing(open, `an operator, "," or ")"`); err != nil {
		return nil, err
	}
	return f.node(name, args)
}
