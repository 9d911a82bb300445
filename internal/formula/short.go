package formula

// Nearly every formula is integer arithmetic on integer variables. For those
// there is a second, shorter code without Values and errors. It gives up on
// anything else (a variable of another kind, an overflow, a division by zero);
// then the general code is asked, which alone knows what that means.

// intCode computes an integer, or a boolean as 0 or 1. Its second result is
// false when it gives up.
type intCode func(env []Value) (int64, bool)

type intOp func(a, b int64) (int64, bool)

// operand is a part of a formula whose kind is known when all variables are
// integers. Names and constants are kept apart, so that the operator above
// reads them without a call.
type operand struct {
	kind  Kind // KindInt or KindBool
	run   intCode
	leaf  leaf
	slot  int   // leafName
	value int64 // leafConstant
}

type leaf uint8

const (
	leafNone leaf = iota // run is set
	leafName
	leafConstant
)

func resultKind(boolean bool) Kind {
	if boolean {
		return KindBool
	}
	return KindInt
}

// code returns the operand on its own.
func (o operand) code() intCode {
	switch o.leaf {
	case leafName:
		slot := o.slot
		return func(env []Value) (int64, bool) {
			v := &env[slot]
			return int64(v.bits), v.kind == KindInt
		}
	case leafConstant:
		value := o.value
		return func([]Value) (int64, bool) { return value, true }
	}
	return o.run
}

// combine makes the code of a binary operator, with a form of its own for each
// common pair of operands: half of all calls are saved that way.
func combine(op intOp, x, y operand) intCode {
	switch {
	case x.leaf == leafName && y.leaf == leafName:
		i, j := x.slot, y.slot
		return func(env []Value) (int64, bool) {
			a, b := &env[i], &env[j]
			if a.kind != KindInt || b.kind != KindInt {
				return 0, false
			}
			return op(int64(a.bits), int64(b.bits))
		}
	case x.leaf == leafName && y.leaf == leafConstant:
		i, b := x.slot, y.value
		return func(env []Value) (int64, bool) {
			a := &env[i]
			if a.kind != KindInt {
				return 0, false
			}
			return op(int64(a.bits), b)
		}
	case x.leaf == leafConstant && y.leaf == leafName:
		a, j := x.value, y.slot
		return func(env []Value) (int64, bool) {
			b := &env[j]
			if b.kind != KindInt {
				return 0, false
			}
			return op(a, int64(b.bits))
		}
	case x.leaf == leafConstant:
		a, run := x.value, y.code()
		return func(env []Value) (int64, bool) {
			b, ok := run(env)
			if !ok {
				return 0, false
			}
			return op(a, b)
		}
	case y.leaf == leafConstant:
		run, b := x.code(), y.value
		return func(env []Value) (int64, bool) {
			a, ok := run(env)
			if !ok {
				return 0, false
			}
			return op(a, b)
		}
	case y.leaf == leafName:
		run, j := x.code(), y.slot
		return func(env []Value) (int64, bool) {
			a, ok := run(env)
			b := &env[j]
			if !ok || b.kind != KindInt {
				return 0, false
			}
			return op(a, int64(b.bits))
		}
	}
	runX, runY := x.code(), y.code()
	return func(env []Value) (int64, bool) {
		a, ok := runX(env)
		if !ok {
			return 0, false
		}
		b, ok := runY(env)
		if !ok {
			return 0, false
		}
		return op(a, b)
	}
}

func shortUnary(op *unary, x part) (operand, bool) {
	if !x.hasShort || op.ints == nil || !op.bools && x.short.kind != KindInt {
		return operand{}, false
	}
	run, ints := x.short.code(), op.ints
	return operand{kind: resultKind(op.boolean), run: func(env []Value) (int64, bool) {
		a, ok := run(env)
		if !ok {
			return 0, false
		}
		return ints(a)
	}}, true
}

func shortBinary(op *binary, x, y part) (operand, bool) {
	if !x.hasShort || !y.hasShort || op.ints == nil {
		return operand{}, false
	}
	if !op.bools && (x.short.kind != KindInt || y.short.kind != KindInt) {
		return operand{}, false
	}
	return operand{kind: resultKind(op.boolean), run: combine(op.ints, x.short, y.short)}, true
}

func shortChain(ops []*binary, parts []part) (operand, bool) {
	runs := make([]intCode, len(parts))
	for i, p := range parts {
		if !p.hasShort || p.short.kind != KindInt {
			return operand{}, false
		}
		runs[i] = p.short.code()
	}
	return operand{kind: KindBool, run: func(env []Value) (int64, bool) {
		left, ok := runs[0](env)
		if !ok {
			return 0, false
		}
		for i, op := range ops {
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
	}}, true
}

func shortLogic(stop bool, x, y part) (operand, bool) {
	if !x.hasShort || !y.hasShort || x.short.kind != y.short.kind {
		return operand{}, false
	}
	runX, runY := x.short.code(), y.short.code()
	return operand{kind: x.short.kind, run: func(env []Value) (int64, bool) {
		a, ok := runX(env)
		if !ok || (a != 0) == stop {
			return a, ok
		}
		return runY(env)
	}}, true
}

func shortConditional(then, test, other part) (operand, bool) {
	if !then.hasShort || !test.hasShort || !other.hasShort || then.short.kind != other.short.kind {
		return operand{}, false
	}
	runThen, runTest, runOther := then.short.code(), test.short.code(), other.short.code()
	return operand{kind: then.short.kind, run: func(env []Value) (int64, bool) {
		isTrue, ok := runTest(env)
		switch {
		case !ok:
			return 0, false
		case isTrue != 0:
			return runThen(env)
		}
		return runOther(env)
	}}, true
}
