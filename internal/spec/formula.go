package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/internal/diag"
	"pawl/internal/formula"
)

// parse fills Expr from Text.
func (f *Formula) parse() error {
	expr, err := formula.Parse(f.Text)
	if err != nil {
		return err
	}
	f.Expr, f.names = expr, expr.Names()
	f.program, err = expr.Compile(f.names)
	return err
}

// problem places an error of the formula package in the file.
func (f *Formula) problem(err error) *diag.Problem {
	p := &diag.Problem{Pos: f.Pos, Message: f.what + ": " + err.Error(), Width: f.node.width}
	at, ok := errors.AsType[*formula.Error](err)
	if !ok {
		return p
	}
	p.Hint = at.Hint
	if pos, exact := f.node.at(at.Offset); exact {
		p.Pos = pos
		p.Width = max(1, utf8.RuneCountInString(f.Text[at.Offset:min(len(f.Text), at.Offset+at.Width)]))
	}
	return p
}

// unknown returns the problem of using a name that does not exist.
func (f *Formula) unknown(name string, known []string) *diag.Problem {
	others := slices.DeleteFunc(slices.Clone(f.names), func(n string) bool { return n == name })
	_, err := f.Expr.Compile(others)
	p := f.problem(err)
	p.Message = fmt.Sprintf("%s: %s is neither a param nor a config variable", f.what, name)
	p.Hint = diag.Meant(name, known)
	return p
}

// scope is where formulas find their values.
type scope interface {
	Lookup(name string) (formula.Value, bool)
}

// eval evaluates the formula. A problem names the values that led to it.
func (f *Formula) eval(in scope) (formula.Value, *diag.Problem) {
	var few [8]formula.Value
	values := few[:0]
	for _, name := range f.names {
		v, ok := in.Lookup(name)
		if !ok {
			return formula.Value{}, f.unknown(name, nil)
		}
		values = append(values, v)
	}
	v, err := f.program.Eval(values)
	if err != nil {
		p := f.problem(err)
		p.Hint = joinHints(p.Hint, bindings(in, f))
		return formula.Value{}, p
	}
	return v, nil
}

// wrong returns the problem of a value that the formula should not have.
func (f *Formula) wrong(in scope, format string, args ...any) *diag.Problem {
	p := &diag.Problem{Pos: f.Pos, Width: f.node.width, Message: f.what + " " + fmt.Sprintf(format, args...)}
	if f.node.content > 0 {
		p.Width = max(1, utf8.RuneCountInString(f.Text))
	}
	p.Hint = bindings(in, f)
	return p
}

// bindings lists the values of the formulas' names: "with S=512, BLOCK_M=64".
func bindings(in scope, formulas ...*Formula) string {
	var parts []string
	for _, f := range formulas {
		for _, name := range f.names {
			v, ok := in.Lookup(name)
			if part := name + "=" + valueText(v); ok && !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "with " + strings.Join(parts, ", ")
}

// Explain writes formulas with the values of their names at the instance:
// "BLOCK * 4 with BLOCK=64". It is empty where there is nothing to explain.
func (in *Instance) Explain(formulas ...*Formula) string {
	given := slices.DeleteFunc(slices.Clone(formulas), func(f *Formula) bool { return f == nil })
	texts := strings.Join(namesOf(given, func(f *Formula) string { return f.Text }), ", ")
	return strings.TrimSuffix(texts+" "+bindings(both{in.Variant, in.Config}, given...), " ")
}

func joinHints(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// valueText writes a value as pawl.yaml does.
func valueText(v formula.Value) string {
	if b, ok := v.Bool(); ok {
		return fmt.Sprint(b)
	}
	return v.String()
}
