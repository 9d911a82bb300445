package lab

import (
	"errors"
	"fmt"

	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/verify"
)

// Answers says where a kernel's right answers come from.
type Answers struct {
	Oracle    *spec.Oracle // nil: nobody knows them
	Tolerance oracle.Tolerance
	Usual     float64 // the absolute part of the tolerance, where it is the types' default, which sums of many terms may exceed
	Factor    float64 // allowed multiple of the rival's error
	dir       string
	reference *Rival // set if the oracle is a kernel or a Python function
	rival     *Rival
}

// FindAnswers finds the oracle of a kernel, in the given spec.
func FindAnswers(s *spec.Spec, k *spec.Kernel) (*Answers, error) {
	a := &Answers{Oracle: k.Oracle, Tolerance: oracle.Tolerance{Abs: k.Tolerance.Atol, Rel: k.Tolerance.Rtol}, Usual: k.Tolerance.Usual, dir: s.Dir}
	var err error
	if a.reference, err = implementation(s, k, k.Oracle); err != nil {
		return nil, err
	}
	if k.Tolerance.Rival != nil {
		if a.rival, err = implementation(s, k, k.Tolerance.Rival); err != nil {
			return nil, err
		}
		a.Factor = k.Tolerance.Factor
	}
	return a, nil
}

// implementation returns the rival that an oracle names; nil where it names none.
func implementation(s *spec.Spec, k *spec.Kernel, o *spec.Oracle) (*Rival, error) {
	if o == nil || o.Kernel == "" && o.Python == "" {
		return nil, nil
	}
	name, find := o.Kernel, FindRival
	if name == "" {
		name, find = o.Python, findFunction
	}
	found, err := find(s, k, name)
	if err != nil {
		return nil, &result.Fault{
			Stage: "verify", Cause: result.CauseOracle, Message: fmt.Sprintf("the oracle %s of %s is not there: %v", name, k.Name, err),
			Hint: "name another kernel of this file, a function of a Python file beside it, or a built-in oracle",
		}
	}
	return found, nil
}

// Jobs returns the jobs that must be built to have the answers on a config; either may be nil.
func (a *Answers) Jobs(config *spec.Config) (reference, rival *Job) {
	if a.reference != nil {
		reference = a.reference.Job(a.dir, config)
		reference.Untimed = true
	}
	if a.rival != nil {
		rival = a.rival.Job(a.dir, config)
		rival.Untimed = true
	}
	return reference, rival
}

// Unasked returns why the oracle, with these jobs of its own, cannot be asked about a problem,
// whatever the data; nil: it can be.
func (a *Answers) Unasked(about *spec.Instance, reference, rival *Job) error {
	for _, job := range []*Job{reference, rival} {
		if job == nil {
			continue
		}
		if job.Instance == nil {
			return job.Record.Fault
		}
		if err := verify.Answers(job.Instance, about); err != nil {
			return err
		}
	}
	if a.Oracle == nil || reference != nil {
		return nil
	}
	return verify.Answerable(a.Oracle.Builtin, a.Oracle.Elementwise, about)
}

// String names the oracle as it is shown to people.
func (a *Answers) String() string {
	switch o := a.Oracle; {
	case o == nil:
		return ""
	case o.Builtin != "":
		return "built-in " + o.Builtin
	case o.Elementwise != "":
		return o.Elementwise
	case o.Kernel != "":
		return "kernel " + o.Kernel
	default:
		return o.Python
	}
}

// ErrNoOracle means that nobody knows a kernel's right answers.
var ErrNoOracle = errors.New("the kernel has no oracle: nobody knows its right answers")

// oracle returns the oracle that a bench asks.
func (a *Answers) oracle(reference *verify.Side) verify.Oracle {
	if a.Oracle == nil || reference != nil {
		return verify.Oracle{Reference: reference, Earlier: a.Oracle == nil}
	}
	return verify.Oracle{Builtin: a.Oracle.Builtin, Elementwise: a.Oracle.Elementwise}
}
