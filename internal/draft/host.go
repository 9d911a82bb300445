package draft

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/pattern"
)

// value is what host code holds in a variable, as far as launches and sizes need it. The zero value
// is unknown.
type value struct {
	kind    valueKind
	sum     sum    // an integer; the numerator of a ratio; the bytes of a buffer
	divisor sum    // of a ratio
	text    string // a formula of a real number
	dims    [3]sum
	items   []value
	name    string // of the buffer
	element string // type of the buffer's elements
	count   sum    // of the buffer's elements, where sum is not known
	zero    bool   // the buffer is filled with zeros
}

type valueKind uint8

const (
	unknown valueKind = iota
	integer
	ratio // of two integers, not rounded yet
	real
	dimensions // dim3
	buffer
	list
)

func integerValue(s sum) value { return value{kind: integer, sum: s} }

// host follows the host code of a file: from main, and from functions that launch and are never
// called. It records the first launch of every kernel.
type host struct {
	file      *source
	launches  map[string]*launch
	sizes     map[string]int64 // values of the variables that formulas use
	fixed     map[string]bool  // constants that are no variables
	params    []Macro          // block sizes that the host code tries
	globals   map[string]value
	depth     int
	loops     int             // around the statement
	running   map[string]bool // functions: what calls itself is followed once
	steps     int             // statements executed
	work      int             // expressions evaluated
	root      bool
	returned  value
	functions map[string]csource.Function
	types     map[string]string // what the template parameters of the running function stand for
	member    bool              // the running function is one of a class, whose numbers nobody says
}

// maxHostSteps and maxHostDepth bound what is followed.
const (
	maxHostSteps = 20000
	maxHostDepth = 8
)

// followHost reads the launches of a file. Where a block has the size of a constant, that is no size of
// the problem: the file is read again with its number.
func followHost(f *source) *host {
	h := followWith(f, nil)
	if fixed := h.blockConstants(); len(fixed) > 0 {
		h = followWith(f, fixed)
	}
	return h
}

func followWith(f *source, fixed map[string]bool) *host {
	h := &host{file: f, fixed: fixed, launches: map[string]*launch{}, sizes: map[string]int64{}, functions: map[string]csource.Function{}, globals: map[string]value{}, running: map[string]bool{}}
	called := map[string]bool{}
	var names []string
	for _, fn := range f.functions {
		if csource.Has(fn.Before, "__global__", "__device__") && !csource.Has(fn.Before, "__host__") {
			continue
		}
		have, twice := h.functions[fn.Name]
		if twice && fn.Member && !have.Member {
			continue
		}
		if !twice {
			names = append(names, fn.Name)
		}
		h.functions[fn.Name] = fn
	}
	for _, name := range names {
		for i, t := range h.functions[name].Body {
			if t.Kind == csource.Word && i+1 < len(h.functions[name].Body) && h.functions[name].Body[i+1].Is("(") && t.Text != name {
				called[t.Text] = true
			}
		}
	}
	h.readGlobals()
	slices.SortStableFunc(names, func(a, b string) int { return rootRank(a, called) - rootRank(b, called) })
	for _, name := range names {
		fn := h.functions[name]
		if name != "main" && !launches(fn.Body) {
			continue
		}
		if rootRank(name, called) == 2 && h.reached(fn) {
			continue
		}
		h.root = true
		h.run(fn, nil, nil)
	}
	return h
}

// rootRank orders where to begin: main, then what nobody calls.
func rootRank(name string, called map[string]bool) int {
	switch {
	case name == "main":
		return 0
	case !called[name]:
		return 1
	}
	return 2
}

// readGlobals reads constants at file level: const int N = 1 << 20;
func (h *host) readGlobals() {
	deviceWords := map[string]bool{}
	for _, fn := range h.file.functions {
		if csource.Has(fn.Before, "__global__", "__device__") {
			for _, t := range fn.Body {
				deviceWords[t.Text] = true
			}
		}
	}
	for _, tokens := range slices.Backward(h.file.outside) { // what constants of device code are made of
		for _, d := range declarations(tokens) {
			if deviceWords[d.name] {
				for _, t := range d.init {
					deviceWords[t.Text] = true
				}
			}
		}
	}
	for _, tokens := range h.file.outside {
		for _, d := range declarations(tokens) {
			if d.init == nil || d.stars > 0 || d.array {
				continue
			}
			v := h.eval(csource.ReadExpression(d.init), h.globals)
			if n, ok := v.sum.constant(); ok && v.kind == integer && !deviceWords[d.name] && !blockName.MatchString(d.name) {
				v = h.size(d.name, n)
			}
			h.globals[d.name] = v
		}
	}
}

// symbols lists the __constant__ variables without a value: host code fills them before a launch.
func (h *host) symbols() []Param {
	var out []Param
	for _, tokens := range h.file.outside {
		if !csource.Has(tokens, "__constant__") {
			continue
		}
		for _, d := range declarations(tokens) {
			words := slices.DeleteFunc(slices.Clone(d.words), func(w string) bool { return w == "__constant__" || w == "__device__" || w == "static" })
			t, known := typeNamed(strings.Join(words, " "), h.file.aliases)
			if d.init != nil || d.stars > 0 || !known {
				continue
			}
			p := Param{Name: d.name, Type: strings.Join(words, " "), DType: t.dtype, Width: t.width, Known: true, Pointer: d.array, Const: true, Symbol: true}
			for i, dim := range d.dims {
				n, ok := h.numeric(h.eval(csource.ReadExpression(dim), h.globals))
				switch {
				case !ok:
					p.count = nil
				case i == 0:
					p.count = number(n)
				default:
					p.count, p.row = p.count.times(number(n)), n
				}
			}
			out = append(out, p)
		}
	}
	return out
}

