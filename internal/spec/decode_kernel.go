package spec

import (
	"path"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/formula"
)

// kernelDraft is a kernel while it is read.
type kernelDraft struct {
	*Kernel
	name     *node
	present  found
	launch   *launchDraft
	launches []*launchDraft
	params   []*node // names of Params, those that are names
	args     []*argDraft
	stream   *node   // the place of a launcher's stream among the arguments; nil: first
	before   int     // arguments before stream
	unread   bool    // arguments could not all be read
	configs  []*node // names and globs of top-level configs
	own      []*Config
	given    toleranceDraft
	broken   bool // parts could not be read: checks that would only echo that are skipped
}

var kernelKeys = []key[kernelDraft]{
	{"source", (*decoder).source},
	{"entry", func(d *decoder, k *kernelDraft, n *node) { d.text(n, "the name of the function to launch") }},
	{"launcher", func(d *decoder, k *kernelDraft, n *node) { k.Launcher = d.boolean(n, "launcher") }},
	{"python", (*decoder).python},
	{"framework", (*decoder).framework},
	{"launch", func(d *decoder, k *kernelDraft, n *node) { k.launch = d.launch(n) }},
	{"launches", (*decoder).launches},
	{"params", (*decoder).params},
	{"constraints", func(d *decoder, k *kernelDraft, n *node) {
		k.Constraints = d.conditions(n, "a list of constraints", "a constraint", `for example constraints: ["BLOCK_M % 16 == 0"]`)
	}},
	// Constraints choose variants, which are compiled once for all configs; this is about sizes:
	// a config that does not satisfy it is a mistake in the file, a fuzz case that does not is none
	// of the kernel's.
	{"requires", func(d *decoder, k *kernelDraft, n *node) {
		k.Requires = d.conditions(n, "a list of conditions", "a requirement", `for example requires: ["S % 8 == 0"]`)
	}},
	{"deterministic", func(d *decoder, k *kernelDraft, n *node) { k.Deterministic = d.boolean(n, "deterministic") }},
	{"args", (*decoder).args},
	{"oracle", (*decoder).oracle},
	{"tolerance", (*decoder).tolerance},
	{"work", func(d *decoder, k *kernelDraft, n *node) { readKeys(d, n, "work", workKeys, nil, &k.Work) }},
	{"configs", (*decoder).kernelConfigs},
	{"flags", (*decoder).flags},
}

var kernelElsewhere = func() map[string]string {
	hints := map[string]string{
		"role": "roles are given per argument: args: [{name: …, role: out}]",
		"fuzz": "fuzz stands at the top level, beside kernels",
		"gate": "gate stands at the top level, beside kernels",
	}
	for _, k := range launchKeys {
		hints[k.name] = "write launch: {" + k.name + ": …}"
	}
	return hints
}()

func (d *decoder) kernel(name, n *node) *kernelDraft {
	before := d.trouble()
	k := &kernelDraft{Kernel: &Kernel{Name: name.text, Pos: name.pos, Deterministic: true}, name: name}
	d.plainName(name, "a kernel")
	k.present = readKeys(d, n, "kernel "+name.text, kernelKeys, kernelElsewhere, k)
	if k.present.fields != nil {
		d.kernelShape(k)
	}
	k.broken = d.trouble() > before
	return k
}

// kernelShape checks which keys are there and settles what follows from the
// source: host, cuda or python.
func (d *decoder) kernelShape(k *kernelDraft) {
	python, isPython := k.present.fields["python"]
	if !isPython && k.present.lacks("source") {
		d.fail(k.name, "kernel %s has no source", k.Name).Hint = `add source: with the path of a .cu, .c or .cpp file, or python: "module:function"`
	}
	if k.present.lacks("args") {
		d.fail(k.name, "kernel %s has no args", k.Name).Hint = "list the entry's parameters in order: args: [{name: x, dtype: f32, shape: [N]}, …]"
	}
	if isPython {
		d.pythonShape(k, python)
	} else {
		d.compiledShape(k)
	}
	for _, l := range k.launches {
		d.launchShape(k, l)
		k.Launches = append(k.Launches, l.Launch)
	}
	d.argShape(k)
	d.setTolerance(k)
}

// compiledShape settles the launches of a kernel that is compiled.
func (d *decoder) compiledShape(k *kernelDraft) {
	d.refuse(k.present, "framework", "", "framework needs python: it names the library whose tensors the Python function takes")
	for _, name := range k.params {
		if slices.Contains(cWords, name.text) {
			d.fail(name, "%s is a word of C; defined as a macro it would break the source", name.text)
		}
	}
	entry, hasEntry := k.present.fields["entry"]
	hasSeveral := k.present.has("launches")
	switch {
	case hasEntry && hasSeveral:
		d.refuse(k.present, "launches", "entry is for one launch, launches for a sequence of them", "kernel %s has both entry and launches", k.Name)
	case k.present.lacks("entry") && k.present.lacks("launches"):
		d.fail(k.name, "kernel %s has no entry", k.Name).Hint = "add entry: with the name of the function to launch, or launches: for a sequence of them"
	case hasSeveral:
		d.refuse(k.present, "launch", "move grid, block and the others into the items of launches", "launch goes with entry; here each item of launches has its own")
	}
	if hasEntry && !hasSeveral {
		k.onlyLaunch(entry.key.pos).entry = entry.value
	}
	if k.Launcher && k.Cell != CellCUDA && k.Cell != "" {
		d.refuse(k.present, "launcher", "", "launcher is for CUDA sources, and %s runs on the host", path.Base(k.Source))
	}
}

