package draft

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/dtype"
	"pawl/internal/pattern"
)

// cType is what a C type means to a launch.
type cType struct {
	dtype dtype.Type
	width int // elements: 4 for float4
}

// cTypes are the types by their names, words of several sorted as people
// write them.
var cTypes = func() map[string]cType {
	types := map[string]cType{}
	for name, known := range csource.SureTypes {
		types[name] = cType{known.DType, 1}
	}
	for t, names := range map[dtype.Type]string{ // as headers usually define them
		dtype.F32: "f32 float32_t", dtype.F64: "f64 float64_t", dtype.F16: "half float16_t half_t f16",
		dtype.BF16: "nv_bfloat16 bfloat16 bfloat16_t", dtype.E4M3: "float_e4m3_t", dtype.E5M2: "float_e5m2_t",
		dtype.U8: "uchar byte", dtype.U16: "ushort", dtype.U32: "uint", dtype.U64: "ulong",
	} {
		for name := range strings.FieldsSeq(names) {
			types[name] = cType{t, 1}
		}
	}
	for name, t := range map[string]dtype.Type{
		"float": dtype.F32, "double": dtype.F64, "int": dtype.I32, "uint": dtype.U32, "half": dtype.F16, "__nv_bfloat16": dtype.BF16,
		"char": dtype.I8, "uchar": dtype.U8, "short": dtype.I16, "ushort": dtype.U16, "longlong": dtype.I64, "ulonglong": dtype.U64,
	} {
		for _, width := range []int{2, 3, 4} {
			types[fmt.Sprint(name, width)] = cType{t, width}
		}
	}
	types["__half2"] = cType{dtype.F16, 2}
	types["__nv_bfloat162"] = cType{dtype.BF16, 2}
	return types
}()

// Param is a parameter of a function as its source declares it.
type Param struct {
	Name    string
	Type    string     // as written, without pointer and qualifiers
	DType   dtype.Type // best guess when the type is not Known
	Width   int        // elements of a vector type: 4 for float4
	Known   bool
	Pointer bool
	Const   bool // what it points to is const
	Symbol  bool // a __constant__ variable of the file, in place of a parameter

	count sum   // elements of a symbol
	row   int64 // elements of its last dimension, where it has several
}

// ignoredWords say nothing about what is passed.
var ignoredWords = strings.Fields("restrict __restrict __restrict__ volatile register struct enum typename __grid_constant__ std")

// parseParam reads one parameter; false means that it cannot be passed by a
// launch: references, function pointers, pointers to pointers.
func parseParam(tokens []csource.Token, aliases map[string]cType) (Param, bool) {
	p := Param{Width: 1}
	var words []string
	stars := 0
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.Is("="):
			i = len(tokens)
		case t.Is("*"):
			stars++
		case t.Is("["):
			stars++
			i = csource.SkipGroup(tokens, i, "[", "]")
		case t.Is("<"):
			i = csource.SkipGroup(tokens, i, "<", ">")
		case t.Is("&") || t.Is("(") || t.Is("."):
			return p, false
		case t.Is("const"):
			p.Const = p.Const || stars == 0
		case t.Is("::"):
		case t.Kind == csource.Word && !slices.Contains(ignoredWords, t.Text):
			words = append(words, t.Text)
		}
	}
	if len(words) == 0 || stars > 1 {
		return p, false
	}
	p.Pointer = stars == 1
	// Without a name all words are the type.
	if n := len(words) - 1; n > 0 && !slices.Contains(typeWords, words[n]) {
		p.Name, words = plainIdentifier(words[n]), words[:n]
	}
	p.Type = strings.Join(words, " ")
	t, ok := aliases[p.Type]
	if !ok {
		t, ok = cTypes[csource.TypeKey(words)]
	}
	if p.Known = ok; !ok {
		t = cType{dtype.F32, 1}
		if p.Type == "void" {
			t.dtype = dtype.U8
		} else if !p.Pointer {
			t.dtype = dtype.I32
		}
	}
	p.DType, p.Width = t.dtype, t.width
	return p, true
}

// typeWords belong to the type where they are the last word: unsigned int.
var typeWords = strings.Fields("int long short char unsigned signed float double void bool")

// plainIdentifier makes a name of letters, digits and underscores.
func plainIdentifier(word string) string {
	clean := oddInName.ReplaceAllString(word, "_")
	return clean[:min(len(clean), 48)]
}

var oddInName = pattern.New(`[^A-Za-z0-9_]`)

// typeAliases finds typedef float real; and using real = float;, also from
// the arguments of a template.
func typeAliases(tokens []csource.Token) map[string]cType {
	aliases := map[string]cType{}
	for i, t := range tokens {
		if !t.Is("typedef") && !t.Is("using") {
			continue
		}
		var words []string
		for _, u := range tokens[i+1 : min(len(tokens), i+8)] {
			if u.Is(";") {
				break
			}
			if u.Kind == csource.Word || u.Is("=") || u.Is("*") {
				words = append(words, u.Text)
			}
		}
		if len(words) < 2 {
			continue
		}
		name, kind := words[len(words)-1], words[:len(words)-1]
		if t.Is("using") {
			if words[1] != "=" {
				continue
			}
			name, kind = words[0], words[2:]
		}
		if known, ok := cTypes[strings.Join(kind, " ")]; ok {
			aliases[name] = known
		}
	}
	for i := range tokens {
		if name, known, ok := structType(tokens, i, aliases); ok {
			aliases[name] = known
		}
	}
	return aliases
}

// structType reads struct Body { float x, y, z; }; at i: numbers of one type are a vector.
func structType(tokens []csource.Token, i int, aliases map[string]cType) (string, cType, bool) {
	if !tokens[i].Is("struct") || i+2 >= len(tokens) || i > 0 && tokens[i-1].Is(">") {
		return "", cType{}, false
	}
	at := i + 1
	if tokens[at].Kind == csource.Word {
		at++
	}
	end := max(at+1, csource.SkipGroup(tokens, at, "{", "}"))
	name := tokens[i+1].Text
	if i > 0 && tokens[i-1].Is("typedef") && end+1 < len(tokens) {
		name = tokens[end+1].Text
	}
	if !tokens[at].Is("{") || csource.Has(tokens[at+1:end], "(", "{", "[", "*", "&", ":") {
		return "", cType{}, false
	}
	all := cType{}
	for _, member := range csource.SplitAt(tokens[at+1:end], ";") {
		list := declarations(member)
		if len(member) > 0 && list == nil {
			return "", cType{}, false
		}
		for _, d := range list {
			t, ok := typeNamed(strings.Join(d.words, " "), aliases)
			if !ok || t.width%2 == 0 || all.width > 0 && t.dtype != all.dtype { // float2 and float4 may leave gaps
				return "", cType{}, false
			}
			all = cType{t.dtype, all.width + t.width}
		}
	}
	return name, all, all.width > 0
}
