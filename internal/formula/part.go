package formula

import "slices"

// Part is a part of a formula, for those who compute it in an arithmetic of their
// own: a constant, a variable, or an operation on other parts.
type Part struct {
	Symbol   string // of an operator or function: "+", "max", "if"; "" for constants and variables
	Operands []Part // of an operation; of "if" the value, the condition, and the other value
	Name     string // of a variable
	Value    Value  // of a constant
}

// Root returns the whole formula. A chained comparison is the "and" of its comparisons.
func (e *Expr) Root() Part { return partOf(e.root) }

func partOf(n node) Part {
	operation := func(symbol string, operands ...node) Part {
		p := Part{Symbol: symbol}
		for _, operand := range operands {
			p.Operands = append(p.Operands, partOf(operand))
		}
		return p
	}
	switch x := n.(type) {
	case *constantNode:
		return Part{Value: x.value}
	case *nameNode:
		return Part{Name: x.name}
	case *unaryNode:
		return operation(x.op.symbol, x.x)
	case *binaryNode:
		return operation(x.op.symbol, x.x, x.y)
	case *chainNode:
		all := Part{Symbol: "and"}
		for i, op := range x.ops {
			all.Operands = append(all.Operands, operation(op.symbol, x.operands[i], x.operands[i+1]))
		}
		return all
	case *logicNode:
		return operation(x.symbol, x.x, x.y)
	}
	x := n.(*conditionalNode)
	return operation("if", x.then, x.test, x.other)
}

// Uses reports whether an operator or function stands anywhere in the part.
func (p Part) Uses(symbol string) bool {
	return p.Symbol == symbol || slices.ContainsFunc(p.Operands, func(operand Part) bool { return operand.Uses(symbol) })
}

// Inner is a part of a formula that uses names, as a formula of its own.
type Inner struct {
	*Expr
	Of int // index of the part that it is an operand of; -1: it is the whole formula
}

// Inside lists the formula and all its parts that use names, each before its operands. The value
// of a part is all that the formula takes from it.
func (e *Expr) Inside() []Inner {
	var list []Inner
	var visit func(n node, of int)
	visit = func(n node, of int) {
		names := namesIn(n)
		if len(names) == 0 {
			return
		}
		at := len(list)
		list = append(list, Inner{&Expr{e.src, n, names}, of})
		n.convert(func(operand node) node {
			visit(operand, at)
			return operand
		})
	}
	visit(e.root, -1)
	return list
}

func namesIn(n node) []*nameNode {
	if name, ok := n.(*nameNode); ok {
		return []*nameNode{name}
	}
	var names []*nameNode
	n.convert(func(operand node) node {
		names = append(names, namesIn(operand)...)
		return operand
	})
	return names
}
