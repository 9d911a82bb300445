package draft

import (
	"slices"
	"strconv"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/pattern"
)

// source is a file as a compiler would see it, as far as the file and its own headers say.
type source struct {
	functions []csource.Function
	outside   [][]csource.Token // statements at file level
	aliases   map[string]cType
	macros    []Macro           // compile-time parameters
	words     map[string]bool   // all words, as written
	unsure    map[string]bool   // variables whose value nobody says
	packs     map[string]int64  // elements in 16 bytes of types such as typedef Pack<half> pack
	instances map[string]string // arguments of templates, by function, where they are named
}

// readSource reads a file with its own headers.
func readSource(text []byte, include func(string) []byte) *source {
	p := preprocess(text, include)
	f := &source{functions: csource.Functions(p.out), macros: p.params, words: p.words, unsure: map[string]bool{}}
	f.aliases = typeAliases(p.out)
	f.outside = fileLevel(p.out)
	f.packs = packs(p.out, f.aliases)
	f.macros = append(f.macros, f.undefined(p.missing)...)
	f.instances = instances(p.out, f.functions)
	return f
}

// instances finds the arguments of template kernels that are named anywhere: kernel<float, 16>.
func instances(tokens []csource.Token, functions []csource.Function) map[string]string {
	templates := map[string]bool{}
	for _, fn := range functions {
		templates[fn.Name] = templates[fn.Name] || fn.Template != nil
	}
	out := map[string]string{}
	for i, t := range tokens {
		if !templates[t.Text] || i+2 >= len(tokens) || !tokens[i+1].Is("<") || tokens[i+2].Is("<") || out[t.Text] != "" {
			continue
		}
		if end := csource.SkipGroup(tokens, i+1, "<", ">"); end-i < 24 {
			out[t.Text] = tokenText(tokens[i+2 : end])
		}
	}
	return out
}

// packs finds names for templates of one element type: using pack = Pack<half>.
func packs(tokens []csource.Token, aliases map[string]cType) map[string]int64 {
	out := map[string]int64{}
	for i, t := range tokens {
		if !t.Is("typedef") && !t.Is("using") || i+6 >= len(tokens) {
			continue
		}
		part := tokens[i+1 : i+7] // Pack < half > pack ; or pack = Pack < half >
		name, element := part[4], part[2]
		if t.Is("using") {
			name, element = part[0], part[4]
			part = part[2:]
		}
		if kind, ok := typeNamed(element.Text, aliases); ok && part[1].Is("<") && part[3].Is(">") {
			out[name.Text] = int64(16 / (kind.dtype.Size() * kind.width))
		}
	}
	return out
}

// packSize returns the value of pack::size.
func (f *source) packSize(name string) (int64, bool) {
	kind, isSize := strings.CutSuffix(name, "::size")
	n := f.packs[kind]
	return n, isSize && n > 0
}

// fileLevel lists the statements outside of functions and classes.
func fileLevel(tokens []csource.Token) [][]csource.Token {
	var out [][]csource.Token
	var open []csource.Token
	for i := 0; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is(";"):
			if len(open) > 0 {
				out = append(out, open)
			}
			open = nil
		case t.Is("{") && !csource.Has(open, "="):
			if !csource.Has(open, "namespace", "extern") || csource.Has(open, "(") {
				i = csource.SkipGroup(tokens, i, "{", "}")
			}
			open = nil
		case t.Is("}"):
			open = nil
		default:
			open = append(open, t)
		}
	}
	return out
}

// reach returns the body of a function with those of the functions that it calls.
func (f *source) reach(fn csource.Function) []csource.Token {
	bodies := map[string][]csource.Token{}
	for _, other := range f.functions {
		bodies[other.Name] = other.Body
	}
	delete(bodies, fn.Name)
	out := slices.Clone(fn.Body)
	for i := 0; i < len(out) && len(out) < maxExpansion; i++ {
		if body, ok := bodies[out[i].Text]; ok && out[i].Kind == csource.Word {
			out = append(out, body...)
			delete(bodies, out[i].Text)
		}
	}
	return out
}

// macro reports whether a name is a compile-time parameter.
func (f *source) macro(name string) bool {
	return slices.ContainsFunc(f.macros, func(m Macro) bool { return m.Name == name })
}

// unknownSize makes a variable of a size whose value nobody says.
func (f *source) unknownSize(name string) sum {
	base := strings.ToUpper(plainIdentifier(name))
	if !identifier.MatchString(base) {
		base = "N"
	}
	upper := base
	for n := 2; f.macro(upper); n++ {
		upper = base + "_" + strconv.Itoa(n)
	}
	f.unsure[upper] = true
	return named(upper)
}

