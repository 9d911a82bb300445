package spec

import (
	"cmp"
	"path"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/dtype"
)

// argDraft is an argument while it is read.
type argDraft struct {
	*Arg
	node    *node
	name    *node
	present found
	numbers []*node // of init

	initKind initKind

	tensorMap *tensorMapDraft
}

var argKeys = []key[argDraft]{
	{"name", func(d *decoder, a *argDraft, n *node) {
		text, ok := d.text(n, "the name of an argument")
		if !ok {
			return
		}
		a.Name, a.name = text, n
		if !identifier.MatchString(text) {
			d.fail(n, "%s is not a valid name for an argument", quote(text)).Hint = identifierHint
		}
	}},
	{"dtype", (*decoder).dtype},
	{"shape", func(d *decoder, a *argDraft, n *node) { a.Shape = d.formulas(n, "shape", " of "+a.label(), 8) }},
	{"value", func(d *decoder, a *argDraft, n *node) { a.Value = d.one(n, "value of "+a.label()) }},
	{"role", (*decoder).role},
	{"init", (*decoder).init},
	{"tensor_map", (*decoder).tensorMap},
	{"symbol", func(d *decoder, a *argDraft, n *node) {
		text, ok := d.text(n, "the name of a __constant__ or __device__ variable")
		if ok && !identifier.MatchString(text) {
			d.fail(n, "%s is not the name of a variable", quote(text)).
				Hint = "write the name as the compiled module has it; that of a variable in a namespace is mangled: a::b is _ZN1a1bE"
		}
		a.Symbol = text
	}},
}

// label names the argument in messages, also when its name comes last in the
// file or is missing.
func (a *argDraft) label() string {
	if n := a.node.find("name"); n != nil && n.kind == textKind {
		return n.text
	}
	return "an argument"
}

func (d *decoder) args(k *kernelDraft, n *node) {
	if n.kind != listKind {
		d.expect(n, "a list of arguments").Hint = "for example args: [{name: x, dtype: f32, shape: [N]}, …]"
		return
	}
	before, seen := d.trouble(), map[string]*node{}
	defer func() { k.unread = d.trouble() > before }()
	for _, item := range n.items {
		if item.isStream() {
			if k.stream != nil {
				d.fail(item, "stream is given twice; first on line %d", k.stream.pos.Line)
			}
			k.stream, k.before = item, len(k.args)
			continue
		}
		a := &argDraft{Arg: &Arg{Pos: item.pos}, node: item}
		a.present = readKeys(d, item, "an argument", argKeys, map[string]string{
			"type":  "did you mean dtype?",
			"size":  "did you mean shape?",
			"const": "write role: in",
		}, a)
		if a.present.fields == nil {
			continue
		}
		for _, name := range []string{"name", "dtype"} {
			if a.present.lacks(name) && (name == "name" || a.present.lacks("tensor_map")) {
				d.fail(item, "%s has no %s", a.label(), name)
			}
		}
		if a.name != nil {
			if before := seen[a.Name]; before != nil {
				d.fail(a.name, "argument %s is given twice; first on line %d", a.Name, before.pos.Line)
			}
			seen[a.Name] = a.name
		}
		d.argParts(a)
		k.args = append(k.args, a)
		k.Args = append(k.Args, a.Arg)
	}
	if len(n.items) == 0 {
		d.fail(n, "kernel %s has no args", k.Name).Hint = "a kernel needs at least one buffer with role out or inout"
	}
}

// streamWord stands for a launcher's stream among its arguments.
const streamWord = "stream"

// isStream reports whether an item of args is the stream, written stream or {name: stream}.
func (n *node) isStream() bool {
	if n.kind == mappingKind && len(n.fields) == 1 && n.fields[0].key.text == "name" {
		n = n.fields[0].value
	}
	return n.kind == textKind && n.text == streamWord
}

// argParts checks which keys of an argument go together.
func (d *decoder) argParts(a *argDraft) {
	if a.present.has("tensor_map") {
		d.tensorMapParts(a)
		return
	}
	hasShape, hasValue := a.present.has("shape"), a.present.has("value")
	switch {
	case hasShape && hasValue:
		d.refuse(a.present, "value", "shape makes it a buffer, value a scalar", "%s has both shape and value", a.label())
	case a.present.lacks("shape") && a.present.lacks("value") && a.present.lacks("tensor_map"):
		d.fail(a.node, "%s has neither shape nor value", a.label()).Hint = "shape: [N] makes it a buffer, value: N a scalar"
	}
	if hasValue && !hasShape {
		for _, name := range []string{"role", "init"} {
			d.refuse(a.present, name, "a scalar is always an input; its value says what it is", "%s is for buffers, and %s is a scalar", name, a.label())
		}
		return
	}
	if a.Role = cmp.Or(a.Role, RoleIn); a.Role == RoleOut {
		d.refuse(a.present, "init", "outputs are poisoned before each launch; use role: inout if the kernel reads what was there",
			"%s has role out, so its init would be lost", a.label())
	}
	if f, ok := a.present.fields["init"]; ok && a.DType != "" && a.Init.Kind != "" {
		d.checkInit(f.value, a)
	}
}

