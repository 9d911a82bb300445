package spec

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/formula"
)

// Oracles are the names of the built-in references that need no more than a name.
var Oracles = []string{"attention", "attention_causal", "gemm", "layernorm", "max", "softmax", "sum"}

var oracleKeys = []key[Oracle]{
	{"kernel", func(d *decoder, o *Oracle, n *node) { o.Kernel, _ = d.text(n, "the name of a kernel") }},
	{"elementwise", func(d *decoder, o *Oracle, n *node) {
		if o.formula = d.one(n, "elementwise"); o.formula != nil {
			o.Elementwise = o.formula.Text
		}
	}},
	{"python", (*decoder).pythonOracle},
}

var pythonName = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// pythonOracle reads a function, or plain sdpa: PyTorch's attention with the backend
// that it chooses ships with pawl, as those that are named after a colon do.
func (d *decoder) pythonOracle(o *Oracle, n *node) {
	const expected = "a Python function as module:function, or sdpa"
	text, ok := d.text(n, expected)
	if !ok {
		return
	}
	if text != "sdpa" && !PythonName(text) {
		d.expect(n, expected)
	}
	o.Python = text
}

const elementwiseExample = `{elementwise: "max(x, 0) * 2"}`

func (d *decoder) oracle(k *kernelDraft, n *node) {
	o := &Oracle{Pos: n.pos}
	k.Oracle = o
	switch n.kind {
	case textKind:
		o.Builtin = n.text
		switch {
		case slices.Contains(Oracles, n.text):
		case n.text == "elementwise":
			d.fail(n, "elementwise does not say what is computed").
				Hint = "write a formula over the arguments: oracle: " + elementwiseExample
		default:
			d.fail(n, "no built-in oracle is called %s", quote(n.text)).
				Hint = diag.Meant(n.text, append(slices.Clone(Oracles), elementwiseExample, `{kernel: name}`, `{python: "module:function"}`))
		}
	case mappingKind:
		before := d.trouble()
		present := readKeys(d, n, "oracle", oracleKeys, nil, o)
		if len(present.fields) != 1 && d.trouble() == before {
			d.fail(n, "expected exactly one of elementwise, kernel and python in oracle")
		}
	default:
		d.expect(n, "the name of a built-in oracle, {elementwise: formula}, {kernel: name} or {python: \"module:function\"}")
	}
}

// elementwise checks the formula of an oracle, whose names are arguments that
// have contents before the launch.
func (d *decoder) elementwise(k *kernelDraft) {
	if k.Oracle == nil || k.Oracle.formula == nil || k.unread {
		return
	}
	f := k.Oracle.formula
	var names, outputs []string
	for _, a := range k.Args {
		if a.Role.Written() {
			outputs = append(outputs, a.Name)
		}
		if a.TensorMap == nil && a.Role != RoleOut && a.Role != RoleScratch {
			names = append(names, a.Name)
		}
	}
	if len(outputs) > 1 {
		d.fail(f.node, "elementwise is one formula, and %s has %d outputs: %s", k.Name, len(outputs), strings.Join(outputs, ", ")).
			Hint = "use oracle: {kernel: name} or {python: \"module:function\"}"
	}
	_, err := f.Expr.CompileReal(names)
	if err == nil {
		return
	}
	p := f.problem(err)
	if wrong, ok := errors.AsType[*formula.Error](err); ok && wrong.Name != "" {
		p.Message, p.Hint = d.elementwiseName(k, wrong.Name, names)
	}
	d.problems.Add(p)
}

// elementwiseName says why a name has no place in an elementwise formula.
func (d *decoder) elementwiseName(k *kernelDraft, name string, names []string) (message, hint string) {
	message = fmt.Sprintf("elementwise: %s is not an argument of %s", name, k.Name)
	for _, a := range k.Args {
		switch {
		case a.Name != name:
		case a.TensorMap != nil:
			message = fmt.Sprintf("elementwise: %s is a tensor map, which has no elements of its own", name)
			return message, "use " + a.TensorMap.Of
		default:
			message = fmt.Sprintf("elementwise: %s has role %s, so it holds nothing to compute with", name, a.Role)
			return message, "the formula sees " + strings.Join(names, ", ")
		}
	}
	switch {
	case slices.Contains(k.paramNames(), name):
		return message, fmt.Sprintf("%s is a param; the formula sees arguments: %s", name, strings.Join(names, ", "))
	case slices.Contains(k.variableNames(), name):
		return message, fmt.Sprintf("%s is a config variable; the formula sees arguments: %s", name, strings.Join(names, ", "))
	}
	return message, diag.Meant(name, names)
}