// builtinNames are of CUDA and the standard library.
var (
	builtinNames = pattern.New(`^(threadIdx|blockIdx|blockDim|gridDim|warpSize|this|nullptr|true|false|NULL|INFINITY|NAN|M_\w+|EOF|stderr|stdout|[A-Z]*_(MAX|MIN)|[A-Z]+_EPSILON|__\w*|cuda\w*|CUDA\w*|cu[A-Z]\w*|\w+_cast|cooperative_groups|thrust|cub|std|nvcuda|wmma|\w+::.*)$`)
	cWords       = strings.Fields("if else for while do return break continue const int float double char long short unsigned signed void bool size_t static inline struct auto switch case default sizeof volatile restrict extern template typename class using asm goto register union enum typedef constexpr operator new delete half dim3 unroll and or not namespace public private friend try catch throw explicit virtual final override noexcept decltype alignas mutable")
)

// undefined finds the macros that device code uses and nobody defines. Tuners set them from
// outside. In a file with headers that are missing, a name must look like one.
func (f *source) undefined(missing bool) []Macro {
	declared := map[string]bool{}
	for _, fn := range f.functions {
		declared[fn.Name] = true
		for _, t := range slices.Concat(fn.Params, fn.Template) {
			declared[t.Text] = true
		}
		declareAll(csource.Statements(fn.Body), declared)
	}
	for _, tokens := range f.outside {
		for _, d := range declarations(tokens) {
			declared[d.name] = true
		}
	}
	var found []Macro
	for _, fn := range f.functions {
		if !csource.Has(fn.Before, "__global__", "__device__") {
			continue
		}
		second := usesAxis(f.reach(fn), "y")
		for _, name := range freeNames(slices.Concat(fn.Body, fn.Bounds)) {
			if declared[name] || f.macro(name) || slices.ContainsFunc(found, func(m Macro) bool { return m.Name == name }) || missing && !tunable.MatchString(name) {
				continue
			}
			value, sure := usualMacro(name, second)
			found = append(found, Macro{Name: name, Value: strconv.Itoa(value), Guessed: !sure})
		}
	}
	return found
}

// usesAxis reports whether a kernel asks for its place along an axis.
func usesAxis(body []csource.Token, axis string) bool {
	for i, t := range body {
		if (t.Is("threadIdx") || t.Is("blockIdx")) && i+2 < len(body) && body[i+2].Is(axis) {
			return true
		}
	}
	return false
}

// declareAll collects the names that statements declare.
func declareAll(list []csource.Statement, declared map[string]bool) {
	for _, s := range list {
		for _, tokens := range [][]csource.Token{s.Tokens, s.Init} {
			for _, d := range declarations(tokens) {
				declared[d.name] = true
			}
			for i, t := range tokens { // of lambdas, and of range loops
				if t.Kind == csource.Word && i > 0 && tokens[i-1].Kind == csource.Word && !slices.Contains(cWords, t.Text) && !tokens[i-1].Is("return") {
					declared[t.Text] = true
				}
			}
		}
		declareAll(s.Body, declared)
		declareAll(s.Else, declared)
	}
}

// freeNames lists names in the order of their use, without functions, members and types.
func freeNames(tokens []csource.Token) []string {
	var names []string
	for i, t := range tokens {
		if t.Kind != csource.Word || !identifier.MatchString(t.Text) || builtinNames.MatchString(t.Text) || slices.Contains(cWords, t.Text) || cTypes[t.Text].width > 0 || slices.Contains(names, t.Text) {
			continue
		}
		next, last := csource.Token{}, csource.Token{}
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		if i > 0 {
			last = tokens[i-1]
		}
		operand := last.Kind == csource.Punct && !last.Is(".") && !last.Is("->") && !last.Is("::") && !last.Is("{") && !last.Is("}") && !last.Is(";") && !last.Is("#")
		if operand && next.Kind == csource.Punct && !next.Is("(") && !next.Is("::") && !next.Is("<") || operand && next.Is("<") && !last.Is(",") {
			names = append(names, t.Text)
		}
	}
	return names
}

// tunable matches names that macros of tuners have.
var tunable = pattern.New(`(?i)^((block|tile|thread|grid|unroll|work|coarse\w*|num_?blocks|num_?threads|vector|vec)(_?(size|dim|width|height|len|factor|per_block))?(_?[xyzmnk])?|[tb][smnk]|b[mnk]|t[mnk]|use_\w+)$`)

// usualMacro returns a usual value for a macro, and whether its name leaves no doubt. second says
// that blocks have two dimensions.
func usualMacro(name string, second bool) (int, bool) {
	lower := strings.ToLower(name)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
	}
	switch {
	case has("warp"):
		return 32, true
	case has("use_", "unroll", "vector", "coarse", "factor"), has("tile_size_", "work_per") && !has("tile_size_k"):
		return 1, true
	case strings.HasSuffix(lower, "_z"):
		return 1, true
	case has("block", "thread", "tile", "tpb"):
		if has("num_blocks", "nblocks", "grid") {
			return 128, true
		}
		if second || has("tile") {
			return 16, true
		}
		return 256, true
	case has("width", "height", "size", "dim", "len", "num", "count") || len(lower) == 1:
		return 1024, false
	}
	return 1, false
}