// argShape checks what depends on the whole list of arguments and the cell.
func (d *decoder) argShape(k *kernelDraft) {
	if k.stream != nil && !k.Launcher && !k.present.guessed["launcher"] {
		d.fail(k.stream, "stream is for launchers, and %s is none", k.Name).
			Hint = "add launcher: true if the entry is host code that takes a stream; a kernel is launched on pawl's"
	}
	written := false
	for _, a := range k.args {
		if a.tensorMap != nil {
			d.tensorMapShape(k, a)
		}
		d.symbolShape(k, a)
		written = written || a.Role.Written()
		if f, ok := a.present.fields["dtype"]; ok && k.Cell == CellHost && a.Value != nil && a.DType.Float() && a.DType.Size() < 4 {
			d.fail(f.value, "%s: scalars of type %s cannot be passed to host functions", a.label(), a.DType).Hint = "use f32"
		}
	}
	if !written && len(k.args) > 0 && !k.unread {
		d.fail(k.present.fields["args"].key, "kernel %s writes nothing: no argument has role out or inout", k.Name).
			Hint = "give the buffer it writes role: out"
	}
	d.launchArgs(k)
}

// symbolShape refuses a symbol where pawl does not load the module that has it.
func (d *decoder) symbolShape(k *kernelDraft, a *argDraft) {
	const only = "symbols are for CUDA kernels, and %s "
	switch {
	case k.Cell == CellHost:
		d.refuse(a.present, "symbol", "", only+"runs on the host", path.Base(k.Source))
	case k.Cell == CellPython:
		d.refuse(a.present, "symbol", "", only+"is a Python function", k.Python)
	case k.Launcher:
		d.refuse(a.present, "symbol", "host code can call cudaMemcpyToSymbol", "%s is a symbol, and a launcher fills its own", a.label())
	case a.Role == RoleScratch:
		d.refuse(a.present, "symbol", "leave it out: pawl restores the variables of a module before every launch", "%s is a symbol with role scratch", a.label())
	}
}

// dtypeAliases are the names other systems use.
var dtypeAliases = map[string]dtype.Type{
	"float": dtype.F32, "fp32": dtype.F32, "float32": dtype.F32, "single": dtype.F32,
	"double": dtype.F64, "fp64": dtype.F64, "float64": dtype.F64,
	"half": dtype.F16, "fp16": dtype.F16, "float16": dtype.F16, "__half": dtype.F16,
	"bfloat16": dtype.BF16, "bfloat": dtype.BF16, "__nv_bfloat16": dtype.BF16,
	"fp8": dtype.E4M3, "f8": dtype.E4M3, "fp8_e4m3": dtype.E4M3, "float8_e4m3fn": dtype.E4M3,
	"fp8_e5m2": dtype.E5M2, "float8_e5m2": dtype.E5M2,
	"int": dtype.I32, "int32": dtype.I32, "int32_t": dtype.I32, "int8": dtype.I8, "int8_t": dtype.I8, "char": dtype.I8,
	"int16": dtype.I16, "int16_t": dtype.I16, "short": dtype.I16, "int64": dtype.I64, "int64_t": dtype.I64, "long": dtype.I64,
	"uint": dtype.U32, "unsigned": dtype.U32, "uint32": dtype.U32, "uint32_t": dtype.U32, "uint8": dtype.U8, "uint8_t": dtype.U8,
	"uchar": dtype.U8, "byte": dtype.U8, "bool": dtype.U8, "uint16": dtype.U16, "uint16_t": dtype.U16, "ushort": dtype.U16,
	"uint64": dtype.U64, "uint64_t": dtype.U64, "size_t": dtype.U64,
}

func (d *decoder) dtype(a *argDraft, n *node) {
	text, ok := d.word(n, "an element type")
	if !ok {
		return
	}
	a.dtypeAt, a.dtypeWidth = n.pos, n.width
	if a.DType = dtype.Type(text); a.DType.Valid() {
		return
	}
	a.DType = ""
	names := namesOf(dtype.All, func(t dtype.Type) string { return string(t) })
	p := d.fail(n, "%s is not an element type", quote(text))
	if alias, ok := dtypeAliases[strings.ToLower(text)]; ok {
		p.Hint = didYouMean(string(alias))
	} else if near := diag.Nearest(text, names); near != "" {
		p.Hint = didYouMean(near)
	} else {
		p.Hint = "expected one of: " + strings.Join(names, " ")
	}
}

var (
	roles       = []string{string(RoleIn), string(RoleOut), string(RoleInOut), string(RoleScratch)}
	roleAliases = map[string]string{
		"input": "in", "read": "in", "const": "in", "output": "out", "write": "out", "result": "out",
		"in_out": "inout", "in-out": "inout", "readwrite": "inout", "temp": "scratch", "tmp": "scratch", "workspace": "scratch",
	}
)

func (d *decoder) role(a *argDraft, n *node) {
	text, ok := d.choice(n, "a role", "%s is not a role", roles, roleAliases)
	if a.Role = Role(text); !ok && n.kind == textKind {
		a.Role = RoleInOut // so that nothing else is said about a role that is not known
	}
}
