package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pawl/internal/diag"
	"pawl/internal/spec"
	"pawl/internal/worker/cell/python"
)

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
	return nil, fmt.Errorf("no kernel %q to measure %s against (%s)", name, k.Name, diag.Meant(name, slices.Concat(kernelNames(s), Attention)))
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
		return nil, fmt.Errorf("%s cannot be measured against %s: it does not look like attention, whose first three inputs are [B, H, S, D]", k.Name, name)
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
