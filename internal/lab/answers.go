package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pawl/internal/diag"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/verify"
	"pawl/internal/worker/cell/python"
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
		hint := "name another kernel of this file, a function of a Python file beside it, or a built-in oracle"
		if spec.PythonName(name) {
			hint = "write module:function; modules are files in the folder of pawl.yaml: package.module:function is package/module.py"
		}
		return nil, &result.Fault{
			Stage: "verify", Cause: result.CauseOracle, Message: fmt.Sprintf("the oracle %s of %s does not exist: %v", name, k.Name, err), Hint: hint,
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
var ErrNoOracle = errors.New("there is no oracle, so the right answers are unknown")

// oracle returns the oracle that a bench asks.
func (a *Answers) oracle(reference *verify.Side) verify.Oracle {
	if a.Oracle == nil || reference != nil {
		return verify.Oracle{Reference: reference, Earlier: a.Oracle == nil}
	}
	return verify.Oracle{Builtin: a.Oracle.Builtin, Elementwise: a.Oracle.Elementwise}
}

// Rival is another implementation that solves a kernel's problem: one to measure against, or one
// that gives the right answers.
type Rival struct {
	Variant  spec.Variant
	module   []byte         // text of a Python module that ships with pawl
	keywords map[string]any // of a Python function, besides the arguments
	borrowed bool           // it takes the kernel's own problem, params included
}

// Job returns the rival's job on one config of the kernel.
func (r *Rival) Job(dir string, config *spec.Config) *Job {
	job := NewJob(dir, r.Variant, config)
	job.Module, job.Keywords, job.Beside, job.Borrowed = r.module, r.keywords, true, r.borrowed
	return job
}

// Attention are the rivals that ship with pawl: PyTorch's
// scaled_dot_product_attention, as it chooses by itself or with one of its
// backends. They take the problem of any kernel that looks like attention.
var Attention = []string{"sdpa", "sdpa:cudnn", "sdpa:flash", "sdpa:efficient", "sdpa:math"}

// attentionEntries are their functions in the module that is embedded.
var attentionEntries = map[string]string{
	"sdpa": "pawl_rivals:sdpa", "sdpa:cudnn": "pawl_rivals:sdpa_cudnn", "sdpa:flash": "pawl_rivals:sdpa_flash",
	"sdpa:efficient": "pawl_rivals:sdpa_efficient", "sdpa:math": "pawl_rivals:sdpa_math",
}

// FindRival finds a rival by name: another kernel of the spec, one that ships with
// pawl, or a Python function in the spec's folder.
func FindRival(s *spec.Spec, k *spec.Kernel, name string) (*Rival, error) {
	if other := s.Kernel(name); other != nil {
		return &Rival{Variant: other.Default(), keywords: Keywords(other.Default())}, nil
	}
	return findFunction(s, k, name)
}

// findFunction is FindRival without the kernels: a kernel may be called sdpa, too.
func findFunction(s *spec.Spec, k *spec.Kernel, name string) (*Rival, error) {
	if slices.Contains(Attention, name) {
		return attention(k, name)
	}
	if spec.PythonName(name) {
		if _, err := os.Stat(filepath.Join(s.Dir, filepath.FromSlash(spec.PythonSource(name)))); err == nil {
			return &Rival{Variant: pythonLike(k, name, name).Default(), borrowed: true}, nil
		}
	}
	known := slices.Concat(kernelNames(s), Attention)
	if spec.PythonName(name) && diag.Nearest(name, known) == "" {
		return nil, fmt.Errorf("there is no %s beside %s", spec.PythonSource(name), filepath.Base(s.File))
	}
	return nil, fmt.Errorf("no kernel %q to measure %s against (%s)", name, k.Name, diag.Meant(name, known))
}

func kernelNames(s *spec.Spec) []string {
	var names []string
	for _, k := range s.Kernels {
		names = append(names, k.Name)
	}
	return names
}

// pythonLike returns a Python function that takes a kernel's problem.
func pythonLike(k *spec.Kernel, name, entry string) *spec.Kernel {
	like := *k
	like.Name, like.Cell, like.Python, like.Source, like.Framework = name, spec.CellPython, entry, spec.PythonSource(entry), ""
	like.Flags, like.Launcher, like.Launches = nil, false, []*spec.Launch{{Entry: entry, Pos: k.Pos}}
	return &like
}

// attention makes one of the rivals above from a kernel's problem. Queries, keys and values are the
// arguments of these names, else the first three inputs of four dimensions; scale and causal are
// taken over where the kernel has them.
func attention(k *spec.Kernel, name string) (*Rival, error) {
	like := pythonLike(k, name, attentionEntries[name])
	like.Framework = "torch"
	like.Args = slices.Clone(k.Args)
	var inputs []int
	for i, a := range k.Args {
		if len(a.Shape) == 4 && a.Role == spec.RoleIn && a.DType.Float() {
			inputs = append(inputs, i)
		}
	}
	if len(inputs) < 3 {
		return nil, fmt.Errorf("%s cannot be measured against %s: its arguments are not those of attention: expected three inputs [B, H, S, D] first", k.Name, name)
	}
	renamed := map[int]string{}
	for _, names := range [][]string{{"q", "query"}, {"k", "key"}, {"v", "value"}} {
		if at := slices.IndexFunc(inputs, func(i int) bool { return slices.Contains(names, k.Args[i].Name) }); at >= 0 {
			renamed[inputs[at]] = names[0]
		}
	}
	if len(renamed) < 3 {
		renamed = map[int]string{inputs[0]: "q", inputs[1]: "k", inputs[2]: "v"}
	}
	keys := map[string]any{}
	if k.Oracle != nil && k.Oracle.Builtin == "attention_causal" {
		keys["causal"] = true
	}
	for i, a := range k.Args {
		if a.Value == nil {
			continue
		}
		switch a.Name {
		case "scale", "sm_scale", "softmax_scale":
			renamed[i] = "scale"
		case "causal", "is_causal":
			renamed[i] = "causal"
			delete(keys, "causal")
		}
	}
	for i, to := range renamed {
		arg := *k.Args[i]
		arg.Name = to
		like.Args[i] = &arg
	}
	return &Rival{Variant: like.Default(), module: python.Rivals, keywords: keys, borrowed: true}, nil
}
