package check

import (
	"strings"
	"testing"

	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// Errors that look like rounding name the tolerance in force and one that admits them; wrong answers do not.
func TestRoundingNamesTheTolerance(t *testing.T) {
	rounded := result.OutputError{
		Name: "y", Count: 1000, Wrong: 40, MaxAbs: 2.3e-5, MaxRel: 3e-4, RMS: 5e-6, Atol: 1e-5, Rtol: 1e-5, Worst: &result.Element{Got: "0.500023", Want: "0.5"},
	}
	with := func(edit func(*result.OutputError)) result.OutputError {
		o := rounded
		edit(&o)
		return o
	}
	for name, test := range map[string]struct {
		output result.OutputError
		flags  []string
		whose  string
		want   []string // in the warning; nil: there is none
		not    string
	}{
		"rounding": {rounded, nil, "", []string{"y (max abs 2.3e-05; allowed are atol 1e-05 and rtol 1e-05)", "tolerance: {atol: 5e-05} in pawl.yaml"}, "contract"},
		"of large numbers": {with(func(o *result.OutputError) {
			o.MaxAbs, o.MaxRel, o.RMS, o.Worst = 3, 1.2e-5, 0.5, &result.Element{Got: "250003", Want: "250000"}
		}), nil, "", []string{"{rtol: 2e-05}", "max rel 1.2e-05; allowed"}, "atol: "},
		"by the base":        {rounded, nil, "the oracle of main", []string{"in a separate change before this one"}, ""},
		"contracted":         {rounded, []string{"-O3", "-march=native"}, "", []string{"-ffp-contract=off"}, "fast-math"},
		"not contracted":     {rounded, []string{"-march=native", "-ffp-contract=off"}, "", []string{"atol: 5e-05"}, "contract"},
		"fast":               {rounded, []string{"-ffast-math"}, "", []string{"-ffast-math lets"}, "contract"},
		"far off":            {with(func(o *result.OutputError) { o.Worst = &result.Element{Got: "0.6", Want: "0.5"} }), nil, "", nil, ""},
		"at one place":       {with(func(o *result.OutputError) { o.RMS = 1e-7 }), nil, "", nil, ""},
		"never written":      {with(func(o *result.OutputError) { o.Blank = 1 }), nil, "", nil, ""},
		"NaN":                {with(func(o *result.OutputError) { o.NaNs = 1 }), nil, "", nil, ""},
		"exact":              {with(func(o *result.OutputError) { o.Exact = true }), nil, "", nil, ""},
		"no number":          {with(func(o *result.OutputError) { o.Worst = &result.Element{Got: "inf", Want: "nan"} }), nil, "", nil, ""},
		"right":              {with(func(o *result.OutputError) { o.Wrong = 0 }), nil, "", nil, ""},
		"beyond the rival's": {with(func(o *result.OutputError) { o.Wrong, o.Worst = 0, nil }), nil, "", nil, ""},
	} {
		v := &verified{built: &built{planned: &planned{candidate: &lab.Job{Record: lab.Record{Build: &result.Build{Flags: test.flags}}}}}, exam: &exam{whose: test.whose, Exam: lab.Exam{Answers: &lab.Answers{Oracle: &spec.Oracle{}}}}}
		v.candidate.Variant.Kernel = &spec.Kernel{Cell: spec.CellHost}
		notes := (&check{}).noteRounding(v, &result.Case{Outputs: []result.OutputError{test.output}})
		if len(notes) != min(1, len(test.want)) {
			t.Errorf("%s: %+v", name, notes)
			continue
		}
		for _, text := range test.want {
			if said := notes[0].Message + " " + notes[0].Hint; !strings.Contains(said, text) || test.not != "" && strings.Contains(said, test.not) {
				t.Errorf("%s: %s\nshould contain %q, and not %q", name, said, text, test.not)
			}
		}
	}
}

func TestRoundUp(t *testing.T) {
	for v, want := range map[float64]float64{1e-5: 1e-5, 1.1e-5: 2e-5, 2.1e-5: 5e-5, 5.1e-5: 1e-4, 0.3: 0.5, 7: 10} {
		if got := roundUp(v); got != want {
			t.Errorf("%g: %g, want %g", v, got, want)
		}
	}
}

// A tolerance is given once, as large as all outputs need it; none is named where answers are so small that no larger one
// counts.
func TestRoundingOfSeveralOutputs(t *testing.T) {
	one := result.OutputError{Name: "y", Count: 10, Wrong: 4, MaxAbs: 2.3e-5, RMS: 5e-6, Atol: 1e-5, Worst: &result.Element{Got: "0.500023", Want: "0.5"}}
	other := one
	other.Name, other.MaxAbs = "z", 1.1e-5
	v := &verified{built: &built{planned: &planned{candidate: &lab.Job{}}}, exam: &exam{Exam: lab.Exam{Answers: &lab.Answers{}}}}
	v.candidate.Variant.Kernel = &spec.Kernel{Cell: spec.CellPython, Tolerance: spec.Tolerance{Atol: 1e-5}}
	notes := (&check{}).noteRounding(v, &result.Case{Outputs: []result.OutputError{one, other}})
	if len(notes) != 1 || !strings.Contains(notes[0].Hint, "{atol: 5e-05}") {
		t.Errorf("%+v", notes)
	}
	v.candidate.Variant.Kernel.Tolerance.Atol = 1e-4
	if notes := (&check{}).noteRounding(v, &result.Case{Outputs: []result.OutputError{one}}); notes != nil {
		t.Errorf("a bound that is not pawl.yaml's: %+v", notes)
	}
}

// The end of a long reason is left out of reports: what is left says what may be wrong, and what allows it.
func TestRoundingOfNeighboursIsSaidFirst(t *testing.T) {
	const shown = 119 // columns, in report
	text := maybeRounding("y: 3 of 4097 elements are wrong (y[1234] is 0.500023 and must be 0.5)")[:shown]
	if !strings.Contains(text, "may be rounding, which a tolerance in pawl.yaml can allow") {
		t.Error(text)
	}
}

// A sum of many terms rounds more than one of few: the same error is a wrong answer of a short sum.
func TestRoundingOfLongSums(t *testing.T) {
	wrong := result.OutputError{ // sums of squares of 2¹⁸ numbers, in float and in double
		Name: "out", Count: 1, Wrong: 1, MaxAbs: 13.3, MaxRel: 5.08e-5, RMS: 13.3, Atol: 1e-5, Rtol: 1e-5, Worst: &result.Element{Got: "261788.7", Want: "261775.41"},
	}
	for elements, told := range map[int64]bool{1 << 18: true, 1 << 12: false} {
		v := &verified{built: &built{planned: &planned{candidate: &lab.Job{}}}, exam: &exam{Exam: lab.Exam{Answers: &lab.Answers{}}}}
		v.candidate.Variant.Kernel = &spec.Kernel{Cell: spec.CellPython}
		v.candidate.Instance = &spec.Instance{Args: []spec.InstanceArg{
			{Name: "x", Buffer: true, Role: spec.RoleIn, Elements: elements}, {Name: "out", Buffer: true, Role: spec.RoleOut, Elements: 1 << 30}, {Name: "n"},
		}}
		notes := (&check{}).noteRounding(v, &result.Case{Outputs: []result.OutputError{wrong}})
		if (len(notes) == 1) != told || told && !strings.Contains(notes[0].Hint, "an oracle: in pawl.yaml says which version is nearer") {
			t.Errorf("%d elements: %+v", elements, notes)
		}
	}
}
