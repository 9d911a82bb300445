package formula

// eval computes a part of a formula from the values of the names, whatever their
// kinds.

func (n *constantNode) eval([]Value) (Value, *Error) { return n.value, nil }

// eval keeps what is not finite out, so that no operator meets it.
func (n *nameNode) eval(env []Value) (Value, *Error) {
	v := env[n.slot]
	if v.kind == KindFloat && !isFinite(v.float()) {
		return v, failf("%s is not a finite number", n.name).at(n.span)
	}
	return v, nil
}

func (n *unaryNode) eval(env []Value) (Value, *Error) {
	x, err := n.x.eval(env)
	if err != nil {
		return x, err
	}
	v, err := n.op.values(x)
	return v, err.at(n.span)
}

func (n *binaryNode) eval(env []Value) (Value, *Error) {
	x, err := n.x.eval(env)
	if err != nil {
		return x, err
	}
	y, err := n.y.eval(env)
	if err != nil {
		return y, err
	}
	v, err := n.op.values(x, y)
	return v, err.at(n.span)
}

func (n *chainNode) eval(env []Value) (Value, *Error) {
	left, err := n.operands[0].eval(env)
	if err != nil {
		return left, err
	}
	for i, op := range n.ops {
		right, err := n.operands[i+1].eval(env)
		if err != nil {
			return right, err
		}
		holds, err := op.values(left, right)
		if err != nil || holds.bits == 0 {
			return holds, err.at(n.spans[i])
		}
		left = right
	}
	return Bool(true), nil
}

func (n *logicNode) eval(env []Value) (Value, *Error) {
	x, err := n.x.eval(env)
	if err != nil {
		return x, err
	}
	isTrue, err := truth(n.symbol, x)
	if err != nil || isTrue == n.stop {
		return x, err.at(n.span)
	}
	y, err := n.y.eval(env)
	if err != nil {
		return y, err
	}
	_, err = truth(n.symbol, y)
	return y, err.at(n.span)
}

func (n *conditionalNode) eval(env []Value) (Value, *Error) {
	test, err := n.test.eval(env)
	if err != nil {
		return test, err
	}
	isTrue, err := truth("if", test)
	switch {
	case err != nil:
		return test, err.at(n.span)
	case isTrue:
		return n.then.eval(env)
	}
	return n.other.eval(env)
}

// eval asks the general code only where the short one gives up.
func (n *shortNode) eval(env []Value) (Value, *Error) {
	if bits, ok := n.run(env); ok {
		return Value{kind: n.kind, bits: uint64(bits)}, nil
	}
	return n.node.eval(env)
}
