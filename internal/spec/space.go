package spec

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/space"
)

// Variants yields every variant that satisfies the constraints: the default
// first, then in the order of the file, the last param changing fastest. A
// variant on which a constraint cannot be evaluated does not satisfy it.
func (k *Kernel) Variants() iter.Seq[Variant] {
	return func(yield func(Variant) bool) {
		all, err := k.Space()
		if err != nil {
			return // there is none
		}
		for p := range all.All() {
			if !yield(k.At(p)) {
				return
			}
		}
	}
}

// Space returns the space of the kernel's variants. Its error has the place in the file; a spec that was
// loaded has none, since every default satisfies the constraints.
func (k *Kernel) Space() (*space.Space, error) {
	params := make([]space.Param, len(k.Params))
	for i, p := range k.Params {
		params[i] = space.Param{Name: p.Name, Values: p.Values}
	}
	constraints := make([]*formula.Expr, len(k.Constraints))
	for i, f := range k.Constraints {
		constraints[i] = f.Expr
	}
	s, err := space.New(params, constraints)
	if err == nil {
		return s, nil
	}
	var problems diag.List
	problems.Add(k.spaceProblem(err))
	return nil, problems.Err(k.source)
}

// spaceProblem places what is wrong with the space in the file.
func (k *Kernel) spaceProblem(err error) *diag.Problem {
	at := &diag.Problem{Pos: k.Pos, Message: fmt.Sprintf("kernel %s: %v", k.Name, err)}
	failed, ok := errors.AsType[*space.Error](err)
	if !ok {
		return at
	}
	at.Hint = failed.Hint
	if failed.Constraint >= 0 {
		f := k.Constraints[failed.Constraint]
		at.Pos, at.Width = f.Pos, max(1, utf8.RuneCountInString(f.Text))
	}
	for _, p := range k.Params {
		if p.Name == failed.Param {
			at.Pos, at.Width = p.Pos, utf8.RuneCountInString(p.Name)
		}
	}
	return at
}

// At returns the variant of a point of the kernel's space.
func (k *Kernel) At(p space.Point) Variant {
	values := make([]formula.Value, len(k.Params))
	for i, param := range k.Params {
		values[i] = param.Values[p[i]]
	}
	return Variant{Kernel: k, Values: values}
}

// Point returns the variant's point in the kernel's space; nil where a value is none of its param's.
func (v Variant) Point() space.Point {
	p := make(space.Point, len(v.Values))
	for i, value := range v.Values {
		at := slices.Index(v.Kernel.Params[i].Values, value)
		if at < 0 {
			return nil
		}
		p[i] = uint16(at)
	}
	return p
}
