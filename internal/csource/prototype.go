package csource

import (
	"slices"
	"strings"

	"pawl/internal/dtype"
)

// Prototype holds a function's parameters, where its source leaves no doubt about them.
// Preprocessing, headers and templates may change the meaning of a source: then there is no
// prototype, or a parameter's type is unknown.
type Prototype struct {
	Line     int
	Params   []Param
	Optional int // how many of the last ones have default values
}

// Param is a parameter of a Prototype.
type Param struct {
	Text    string // as written, without its name
	Pointer bool
	Kind    Numeric // of the parameter, or of what it points to
}

// Numeric is a numeric C type; the zero value is unknown.
type Numeric struct {
	DType dtype.Type // the equivalent
	loose bool       // char, bool: either sign
}

// SureTypes are the names that no header redefines.
var SureTypes = func() map[string]Numeric {
	out := map[string]Numeric{"char": {dtype.I8, true}, "bool": {dtype.U8, true}, "_Bool": {dtype.U8, true}}
	for t, names := range map[dtype.Type]string{
		dtype.F64: "double", dtype.F32: "float", dtype.F16: "__half,_Float16,__fp16", dtype.BF16: "__nv_bfloat16,__bf16",
		dtype.E4M3: "__nv_fp8_e4m3", dtype.E5M2: "__nv_fp8_e5m2",
		dtype.I8: "signed char,int8_t", dtype.U8: "unsigned char,uint8_t",
		dtype.I16: "short,signed short,int16_t", dtype.U16: "unsigned short,uint16_t",
		dtype.I32: "int,signed,int32_t", dtype.U32: "unsigned,uint32_t",
		dtype.I64: "long,long long,signed long,signed long long,int64_t,ssize_t,ptrdiff_t,intptr_t",
		dtype.U64: "unsigned long,unsigned long long,uint64_t,size_t,uintptr_t",
	} {
		for name := range strings.SplitSeq(names, ",") {
			out[name] = Numeric{DType: t}
			if last := name[strings.LastIndex(name, " ")+1:]; slices.Contains([]string{"short", "long", "signed", "unsigned"}, last) {
				out[name+" int"] = Numeric{DType: t}
			}
		}
	}
	return out
}()

// typeOrder is the order in which the words of a type are sorted for the lookup.
var typeOrder = []string{"signed", "unsigned", "long", "short", "char", "int"}

