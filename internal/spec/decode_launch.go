package spec

import (
	"path"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/pattern"
)

// launchDraft is a launch while it is read.
type launchDraft struct {
	*Launch
	owner   *node // where to report what is missing
	entry   *node
	args    []*node
	present found
}

var launchKeys = []key[launchDraft]{
	{"grid", func(d *decoder, l *launchDraft, n *node) { l.Grid = d.formulas(n, "grid", "", 3) }},
	{"block", func(d *decoder, l *launchDraft, n *node) { l.Block = d.formulas(n, "block", "", 3) }},
	{"cluster", func(d *decoder, l *launchDraft, n *node) { l.Cluster = d.formulas(n, "cluster", "", 3) }},
	{"shared", func(d *decoder, l *launchDraft, n *node) { l.Shared = d.one(n, "shared") }},
	{"cooperative", func(d *decoder, l *launchDraft, n *node) { l.Cooperative = d.boolean(n, "cooperative") }},
	{"programmatic_dependent", func(d *decoder, l *launchDraft, n *node) {
		l.ProgrammaticDependent = d.boolean(n, "programmatic_dependent")
	}},
	{"threads", func(d *decoder, l *launchDraft, n *node) { l.Threads = d.one(n, "threads") }},
}

// launchesKeys are those of an item of launches: entry and args, then all that
// a launch may hold.
var launchesKeys = append([]key[launchDraft]{
	{"entry", func(d *decoder, l *launchDraft, n *node) {
		if _, ok := d.text(n, "the name of the function to launch"); ok {
			l.entry = n
		}
	}},
	{"args", func(d *decoder, l *launchDraft, n *node) {
		if n.kind == listKind { // else with all arguments, so that none is reported as not passed
			l.Args = []string{}
		}
		for _, item := range d.items(n, "a list of argument names", "") {
			if name, ok := d.text(item, "the name of an argument"); ok {
				l.Args = append(l.Args, name)
				l.args = append(l.args, item)
			}
		}
	}},
}, launchKeys...)

func (d *decoder) launch(n *node) *launchDraft {
	l := &launchDraft{Launch: &Launch{Pos: n.pos}, owner: n}
	l.present = readKeys(d, n, "launch", launchKeys, map[string]string{
		"entry": "entry stands beside launch; for several launches use launches: [{entry: …, grid: …}]",
		"smem":  "did you mean shared?",
	}, l)
	return l
}

func (d *decoder) launches(k *kernelDraft, n *node) {
	if n.kind != listKind || len(n.items) == 0 {
		d.expect(n, "a list of launches").Hint = "for example launches: [{entry: first, args: [x, tmp], grid: …, block: …}, …]"
		return
	}
	for _, item := range n.items {
		l := &launchDraft{Launch: &Launch{Pos: item.pos}, owner: item}
		l.present = readKeys(d, item, "a launch", launchesKeys, map[string]string{
			"launch": "grid, block and the others stand directly in the item",
		}, l)
		if l.present.lacks("entry") {
			d.fail(item, "this launch has no entry").Hint = "add entry: with the name of the function to launch"
		}
		k.launches = append(k.launches, l)
	}
}

