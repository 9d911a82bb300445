package advice

import (
	"errors"
	"fmt"
	"slices"

	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/spec"
)

// Of returns pawl's catalogue with the findings of a pawl.yaml, which may be nil. A finding with the id of
// pawl's replaces it. What is wrong with the findings is diag.Errors, with places in the file.
//
// A check takes the file of its base: a change must neither silence findings nor make them up.
func Of(s *spec.Spec) (*Catalogue, error) {
	if s == nil || len(s.Findings) == 0 {
		return Builtin(), nil
	}
	var problems diag.List
	var own []Entry
	known := Names()
	for _, f := range s.Findings {
		e := Entry{
			ID: f.ID, Title: f.Title, Confidence: f.Confidence, Evidence: f.Evidence.Text, First: f.First, Deeper: f.Deeper, Next: f.Next,
		}
		for _, c := range f.When {
			checkFormula(c, true, known, &problems)
			e.When = append(e.When, c.Text)
		}
		for _, x := range f.Unless {
			checkFormula(x.If, true, known, &problems)
			e.Unless = append(e.Unless, Exception{x.If.Text, x.Why})
		}
		if f.Gain != nil {
			checkFormula(f.Gain, false, known, &problems)
			e.Gain = f.Gain.Text
		}
		for i, name := range f.Evidence.Facts {
			if _, found := slices.BinarySearch(known, name); !found {
				problems.Add(f.Evidence.Problem(i, fmt.Sprintf("there is no fact %q", name), meant(name, known)))
			}
		}
		own = append(own, e)
	}
	if err := s.Wrong(&problems); err != nil {
		return nil, err
	}
	return With(own)
}

// checkFormula checks the names of a formula, and that it is a condition where one is wanted and else a number.
func checkFormula(f *spec.Formula, condition bool, known []string, problems *diag.List) {
	c, err := compile(f.Text, known)
	wrong := &formula.Error{Width: len(f.Text)}
	at, unknown := errors.AsType[*formula.Error](err)
	switch {
	case unknown && at.Name != "":
		wrong.Offset, wrong.Width = at.Offset, at.Width
		wrong.Message, wrong.Hint = fmt.Sprintf("there is no fact %q", at.Name), meant(at.Name, known)
	case err != nil:
		problems.Add(f.Problem(err))
		return
	case condition && !c.real.Truth():
		wrong.Message, wrong.Hint = "expected a condition, found a number", "compare it, for example "+f.Text+" > 10"
	case condition && len(c.names) == 0:
		wrong.Message, wrong.Hint = "there is no fact in it", "a condition compares a fact, for example dram_pct >= 70"
	case !condition && c.real.Truth():
		wrong.Message, wrong.Hint = "expected a number, found a condition", "the gain is an upper bound of the speed-up: 2 is twice as fast"
	default:
		return
	}
	problems.Add(f.Problem(wrong))
}

// meant says which fact a name was probably meant for; there are too many to list them all.
func meant(name string, known []string) string {
	if near := diag.Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "docs/profiling.md lists all facts"
}
