package formula

import "slices"

// node is a part of a parsed formula. Nodes are never changed once parsed: one
// Expr may be compiled many times, also at once.
type node interface {
	place() span
	convert(each func(node) node) node // returns a copy with other operands
	eval(env []Value) (Value, *Error)
	short() *shortCode // nil where there is none
	real(slots map[string]int) realPart
}

type (
	constantNode struct {
		span
		value Value
	}
	nameNode struct {
		span
		name string
		slot int // set by Compile
	}
	unaryNode struct {
		span // of the operator or function name
		op   *unary
		x    node
	}
	binaryNode struct {
		span // of the operator or function name
		op   *binary
		x, y node
	}
	// chainNode is a comparison of three operands or more: a < b <= c.
	chainNode struct {
		spans    []span // of the operators
		ops      []*binary
		operands []node
	}
	// logicNode is x and y, or x or y.
	logicNode struct {
		span
		symbol string
		stop   bool // the truth of x that makes it the result
		x, y   node
	}
	conditionalNode struct {
		span              // of "if"
		then, test, other node
	}
)

func (s span) place() span       { return s }
func (n *chainNode) place() span { return n.spans[0] }

func (n *constantNode) convert(func(node) node) node { return n }
func (n *nameNode) convert(func(node) node) node     { return n }

func (n *unaryNode) convert(each func(node) node) node {
	return &unaryNode{n.span, n.op, each(n.x)}
}

func (n *binaryNode) convert(each func(node) node) node {
	return &binaryNode{n.span, n.op, each(n.x), each(n.y)}
}

func (n *chainNode) convert(each func(node) node) node {
	operands := make([]node, len(n.operands))
	for i, operand := range n.operands {
		operands[i] = each(operand)
	}
	return &chainNode{n.spans, n.ops, operands}
}

func (n *logicNode) convert(each func(node) node) node {
	return &logicNode{n.span, n.symbol, n.stop, each(n.x), each(n.y)}
}

func (n *conditionalNode) convert(each func(node) node) node {
	return &conditionalNode{n.span, each(n.then), each(n.test), each(n.other)}
}

// Expr is a parsed formula.
type Expr struct {
	src   string
	root  node
	names []*nameNode // in source order, as often as they occur
}

// Source returns the text the formula was parsed from.
func (e *Expr) Source() string { return e.src }

// Names returns the variables the formula uses, sorted, each once.
func (e *Expr) Names() []string {
	names := make([]string, len(e.names))
	for i, n := range e.names {
		names[i] = n.name
	}
	slices.Sort(names)
	return slices.Compact(names)
}
