package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/formula"
)

// Variant is a kernel with a value for every param. It compiles to one
// artifact.
type Variant struct {
	Kernel *Kernel
	Values []formula.Value // parallel to Kernel.Params
}

// Default returns the variant of all first values.
func (k *Kernel) Default() Variant {
	values := make([]formula.Value, len(k.Params))
	for i, p := range k.Params {
		values[i] = p.Values[0]
	}
	return Variant{Kernel: k, Values: values}
}

// Lookup finds the value of a param.
func (v Variant) Lookup(name string) (formula.Value, bool) {
	for i, value := range v.Values {
		if v.Kernel.Params[i].Name == name {
			return value, true
		}
	}
	return formula.Value{}, false
}

// unmet says why a condition does not hold; nil: it does.
func (f *Formula) unmet(in scope) *diag.Problem {
	value, p := f.eval(in)
	if p != nil {
		return p
	}
	holds, ok := value.Bool()
	if !ok {
		return f.wrong(in, "must be true or false, not the %s %s", value.Kind(), valueText(value))
	}
	if !holds {
		p := f.wrong(in, "")
		p.Message = fmt.Sprintf("%s is false", f.Text)
		return p
	}
	return nil
}

// With returns the variant with one param changed. The value is text and must be
// one of those listed; the constraints must hold.
func (v Variant) With(name, value string) (Variant, error) {
	w, err := v.choose(name, value)
	if err != nil {
		return v, err
	}
	return w, w.allowed()
}

// choose is With without the constraints, which several changes may satisfy only together.
func (v Variant) choose(name, value string) (Variant, error) {
	names := v.Kernel.paramNames()
	at := slices.Index(names, name)
	switch {
	case len(names) == 0:
		return v, fmt.Errorf("kernel %s has no params, so none is called %s", v.Kernel.Name, quote(name))
	case at < 0:
		return v, diag.Errors{{
			Message: fmt.Sprintf("kernel %s has no param %s", v.Kernel.Name, quote(name)),
			Hint:    diag.Meant(name, names),
		}}
	}
	values := v.Kernel.Params[at].Values
	chosen := slices.IndexFunc(values, func(candidate formula.Value) bool { return sameText(candidate, value) })
	if chosen < 0 {
		texts := strings.Join(namesOf(values, valueText), ", ")
		return v, fmt.Errorf("%s is not a value of %s in kernel %s: it lists %s", quote(value), name, v.Kernel.Name, texts)
	}
	w := Variant{Kernel: v.Kernel, Values: slices.Clone(v.Values)}
	w.Values[at] = values[chosen]
	return w, nil
}

// sameText compares a value with text as people type it: 1 and true mean a
// boolean's true, 0.50 means 0.5.
func sameText(v formula.Value, text string) bool {
	if valueText(v) == text || v.String() == text {
		return true
	}
	switch v.Kind() {
	case formula.KindBool:
		given, err := strconv.ParseBool(text)
		holds, _ := v.Bool()
		return err == nil && given == holds
	case formula.KindFloat:
		given, err := strconv.ParseFloat(text, 64)
		number, _ := v.Float()
		return err == nil && given == number
	}
	return false
}

// allowed reports the constraints the variant violates.
func (v Variant) allowed() error {
	var problems diag.List
	v.satisfies("variant "+v.Name()+": ", &problems)
	return problems.Err(v.Kernel.source)
}

// satisfies reports whether the constraints hold, and records which do not.
func (v Variant) satisfies(prefix string, problems *diag.List) bool {
	before := problems.Len()
	for _, f := range v.Kernel.Constraints {
		if p := f.unmet(v); p != nil {
			p.Message = prefix + p.Message
			problems.Add(p)
		}
	}
	return problems.Len() == before
}

// Name tells the variants of a kernel apart: "BLOCK_M=64 BLOCK_N=32", or
// "default" when there is only one.
func (v Variant) Name() string {
	if len(v.Values) == 0 {
		return "default"
	}
	parts := make([]string, len(v.Values))
	for i, value := range v.Values {
		parts[i] = v.Kernel.Params[i].Name + "=" + valueText(value)
	}
	return strings.Join(parts, " ")
}

// Params maps the names of the params to their values as text.
func (v Variant) Params() map[string]string {
	params := make(map[string]string, len(v.Values))
	for i, value := range v.Values {
		params[v.Kernel.Params[i].Name] = valueText(value)
	}
	return params
}

// Defines lists the macros the compiler is given, in the order of the file:
// "BLOCK_M=64". Booleans are 1 and 0.
func (v Variant) Defines() []string {
	defines := make([]string, len(v.Values))
	for i, value := range v.Values {
		defines[i] = v.Kernel.Params[i].Name + "=" + asNumber(value).String()
	}
	return defines
}

// asNumber turns a boolean into 1 or 0.
func asNumber(v formula.Value) formula.Value {
	holds, ok := v.Bool()
	switch {
	case !ok:
		return v
	case holds:
		return formula.Int(1)
	}
	return formula.Int(0)
}
