package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/pattern"
)

// Oracles are the names of the built-in references that need no more than a name.
var Oracles = []string{"attention", "attention_causal", "gemm", "layernorm", "max", "softmax", "sum"}

var oracleKeys = []key[Oracle]{
	{"kernel", func(d *decoder, o *Oracle, n *node) { o.Kernel, _ = d.text(n, "the name of a kernel") }},
	{"elementwise", (*decoder).elementwiseOracle},
	{"python", (*decoder).pythonOracle},
}

var pythonName = pattern.New(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

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

// outputFormula is the formula of one output.
type outputFormula struct {
	*Formula
	output *node // its name; nil: the only output
}

// elementwiseOracle reads a formula, or one for each output.
func (d *decoder) elementwiseOracle(o *Oracle, n *node) {
	if n.kind == mappingKind {
		for _, f := range n.fields {
			if one := d.one(f.value, "elementwise of "+f.key.text); one != nil {
				o.formulas = append(o.formulas, outputFormula{one, f.key})
			}
		}
		if len(n.fields) == 0 {
			d.fail(n, "elementwise has no formulas").Hint = "write one for each output: oracle: {elementwise: {y: 2 * x}}"
		}
	} else if one := d.one(n, "elementwise"); one != nil {
		o.formulas = []outputFormula{{one, nil}}
	}
	var texts []string
	for _, f := range o.formulas {
		text := f.Text
		if f.output != nil {
			text = f.output.text + " = " + text
		}
		texts = append(texts, text)
	}
	o.Elementwise = strings.Join(texts, "; ")
}

// elementwise checks the formulas of an oracle, whose names are arguments that
// have contents before the launch.
func (d *decoder) elementwise(k *kernelDraft) {
	if k.Oracle == nil || len(k.Oracle.formulas) == 0 || k.unread {
		return
	}
	var names, outputs []string
	for _, a := range k.Args {
		if a.Role.Written() {
			outputs = append(outputs, a.Name)
		}
		if a.TensorMap == nil && a.Role != RoleOut && a.Role != RoleScratch {
			names = append(names, a.Name)
		}
	}
	d.elementwiseOutputs(k, outputs)
	for _, f := range k.Oracle.formulas {
		_, err := f.Expr.CompileReal(names)
		if err == nil {
			continue
		}
		p := f.problem(err)
		if wrong, ok := errors.AsType[*formula.Error](err); ok && wrong.Name != "" {
			p.Message, p.Hint = d.elementwiseName(k, wrong.Name, names)
		}
		d.problems.Add(p)
	}
}

// elementwiseOutputs checks that every output has its formula.
func (d *decoder) elementwiseOutputs(k *kernelDraft, outputs []string) {
	first := k.Oracle.formulas[0]
	if first.output == nil {
		if len(outputs) > 1 {
			d.fail(first.node, "elementwise is one formula, and %s has %d outputs: %s", k.Name, len(outputs), strings.Join(outputs, ", ")).
				Hint = fmt.Sprintf("write one for each: oracle: {elementwise: {%s: …}}", strings.Join(outputs, ": …, "))
		}
		return
	}
	before, missing := d.trouble(), slices.Clone(outputs)
	for _, f := range k.Oracle.formulas {
		if !slices.Contains(outputs, f.output.text) {
			d.fail(f.output, "elementwise: %s has no output %s", k.Name, quote(f.output.text)).Hint = diag.Meant(f.output.text, outputs)
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == f.output.text })
	}
	if len(missing) > 0 && d.trouble() == before && !k.broken {
		d.fail(first.output, "elementwise has no formula for %s", strings.Join(missing, ", ")).Hint = "write one for each output of " + k.Name
	}
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
