package formula

// With returns the formula with names replaced by their values, which Compile then folds. A name
// whose value is not finite stays: it is an error only where it is reached.
func (e *Expr) With(values map[string]Value) *Expr {
	fixed := func(n *nameNode) bool {
		v, ok := values[n.name]
		return ok && (v.kind != KindFloat || isFinite(v.float()))
	}
	var replace func(n node) node
	replace = func(n node) node {
		if name, ok := n.(*nameNode); ok && fixed(name) {
			return &constantNode{name.span, values[name.name]}
		}
		return n.convert(replace)
	}
	w := &Expr{src: e.src, root: replace(e.root)}
	for _, n := range e.names {
		if !fixed(n) {
			w.names = append(w.names, n)
		}
	}
	return w
}
