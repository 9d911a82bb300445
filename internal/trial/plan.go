package trial

import (
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
	Configs []*spec.Config // try these and no matrix; nil: those of the file
	Sample  int            // cases to draw of the matrix; 0: as the file says; All: all of them
	Bytes   int64          // memory that a problem's buffers may take; 0: no limit
	Plain   bool           // nothing beyond the matrix or the configs
}

// All as Options.Sample tries the whole matrix whatever the file says.
const All = math.MaxInt

// Plan lists the trials of one variant.
type Plan struct {
	Trials   []Trial
	Skipped  []Skip
	Free     []string // variables that Shrink may change
	Notes    []string // decisions, and what was left out and why
	Specials string   // the policy: spec.SpecialsNone or spec.SpecialsPropagate

	variant   spec.Variant
	operation operation
}

// repeats is how often the largest case is run, to test whether it is deterministic.
const repeats = 3

// NewPlan lists the trials of a variant. An error that wraps ErrNoCase says why there
// are none.
func NewPlan(s *spec.Spec, v spec.Variant, o Options) (*Plan, error) {
	k := v.Kernel
	p := &Plan{variant: v, operation: operationOf(s, k), Specials: spec.SpecialsNone}
	p.operation.rtol = k.Tolerance.Rtol
	if s.Fuzz != nil {
		p.Specials = s.Fuzz.Specials
		if o.Sample == 0 {
			o.Sample = s.Fuzz.Sample
		}
	}
	if o.Sample == All {
		o.Sample = 0
	}
	var fixed, broken []string
	p.Free, fixed, broken = free(s, k)
	wanted, notes, err := cases(s, k, o)
	if err != nil {
		return nil, err
	}
	p.Notes = notes
	var sizes []int64 // of Trials
	for _, t := range wanted {
		if in := p.admit(t, o); in != nil {
			sizes = append(sizes, in.Footprint)
		}
	}
	if len(p.Trials) == 0 {
		return p, p.nothing(s)
	}
	if k.Deterministic {
		p.Trials[slices.Index(sizes, slices.Max(sizes))].Repeats = repeats
	} else {
		p.note("%s is declared not deterministic: repeated runs are not compared", k.Name)
	}
	if !o.Plain {
		base := smallest(sizes)
		p.beyond(p.Trials[slices.Index(sizes, base)], base, fixed, broken, o)
	}
	for i := range p.Trials {
		p.Trials[i].Seed, p.Trials[i].Batch = o.Seed, i
	}
	p.settleAll()
	return p, nil
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// The buffers of a problem should be large enough for a meaningful test, but not so large that it
// takes long, or does not fit.
const (
	enough = 64 << 10
	vast   = 1 << 30
)

// smallest returns the smallest size that is large enough, or else the largest that is not vast.
func smallest(sizes []int64) int64 {
	found := slices.Min(sizes)
	for _, size := range sizes {
		if found < enough && size > found && size <= vast || size >= enough && size < found {
			found = size
		}
	}
	return found
}

// admit adds a trial to the plan, or records why it cannot be made.
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
		return nil, fmt.Sprintf("its buffers take %s, but only %s fit", unit.Bytes(in.Footprint), unit.Bytes(o.Bytes))
	}
	return in, ""
}

// nothing says why none of the trials can be made: the first reasons, each once.
func (p *Plan) nothing(s *spec.Spec) error {
	const most = 3
	name := p.variant.Kernel.Name
	var reasons []string
	for _, skip := range p.Skipped {
		if known := slices.ContainsFunc(reasons, func(text string) bool { return strings.HasSuffix(text, ": "+skip.Reason) }); !known {
			reasons = append(reasons, skip.Trial.Name()+": "+skip.Reason)
		}
	}
	if len(reasons) > most {
		reasons = append(reasons[:most], "…")
	}
	message := fmt.Sprintf("the only case of %s cannot be tried: ", name)
	if n := len(p.Skipped); n > 1 {
		message = fmt.Sprintf("none of the %s cases of %s can be tried: ", unit.Count(n), name)
	}
	problem := &diag.Problem{Pos: p.variant.Kernel.Pos, Message: message + strings.Join(reasons, "; "), Hint: "give it a config that it supports"}
	if p.Skipped[0].Trial.Lane == LaneMatrix {
		problem.Pos, problem.Hint = s.Fuzz.Pos, "give the fuzz matrix values that the kernel supports, or remove it to try the configs"
	}
	return fmt.Errorf("%w: %w", ErrNoCase, problem)
}

// beyond adds the trials that the file does not ask for. They are small and few.
func (p *Plan) beyond(base Trial, bytes int64, fixed, broken []string, o Options) {
	if len(fixed) > 0 {
		why := "the same in all configs of the kernel"
		if len(p.Free) == 0 && len(p.variant.Kernel.Configs) == 1 {
			why = "the file has one value, and no scalar argument tells the kernel another"
		}
		p.note("%s: %s, so no other value is tried", strings.Join(fixed, ", "), why)
	}
	if len(broken) > 0 {
		p.note("%s: not always a whole number, so no other value is tried", strings.Join(broken, ", "))
	}
	p.shapes(base, max(bytes, roomy), o)
	p.values(base, o)
	p.integers(base, o)
	p.specials(base, o)
}

// Problem is a trial in the form that a cell gets.
type Problem struct {
	Instance   *spec.Instance // its arguments have the trial's fills as Init
	Fill       string         // of the inputs, in words; "": as the file says
	Atol, Rtol float64        // to judge by; zero where every bit counts
}

// Footprint returns the memory of a trial's buffers, if it can be resolved.
func (p *Plan) Footprint(t Trial) int64 {
	in, err := p.variant.At(t.Config())
	if err != nil {
		return 0
	}
	return in.Footprint
}

// Resolve evaluates a trial: sizes, the contents of every input, and a fair tolerance for them. It
// also works for trials that Shrink made and a Store kept.
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
		problem.Atol = max(problem.Atol*f.atol, f.least)
		problem.Rtol *= f.rtol
		if t.Exact && !f.exact {
			return nil, errors.New("at these sizes a correct kernel may round")
		}
	}
	if t.Exact {
		problem.Atol, problem.Rtol = 0, 0
	}
	return problem, nil
}
