package formula

// Nearly every formula is integer arithmetic on integer variables. For those
// there is a second, shorter code without Values and errors. It gives up on
// anything else (a variable of another kind, an overflow, a division by zero);
// then the general code is asked, which alone knows what that means.

// intCode computes an integer, or a boolean as 0 or 1. Its second result is
// false when it gives up.
type intCode func(env []Value) (int64, bool)

// shortCode is the code of a part of a formula whose kind is known when all
// variables are integers.
type shortCode struct {
	kind Kind // KindInt or KindBool
	run  intCode
	leaf node // a name or constant, which the operator above reads without a call; nil for others
}

// shortNode is a part that has a short code, below one that has none.
type shortNode struct {
	node
	*shortCode
}

// shorten gives the largest parts that have a short code that code.
func shorten(n node) node {
	if code := n.short(); code == nil {
		return n.convert(shorten)
	} else if code.leaf == nil {
		return &shortNode{n, code}
	}
	return n
}

func resultKind(boolean bool) Kind {
	if boolean {
		return KindBool
	}
	return KindInt
}

func (n *constantNode) short() *shortCode {
	if n.value.kind != KindInt && n.value.kind != KindBool {
		return nil
	}
	value := n.value.int()
	return &shortCode{n.value.kind, func([]Value) (int64, bool) { return value, true }, n}
}

func (n *nameNode) short() *shortCode {
	slot := n.slot
	return &shortCode{KindInt, func(env []Value) (int64, bool) {
		v := &env[slot]
		return int64(v.bits), v.kind == KindInt
	}, n}
}

func (n *unaryNode) short() *shortCode {
	x := n.x.short()
	if x == nil || n.op.ints == nil || !n.op.bools && x.kind != KindInt {
		return nil
	}
	run, ints := x.run, n.op.ints
	return &shortCode{kind: resultKind(n.op.boolean), run: func(env []Value) (int64, bool) {
		a, ok := run(env)
		if !ok {
			return 0, false
		}
		return ints(a)
	}}
}

func (n *binaryNode) short() *shortCode {
	x, y := n.x.short(), n.y.short()
	if x == nil || y == nil || n.op.ints == nil || !n.op.bools && (x.kind != KindInt || y.kind != KindInt) {
		return nil
	}
	return &shortCode{kind: resultKind(n.op.boolean), run: combine(n.op.ints, x, y)}
}

// combine makes the code of a binary operator, with a form of its own for each
// common pair of operands: half of all calls are saved that way.
func combine(op func(a, b int64) (int64, bool), x, y *shortCode) intCode {
	left, right := x.run, y.run
	name, named := x.leaf.(*nameNode)
	switch leaf := y.leaf.(type) {
	case *nameNode:
		j := leaf.slot
		if named {
			i := name.slot
			return func(env []Value) (int64, bool) {
				a, b := &env[i], &env[j]
				if a.kind != KindInt || b.kind != KindInt {
					return 0, false
				}
				return op(int64(a.bits), int64(b.bits))
			}
		}
		return func(env []Value) (int64, bool) {
			a, ok := left(env)
			b := &env[j]
			if !ok || b.kind != KindInt {
				return 0, false
			}
			return op(a, int64(b.bits))
		}
	case *constantNode:
		b := leaf.value.int()
		if named {
			i := name.slot
			return func(env []Value) (int64, bool) {
				a := &env[i]
				if a.kind != KindInt {
					return 0, false
				}
				return op(int64(a.bits), b)
			}
		}
		return func(env []Value) (int64, bool) {
			a, ok := left(env)
			if !ok {
				return 0, false
			}
			return op(a, b)
		}
	}
	if leaf, ok := x.leaf.(*constantNode); ok {
		a := leaf.value.int()
		return func(env []Value) (int64, bool) {
			b, ok := right(env)
			if !ok {
				return 0, false
			}
			return op(a, b)
		}
	}
	return func(env []Value) (int64, bool) {
		a, ok := left(env)
		if !ok {
			return 0, false
		}
		b, ok := right(env)
		if !ok {
			return 0, false
		}
		return op(a, b)
	}
}

func (n *chainNode) short() *shortCode {
	runs := make([]intCode, len(n.operands))
	for i, operand := range n.operands {
		code := operand.short()
		if code == nil || code.kind != KindInt {
			return nil
		}
		runs[i] = code.run
	}
	return &shortCode{kind: KindBool, run: func(env []Value) (int64, bool) {
		left, ok := runs[0](env)
		if !ok {
			return 0, false
		}
		for i, op := range n.ops {
			right, ok := runs[i+1](env)
			if !ok {
				return 0, false
			}
			if holds, _ := op.ints(left, right); holds == 0 {
				return 0, true
			}
			left = right
		}
		return 1, true
	}}
}

func (n *logicNode) short() *shortCode {
	x, y := n.x.short(), n.y.short()
	if x == nil || y == nil || x.kind != y.kind {
		return nil
	}
	left, right, stop := x.run, y.run, n.stop
	return &shortCode{kind: x.kind, run: func(env []Value) (int64, bool) {
		a, ok := left(env)
		if !ok || (a != 0) == stop {
			return a, ok
		}
		return right(env)
	}}
}

func (n *conditionalNode) short() *shortCode {
	then, test, other := n.then.short(), n.test.short(), n.other.short()
	if then == nil || test == nil || other == nil || then.kind != other.kind {
		return nil
	}
	runThen, runTest, runOther := then.run, test.run, other.run
	return &shortCode{kind: then.kind, run: func(env []Value) (int64, bool) {
		isTrue, ok := runTest(env)
		switch {
		case !ok:
			return 0, false
		case isTrue != 0:
			return runThen(env)
		}
		return runOther(env)
	}}
}
