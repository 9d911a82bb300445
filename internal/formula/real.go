package formula

// Real is a formula in the arithmetic of float64, for the elements of data: every
// value is a float or a truth, infinities and NaN are values like others, and
// nothing that is computed is an error. It may be used by many goroutines at once.
type Real struct {
	slots int
	truth bool
	run   realCode
}

// realCode computes a number, or a truth as 0 or 1.
type realCode func(env []float64) float64

// realPart is the code of a part of a formula.
type realPart struct {
	run   realCode
	truth bool
}

// CompileReal turns the formula into a Real whose Eval takes the values of names
// in the same order. Its error is an *Error: of an unknown name, with Name set, of
// an operator for integers or strings, or of a truth where a number is needed.
func (e *Expr) CompileReal(names []string) (r *Real, err error) {
	slots, err := e.slots(names)
	if err != nil {
		return nil, err
	}
	defer catch(&err)
	root := e.root.real(slots)
	return &Real{slots: len(names), truth: root.truth, run: root.run}, nil
}

// Truth reports whether the formula is true or false, and no number.
func (r *Real) Truth() bool { return r.truth }

// Eval computes the formula; a truth is 1 or 0. It panics unless there is one
// value for each name.
func (r *Real) Eval(values []float64) float64 {
	if len(values) != r.slots {
		panic(failf("%d values given for %d names", len(values), r.slots).Message)
	}
	return r.run(values)
}

func truthOf(b bool) float64 { return float64(bit(b)) }

func sameReal(a float64) float64 { return a }

func (n *constantNode) real(map[string]int) realPart {
	if n.value.kind == KindString {
		panic(failf("the string %q has no place among numbers", n.value).at(n.span))
	}
	value := float64(n.value.int())
	if n.value.kind == KindFloat {
		value = n.value.float()
	}
	return realPart{func([]float64) float64 { return value }, n.value.kind == KindBool}
}

func (n *nameNode) real(slots map[string]int) realPart {
	slot := slots[n.name]
	return realPart{run: func(env []float64) float64 { return env[slot] }}
}

func (n *unaryNode) real(slots map[string]int) realPart {
	x := n.x.real(slots)
	op := n.op.real
	switch symbol := n.op.symbol; {
	case op == nil:
		n.check(integersOnly(symbol))
	case x.truth && symbol != "not" && symbol != "int" && symbol != "float":
		n.check(truthAsNumber(symbol))
	}
	run := x.run
	return realPart{func(env []float64) float64 { return op(run(env)) }, n.op.boolean}
}

func (n *binaryNode) real(slots map[string]int) realPart {
	x, y := n.x.real(slots), n.y.real(slots)
	op := n.op.real
	switch symbol := n.op.symbol; {
	case op == nil:
		n.check(integersOnly(symbol))
	case (x.truth || y.truth) && symbol != "==" && symbol != "!=":
		n.check(truthAsNumber(symbol))
	}
	left, right := x.run, y.run
	return realPart{func(env []float64) float64 { return op(left(env), right(env)) }, n.op.boolean}
}

func (n *chainNode) real(slots map[string]int) realPart {
	runs := make([]realCode, len(n.operands))
	for i, operand := range n.operands {
		p := operand.real(slots)
		if at := max(0, i-1); p.truth {
			n.spans[at].check(truthAsNumber(n.ops[at].symbol))
		}
		runs[i] = p.run
	}
	return realPart{truth: true, run: func(env []float64) float64 {
		left := runs[0](env)
		for i, op := range n.ops {
			right := runs[i+1](env)
			if op.real(left, right) == 0 {
				return 0
			}
			left = right
		}
		return 1
	}}
}

func (n *logicNode) real(slots map[string]int) realPart {
	x, y := n.x.real(slots), n.y.real(slots)
	if x.truth != y.truth {
		n.check(mixed(n.symbol))
	}
	left, right, stop := x.run, y.run, n.stop
	return realPart{truth: x.truth, run: func(env []float64) float64 {
		if a := left(env); (a != 0) == stop {
			return a
		}
		return right(env)
	}}
}

func (n *conditionalNode) real(slots map[string]int) realPart {
	then, test, other := n.then.real(slots), n.test.real(slots), n.other.real(slots)
	if then.truth != other.truth {
		n.check(mixed("if"))
	}
	return realPart{truth: then.truth, run: func(env []float64) float64 {
		if test.run(env) != 0 {
			return then.run(env)
		}
		return other.run(env)
	}}
}

func integersOnly(symbol string) *Error {
	return failf("%s works on integers, and these are floats", spoken(symbol))
}

func truthAsNumber(symbol string) *Error {
	return failf("%s needs numbers, not a boolean", spoken(symbol)).hint("int(x) turns a boolean into 0 or 1")
}

func mixed(symbol string) *Error {
	return failf("%s would give a number here and a boolean there", spoken(symbol)).hint("int(x) turns a boolean into 0 or 1")
}
