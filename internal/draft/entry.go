package draft

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/internal/csource"
	"pawl/internal/spec"
)

// Entry is a function that could be a kernel, found in a source file.
type Entry struct {
	Source   string // path as it will stand in pawl.yaml
	Name     string // of the function
	Space    string // namespaces around it: "a::b"
	Line     int
	Params   []Param
	Macros   []Macro  // of the file
	Template []string // names of template parameters, with a value each could have: "T float"
	Bounds   string   // first argument of __launch_bounds__
	Mangled  bool     // C++ without extern "C": a host cell cannot find it by name
}

// Macro is a compile-time parameter: #ifndef BLOCK, #define BLOCK 64.
type Macro struct {
	Name  string
	Value string
}

const (
	maxEntriesPerFile = 64
	maxEntryParams    = 48
)

// Find lists the functions of a source file that could be kernels: in
// .cu those that are __global__, in C and C++ those visible to other files that
// take a pointer to numbers. Other endings have none, nor do absolute paths: pawl.yaml names
// sources relative to itself.
func Find(file string, source []byte) []Entry {
	cell := spec.CellOf(file)
	if cell == "" || path.IsAbs(file) || !utf8.ValidString(file) {
		return nil
	}
	tokens := csource.Read(source)
	aliases := typeAliases(tokens)
	macros := findMacros(tokens)
	var entries []Entry
	for _, f := range csource.Functions(tokens) {
		if len(entries) == maxEntriesPerFile {
			break
		}
		if e, ok := inferEntry(cell, f, aliases); ok {
			e.Source, e.Macros = file, macros
			e.Mangled = cell == spec.CellHost && path.Ext(file) != ".c" && !f.ExternC
			entries = append(entries, e)
		}
	}
	return callable(entries)
}

// callable drops functions that cannot be found by name where there are others
// that can.
func callable(entries []Entry) []Entry {
	mangled := func(e Entry) bool { return e.Mangled }
	if plain := slices.DeleteFunc(slices.Clone(entries), mangled); len(plain) > 0 {
		return plain
	}
	return entries
}

func inferEntry(cell string, f csource.Function, aliases map[string]cType) (Entry, bool) {
	e := Entry{Name: f.Name, Space: f.Space, Line: f.Line}
	if !identifier.MatchString(f.Name) || len(f.Before) == 0 {
		return e, false
	}
	switch cell {
	case spec.CellCUDA:
		if !csource.Has(f.Before, "__global__") || f.Hidden || f.Space != "" && !qualified.MatchString(f.Space) {
			return e, false
		}
	default:
		if f.Name == "main" || f.Template != nil || (f.Hidden || f.Space != "") && !f.ExternC || csource.Has(f.Before, "static", "inline", "__inline", "__inline__", "constexpr", "typedef", "friend") {
			return e, false
		}
	}
	if f.Template != nil {
		e.Template = templateParams(f.Template)
		aliases = maps.Clone(aliases)
		for _, p := range e.Template {
			if name, value, _ := strings.Cut(p, " "); value == "float" {
				aliases[name] = cTypes["float"]
			}
		}
	}
	if len(f.Bounds) == 1 {
		e.Bounds = f.Bounds[0].Text
	}
	pointers, texts, scalars := 0, 0, 0
	list := csource.SplitList(f.Params)
	for _, tokens := range list {
		if len(list) == 1 && (len(tokens) == 0 || len(tokens) == 1 && tokens[0].Is("void")) {
			break
		}
		p, ok := parseParam(tokens, aliases)
		if !ok {
			return e, false
		}
		if p.Pointer {
			p.Written, p.ReadFirst = elementUse(f.Body, p.Name)
		}
		switch {
		case !p.Pointer:
			scalars++
		case !slices.Contains(textTypes, p.Type):
			pointers++
		case p.Type == "char" && p.Written:
			texts++
		}
		e.Params = append(e.Params, p)
	}
	if scalars > 0 {
		pointers += texts
	}
	return e, pointers > 0 && len(e.Params) <= maxEntryParams
}

// textTypes are pointed to by functions about text and files, not by kernels; but for chars
// that are written to by who is told how many there are.
var textTypes = strings.Fields("char void FILE wchar_t")

// templateParams lists the parameters of a template with a value for each.
func templateParams(tokens []csource.Token) []string {
	var params []string
	for _, p := range csource.SplitList(tokens) {
		name, value := "", "float"
		for _, t := range p {
			if t.Is("=") {
				break
			}
			if t.Kind != csource.Word {
				continue
			}
			switch t.Text {
			case "int", "unsigned", "size_t", "long", "short", "uint32_t", "int32_t":
				value = "16"
			case "bool":
				value = "true"
			}
			name = t.Text
		}
		params = append(params, plainIdentifier(name)+" "+value)
	}
	return params
}

var (
	qualified  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$`)
	guard      = regexp.MustCompile(`^#\s*ifndef\s+([A-Z][A-Z0-9_]{0,63})\s*$`)
	definition = regexp.MustCompile(`^#\s*define\s+([A-Za-z_]\w*)\s+\(?\s*(\w+)\s*\)?\s*$`)
	wholeValue = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})[uUlL]*$`)
)

// macroWords are values of macros, besides whole numbers, that look like a
// choice. Others (constants, attributes) are not meant to be tuned.
var macroWords = strings.Fields("true false float double half int")

// findMacros lists the macros that the source defines only when the compiler's
// command line does not: those are made to be set from outside.
func findMacros(tokens []csource.Token) []Macro {
	var macros []Macro
	seen := map[string]bool{}
	open := ""
	for _, t := range tokens {
		if t.Kind != csource.Directive {
			continue
		}
		if m := guard.FindStringSubmatch(t.Text); m != nil {
			open = m[1]
			continue
		}
		name := open
		open = ""
		m := definition.FindStringSubmatch(t.Text)
		if m == nil || name == "" || m[1] != name || seen[name] {
			continue
		}
		value := m[2]
		if number := wholeValue.FindStringSubmatch(value); number != nil {
			value = number[1]
		} else if !slices.Contains(macroWords, value) {
			continue
		}
		seen[name] = true
		macros = append(macros, Macro{name, value})
	}
	return macros
}
