package foreign

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/space"
)

// SpaceFile is a description of a space in the community's T1 format.
type SpaceFile struct {
	Path        string
	Kernel      string        // "": the file does not name it
	Source      string        // of the kernel, as the file names it
	Params      []space.Param // the default first
	Constraints []string      // formulas over the params
	Notes       []string      // what was left out, and why
}

// ReadT1 reads a description of a space.
func ReadT1(path string) (*SpaceFile, error) {
	text, err := readText(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, withoutPath(err))
	}
	return ParseT1(path, text)
}

// t1Param is a param as the file has it.
type t1Param struct {
	name, kind string
	values     []formula.Value
	chosen     *formula.Value // the default
	at         int
}

// t1Condition is a constraint as the file has it.
type t1Condition struct {
	text string
	at   int
}

// ParseT1 reads the text of a description. What cannot be read is an error with its place: a space without one of
// its constraints is another space.
func ParseT1(path, text string) (*SpaceFile, error) {
	src := source{file: path, text: strings.TrimPrefix(text, "\ufeff")}
	s := &scanner{source: src}
	f := &SpaceFile{Path: path}
	var params []t1Param
	var conditions []t1Condition
	found := false
	err := s.fields(map[string]func() error{
		"ConfigurationSpace": func() error {
			found = true
			return s.fields(map[string]func() error{
				"TuningParameters": func() error {
					return s.array(func(int) error {
						if len(params) >= maxParams {
							return s.fail(s.at, fmt.Sprintf("more than %d params", maxParams), "")
						}
						p, err := readT1Param(s)
						params = append(params, p)
						return err
					})
				},
				"Conditions": func() error {
					return s.array(func(int) error {
						c := t1Condition{}
						err := s.fields(map[string]func() error{"Expression": func() (err error) {
							c.at = s.here()
							c.text, err = s.string()
							return err
						}})
						conditions = append(conditions, c)
						return err
					})
				},
			})
		},
		"KernelSpecification": func() error {
			return s.fields(map[string]func() error{"KernelName": into(&f.Kernel, s.optional), "KernelFile": into(&f.Source, s.optional)})
		},
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return nil, err
	case !found || len(params) == 0:
		return nil, src.about("expected ConfigurationSpace with TuningParameters", "this is no description of a space in the T1 format")
	}
	var names []string
	for _, p := range params {
		if slices.Contains(names, p.name) {
			return nil, src.problem(p.at, "the param "+p.name+" is there twice", "")
		}
		names = append(names, p.name)
		values := p.values
		if at := -1; p.chosen != nil {
			if at = slices.IndexFunc(values, func(v formula.Value) bool { return sameValue(v, *p.chosen) }); at < 0 {
				f.Notes = append(f.Notes, fmt.Sprintf("the default %s of %s is none of its values: the first one, %s, is taken", p.chosen, p.name, values[0]))
			} else {
				values = slices.Concat(values[at:at+1], values[:at], values[at+1:])
			}
		}
		f.Params = append(f.Params, space.Param{Name: p.name, Values: values})
	}
	for _, c := range conditions {
		if err := checkCondition(src, c, names); err != nil {
			return nil, err
		}
		f.Constraints = append(f.Constraints, strings.Clone(c.text))
	}
	return f, nil
}

// checkCondition refuses what package formula does not read.
func checkCondition(src source, c t1Condition, names []string) error {
	expr, err := formula.Parse(c.text)
	if err == nil {
		_, err = expr.Compile(names)
	}
	if err == nil {
		return nil
	}
	hint := "constraints are formulas over the params, as Python writes them: + - * / // % **, comparisons, and, or, not, min, max, abs"
	if wrong, ok := errors.AsType[*formula.Error](err); ok && wrong.Hint != "" {
		hint = wrong.Hint
	}
	return src.problem(c.at, fmt.Sprintf("the condition %q: %v", short(c.text), err), hint)
}

// short cuts a text where it would flood a message.
func short(text string) string {
	if r := []rune(text); len(r) > 100 {
		return string(r[:100]) + "…"
	}
	return text
}

// sameValue compares values as Python does: 1, 1.0 and True are one.
func sameValue(a, b formula.Value) bool {
	number := func(v formula.Value) (float64, bool) {
		if holds, ok := v.Bool(); ok {
			if holds {
				return 1, true
			}
			return 0, true
		}
		return v.Float()
	}
	x, isNumber := number(a)
	y, both := number(b)
	return a == b || isNumber && both && x == y
}

func readT1Param(s *scanner) (t1Param, error) {
	p := t1Param{at: s.here()}
	values, at := "", 0
	err := s.fields(map[string]func() error{
		"Name": into(&p.name, s.string),
		"Type": into(&p.kind, s.optional),
		"Values": func() (err error) {
			at = s.here()
			if s.next() == '"' {
				values, err = s.string()
				return err
			}
			return s.array(func(int) error { // some writers put the list itself there
				v, err := s.scalar()
				p.values = append(p.values, v)
				if len(p.values) > maxValues {
					return s.fail(s.at, fmt.Sprintf("more than %d values", maxValues), "")
				}
				return err
			})
		},
		"Default": func() error {
			if s.next() == '[' { // or a list of one
				return s.array(func(int) error { return readDefault(s, &p) })
			}
			return readDefault(s, &p)
		},
	})
	if err != nil {
		return p, err
	}
	p.name = strings.Clone(p.name)
	if p.name == "" {
		return p, s.problem(p.at, "a param without a Name", "")
	}
	if p.values == nil && at > 0 {
		if p.values, err = pythonList(values); err != nil {
			var hint string
			if wrong, ok := errors.AsType[*diag.Problem](err); ok {
				hint = wrong.Hint
			}
			return p, s.problem(at, fmt.Sprintf("the values of %s, %q: %v", p.name, short(values), err), hint)
		}
	}
	if len(p.values) == 0 {
		return p, s.problem(p.at, "the param "+p.name+" has no values", "")
	}
	for i, v := range p.values {
		if slices.ContainsFunc(p.values[:i], func(w formula.Value) bool { return sameValue(v, w) }) {
			return p, s.problem(at, fmt.Sprintf("the param %s has the value %s twice", p.name, v), "")
		}
		if p.kind == "bool" {
			if n, ok := v.Int(); ok && (n == 0 || n == 1) {
				p.values[i] = formula.Bool(n == 1)
			}
		}
	}
	return p, nil
}

// readDefault reads the default of a param. One that is no value, such as null, is none.
func readDefault(s *scanner, p *t1Param) error {
	if c := s.next(); c != '"' && c != 't' && c != 'f' && !startsNumber(c) {
		return s.skip()
	}
	v, err := s.scalar()
	if p.chosen == nil {
		p.chosen = &v
	}
	return err
}