var (
	identifier = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	cudaEntry  = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*\s*(<.*>)?$`)
)

// launchShape checks a launch against the cell it will run in.
func (d *decoder) launchShape(k *kernelDraft, l *launchDraft) {
	if l.entry != nil && l.entry.kind == textKind {
		l.Entry = l.entry.text
		d.entry(k, l.entry)
	}
	switch k.Cell {
	case CellHost, CellPython:
		what, hint := path.Base(k.Source)+" runs on the host", "a host kernel is called once as a function; only threads may be given"
		if k.Cell == CellPython {
			what, hint = k.Python+" is a Python function", "a Python function makes its own launches; only threads may be given"
		}
		for _, name := range keyNames(launchKeys) {
			if name != "threads" {
				d.refuse(l.present, name, hint, "%s is for CUDA kernels, and %s", name, what)
			}
		}
	case CellCUDA:
		if k.Launcher {
			d.launcherShape(k, l)
			return
		}
		d.refuse(l.present, "threads", "give the threads per block as block", "threads is for host kernels, and %s is CUDA", path.Base(k.Source))
		missing := slices.DeleteFunc([]string{"grid", "block"}, func(name string) bool { return !l.present.lacks(name) })
		if len(missing) > 0 {
			d.fail(l.owner, "a CUDA launch needs %s", strings.Join(missing, " and ")).
				Hint = `for example grid: ["ceildiv(N, 256)"], block: [256]`
		}
	}
}

// launcherShape refuses what a launcher decides for itself.
func (d *decoder) launcherShape(k *kernelDraft, l *launchDraft) {
	for _, name := range keyNames(launchKeys) {
		d.refuse(l.present, name, "a launcher gets a stream and makes its own launches", "%s is for kernels, and %s is a launcher", name, l.Entry)
	}
	if l.entry != nil && !identifier.MatchString(l.entry.text) {
		d.fail(l.entry, "the entry of a launcher must be the plain name of an extern \"C\" function, found %s", l.entry.describe())
	}
	l.placeStream(k)
}

// placeStream takes the stream out of the launch's own list of arguments, or has it where the
// kernel's list has it. An argument that is called stream is none.
func (l *launchDraft) placeStream(k *kernelDraft) {
	if l.Launch.Args == nil {
		l.Stream = k.before
		return
	}
	if at := slices.Index(l.Launch.Args, streamWord); at >= 0 && !slices.Contains(k.argNames(), streamWord) {
		l.Stream, l.Launch.Args, l.args = at, slices.Delete(l.Launch.Args, at, at+1), slices.Delete(l.args, at, at+1)
	}
}

func (d *decoder) entry(k *kernelDraft, n *node) {
	switch {
	case k.Cell == CellHost && !identifier.MatchString(n.text):
		p := d.fail(n, "the entry of a host kernel must be the plain name of a C function, found %s", n.describe())
		if path.Ext(k.Source) != ".c" {
			p.Hint = `wrap a template or method in an extern "C" function`
		}
	case k.Cell == CellCUDA && !cudaEntry.MatchString(n.text):
		d.fail(n, "expected the name of a __global__ function, with template arguments if it has any, found %s", n.describe()).
			Hint = `for example entry: attention_fwd, or entry: "attention_fwd<BLOCK_M, 64>"`
	}
}

// launchArgs checks the argument names of the launches, and that every
// argument reaches one of them.
func (d *decoder) launchArgs(k *kernelDraft) {
	if len(k.launches) == 0 {
		return
	}
	names := k.argNames()
	used := map[string]bool{}
	for _, l := range k.launches {
		if l.Launch.Args == nil {
			for _, name := range names {
				used[name] = true
			}
		}
		for _, n := range l.args {
			used[n.text] = true
			if at := slices.Index(names, n.text); at >= 0 && k.Args[at].Symbol != "" {
				d.fail(n, "%s is a symbol, which no launch passes", n.text).Hint = "remove it here: every launch finds it in its module"
			} else if at < 0 {
				d.fail(n, "kernel %s has no argument %s", k.Name, quote(n.text)).Hint = diag.Meant(n.text, names)
			}
		}
	}
	for _, a := range k.args { // a buffer may be reached through its tensor map alone, and a symbol is its module's
		used[a.Name] = used[a.Name] || a.Symbol != ""
		if a.TensorMap != nil && used[a.Name] {
			used[a.TensorMap.Of] = true
		}
	}
	for _, a := range k.args {
		if a.name != nil && a.Name != "" && !used[a.Name] {
			d.fail(a.name, "argument %s is passed to none of the launches", a.Name).Hint = "add it to the args of a launch, or remove it"
		}
	}
}
