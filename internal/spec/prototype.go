package spec

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/dtype"
)

// prototype is a function's parameters, where its source leaves no doubt about them.
// Preprocessing, headers and templates may change what a source seems to say: then
// there is none, or a parameter's type is not known.
type prototype struct {
	line     int
	params   []protoParam
	optional int // how many of the last ones have default values
}

type protoParam struct {
	text    string // as written, without its name
	pointer bool
	kind    cNumeric // of it, or of what it points to
}

// cNumeric is a C type of numbers; the zero one is not known.
type cNumeric struct {
	dtype dtype.Type // that says the same
	loose bool       // char, bool: either sign
}

// sureTypes are the names that no header gives another meaning.
var sureTypes = func() map[string]cNumeric {
	out := map[string]cNumeric{
		"char": {dtype.I8, true}, "bool": {dtype.U8, true}, "_Bool": {dtype.U8, true},
		"__half": {dtype.F16, false}, "_Float16": {dtype.F16, false}, "__fp16": {dtype.F16, false},
		"__nv_bfloat16": {dtype.BF16, false}, "__bf16": {dtype.BF16, false},
		"__nv_fp8_e4m3": {dtype.E4M3, false}, "__nv_fp8_e5m2": {dtype.E5M2, false},
		"size_t": {dtype.U64, false}, "ssize_t": {dtype.I64, false}, "ptrdiff_t": {dtype.I64, false}, "intptr_t": {dtype.I64, false}, "uintptr_t": {dtype.U64, false},
		"float": {dtype.F32, false}, "double": {dtype.F64, false}, "signed char": {dtype.I8, false}, "unsigned char": {dtype.U8, false},
	}
	for _, bits := range []string{"8", "16", "32", "64"} {
		out["int"+bits+"_t"] = cNumeric{dtype.Type("i" + bits), false}
		out["uint"+bits+"_t"] = cNumeric{dtype.Type("u" + bits), false}
	}
	for size, names := range map[string]string{"16": "short", "32": "", "64": "long,long long"} {
		for name := range strings.SplitSeq(names, ",") {
			for _, sign := range []string{"", "signed ", "unsigned "} {
				kind := cNumeric{dtype.Type(map[bool]string{false: "i", true: "u"}[sign == "unsigned "] + size), false}
				for _, end := range []string{"", " int"} {
					if words := strings.TrimSpace(sign + name + end); words != "" {
						out[words] = kind
					}
				}
			}
		}
	}
	return out
}()

// typeOrder is how the words of a type are sorted to be looked up.
var typeOrder = []string{"signed", "unsigned", "long", "short", "char", "int"}

// maxSourceBytes is more than any source has that people write.
const maxSourceBytes = 8 << 20

// checkPrototypes compares a kernel's arguments with the functions of its source.
func (s *Spec) checkPrototypes(k *Kernel, problems *diag.List) {
	if k.Cell != CellHost && k.Cell != CellCUDA {
		return
	}
	file, err := os.Open(filepath.Join(s.Dir, filepath.FromSlash(k.Source)))
	if err != nil {
		return
	}
	defer file.Close()
	source, err := io.ReadAll(io.LimitReader(file, maxSourceBytes+1))
	if err != nil || len(source) > maxSourceBytes {
		return
	}
	k.comparePrototypes(source, problems)
}

func (k *Kernel) comparePrototypes(source []byte, problems *diag.List) {
	tokens := enabled(scanC(source))
	for _, l := range k.Launches {
		if p := findPrototype(k, l.Entry, tokens); p != nil {
			k.contradictions(l, p, problems)
		}
	}
}

