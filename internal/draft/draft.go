// Package draft makes a first pawl.yaml out of source files: Find lists the
// functions of each file that could be kernels, and Write writes the file, with a
// TODO comment beside everything it could only guess.
//
// What Find knows comes from the source: preprocess replaces its macros, host follows the host code
// from main to the launches, device follows the kernels' bodies to the extents of their buffers, and
// infer finds a launch where there is none. plan puts it together, and operation knows usual kernels
// by name.
package draft

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/internal/spec"
)

const head = `# pawl.yaml says which kernels pawl builds, checks and times, and at which sizes.
# "pawl init" wrote this one from the source files. It runs as it is: try "pawl bench".
# Its guesses have a comment that begins with TODO; "pawl check" waits until
# you have checked each of them and deleted the comment.
# Every key, with its meaning: pawl init --schema
version: 1

kernels:
`

// Write writes a first pawl.yaml for the entries. It is accepted by spec.Parse
// whatever the entries are. A buffer whose extent is not known has as many elements as the product
// of all sizes. Without entries there is nothing to write: it returns nil.
func Write(entries []Entry) []byte {
	if len(entries) == 0 {
		return nil
	}
	var drafts []*draft
	shared := true
	names := Names(entries)
	for i, e := range entries {
		d := &draft{Entry: e, kernel: names[i]}
		if !d.accepted() {
			d.simplify()
		}
		drafts = append(drafts, d)
		shared = shared && d.config() == drafts[0].config()
	}
	compareVersions(drafts)
	var b strings.Builder
	b.WriteString(head)
	for _, d := range drafts {
		d.write(&b, !shared)
	}
	if shared {
		fmt.Fprintf(&b, "configs: # the sizes to run at; add those you care about\n  %s\n", drafts[0].config())
	}
	return []byte(b.String())
}

// Names returns what Write calls the kernels of the entries.
func Names(entries []Entry) []string {
	taken := map[string]bool{}
	var names []string
	for _, e := range entries {
		names = append(names, uniqueName(e, taken))
	}
	return names
}

// uniqueName calls a kernel like its function, with the file's name where
// several functions are called alike.
func uniqueName(e Entry, taken map[string]bool) string {
	stem := strings.TrimSuffix(path.Base(e.Source), path.Ext(e.Source))
	name := plainIdentifier(e.Name)
	if taken[name] {
		name = plainIdentifier(stem + "_" + e.Name)
	}
	return numbered(name, taken)
}

// numbered takes a name that is not taken yet, with a number behind it where it is.
func numbered(base string, taken map[string]bool) string {
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	taken[name] = true
	return name
}

// draft is one kernel of the file to be written.
type draft struct {
	Entry
	kernel string
	oracle string // as it will be written; "": none
}

// accepted reports whether spec.Parse takes the kernel as it is.
func (d *draft) accepted() bool {
	d.oracle = d.operation()
	var b strings.Builder
	b.WriteString(head)
	d.write(&b, true)
	_, err := spec.Parse(spec.FileName, []byte(b.String()))
	return err == nil
}

// simplify replaces what was found in the source by what is always accepted: every size a variable
// of its own, and every buffer as large as their product.
func (d *draft) simplify() {
	d.oracle = ""
	d.plan.params, d.plan.sizes = nil, nil
	d.Macros = slices.DeleteFunc(slices.Clone(d.Macros), func(m Macro) bool { return m.Guessed })
	taken := map[string]bool{}
	for _, m := range d.Macros {
		taken[m.Name] = true
	}
	for i, p := range d.Params {
		a := &d.plan.args[i]
		a.count, a.init = nil, ""
		switch {
		case p.Pointer:
			a.notes = []string{"check the shape and role"}
			if a.returned {
				a.notes = append(a.notes, d.wrapper())
			}
		case p.DType.Float():
			a.value, a.notes = "1.0", []string{"check the value"}
		case p.Width > 1 || p.DType.Size() < 4 || p.Type == "bool":
			a.value, a.notes = "0", []string{"check the value"}
		default:
			name := numbered(strings.ToUpper(p.Name), taken)
			a.value, a.notes = name, nil
			d.plan.sizes = append(d.plan.sizes, size{name, 4, true})
		}
	}
	if len(d.plan.sizes) == 0 {
		d.plan.sizes = []size{{numbered("N", taken), 4, true}}
	}
	bits := max(1, min(20, maxDraftBits/len(d.plan.sizes)))
	for i := range d.plan.sizes {
		d.plan.sizes[i].value = 1 << bits
	}
	if d.plan.launch != nil {
		d.plan.guess = "grid, block and shared memory"
		d.plan.launch = &launch{grid: [3]sum{named(d.product()).ceilOver(number(256)), number(1), number(1)}, block: [3]sum{number(256), number(1), number(1)}}
	}
	for i := range d.template {
		d.template[i].value = strings.TrimSpace(templateText.ReplaceAllString(d.template[i].value, ""))
		if d.template[i].value == "" {
			d.template[i].value = "float"
		}
		d.templateGuessed = true
	}
}

// compareVersions makes the first of several kernels that differ only in a number of their name the
// reference of the others: softmax_kernel1, softmax_kernel2.
func compareVersions(drafts []*draft) {
	for i, d := range drafts {
		if d.oracle != "" {
			continue
		}
		for _, other := range drafts[:i] {
			if other.oracle == "" && family(other.Name) == family(d.Name) && family(d.Name) != "" && other.sameArguments(d) {
				d.oracle = fmt.Sprintf("{kernel: %s}", yamlText(other.kernel))
				break
			}
		}
	}
}

// family returns a kernel's name without the number of its version.
func family(name string) string {
	return strings.Trim(versionNumber.ReplaceAllString(strings.ToLower(name), "_"), "_")
}

// sameArguments reports whether two kernels do the same with the same arguments, as far as they are
// declared.
func (d *draft) sameArguments(other *draft) bool {
	if len(d.Params) != len(other.Params) || d.config() != other.config() {
		return false
	}
	for i, p := range d.Params {
		q := other.Params[i]
		a, b := d.plan.args[i], other.plan.args[i]
		if p.Name != q.Name || p.DType != q.DType || p.Width != q.Width || a.role != b.role || a.value != b.value || d.shape(i) != other.shape(i) || slices.Contains(b.notes, "check the role") {
			return false
		}
	}
	return true
}