// FindPrototype reads the parameters of an entry; nil where they are not certain. plainC says that
// the tokens are of a C file; outside are the macros that the compiler is given.
func FindPrototype(tokens []Token, entry string, plainC bool, outside []string) *Prototype {
	space, name := "", entry
	if at := strings.LastIndex(entry, "::"); at >= 0 {
		space, name = strings.TrimPrefix(entry[:at], "::"), entry[at+2:]
	}
	var found []Function
	for _, f := range Functions(tokens) {
		if f.Name == name && !f.Member {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return nil
	}
	f := found[0]
	macros := defined(tokens, outside)
	if f.Conditional || f.Template != nil || f.Hidden || macros[name] {
		return nil
	}
	if space != f.Space && (space != "" || !f.ExternC) { // another function of that name
		return nil
	}
	for _, t := range slices.Concat(f.Params, f.Before) {
		if t.Kind == Word && macros[t.Text] {
			return nil
		}
	}
	p := &Prototype{Line: f.Line}
	list := SplitList(f.Params)
	if len(list) == 1 && len(list[0]) == 0 {
		return nil // in C that says nothing of the parameters
	}
	if len(list) == 1 && len(list[0]) == 1 && list[0][0].Is("void") {
		list = nil
	}
	renamed := renamedTypes(tokens)
	if plainC && !includes(tokens, "<stdbool.h>") {
		renamed["bool"] = true // a header's own, before C23
	}
	for _, part := range list {
		param, ok := sureParam(part, renamed)
		if !ok {
			return nil
		}
		p.Params = append(p.Params, param)
		if Has(part, "=") {
			p.Optional++
		}
	}
	return p
}

// defined lists the macros of the source, besides those outside of it.
func defined(tokens []Token, outside []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range outside {
		out[name] = true
	}
	for _, t := range tokens {
		words := t.directive()
		if len(words) < 2 || words[0] != "define" {
			continue
		}
		name, _, _ := strings.Cut(words[1], "(")
		out[name] = true
	}
	return out
}

// includes reports whether the source itself includes a header.
func includes(tokens []Token, header string) bool {
	return slices.ContainsFunc(tokens, func(t Token) bool {
		words := t.directive()
		return len(words) > 1 && words[0] == "include" && words[1] == header
	})
}

// renamedTypes lists the names of types that the source itself declares.
func renamedTypes(tokens []Token) map[string]bool {
	out := map[string]bool{}
	for i, t := range tokens {
		switch {
		case t.Is("using"), t.Is("struct"), t.Is("class"), t.Is("union"), t.Is("enum"), t.Is("typename"):
			if i+1 < len(tokens) {
				out[tokens[i+1].Text] = true
			}
		case t.Is("typedef"):
			for j := i + 1; j+1 < len(tokens) && !tokens[j].Is(";"); j++ {
				if next := tokens[j+1]; next.Is(";") || next.Is(",") || next.Is("[") || next.Is(")") {
					out[tokens[j].Text] = true
				}
			}
		}
	}
	return out
}

// sureParam reads a parameter. It returns false where even the number of parameters is in doubt: a
// single word may be a macro for several.
func sureParam(tokens []Token, renamed map[string]bool) (Param, bool) {
	var p Param
	var words []string
	stars := 0
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if t.Is("=") {
			break
		}
		switch {
		case t.Is("std") && i+1 < len(tokens) && tokens[i+1].Is("::"):
			i++
		case t.Is("*"):
			stars++
		case t.Is("[") && i > 0 && (i+1 == len(tokens) || !tokens[i+1].Is("[")):
			stars++
			i = SkipGroup(tokens, i, "[", "]")
		case t.Kind != Word || stars > 0 && words == nil:
			return p, false
		case t.Is("const") || t.Is("volatile") || slices.Contains(restricts, t.Text):
		default:
			words = append(words, t.Text)
		}
	}
	name := ""
	if n := len(words) - 1; n > 0 && !slices.Contains(typeOrder, words[n]) && SureTypes[words[n]].DType == "" {
		name, words = words[n], words[:n]
	}
	sure := SureTypes[TypeKey(words)]
	if len(words) == 0 || name == "" && sure.DType == "" && !(stars > 0 && words[0] == "void") {
		return p, false
	}
	p.Pointer = stars > 0
	p.Text = strings.Join(words, " ") + strings.Repeat(" *", min(stars, 1)) + strings.Repeat("*", max(stars-1, 0))
	if stars <= 1 && !slices.ContainsFunc(words, func(w string) bool { return renamed[w] }) {
		p.Kind = sure
	}
	if stars == 0 && slices.Contains(words, "void") {
		return p, false
	}
	return p, true
}

var restricts = strings.Fields("restrict __restrict __restrict__ __grid_constant__ register")

// TypeKey sorts the words of a type: int long unsigned is unsigned long int.
func TypeKey(words []string) string {
	sorted := slices.Clone(words)
	slices.SortStableFunc(sorted, func(a, b string) int { return slices.Index(typeOrder, a) - slices.Index(typeOrder, b) })
	if len(sorted) > 1 && slices.Index(typeOrder, sorted[0]) < 0 {
		return strings.Join(words, " ")
	}
	return strings.Join(sorted, " ")
}

// String lists the parameters' types.
func (p *Prototype) String() string {
	var out []string
	for _, param := range p.Params {
		out = append(out, param.Text)
	}
	return strings.Join(out, ", ")
}

// Agrees reports whether a numeric type can be an argument's.
func (c Numeric) Agrees(t dtype.Type, buffer bool) bool {
	switch {
	case t == c.DType:
		return true
	case c.DType.Float():
		return false
	case !buffer: // the same bits, whatever the sign
		return !t.Float() && t.Size() == c.DType.Size()
	case t.Size() != c.DType.Size(): // wider integers hold packed elements
		return t.Size() < c.DType.Size()
	case t.Float() && c.DType.Size() <= 2: // C has no type for them
		return true
	}
	return c.loose || strings.HasPrefix(string(c.DType), "u") // unsigned types may carry any bits
}
