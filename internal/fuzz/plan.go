package fuzz

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// Options choose the trials of a kernel.
type Options struct {
	Seed    uint64         // of what is drawn, and of the data
	Configs []*spec.Config // try these and no matrix; nil: what the file asks for
	Sample  int            // cases to draw of the matrix; 0: as the file says; All: all of them
	Bytes   int64          // memory that a problem's buffers may take; 0: no limit
	Plain   bool           // nothing beyond the matrix or the configs
}

// All as Options.Sample tries the whole matrix whatever the file says.
const All = math.MaxInt

// Plan is what one variant is tried at.
type Plan struct {
	Trials   []Trial
	Skipped  []Skip
	Free     []string // variables that Shrink may change
	Notes    []string // what was decided, and what was left out and why
	Specials string   // the policy: spec.SpecialsNone or spec.SpecialsPropagate

	variant   spec.Variant
	operation operation
}

// repeats is how often the largest case is run, to see whether it is deterministic.
const repeats = 3

// NewPlan lists the trials of a variant. An error that wraps ErrNoCase says why there
// are none.
func NewPlan(s *spec.Spec, v spec.Variant, o Options) (*Plan, error) {
	k := v.Kernel
	p := &Plan{variant: v, operation: operationOf(s, k), Specials: spec.SpecialsNone}
	if s.Fuzz != nil {
		p.Specials = s.Fuzz.Specials
		if o.Sample == 0 {
			o.Sample = s.Fuzz.Sample
		}
	}
	if o.Sample == All {
		o.Sample = 0
	}
	var fixed []string
	p.Free, fixed = free(s, k)
	wanted, notes, err := cases(s, k, o)
	if err != nil {
		return nil, err
	}
	p.Notes = notes
	var resolved []sized
	for _, t := range wanted {
		if in := p.admit(t, o); in != nil {
			resolved = append(resolved, sized{len(p.Trials) - 1, in})
		}
	}
	if len(p.Trials) == 0 {
		return p, p.nothing()
	}
	if k.Deterministic {
		p.Trials[largest(resolved).trial].Repeats = repeats
	} else {
		p.note("%s is not deterministic, by its own word: repeated runs are not compared", k.Name)
	}
	if !o.Plain {
		p.beyond(p.Trials[smallest(resolved).trial], fixed, o)
	}
	for i := range p.Trials {
		p.Trials[i].Seed, p.Trials[i].Batch = o.Seed, i
	}
	return p, nil
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// sized is a trial with what it comes to.
type sized struct {
	trial    int // of Plan.Trials
	instance *spec.Instance
}

func largest(list []sized) sized {
	return slices.MaxFunc(list, func(a, b sized) int { return cmp.Compare(a.instance.Footprint, b.instance.Footprint) })
}

// enough is how many bytes the buffers of a problem should have for its values to
// say something.
const enough = 64 << 10

// smallest is the smallest that is large enough, or else the largest.
func smallest(list []sized) sized {
	found := largest(list)
	for _, s := range list {
		if s.instance.Footprint >= enough && s.instance.Footprint < found.instance.Footprint {
			found = s
		}
	}
	return found
}

// admit takes a trial into the plan, or notes why it cannot be made.
func (p *Plan) admit(t Trial, o Options) *spec.Instance {
	in, why := p.possible(t, o)
	if why != "" {
		p.Skipped = append(p.Skipped, Skip{t, why})
		return nil
	}
	p.Trials = append(p.Trials, t)
	return in
}

// possible resolves a trial, or says why it cannot be made.
func (p *Plan) possible(t Trial, o Options) (in *spec.Instance, why string) {
	config := t.Config()
	in, err := p.variant.At(config)
	if err != nil {
		return nil, reason(p.variant.Kernel, config.Name, err)
	}
	if o.Bytes > 0 && in.Footprint > o.Bytes {
		return nil, fmt.Sprintf("its buffers take %s, and there is room for %s", unit.Bytes(in.Footprint), unit.Bytes(o.Bytes))
	}
	return in, ""
}

func (p *Plan) nothing() error {
	first := p.Skipped[0]
	return fmt.Errorf("%w: %w", ErrNoCase, &diag.Problem{
		Pos:     p.variant.Kernel.Pos,
		Message: fmt.Sprintf("none of the %d cases of %s can be tried", len(p.Skipped), p.variant.Kernel.Name),
		Hint:    fmt.Sprintf("%s: %s", first.Trial.Name(), first.Reason),
	})
}

// beyond adds the trials that the file does not ask for. They are small and few.
func (p *Plan) beyond(smallest Trial, fixed []string, o Options) {
	if len(fixed) > 0 {
		p.note("%s: one value in the whole file, so no other is tried", strings.Join(fixed, ", "))
	}
	p.shapes(smallest, o)
	p.values(smallest, o)
	p.integers(smallest, o)
	p.specials(smallest, o)
}

// Problem is a trial as a cell is given it.
type Problem struct {
	Instance   *spec.Instance // its arguments have the trial's fills as Init
	Fill       string         // of the inputs, in words; "": as the file says
	Atol, Rtol float64        // to judge by; zero where every bit counts
}

// Resolve evaluates a trial: sizes, the contents of every input, and the tolerance
// that is fair for them. It also serves trials that Shrink made and a Store kept.
func (p *Plan) Resolve(t Trial) (*Problem, error) {
	in, err := p.variant.At(t.Config())
	if err != nil {
		return nil, err
	}
	given := p.variant.Kernel.Tolerance
	problem := &Problem{Instance: in, Atol: given.Atol, Rtol: given.Rtol}
	if t.Fill != "" {
		f, err := p.operation.fill(t.Fill, in)
		if err != nil {
			return nil, fmt.Errorf("fill the inputs with %s: %w", t.Fill, err)
		}
		problem.Fill = f.apply(in)
		problem.Atol *= f.atol
		problem.Rtol *= f.rtol
		if t.Exact && !f.exact {
			return nil, errors.New("at these sizes an honest kernel may round")
		}
	}
	if t.Exact {
		problem.Atol, problem.Rtol = 0, 0
	}
	return problem, nil
}
