package spec

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/formula"
)

// check verifies what involves more than one place of the file: names,
// references, and the default variant of every kernel at every config.
func (d *decoder) check(s *specDraft) {
	usable := d.allConfigs(s)
	for _, k := range s.kernels {
		d.kernelOracle(s, k)
		d.kernelRival(s, k)
		d.clashes(k)
		d.elementwise(k)
		named := d.names(k, usable[k])
		if !k.broken && named && usable[k] && k.Default().satisfies("in the default variant, ", d.problems) {
			d.defaultInstances(k)
		}
	}
	d.fuzzNames(s)
}

func (d *decoder) kernelOracle(s *specDraft, k *kernelDraft) {
	if k.Oracle == nil || k.Oracle.Kernel == "" {
		return
	}
	d.otherKernel(s, k, k.present.fields["oracle"].value.find("kernel"), k.Oracle.Kernel, "oracle")
}

// otherKernel checks the name of the kernel that serves k as its oracle or rival.
func (d *decoder) otherKernel(s *specDraft, k *kernelDraft, at *node, name, role string) bool {
	names := s.kernelNames()
	switch {
	case name == k.Name:
		d.fail(at, "kernel %s cannot be its own %s", k.Name, role)
	case !slices.Contains(names, name):
		names = slices.DeleteFunc(names, func(other string) bool { return other == k.Name })
		d.fail(at, "no kernel is called %s", quote(name)).Hint = diag.Meant(name, names)
	default:
		return true
	}
	return false
}

// allConfigs settles the configs of all kernels, and returns those whose configs can be relied on. A kernel
// that only answers for others, and lists none, has the configs of those that name it.
func (d *decoder) allConfigs(s *specDraft) map[*kernelDraft]bool {
	usable, named := map[*kernelDraft]bool{}, map[*kernelDraft][]*kernelDraft{}
	for _, k := range s.kernels {
		if named[k] = s.asking(k); len(named[k]) == 0 {
			usable[k] = d.applicable(s, k)
		}
	}
	for _, k := range s.kernels {
		if len(named[k]) == 0 {
			continue
		}
		k.Reference, usable[k] = true, true
		for _, other := range named[k] {
			usable[k] = usable[k] && usable[other]
			for _, c := range other.Kernel.Configs {
				if k.Config(c.Name) == nil { // two kernels may call different sizes alike
					k.Kernel.Configs = append(k.Kernel.Configs, c)
				}
			}
		}
	}
	return usable
}

// asking returns the kernels whose configs a kernel has: those that name it as their oracle or rival, if it has
// neither an oracle nor configs.
func (s *specDraft) asking(k *kernelDraft) []*kernelDraft {
	lists := func(k *kernelDraft) bool { return k.present.has("configs") }
	if k.Oracle != nil || lists(k) {
		return nil
	}
	var out []*kernelDraft
	for _, other := range s.kernels {
		if other != k && (other.Oracle != nil || lists(other)) && other.asks(k.Name) {
			out = append(out, other)
		}
	}
	return out
}

// asks reports whether another kernel is the oracle or the rival of k.
func (k *Kernel) asks(name string) bool {
	return slices.ContainsFunc([]*Oracle{k.Oracle, k.Tolerance.Rival}, func(o *Oracle) bool { return o != nil && o.Kernel == name })
}

// applicable settles the configs of a kernel and reports whether they can be
// relied on: not when some could not be read.
func (d *decoder) applicable(s *specDraft, k *kernelDraft) bool {
	if f, ok := k.present.fields["configs"]; ok && f.value.kind == mappingKind {
		k.Kernel.Configs = k.own
		return !k.broken && len(k.own) > 0
	}
	if len(k.configs) == 0 {
		if k.Kernel.Configs = s.Configs; len(s.Configs) == 0 {
			// A kernel of one fixed size needs no config.
			k.Kernel.Configs = []*Config{{Name: "default", Pos: k.Pos}}
		}
		return !s.broken
	}
	chosen := map[*Config]bool{}
	ok := !s.broken
	for _, pattern := range k.configs {
		found := false
		for _, c := range s.Configs {
			if match, err := path.Match(pattern.text, c.Name); err == nil && match {
				chosen[c], found = true, true
			}
		}
		if !found {
			ok = false
			p := d.fail(pattern, "no config matches %s", quote(pattern.text))
			names := namesOf(s.Configs, func(c *Config) string { return c.Name })
			p.Hint = cmp.Or(diag.Meant(pattern.text, names), "there are no configs at the top level")
		}
	}
	k.Kernel.Configs = slices.DeleteFunc(slices.Clone(s.Configs), func(c *Config) bool { return !chosen[c] })
	return ok
}