// findPrototype reads the parameters of an entry; nil where that is not certain.
func findPrototype(k *Kernel, entry string, tokens []cToken) *prototype {
	space, name := "", entry
	if at := strings.LastIndex(entry, "::"); at >= 0 {
		space, name = strings.TrimPrefix(entry[:at], "::"), entry[at+2:]
	}
	var found []cFunction
	for _, f := range findFunctions(tokens) {
		if f.name == name {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return nil
	}
	f := found[0]
	macros := defined(k, tokens)
	if f.conditional || f.template != nil || f.hidden || macros[name] {
		return nil
	}
	if space != f.space && (space != "" || !f.externC) { // another function of that name
		return nil
	}
	for _, t := range slices.Concat(f.params, f.before) {
		if t.kind == cWord && macros[t.text] {
			return nil
		}
	}
	p := &prototype{line: f.line}
	list := splitList(f.params)
	if len(list) == 1 && len(list[0]) == 0 {
		return nil // in C that says nothing of the parameters
	}
	if len(list) == 1 && len(list[0]) == 1 && list[0][0].is("void") {
		list = nil
	}
	renamed := renamedTypes(tokens)
	if path.Ext(k.Source) == ".c" && !includes(tokens, "<stdbool.h>") {
		renamed["bool"] = true // a header's own, before C23
	}
	for _, part := range list {
		param, ok := sureParam(part, renamed)
		if !ok {
			return nil
		}
		p.params = append(p.params, param)
		if slices.ContainsFunc(part, func(t cToken) bool { return t.is("=") }) {
			p.optional++
		}
	}
	if k.Launcher {
		if len(p.params) == 0 || p.params[0].kind.dtype != "" {
			return nil // no stream comes first: the compiler says so
		}
		p.params = p.params[1:]
	}
	return p
}

// defined are the names that the source, the kernel's params or its flags define as
// macros.
func defined(k *Kernel, tokens []cToken) map[string]bool {
	out := map[string]bool{}
	for _, t := range tokens {
		words := strings.Fields(strings.TrimPrefix(t.text, "#"))
		if t.kind != cDirective || len(words) < 2 || words[0] != "define" {
			continue
		}
		name, end := words[1], 0
		for end < len(name) && isWordByte(name[end]) {
			end++
		}
		out[name[:end]] = true
	}
	for _, p := range k.Params {
		out[p.Name] = true
	}
	for i, flag := range k.Flags {
		if flag == "-D" && i+1 < len(k.Flags) {
			flag += k.Flags[i+1]
		}
		if name, ok := strings.CutPrefix(flag, "-D"); ok {
			name, _, _ = strings.Cut(name, "=")
			name, _, _ = strings.Cut(name, "(")
			out[name] = true
		}
	}
	return out
}

// includes reports whether the source itself includes a header.
func includes(tokens []cToken, header string) bool {
	return slices.ContainsFunc(tokens, func(t cToken) bool {
		words := strings.Fields(strings.TrimPrefix(t.text, "#"))
		return t.kind == cDirective && len(words) > 1 && words[0] == "include" && words[1] == header
	})
}

// renamedTypes are the names that the source makes types of its own of.
func renamedTypes(tokens []cToken) map[string]bool {
	out := map[string]bool{}
	for i, t := range tokens {
		switch {
		case t.is("using"), t.is("struct"), t.is("class"), t.is("union"), t.is("enum"), t.is("typename"):
			if i+1 < len(tokens) {
				out[tokens[i+1].text] = true
			}
		case t.is("typedef"):
			for j := i + 1; j+1 < len(tokens) && !tokens[j].is(";"); j++ {
				if next := tokens[j+1]; next.is(";") || next.is(",") || next.is("[") || next.is(")") {
					out[tokens[j].text] = true
				}
			}
		}
	}
	return out
}

// sureParam reads a parameter. It is false where even the number of parameters is in
// doubt: a word that stands alone may be a macro for several.
func sureParam(tokens []cToken, renamed map[string]bool) (protoParam, bool) {
	var p protoParam
	var words []string
	stars := 0
	text := ""
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if t.is("=") {
			break
		}
		switch {
		case t.is("std") && i+1 < len(tokens) && tokens[i+1].is("::"):
			i++
			continue
		case t.is("*"):
			stars++
			text += "*"
			continue
		case t.is("[") && i > 0 && (i+1 == len(tokens) || !tokens[i+1].is("[")):
			stars++
			i = skipGroup(tokens, i, "[", "]")
			continue
		case t.kind != cWord && !t.is("::"):
			return p, false
		case t.is("::") || stars > 0 && words == nil:
			return p, false
		case t.is("const") || t.is("volatile") || restricts[t.text]:
			continue
		}
		words = append(words, t.text)
	}
	name := ""
	if n := len(words) - 1; n > 0 && !slices.Contains(typeOrder, words[n]) && sureTypes[words[n]].dtype == "" {
		name, words = words[n], words[:n]
	}
	sure := sureTypes[typeKey(words)]
	if len(words) == 0 || name == "" && sure.dtype == "" && !(stars > 0 && words[0] == "void") {
		return p, false
	}
	p.pointer = stars > 0
	p.text = strings.Join(words, " ") + strings.Repeat(" *", min(stars, 1)) + strings.Repeat("*", max(stars-1, 0))
	if stars <= 1 && !slices.ContainsFunc(words, func(w string) bool { return renamed[w] }) {
		p.kind = sure
	}
	if stars == 0 && slices.ContainsFunc(words, func(w string) bool { return w == "void" }) {
		return p, false
	}
	return p, true
}

