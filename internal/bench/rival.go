package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pawl/internal/build"
	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/spec"
	"pawl/internal/worker/cell/python"
	"pawl/internal/worker/wire"
)

// rival is something to measure a kernel against.
type rival struct {
	variant  spec.Variant
	module   []byte         // text of a Python module that ships with pawl
	keywords map[string]any // of a Python function, besides the arguments
	borrowed bool           // it takes the kernel's own problem, params included
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

// rivals finds what a kernel is measured against: other kernels of the spec,
// rivals that ship with pawl, and Python functions in the spec's folder.
func (b *bench) rivals(k *spec.Kernel) ([]rival, error) {
	var out []rival
	for _, name := range b.Against {
		found, err := b.rival(k, name)
		if err != nil {
			return nil, err
		}
		out = append(out, *found)
	}
	return out, nil
}

func (b *bench) rival(k *spec.Kernel, name string) (*rival, error) {
	if other := kernelNamed(b.Spec, name); other != nil {
		return &rival{variant: other.Default(), keywords: keywords(other.Default())}, nil
	}
	if slices.Contains(Attention, name) {
		return attention(k, name)
	}
	if spec.PythonName(name) {
		if _, err := os.Stat(filepath.Join(b.Spec.Dir, filepath.FromSlash(spec.PythonSource(name)))); err == nil {
			return &rival{variant: pythonLike(k, name, name).Default(), borrowed: true}, nil
		}
	}
	names := slices.Concat(kernelNames(b.Spec), Attention)
	return nil, fmt.Errorf("no kernel %q to measure %s against (%s)", name, k.Name, diag.Meant(name, names))
}

// pythonLike is a Python function that takes a kernel's problem.
func pythonLike(k *spec.Kernel, name, entry string) *spec.Kernel {
	like := *k
	like.Name, like.Cell, like.Python, like.Source, like.Framework = name, spec.CellPython, entry, spec.PythonSource(entry), ""
	like.Flags, like.Launcher, like.Launches = nil, false, []*spec.Launch{{Entry: entry, Pos: k.Pos}}
	return &like
}

// attention makes one of the rivals above of a kernel's problem. Queries, keys
// and values are the arguments of these names, else the first three inputs of
// four dimensions; scale and causal are taken over where the kernel has them.
func attention(k *spec.Kernel, name string) (*rival, error) {
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
	for place, names := range [][]string{{"q", "query"}, {"k", "key"}, {"v", "value"}} {
		at := slices.IndexFunc(inputs, func(i int) bool { return slices.Contains(names, k.Args[i].Name) })
		if at < 0 {
			renamed = nil
			break
		}
		renamed[inputs[at]] = []string{"q", "k", "v"}[place]
	}
	if renamed == nil {
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
	return &rival{variant: like.Default(), module: python.Rivals, keywords: keys, borrowed: true}, nil
}

// keywords are the params of a Python function, by name.
func keywords(v spec.Variant) map[string]any {
	if v.Kernel.Cell != spec.CellPython {
		return nil
	}
	out := map[string]any{}
	for i, p := range v.Kernel.Params {
		out[p.Name] = plain(v.Values[i])
	}
	return out
}

// plain is a value as JSON has it.
func plain(v formula.Value) any {
	if b, ok := v.Bool(); ok {
		return b
	}
	if n, ok := v.Int(); ok {
		return n
	}
	if _, ok := v.Float(); ok {
		return json.RawMessage(v.String()) // 2.0 stays a float
	}
	return v.String()
}

// Limits of a python cell: importing a framework takes memory, threads and, the
// first time, long.
const (
	pythonThreads = 1024
	pythonImports = 90 // seconds
)

// python adds what a python cell must be told.
func (b *bench) python(p *plan, open *wire.Open, load *wire.Load) {
	open.Memory = 3*b.largest + spareMemory + driverMemory // the cell may serve other configs too
	open.Threads = pythonThreads
	open.Framework = p.artifact.Framework
	if dir, err := filepath.Abs(b.Spec.Dir); err == nil && p.module == nil {
		open.Dirs = []string{dir}
	}
	load.Entry, load.Params = p.artifact.Symbols[0], map[string]json.RawMessage{}
	for name, value := range p.keywords {
		if raw, err := json.Marshal(value); err == nil {
			load.Params[name] = raw
		}
	}
	load.DeadlineS += pythonImports
}

// gpu tells whether the plan's kernel runs on a GPU where there is one.
func (p *plan) gpu() bool {
	switch p.row.Cell {
	case spec.CellCUDA:
		return true
	case spec.CellPython:
		return framework(p.variant.Kernel, p.artifact) != "numpy"
	}
	return false
}

// framework is what a Python kernel is written for; "numpy" until it is known.
func framework(k *spec.Kernel, made *build.Artifact) string {
	switch {
	case made != nil:
		return made.Framework
	case k.Framework != "":
		return k.Framework
	}
	return "numpy"
}