// clashes reports params that something else is called like: the compiler
// replaces a param's name wherever it stands, and a formula could mean either.
func (d *decoder) clashes(k *kernelDraft) {
	for _, p := range k.Params {
		for _, c := range k.Kernel.Configs {
			if _, ok := c.Lookup(p.Name); ok {
				d.problems.Addf(p.Pos, "%s is a param of %s and also a variable of config %s", p.Name, k.Name, c.Name).
					Hint = "rename one of them: formulas could mean either"
				break
			}
		}
		for _, a := range k.Args {
			if a.Name == p.Name {
				hint := "rename one of them: the compiler replaces a param's name wherever it stands"
				if k.Cell == CellPython {
					hint = "rename one of them: the function would be given it twice"
				}
				d.problems.Addf(p.Pos, "%s is a param of %s and also an argument", p.Name, k.Name).Hint = hint
			}
		}
	}
}

// formulas lists all formulas of a kernel but its constraints.
func (k *Kernel) formulas() []*Formula {
	var list []*Formula
	for _, l := range k.Launches {
		list = slices.Concat(list, l.Grid, l.Block, l.Cluster, []*Formula{l.Shared, l.Threads})
	}
	for _, a := range k.Args {
		list = append(append(list, a.Shape...), a.Value)
		if m := a.TensorMap; m != nil {
			list = slices.Concat(list, m.Box, m.Dims, m.Strides, m.ElementStrides)
		}
	}
	list = append(list, k.Work.Flops, k.Work.Bytes)
	list = append(list, k.Requires...)
	return slices.DeleteFunc(list, func(f *Formula) bool { return f == nil })
}

func (s *Spec) kernelNames() []string {
	return namesOf(s.Kernels, func(k *Kernel) string { return k.Name })
}

func (k *Kernel) paramNames() []string {
	return namesOf(k.Params, func(p *Param) string { return p.Name })
}

func (k *Kernel) argNames() []string {
	return namesOf(k.Args, func(a *Arg) string { return a.Name })
}

// variableNames returns the variables of all configs that apply, each once.
func (k *Kernel) variableNames() []string {
	var names []string
	for _, c := range k.Configs {
		for _, v := range c.Vars {
			if !slices.Contains(names, v.Name) {
				names = append(names, v.Name)
			}
		}
	}
	return names
}

// names checks that every name in a kernel's formulas has a value in every
// config that applies.
func (d *decoder) names(k *kernelDraft, usable bool) bool {
	before := d.trouble()
	params := k.paramNames()
	known := slices.Concat(params, k.variableNames())
	for _, f := range k.Constraints {
		for _, name := range f.names {
			d.constraintName(k, f, name, params, known)
		}
	}
	if !usable {
		return d.trouble() == before
	}
	uses := map[string]*Formula{} // the first formula that uses a config variable
	var order []string
	for _, f := range k.formulas() {
		for _, name := range f.names {
			if slices.Contains(params, name) || uses[name] != nil {
				continue
			}
			if uses[name] = f; slices.Contains(known, name) {
				order = append(order, name)
			} else {
				d.unknownName(k, f, name, known)
			}
		}
	}
	d.missingVariables(k, uses, order)
	return d.trouble() == before
}

func (d *decoder) constraintName(k *kernelDraft, f *Formula, name string, params, known []string) {
	if slices.Contains(params, name) {
		return
	}
	p := f.unknown(name, params)
	if slices.Contains(known, name) {
		p.Message = fmt.Sprintf("a constraint: %s is a config variable, and constraints are about params only", name)
		p.Hint = "a variant is compiled once for all configs; say for which sizes it is made by requires:"
	} else {
		p.Message = fmt.Sprintf("a constraint: %s is not a param of %s", name, k.Name)
	}
	d.problems.Add(p)
}