// onlyLaunch makes the launch, given or not, the only one of the kernel.
func (k *kernelDraft) onlyLaunch(at diag.Pos) *launchDraft {
	if k.launch == nil {
		k.launch = &launchDraft{Launch: &Launch{Pos: at}, owner: k.name}
		if !k.present.guessed["launch"] {
			k.launch.present.fields = map[string]field{}
		}
	}
	k.launches = []*launchDraft{k.launch}
	return k.launch
}

var cellOf = map[string]string{".c": CellHost, ".cc": CellHost, ".cpp": CellHost, ".cxx": CellHost, ".cu": CellCUDA}

// CellOf says which cell a source file runs in; "" where it is none.
func CellOf(source string) string { return cellOf[path.Ext(source)] }

func (d *decoder) source(k *kernelDraft, n *node) {
	text, ok := d.text(n, "the path of a source file")
	if !ok {
		return
	}
	k.Source, k.SourcePos = text, n.pos
	if path.IsAbs(text) {
		d.fail(n, "source must be relative to the folder of pawl.yaml").Hint = "each side of a comparison builds from its own checkout"
	}
	if k.Cell = CellOf(text); k.Cell == "" {
		p := d.fail(n, "source must end in .cu (CUDA) or in .c, .cc, .cpp or .cxx (host)")
		if strings.HasSuffix(text, ".py") {
			p.Hint = `name a Python function in place of source and entry: python: "` +
				strings.ReplaceAll(strings.TrimSuffix(text, ".py"), "/", ".") + `:function"`
		}
	}
}

func (d *decoder) flags(k *kernelDraft, n *node) {
	for _, item := range d.items(n, "a list of compiler flags", "for example flags: [-O3, -march=native]") {
		if flag, ok := d.text(item, "a compiler flag"); ok {
			k.Flags = append(k.Flags, flag)
		}
	}
}

func (d *decoder) params(k *kernelDraft, n *node) {
	for _, f := range d.entries(n, "params as a mapping of names to values", "for example params: {BLOCK: [64, 128]}; the first value is the default") {
		p := &Param{Name: f.key.text, Pos: f.key.pos}
		k.Params = append(k.Params, p)
		if d.variableName(f.key, "a param") {
			k.params = append(k.params, f.key)
		}
		if p.Values = d.values(f); len(f.value.list()) == 0 {
			d.fail(f.value, "param %s has no values", p.Name).Hint = "the first value is the default"
		}
	}
}

// values reads the list of values of a param or of an axis.
func (d *decoder) values(of field) []formula.Value {
	var values []formula.Value
	name, seen := of.key.text, map[string]bool{}
	for _, item := range of.value.list() {
		v, ok := d.value(item, "a value of "+name)
		if !ok {
			continue
		}
		if text := valueText(v); seen[text] {
			d.fail(item, "%s lists %s twice", name, text)
		} else {
			seen[text] = true
			values = append(values, v)
		}
	}
	return values
}

// conditions reads a list of formulas that must hold.
func (d *decoder) conditions(n *node, list, one, example string) []*Formula {
	var found []*Formula
	for _, item := range d.items(n, list, example) {
		if f := d.one(item, one); f != nil {
			found = append(found, f)
		}
	}
	return found
}

var workKeys = []key[Work]{
	{"flops", func(d *decoder, w *Work, n *node) { w.Flops = d.one(n, "flops") }},
	{"bytes", func(d *decoder, w *Work, n *node) { w.Bytes = d.one(n, "bytes") }},
}

// kernelConfigs reads either patterns over the top-level configs or the
// kernel's own configs.
func (d *decoder) kernelConfigs(k *kernelDraft, n *node) {
	switch n.kind {
	case mappingKind:
		k.own = d.configs(n)
	case listKind:
		for _, item := range n.items {
			if item.kind != textKind && item.kind != integerKind {
				d.expect(item, "the name of a config")
			} else if _, err := path.Match(item.text, ""); err != nil {
				d.fail(item, "%s is not a valid glob", quote(item.text)).Hint = "use * for any characters, ? for one, [abc] for one of several"
			} else {
				k.configs = append(k.configs, item)
			}
		}
	default:
		d.expect(n, "a list of config names, or a mapping that defines configs")
		return
	}
	if len(n.fields)+len(n.items) == 0 {
		d.fail(n, "kernel %s would have no configs", k.Name).Hint = "leave configs out to use all top-level configs"
	}
}
