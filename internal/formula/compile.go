package formula

// Program is a compiled formula. It may be used by many goroutines at once.
type Program struct {
	slots   int
	general code
	short   intCode // may be nil
	kind    Kind    // of what short computes
}

// Compile turns the formula into a Program whose Eval takes the values of
// names in the same order. A name of the formula that is not among them is an
// *Error with Name set.
func (e *Expr) Compile(names []string) (*Program, error) {
	slots, err := e.slots(names)
	if err != nil {
		return nil, err
	}
	root := resolve(e.root, slots)
	whole := generate(root)
	p := &Program{slots: len(names), general: whole.general}
	if whole.hasShort {
		p.short, p.kind = whole.short.code(), whole.short.kind
	}
	return p, nil
}

// slots numbers the names. One that the formula has and names has not is an error.
func (e *Expr) slots(names []string) (map[string]int, error) {
	slots := make(map[string]int, len(names))
	for i, name := range names {
		slots[name] = i
	}
	for _, n := range e.names {
		if _, ok := slots[n.name]; !ok {
			err := failf("unknown name %q", n.name).at(n.span)
			err.Name = n.name
			return nil, err
		}
	}
	return slots, nil
}

// Eval computes the formula. Its error is an *Error at the operator, function
// or name that had no result.
func (p *Program) Eval(values []Value) (Value, error) {
	if len(values) != p.slots {
		return Value{}, failf("%d values given for %d names", len(values), p.slots)
	}
	if p.short != nil {
		if bits, ok := p.short(values); ok {
			return Value{kind: p.kind, bits: uint64(bits)}, nil
		}
	}
	v, err := p.general(values)
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// resolve gives names their slots and replaces constant parts by their values.
// A constant part that has none stays, to fail when it is reached.
func resolve(n node, slots map[string]int) node {
	constant := true
	child := func(n node) node {
		n = resolve(n, slots)
		if _, ok := n.(constantNode); !ok {
			constant = false
		}
		return n
	}
	switch x := n.(type) {
	case constantNode:
		return x
	case nameNode:
		x.slot = slots[x.name]
		return x
	case unaryNode:
		x.x = child(x.x)
		n = x
	case binaryNode:
		x.x, x.y = child(x.x), child(x.y)
		n = x
	case chainNode:
		operands := make([]node, len(x.operands))
		for i, operand := range x.operands {
			operands[i] = child(operand)
		}
		x.operands = operands
		n = x
	case logicNode:
		x.x, x.y = child(x.x), child(x.y)
		n = x
	case conditionalNode:
		x.test = child(x.test)
		if test, ok := x.test.(constantNode); ok {
			if isTrue, err := truth("if", test.value); err == nil && isTrue {
				return resolve(x.then, slots)
			} else if err == nil {
				return resolve(x.other, slots)
			}
		}
		x.then, x.other = child(x.then), child(x.other)
		n = x
	}
	if constant {
		if v, err := generate(n).general(nil); err == nil {
			return constantNode{n.place(), v}
		}
	}
	return n
}
