package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"pawl/internal/formula"
)

// pointwise is the elementwise problem of one output: one value for each name of the formula.
type pointwise struct {
	problem
	formula *formula.Real
	sources []source
}

// source is where a name's values come from: a buffer of the output's shape, or
// one number for all elements.
type source struct {
	buffer *operand
	single *operand
	number float64
}

// Formula gives the elements of an output.
type Formula struct {
	Output     string // argument; "": the only output
	Expression string
}

var assignment = regexp.MustCompile(`^\s*([A-Za-z_]\w*)\s*=([^=].*)$`)

// Formulas reads the text of an elementwise oracle: a formula for the only output, or
// "x = formula; y = formula" for several. No formula contains a semicolon or a single =.
func Formulas(text string) []Formula {
	var all []Formula
	for part := range strings.SplitSeq(text, ";") {
		one := Formula{Expression: part}
		if m := assignment.FindStringSubmatch(part); m != nil {
			one = Formula{Output: m[1], Expression: strings.TrimSpace(m[2])}
		}
		all = append(all, one)
	}
	return all
}

// CheckElementwise says whether Elementwise understands the text and the
// arguments. It needs no Data.
func CheckElementwise(text string, args []Value) error {
	_, err := planElementwise(text, args)
	return err
}

// Elementwise computes every element of the outputs from the elements at the same
// place of the inputs, by formulas (see Formulas) over the arguments' names in the
// arithmetic of formula.CompileReal. An input has the output's shape or one element.
// An inout output takes part with what it holds. The result is as Reference's.
func Elementwise(text string, args []Value) (map[int][]byte, error) {
	plans, err := planElementwise(text, args)
	if err != nil {
		return nil, err
	}
	results := map[int][]byte{}
	for _, e := range plans {
		if err := e.checkData(); err != nil {
			return nil, err
		}
		maps.Copy(results, e.allocate())
		e.compute()
	}
	return results, nil
}

// planElementwise makes a plan for every output.
func planElementwise(text string, args []Value) ([]*pointwise, error) {
	var outputs []string
	for _, v := range args {
		if v.Buffer && (v.Role == "out" || v.Role == "inout") {
			outputs = append(outputs, v.Name)
		}
	}
	none := &pointwise{problem: problem{reference: "elementwise"}}
	formulas := Formulas(text)
	if len(formulas) == 1 && formulas[0].Output == "" {
		if len(outputs) != 1 {
			return nil, none.refuse("write a formula for each, as {elementwise: {x: formula, y: formula}}, "+other,
				"expected one output, found %d: %s", len(outputs), strings.Join(outputs, ", "))
		}
		formulas[0].Output = outputs[0]
	}
	var plans []*pointwise
	left := slices.Clone(outputs)
	for _, f := range formulas {
		at := slices.Index(left, f.Output)
		if at < 0 {
			return nil, none.refuse("write one formula for each of "+strings.Join(outputs, ", "), "%q is for %q, which is no output or has a formula already", f.Expression, f.Output)
		}
		left = slices.Delete(left, at, at+1)
		e, err := planFormula(f, args)
		if err != nil {
			return nil, err
		}
		plans = append(plans, e)
	}
	if len(left) > 0 {
		return nil, none.refuse("write one formula for each output", "there is no formula for %s", strings.Join(left, ", "))
	}
	return plans, nil
}

// planFormula plans one output.
func planFormula(f Formula, args []Value) (*pointwise, error) {
	e := &pointwise{problem: problem{reference: "elementwise", inputs: map[string]*operand{}, outputs: map[string]*operand{}}}
	expr, err := formula.Parse(f.Expression)
	if err != nil {
		return nil, e.explain(f.Expression, err)
	}
	names := expr.Names()
	if e.formula, err = expr.CompileReal(names); err != nil {
		return nil, e.explain(f.Expression, err)
	}
	var readable []string
	byName := map[string]*operand{}
	for i, v := range args {
		o := &operand{Value: v, index: i}
		if v.Buffer && v.Role != "scratch" {
			if err := e.measure(o); err != nil {
				return nil, err
			}
		}
		if v.Name == f.Output {
			e.main, e.outputs[v.Name] = o, o
		}
		if !v.Buffer || v.Role == "in" || v.Role == "inout" {
			readable = append(readable, v.Name)
			byName[v.Name] = o
		}
	}
	for _, name := range names {
		o := byName[name]
		if o == nil {
			return nil, e.refuse("use "+strings.Join(readable, ", "), "%q uses %s, which is not a readable argument", f.Expression, name)
		}
		s, err := e.source(o)
		if err != nil {
			return nil, err
		}
		e.sources = append(e.sources, s)
	}
	return e, nil
}

// explain adds the place and the hint to what is wrong with the formula.
func (e *pointwise) explain(expression string, err error) error {
	wrong, ok := errors.AsType[*formula.Error](err)
	if !ok {
		return fmt.Errorf("reference elementwise: %q: %w", expression, err)
	}
	return e.refuse(cmp.Or(wrong.Hint, "correct the formula"), "%q at character %d: %s", expression, wrong.Offset+1, wrong.Message)
}

func (e *pointwise) source(o *operand) (source, error) {
	switch {
	case !o.Buffer:
		return source{number: rounded(o.Value)}, nil
	case slices.Equal(o.Shape, e.main.Shape):
		e.inputs[o.Name] = o
		return source{buffer: o}, nil
	case o.count == 1:
		e.inputs[o.Name] = o
		return source{single: o}, nil
	}
	return source{}, e.refuse("reshape it, "+other, "%s is %s, expected %s as the output %s, or one element", o.Name, shown(o.Shape), shown(e.main.Shape), e.main.Name)
}

func (e *pointwise) compute() {
	for i, s := range e.sources {
		if s.single != nil {
			var one [1]float64
			s.single.read(one[:], 0)
			e.sources[i].number = one[0]
		}
	}
	count := int(e.main.count)
	each(pieces(count, share), func(n int) {
		columns := make([][block]float64, len(e.sources))
		env := make([]float64, len(e.sources))
		var results [block]float64
		for first := n * share; first < min(count, (n+1)*share); first += block {
			some := min(block, count-first)
			for j, s := range e.sources {
				env[j] = s.number
				if s.buffer != nil {
					s.buffer.read(columns[j][:some], first)
				}
			}
			for i := range some {
				for j, s := range e.sources {
					if s.buffer != nil {
						env[j] = columns[j][i]
					}
				}
				results[i] = e.formula.Eval(env)
			}
			e.main.write(results[:some], first)
		}
	})
}