var restricts = wordSet("restrict __restrict __restrict__ __grid_constant__ register")

// typeKey sorts the words of a type: int long unsigned is unsigned long int.
func typeKey(words []string) string {
	sorted := slices.Clone(words)
	slices.SortStableFunc(sorted, func(a, b string) int { return slices.Index(typeOrder, a) - slices.Index(typeOrder, b) })
	if len(sorted) > 1 && slices.Index(typeOrder, sorted[0]) < 0 {
		return strings.Join(words, " ")
	}
	return strings.Join(sorted, " ")
}

// contradictions reports where a launch's arguments cannot be the function's.
func (k *Kernel) contradictions(l *Launch, p *prototype, problems *diag.List) {
	args := k.Args
	if l.Args != nil {
		args = nil
		for _, name := range l.Args {
			for _, a := range k.Args {
				if a.Name == name {
					args = append(args, a)
				}
			}
		}
	}
	where := fmt.Sprintf("%s:%d", path.Base(k.Source), p.line)
	if len(args) > len(p.params) || len(args) < len(p.params)-p.optional {
		at := l.Pos
		if len(args) > 0 {
			at = args[len(args)-1].Pos
		}
		problem := problems.Addf(at, "%s is given %s, and takes %d (%s)", l.Entry, counted(len(args), "argument"), len(p.params), where)
		problem.Hint = "list what the function takes, in its order: " + p.String()
		return
	}
	for i, a := range args {
		param := p.params[i]
		if why, hint := param.contradicts(k, a); why != "" {
			problem := problems.Addf(a.dtypeAt, "%s is %s, and %s takes %s there (%s)", a.Name, why, l.Entry, param.text, where)
			problem.Width, problem.Hint = a.dtypeWidth, hint
		}
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// String lists the parameters' types.
func (p *prototype) String() string {
	var out []string
	for _, param := range p.params {
		out = append(out, param.text)
	}
	return strings.Join(out, ", ")
}

// contradicts says what an argument is, where the parameter cannot be that; else "".
// Addresses may travel as integers and packed elements behind wider unsigned types, so
// that these are believed; so is the sign of a scalar, which has the same bits.
func (p protoParam) contradicts(k *Kernel, a *Arg) (what, hint string) {
	if a.TensorMap != nil || a.dtypeAt.Line == 0 {
		return "", ""
	}
	buffer := a.Value == nil
	wide := func(t dtype.Type) bool { return !t.Float() && t.Size() == 8 }
	switch {
	case buffer && !p.pointer:
		if p.kind.dtype == "" || wide(p.kind.dtype) {
			return "", ""
		}
		return fmt.Sprintf("a buffer of %s", a.DType), fmt.Sprintf("write dtype: %s and value: instead of shape:", p.kind.dtype)
	case !buffer && p.pointer:
		if wide(a.DType) {
			return "", ""
		}
		return fmt.Sprintf("a scalar of %s", a.DType), "write shape: instead of value:"
	case p.kind.dtype == "" || p.kind.agrees(a.DType, buffer):
		return "", ""
	case !buffer && !k.DeviceCode() && p.kind.dtype.Float() && p.kind.dtype.Size() < 4: // nobody can pass it: something else was tried
		return "", ""
	}
	return string(a.DType), fmt.Sprintf("write dtype: %s", p.kind.dtype)
}

// agrees reports whether a type of numbers can be an argument's.
func (c cNumeric) agrees(t dtype.Type, buffer bool) bool {
	switch {
	case t == c.dtype:
		return true
	case c.dtype.Float():
		return false
	case !buffer: // the same bits, whatever the sign
		return !t.Float() && t.Size() == c.dtype.Size()
	case t.Size() != c.dtype.Size(): // bytes may be anything's; wider integers hold packed elements
		return c.dtype.Size() == 1 || t.Size() < c.dtype.Size()
	case t.Float() && c.dtype.Size() <= 2: // C has no type for them
		return true
	}
	return c.loose || unsigned(c.dtype) // which carry anybody's bits
}

func unsigned(t dtype.Type) bool { return strings.HasPrefix(string(t), "u") }
