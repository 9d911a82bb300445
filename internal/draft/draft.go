// Package draft makes a first pawl.yaml out of source files: Find lists the
// functions of each file that could be kernels, and Write writes the file, with a
// TODO comment beside everything it could only guess.
package draft

import (
	"fmt"
	"path"
	"regexp"
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
// whatever the entries are, and made so that launches stay inside their
// buffers: every integer parameter becomes a variable of a config, and every
// buffer has as many elements as their product. Without entries there is
// nothing to write: it returns nil.
func Write(entries []Entry) []byte {
	if len(entries) == 0 {
		return nil
	}
	taken := map[string]bool{}
	var drafts []*draft
	shared := true
	for _, e := range entries {
		d := newDraft(e, uniqueName(e, taken))
		drafts = append(drafts, d)
		shared = shared && d.config() == drafts[0].config()
	}
	var b strings.Builder
	b.WriteString(head)
	for _, d := range drafts {
		d.write(&b, !shared)
	}
	if shared {
		fmt.Fprintf(&b, "configs: # the sizes to run at; add those you care about\n  small: %s # TODO: choose sizes\n", drafts[0].config())
	}
	return []byte(b.String())
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
	args   []draftArg
	macros []Macro
	vars   []string // names of the config's variables
	sizes  []int64
}

type draftArg struct {
	Param
	role  spec.Role
	value string // scalars
	notes []string
}

func newDraft(e Entry, kernel string) *draft {
	d := &draft{Entry: e, kernel: kernel}
	names := map[string]bool{}
	for i, p := range e.Params {
		if p.Name == "" {
			p.Name = fmt.Sprintf("arg%d", i)
		}
		for base, n := p.Name, 2; names[p.Name] || !identifier.MatchString(p.Name); n++ {
			p.Name = fmt.Sprintf("%s_%d", "a"+base, n)
		}
		names[p.Name] = true
		d.args = append(d.args, draftArg{Param: p})
	}
	for _, m := range e.Macros {
		if !names[m.Name] {
			d.macros = append(d.macros, m)
		}
	}
	d.chooseRoles()
	d.chooseScalars()
	d.chooseSizes()
	return d
}

var (
	identifier  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	outputName  = regexp.MustCompile(`(?i)^(.*_)?(out|output|outputs|o|y|c|d|dst|dest|res|result|results|z)$`)
	scratchName = regexp.MustCompile(`(?i)^(.*_)?(tmp|temp|scratch|workspace|work|ws|partial|partials|buf|buffer)$`)
	flagName    = regexp.MustCompile(`(?i)^(causal|mode|flags?|axis|seed|verbose|(is|has|use|do)_.*|trans.*)$`)
)

// chooseRoles guesses what buffers are for: what is const is read; of the
// others the body tells, or their names, or their place at the end.
func (d *draft) chooseRoles() {
	var open, pointers []*draftArg // open: those that may be written
	for i := range d.args {
		if a := &d.args[i]; a.Pointer {
			a.role = spec.RoleIn
			pointers = append(pointers, a)
			if !a.Const {
				open = append(open, a)
			}
		}
	}
	output := false
	for _, a := range open {
		switch {
		case a.Written && a.ReadFirst, len(pointers) == 1 && !a.Written:
			a.role = spec.RoleInOut
		case scratchName.MatchString(a.Name) && len(open) > 1:
			a.role = spec.RoleScratch
		case a.Written, outputName.MatchString(a.Name):
			a.role = spec.RoleOut
		case !a.ReadFirst && len(open) < len(pointers):
			a.role = spec.RoleOut
		}
		output = output || a.role == spec.RoleOut || a.role == spec.RoleInOut
	}
	if !output {
		if len(open) == 0 { // all are const, but one buffer must be an output
			open = pointers
		}
		open[len(open)-1].role = spec.RoleOut
	}
}

// chooseScalars makes a config variable of every integer that could be a size.
func (d *draft) chooseScalars() {
	taken := map[string]bool{}
	for _, m := range d.macros {
		taken[m.Name] = true
	}
	for i := range d.args {
		a := &d.args[i]
		switch {
		case a.Pointer:
		case a.DType.Float():
			a.value = "1.0"
			a.notes = append(a.notes, "check the value")
		case flagName.MatchString(a.Name) || a.Type == "bool" || a.Type == "_Bool" || a.Width > 1:
			a.value = "0"
			a.notes = append(a.notes, "check the value")
		default:
			a.value = numbered(strings.ToUpper(a.Name), taken)
			d.vars = append(d.vars, a.value)
			d.sizes = append(d.sizes, int64(a.DType.Size()))
		}
	}
	if len(d.vars) == 0 {
		d.vars, d.sizes = []string{numbered("N", taken)}, []int64{8}
	}
}

// maxDraftBits bounds the product of all sizes, a power of two, and so every buffer.
const maxDraftBits = 22

// chooseSizes takes the largest power of two whose product over all variables
// is within bounds; small integer types stay small.
func (d *draft) chooseSizes() {
	bits := min(20, maxDraftBits/len(d.vars))
	if len(d.vars) == 2 {
		bits = 10
	}
	size := int64(1) << bits
	for i, bytes := range d.sizes {
		d.sizes[i] = size
		if bytes == 1 {
			d.sizes[i] = min(size, 64)
		} else if bytes == 2 {
			d.sizes[i] = min(size, 16384)
		}
	}
}
