package spec

import "slices"

// requires reads what must hold of a problem. Constraints choose variants, which are
// compiled once for all configs; this is about sizes: a config that does not satisfy
// it is a mistake in the file, a fuzz case that does not is none of the kernel's.
func (d *decoder) requires(k *kernelDraft, n *node) {
	k.Requires = d.conditions(n, "a list of conditions", "a requirement", `for example requires: ["S % 8 == 0"]`)
}

// Variables returns the config variables that decide what the kernel is given and how it
// is launched, in the order of its first config. Those that only its work is told by
// are not among them.
func (k *Kernel) Variables() []string {
	var used []*Formula
	for _, f := range k.formulas() {
		if f != k.Work.Flops && f != k.Work.Bytes {
			used = append(used, f)
		}
	}
	return k.variables(used)
}

// Sizes returns the config variables that the shapes of buffers are made of.
func (k *Kernel) Sizes() []string {
	var shapes []*Formula
	for _, a := range k.Args {
		shapes = append(shapes, a.Shape...)
	}
	return k.variables(shapes)
}

func (k *Kernel) variables(formulas []*Formula) []string {
	var names []string
	for _, v := range k.Configs[0].Vars {
		if slices.ContainsFunc(formulas, func(f *Formula) bool { return slices.Contains(f.names, v.Name) }) {
			names = append(names, v.Name)
		}
	}
	return names
}
