package formula

// code computes a part of a formula from the values of the names. It is right
// for values of every kind.
type code func(env []Value) (Value, *Error)

// part is the code of a part of a formula, in one form or in two.
type part struct {
	general  code
	short    operand
	hasShort bool
}

// under returns the code of a part for the general code of the node above it. A
// node that has a short code itself has tried that of its parts before its
// general code runs; any other node tries it now.
func (p part) under(above bool) code {
	if above || !p.hasShort || p.short.leaf != leafNone {
		return p.general
	}
	short, kind, general := p.short.run, p.short.kind, p.general
	return func(env []Value) (Value, *Error) {
		if bits, ok := short(env); ok {
			return Value{kind: kind, bits: uint64(bits)}, nil
		}
		return general(env)
	}
}

func generate(n node) part {
	switch n := n.(type) {
	case constantNode:
		return generateConstant(n)
	case nameNode:
		return generateName(n)
	case unaryNode:
		return generateUnary(n)
	case binaryNode:
		return generateBinary(n)
	case chainNode:
		return generateChain(n)
	case logicNode:
		return generateLogic(n)
	}
	return generateConditional(n.(conditionalNode))
}

func generateConstant(n constantNode) part {
	v := n.value
	return part{
		general:  func([]Value) (Value, *Error) { return v, nil },
		short:    operand{kind: v.kind, leaf: leafConstant, value: v.int()},
		hasShort: v.kind == KindInt || v.kind == KindBool,
	}
}

// generateName keeps what is not finite out, so that no operator meets it.
func generateName(n nameNode) part {
	return part{
		general: func(env []Value) (Value, *Error) {
			v := env[n.slot]
			if v.kind == KindFloat && !isFinite(v.float()) {
				return Value{}, failf("%s is not a finite number", n.name).at(n.span)
			}
			return v, nil
		},
		short:    operand{kind: KindInt, leaf: leafName, slot: n.slot},
		hasShort: true,
	}
}

func generateUnary(n unaryNode) part {
	x := generate(n.x)
	short, hasShort := shortUnary(n.op, x)
	run, apply, place := x.under(hasShort), n.op.values, n.span
	return part{short: short, hasShort: hasShort, general: func(env []Value) (Value, *Error) {
		a, err := run(env)
		if err != nil {
			return Value{}, err
		}
		v, err := apply(a)
		if err != nil {
			return Value{}, err.at(place)
		}
		return v, nil
	}}
}

func generateBinary(n binaryNode) part {
	x, y := generate(n.x), generate(n.y)
	short, hasShort := shortBinary(n.op, x, y)
	runX, runY, apply, place := x.under(hasShort), y.under(hasShort), n.op.values, n.span
	return part{short: short, hasShort: hasShort, general: func(env []Value) (Value, *Error) {
		a, err := runX(env)
		if err != nil {
			return Value{}, err
		}
		b, err := runY(env)
		if err != nil {
			return Value{}, err
		}
		v, err := apply(a, b)
		if err != nil {
			return Value{}, err.at(place)
		}
		return v, nil
	}}
}

func generateChain(n chainNode) part {
	parts := make([]part, len(n.operands))
	for i, operand := range n.operands {
		parts[i] = generate(operand)
	}
	short, hasShort := shortChain(n.ops, parts)
	runs := make([]code, len(parts))
	for i, p := range parts {
		runs[i] = p.under(hasShort)
	}
	return part{short: short, hasShort: hasShort, general: func(env []Value) (Value, *Error) {
		left, err := runs[0](env)
		if err != nil {
			return Value{}, err
		}
		for i, op := range n.ops {
			right, err := runs[i+1](env)
			if err != nil {
				return Value{}, err
			}
			holds, err := op.values(left, right)
			if err != nil {
				return Value{}, err.at(n.spans[i])
			}
			if holds.bits == 0 {
				return holds, nil
			}
			left = right
		}
		return Bool(true), nil
	}}
}

func generateLogic(n logicNode) part {
	x, y := generate(n.x), generate(n.y)
	short, hasShort := shortLogic(n.stop, x, y)
	runX, runY := x.under(hasShort), y.under(hasShort)
	return part{short: short, hasShort: hasShort, general: func(env []Value) (Value, *Error) {
		a, err := runX(env)
		if err != nil {
			return Value{}, err
		}
		isTrue, err := truth(n.symbol, a)
		if err != nil {
			return Value{}, err.at(n.span)
		}
		if isTrue == n.stop {
			return a, nil
		}
		b, err := runY(env)
		if err != nil {
			return Value{}, err
		}
		if _, err := truth(n.symbol, b); err != nil {
			return Value{}, err.at(n.span)
		}
		return b, nil
	}}
}

func generateConditional(n conditionalNode) part {
	then, test, other := generate(n.then), generate(n.test), generate(n.other)
	short, hasShort := shortConditional(then, test, other)
	runThen, runTest, runOther := then.under(hasShort), test.under(hasShort), other.under(hasShort)
	return part{short: short, hasShort: hasShort, general: func(env []Value) (Value, *Error) {
		v, err := runTest(env)
		if err != nil {
			return Value{}, err
		}
		isTrue, err := truth("if", v)
		switch {
		case err != nil:
			return Value{}, err.at(n.span)
		case isTrue:
			return runThen(env)
		}
		return runOther(env)
	}}
}