// size makes a variable of a number that the host code names.
func (h *host) size(name string, n int64) value {
	upper := strings.ToUpper(name)
	if !identifier.MatchString(upper) || n < 1 || h.fixed[upper] {
		return integerValue(number(n))
	}
	unique := upper
	for i := 2; ; i++ {
		if have, taken := h.sizes[unique]; !h.file.macro(unique) && (!taken || have == n) {
			break
		}
		unique = upper + "_" + strconv.Itoa(i)
	}
	h.sizes[unique] = n
	return integerValue(named(unique))
}

var blockName = pattern.New(`(?i)(block|thread|tpb|warp|tile|grid|num_?sm|unroll|coarse)`)

// run executes a function with arguments; nil means that nobody calls it, and its integers become
// variables.
func (h *host) run(fn csource.Function, args []value, template []csource.Token) value {
	if h.depth == maxHostDepth || h.running[fn.Name] {
		return value{}
	}
	h.depth++
	h.running[fn.Name] = true
	defer delete(h.running, fn.Name)
	env := maps.Clone(h.globals)
	types, member := h.types, h.member
	h.types, h.member = h.bindTemplate(fn, args, template, env), fn.Member
	defer func() { h.types, h.member = types, member }()
	for i, tokens := range csource.SplitList(fn.Params) {
		p, ok := parseParam(tokens, h.file.aliases)
		if name := paramName(tokens); !ok && name != "" { // a reference, or of a class
			p = Param{Name: name, Pointer: true}
		}
		switch {
		case i < len(args):
			env[p.Name] = args[i]
		case args == nil && !p.Pointer && p.Known && !p.DType.Float() && fn.Name != "main":
			switch n, isBlock := usualBlock(p.Name); {
			case isBlock:
				env[p.Name] = integerValue(number(n))
			default:
				env[p.Name] = integerValue(h.file.unknownSize(p.Name))
			}
		case args == nil && p.Pointer:
			env[p.Name] = value{kind: buffer, name: p.Name, element: p.Type}
		default:
			env[p.Name] = value{}
		}
	}
	outer := h.returned
	h.returned = value{}
	h.exec(csource.Statements(fn.Body), env)
	result := h.returned
	h.returned = outer
	h.depth--
	return result
}

// bindTemplate finds what the parameters of a template stand for: types by name, numbers in env.
func (h *host) bindTemplate(fn csource.Function, args []value, template []csource.Token, env map[string]value) map[string]string {
	if fn.Template == nil {
		return nil
	}
	types := map[string]string{}
	var given [][]csource.Token
	if len(template) > 0 {
		given = csource.SplitList(template)
	}
	for i, tokens := range csource.SplitList(fn.Template) {
		name := paramName(tokens)
		switch isType := csource.Has(tokens, "typename", "class"); {
		case i < len(given) && isType:
			types[name] = h.typeText(given[i])
		case i < len(given):
			env[name] = h.eval(csource.ReadExpression(given[i]), env)
		case isType:
			types[name] = deduced(fn, name, &launch{args: args})
		}
	}
	return types
}

// typeText writes a type, with what template parameters stand for.
func (h *host) typeText(tokens []csource.Token) string {
	if len(tokens) == 1 && h.types[tokens[0].Text] != "" {
		return h.types[tokens[0].Text]
	}
	return tokenText(tokens)
}

// boundType does the same for the words of a type.
func (h *host) boundType(words []string) string {
	name := strings.Join(words, " ")
	if bound := h.types[name]; bound != "" {
		return bound
	}
	return name
}

// usualBlock returns what a block size usually is.
func usualBlock(name string) (int64, bool) {
	lower := strings.ToLower(name)
	switch {
	case strings.Contains(lower, "block") && (strings.Contains(lower, "size") || strings.Contains(lower, "dim")), strings.Contains(lower, "thread"), lower == "tpb":
		return 256, true
	}
	return 0, false
}

// paramName returns the name of a parameter, also of one such as T (&x)[4].
func paramName(tokens []csource.Token) string {
	name := ""
	for i := 0; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is("="), t.Is(")"):
			return name
		case t.Is("["):
			i = csource.SkipGroup(tokens, i, "[", "]")
		case t.Is("<"):
			i = csource.SkipGroup(tokens, i, "<", ">")
		case t.Kind == csource.Word:
			name = t.Text
		}
	}
	return name
}

func lastWord(tokens []csource.Token) string {
	for _, t := range slices.Backward(tokens) {
		if t.Kind == csource.Word {
			return t.Text
		}
	}
	return ""
}

// values returns what all variables and params are.
func (h *host) values() map[string]int64 {
	all := maps.Clone(h.sizes)
	for _, m := range slices.Concat(h.file.macros, h.params) {
		if n, err := strconv.ParseInt(m.Value, 10, 64); err == nil {
			all[m.Name] = n
		}
	}
	return all
}

func (h *host) numeric(v value) (int64, bool) {
	if v.kind != integer {
		return 0, false
	}
	return v.sum.at(h.values())
}

// typeOf looks a type up by its words.
func (h *host) typeOf(words []string) (cType, bool) {
	return typeNamed(h.boundType(words), h.file.aliases)
}

// integral reports whether the words of a type mean an integer.
func (h *host) integral(words []string) bool {
	t, ok := h.typeOf(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "static" || w == "constexpr" }))
	return ok && !t.dtype.Float() && t.width == 1
}
