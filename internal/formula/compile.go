package formula

// Program is a compiled formula. It may be used by many goroutines at once.
type Program struct {
	slots int
	root  node
	short intCode // of the whole formula; may be nil
	kind  Kind    // of what short computes
}

// Compile turns the formula into a Program whose Eval takes the values of
// names in the same order. A name of the formula that is not among them is an
// *Error with Name set.
func (e *Expr) Compile(names []string) (*Program, error) {
	slots, err := e.slots(names)
	if err != nil {
		return nil, err
	}
	p := &Program{slots: len(names), root: resolve(e.root, slots)}
	if code := p.root.short(); code != nil {
		p.short, p.kind = code.run, code.kind
	} else {
		p.root = shorten(p.root)
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
	return p.general(values)
}

func (p *Program) general(values []Value) (Value, error) {
	v, err := p.root.eval(values)
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// resolve gives names their slots and replaces constant parts by their values.
// A constant part that has none stays, to fail when it is reached.
func resolve(n node, slots map[string]int) node {
	constant := true
	switch x := n.(type) {
	case *constantNode:
		return x
	case *nameNode:
		return &nameNode{x.span, x.name, slots[x.name]}
	case *conditionalNode:
		if test, ok := resolve(x.test, slots).(*constantNode); ok {
			if isTrue, err := truth("if", test.value); err == nil && isTrue {
				return resolve(x.then, slots)
			} else if err == nil {
				return resolve(x.other, slots)
			}
		}
	}
	n = n.convert(func(part node) node {
		part = resolve(part, slots)
		_, ok := part.(*constantNode)
		constant = constant && ok
		return part
	})
	if constant {
		if v, err := n.eval(nil); err == nil {
			return &constantNode{n.place(), v}
		}
	}
	return n
}
