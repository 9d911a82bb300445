package lab

import (
	"errors"
	"fmt"
	"slices"

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

// Exam is what it takes to know the right answers on one config.
type Exam struct {
	*Answers
	Reference *Job // gives the answers; nil: the oracle computes them
	Rival     *Job // its error is the tolerance; nil: the tolerance is fixed
}

// On returns the exam of a config.
func (a *Answers) On(config *spec.Config) Exam {
	job := func(r *Rival) *Job {
		if r == nil {
			return nil
		}
		made := r.Job(a.dir, config)
		made.Untimed = true
		return made
	}
	return Exam{a, job(a.reference), job(a.rival)}
}

// Jobs lists the jobs that must be built to have the answers.
func (x Exam) Jobs() []*Job {
	return slices.DeleteFunc([]*Job{x.Reference, x.Rival}, func(job *Job) bool { return job == nil })
}

// Instances returns the instances of candidate, reference and rival.
func (x Exam) Instances(candidate *spec.Instance) [3]*spec.Instance {
	out := [3]*spec.Instance{candidate}
	for i, job := range []*Job{x.Reference, x.Rival} {
		if job != nil {
			out[i+1] = job.Instance
		}
	}
	return out
}

// Unasked returns why the oracle cannot be asked about a problem, whatever the data; nil: it can
// be.
func (x Exam) Unasked(about *spec.Instance) error {
	for _, job := range x.Jobs() {
		if job.Instance == nil {
			return job.Record.Fault
		}
		if err := verify.Answers(job.Instance, about); err != nil {
			return err
		}
	}
	if x.Oracle == nil || x.Reference != nil {
		return nil
	}
	return verify.Answerable(x.Oracle.Builtin, x.Oracle.Elementwise, about)
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
