package formula

// eval computes a part of a formula from the values of the names, whatever their
// kinds. Where there is no result it panics with an *Error.

func (n *constantNode) eval([]Value) Value { return n.value }

// eval keeps what is not finite out, so that no operator meets it.
func (n *nameNode) eval(env []Value) Value {
	v := env[n.slot]
	if v.kind == KindFloat && !isFinite(v.float()) {
		panic(failf("%s is not a finite number", n.name).at(n.span))
	}
	return v
}

func (n *unaryNode) eval(env []Value) Value {
	v, err := n.op.values(n.x.eval(env))
	n.check(err)
	return v
}

func (n *binaryNode) eval(env []Value) Value {
	x := n.x.eval(env)
	v, err := n.op.values(x, n.y.eval(env))
	n.check(err)
	return v
}

func (n *chainNode) eval(env []Value) Value {
	left := n.operands[0].eval(env)
	for i, op := range n.ops {
		right := n.operands[i+1].eval(env)
		holds, err := op.values(left, right)
		n.spans[i].check(err)
		if holds.bits == 0 {
			return holds
		}
		left = right
	}
	return Bool(true)
}

func (n *logicNode) eval(env []Value) Value {
	x := n.x.eval(env)
	isTrue, err := truth(n.symbol, x)
	n.check(err)
	if isTrue == n.stop {
		return x
	}
	y := n.y.eval(env)
	_, err = truth(n.symbol, y)
	n.check(err)
	return y
}

func (n *conditionalNode) eval(env []Value) Value {
	isTrue, err := truth("if", n.test.eval(env))
	n.check(err)
	if isTrue {
		return n.then.eval(env)
	}
	return n.other.eval(env)
}

// eval asks the general code only where the short one gives up.
func (n *shortNode) eval(env []Value) Value {
	if bits, ok := n.run(env); ok {
		return Value{kind: n.kind, bits: uint64(bits)}
	}
	return n.node.eval(env)
}
