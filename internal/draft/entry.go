package draft

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/internal/csource"
	"pawl/internal/pattern"
	"pawl/internal/spec"
)

// Entry is a function that could be a kernel, found in a source file.
type Entry struct {
	Source  string // path as it will stand in pawl.yaml
	Name    string // of the function
	Space   string // namespaces around it: "a::b"
	Line    int
	Params  []Param
	Macros  []Macro // compile-time parameters
	Mangled bool    // C++ without extern "C": a host cell cannot find it by name
	Static  bool    // a CUDA kernel that nobody outside of the file can find

	returns         string // the type of its result; "": void
	template        []templateArg
	templateGuessed bool
	body            []csource.Token
	reach           []csource.Token // the body, and those of the functions that it calls
	launchBounds    sum
	plan            plan
	described       *described // nil: nobody has described its params
}

// Macro is a compile-time parameter: #ifndef BLOCK, #define BLOCK 64.
type Macro struct {
	Name    string
	Value   string
	Others  string // values that the host code tries, too: "64, 128"
	Guessed bool
}

// templateArg is a parameter of a template with its argument.
type templateArg struct{ name, value string }

const (
	maxEntriesPerFile = 64
	maxEntryParams    = 48
)

// Find lists the functions of a source file that could be kernels: in
// .cu those that are __global__, in C and C++ those visible to other files that
// take a pointer to numbers. Other endings have none, nor do absolute paths: pawl.yaml names
// sources relative to itself. A kernel of a header belongs to the file that launches it. include returns the text of a header that the file includes by a
// name in quotes, or nil.
func Find(file string, text []byte, include func(name string) []byte) []Entry {
	cell := spec.CellOf(file)
	if cell == "" || path.IsAbs(file) || !utf8.ValidString(file) {
		return nil
	}
	f := readSource(text, include)
	h := followHost(f)
	var entries []Entry
	for _, fn := range f.functions {
		if len(entries) == maxEntriesPerFile {
			break
		}
		if fn.Line == 0 && h.launches[fn.Name] == nil { // of a header, for others
			continue
		}
		if e, ok := inferEntry(cell, fn, f, h); ok {
			e.Source = file
			e.Mangled = cell == spec.CellHost && path.Ext(file) != ".c" && !fn.ExternC
			e.Static = cell == spec.CellCUDA && csource.Has(fn.Before, "static")
			e.makePlan(cell, f, h)
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

func inferEntry(cell string, fn csource.Function, f *source, h *host) (Entry, bool) {
	e := Entry{Name: fn.Name, Space: fn.Space, Line: fn.Line, body: fn.Body, reach: f.reach(fn), returns: resultOf(fn)}
	if !identifier.MatchString(fn.Name) || len(fn.Before) == 0 || fn.Member {
		return e, false
	}
	switch cell {
	case spec.CellCUDA:
		if !csource.Has(fn.Before, "__global__") || fn.Hidden || fn.Space != "" && !qualified.MatchString(fn.Space) {
			return e, false
		}
	default:
		if fn.Name == "main" || fn.Template != nil || (fn.Hidden || fn.Space != "") && !fn.ExternC || csource.Has(fn.Before, "static", "inline", "__inline", "__inline__", "constexpr", "typedef", "friend") {
			return e, false
		}
	}
	aliases := f.aliases
	if fn.Template != nil {
		aliases = maps.Clone(aliases)
		e.instantiate(fn, f, h, aliases)
	}
	if bounds := h.eval(csource.ReadExpression(fn.Bounds), h.globals); bounds.kind == integer {
		if n, ok := h.numeric(bounds); ok && n > 0 && n <= spec.MaxBlockThreads {
			e.launchBounds = bounds.sum
		}
	}
	pointers, texts, scalars := 0, 0, 0
	list := csource.SplitList(fn.Params)
	names := map[string]bool{}
	for i, tokens := range list {
		if len(list) == 1 && (len(tokens) == 0 || len(tokens) == 1 && tokens[0].Is("void")) {
			break
		}
		p, ok := parseParam(tokens, aliases)
		if !ok {
			return e, false
		}
		p.rename(i, names)
		switch {
		case !p.Pointer:
			scalars++
		case !slices.Contains(textTypes, p.Type):
			pointers++
		case p.Type == "char" && writes(fn.Body, p.Name):
			texts++
		}
		e.Params = append(e.Params, p)
	}
	if scalars > 0 {
		pointers += texts
	}
	for _, p := range h.symbols() {
		if !names[p.Name] && csource.Has(e.reach, p.Name) {
			e.Params = append(e.Params, p)
		}
	}
	for _, m := range f.macros {
		if !names[m.Name] {
			e.Macros = append(e.Macros, m)
		}
	}
	return e, pointers > 0 && len(e.Params) <= maxEntryParams
}

// resultOf returns the type of a function's result; "" where it has none.
func resultOf(fn csource.Function) string {
	last := fn.Before[len(fn.Before)-1].Text
	if _, plain := cTypes[last]; plain {
		return last
	}
	if last == "void" {
		return ""
	}
	return "float"
}

// rename gives a parameter a name that pawl.yaml can have.
func (p *Param) rename(i int, taken map[string]bool) {
	if p.Name == "" {
		p.Name = fmt.Sprintf("arg%d", i)
	}
	for base, n := p.Name, 2; taken[p.Name] || !identifier.MatchString(p.Name); n++ {
		p.Name = fmt.Sprintf("%s_%d", "a"+base, n)
	}
	taken[p.Name] = true
}

// writes reports whether a body assigns elements of a pointer.
func writes(body []csource.Token, name string) bool {
	for i, t := range body {
		if !t.Is(name) || i+1 == len(body) || !body[i+1].Is("[") {
			continue
		}
		end := csource.SkipGroup(body, i+1, "[", "]")
		for _, after := range body[end+1 : min(len(body), end+3)] {
			if after.Is("=") {
				return true
			}
		}
	}
	return false
}

// textTypes are pointed to by functions about text and files, not by kernels; but for chars
// that are written to by who is told how many there are.
var textTypes = strings.Fields("char void FILE wchar_t")

// instantiate finds the arguments of a template: those of its launch or of another place that
// names them, else the types of what is passed, else its defaults, else a guess.
func (e *Entry) instantiate(fn csource.Function, f *source, h *host, aliases map[string]cType) {
	var given []string
	l := h.launches[fn.Name]
	if l != nil && l.template != "" {
		given = strings.Split(l.template, ", ")
	} else if text := f.instances[fn.Name]; text != "" && l == nil {
		given = strings.Split(text, ", ")
	}
	for i, tokens := range csource.SplitList(fn.Template) {
		head, otherwise := tokens, []csource.Token(nil)
		if at := slices.IndexFunc(tokens, func(t csource.Token) bool { return t.Is("=") }); at >= 0 {
			head, otherwise = tokens[:at], tokens[at+1:]
		}
		a := templateArg{name: plainIdentifier(lastWord(head))}
		isType := csource.Has(head, "typename", "class")
		switch {
		case i < len(given):
			a.value = given[i]
		case isType && l != nil && deduced(fn, a.name, l) != "":
			a.value = deduced(fn, a.name, l)
		case otherwise != nil:
			a.value = tokenText(otherwise)
		case isType:
			a.value, e.templateGuessed = "float", true
		case csource.Has(head, "bool"):
			a.value, e.templateGuessed = "true", true
		default:
			n, sure := usualMacro(a.name, usesAxis(e.reach, "y"))
			a.value = fmt.Sprint(n)
			e.templateGuessed = e.templateGuessed || !sure
		}
		if isType {
			if t, ok := typeNamed(a.value, aliases); ok {
				aliases[a.name] = t
			}
		}
		e.template = append(e.template, a)
	}
}

// typeNamed looks a type up by its name.
func typeNamed(name string, aliases map[string]cType) (cType, bool) {
	words := strings.Fields(name)
	if t, ok := aliases[strings.Join(words, " ")]; ok {
		return t, true
	}
	t, ok := cTypes[csource.TypeKey(words)]
	return t, ok
}

// deduced returns the type that a launch's arguments give to a parameter of the template.
func deduced(fn csource.Function, name string, l *launch) string {
	for i, tokens := range csource.SplitList(fn.Params) {
		if i < len(l.args) && l.args[i].kind == buffer && csource.Has(tokens, name) {
			return l.args[i].element
		}
	}
	return ""
}

var (
	qualified      = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$`)
	plainName      = pattern.New(`[A-Za-z_]\w*`)
	definitionLine = pattern.New(`^#\s*define\s+([A-Za-z_]\w*)\s+\(?\s*(\w+)\s*\)?\s*$`)
	wholeValue     = pattern.New(`^(0|[1-9][0-9]{0,17})[uUlL]*$`)
)

// macroWords are values of macros, besides whole numbers, that look like a
// choice. Others (constants, attributes) are not meant to be tuned.
var macroWords = strings.Fields("true false float double half int")