func (d *decoder) unknownName(k *kernelDraft, f *Formula, name string, known []string) {
	p := f.unknown(name, known)
	switch {
	case slices.Contains(k.argNames(), name):
		p.Hint = fmt.Sprintf("%s is an argument; formulas see params and config variables", name)
	case len(known) == 0:
		p.Hint = fmt.Sprintf("define it in a config: configs: {small: {%s: 1024}}", name)
	}
	d.problems.Add(p)
}

// missingVariables reports configs that lack a variable others have.
func (d *decoder) missingVariables(k *kernelDraft, uses map[string]*Formula, order []string) {
	var complete []string
	missing := map[*Config][]string{}
	for _, c := range k.Kernel.Configs {
		for _, name := range order {
			if _, ok := c.Lookup(name); !ok {
				missing[c] = append(missing[c], name)
			}
		}
		if missing[c] == nil {
			complete = append(complete, c.Name)
		}
	}
	for _, c := range k.Kernel.Configs {
		for _, name := range missing[c] {
			f := uses[name]
			p := d.problems.Addf(c.Pos, "config %s does not define %s, which kernel %s uses for %s (line %d)", c.Name, name, k.Name, f.what, f.Pos.Line)
			p.Width = len([]rune(c.Name))
			p.Hint = fmt.Sprintf("add %s to %s", name, c.Name)
			if len(complete) > 0 {
				p.Hint += fmt.Sprintf(", or choose configs for the kernel: configs: [%s]", strings.Join(complete, ", "))
			}
		}
	}
}

// defaultInstances evaluates all formulas of the default variant. One problem
// per place is enough, however many configs run into it.
func (d *decoder) defaultInstances(k *kernelDraft) {
	seen := map[diag.Pos]bool{}
	for _, c := range k.Kernel.Configs {
		_, err := k.Default().At(c)
		for _, p := range diag.Problems(err) {
			if !seen[p.Pos] {
				seen[p.Pos] = true
				d.problems.Add(p)
			}
		}
	}
}

// fuzzNames checks that the matrix varies what configs define.
func (d *decoder) fuzzNames(s *specDraft) {
	var known []string
	for _, k := range s.kernels {
		if k.broken || s.broken {
			return
		}
		known = append(known, k.variableNames()...)
	}
	for _, n := range s.fuzz {
		if !slices.Contains(known, n.text) {
			p := d.fail(n, "%s is not a variable of any config", n.text)
			p.Hint = diag.Meant(n.text, known)
			for _, k := range s.Kernels {
				if slices.Contains(k.paramNames(), n.text) {
					p.Hint = fmt.Sprintf("%s is a param of %s; every variant is tested anyway", n.text, k.Name)
				}
			}
		}
	}
}

// Lookup finds a variable of the config.
func (c *Config) Lookup(name string) (formula.Value, bool) {
	for _, v := range c.Vars {
		if v.Name == name {
			return v.Value, true
		}
	}
	return formula.Value{}, false
}

// Variables returns the config variables that decide what the kernel is given and how it
// is launched, in the order of its first config. Those that only its work is told by
// are not among them.
func (k *Kernel) Variables() []string {
	return k.variables(slices.DeleteFunc(k.formulas(), func(f *Formula) bool { return f == k.Work.Flops || f == k.Work.Bytes }))
}

// Sizes returns the config variables that the shapes of buffers are made of. Those of symbols are
// not among them: the source has the sizes of its variables.
func (k *Kernel) Sizes() []string {
	var shapes, fixed []*Formula
	for _, a := range k.Args {
		if a.Symbol != "" {
			fixed = append(fixed, a.Shape...)
		} else {
			shapes = append(shapes, a.Shape...)
		}
	}
	held := k.variables(fixed)
	return slices.DeleteFunc(k.variables(shapes), func(name string) bool { return slices.Contains(held, name) })
}

func (k *Kernel) variables(formulas []*Formula) []string {
	names := namesOf(k.Configs[0].Vars, func(v Var) string { return v.Name })
	return slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(formulas, func(f *Formula) bool { return slices.Contains(f.names, name) })
	})
}
