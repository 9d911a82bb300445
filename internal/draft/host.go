package draft

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/csource"
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

// launch is a launch as the host code has it.
type launch struct {
	grid, block [3]sum
	shared      sum
	args        []value
	template    string // arguments in angle brackets
	cooperative bool
	guessed     bool // something of it could not be read
}

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

// blockConstants lists the constants that blocks are made of, but no buffer.
func (h *host) blockConstants() map[string]bool {
	fixed := map[string]bool{}
	for _, l := range h.launches {
		used := map[string]bool{}
		for _, a := range l.args {
			for _, name := range append(a.sum.variables(), a.count.variables()...) {
				used[name] = used[name] || a.kind == buffer
			}
		}
		for _, dim := range l.block {
			for _, name := range dim.variables() {
				if _, known := h.sizes[name]; known && !used[name] {
					fixed[name] = true
				}
			}
		}
	}
	return fixed
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

// launches reports whether a body launches a kernel.
func launches(body []csource.Token) bool {
	for i := range body {
		if opensLaunch(body, i) {
			return true
		}
	}
	return csource.Has(body, "cudaLaunchKernel", "cudaLaunchCooperativeKernel")
}

func opensLaunch(tokens []csource.Token, i int) bool {
	return i > 0 && i+3 < len(tokens) && tokens[i].Is("<") && tokens[i+1].Is("<") && tokens[i+2].Is("<")
}

// reached reports whether all launches of a function are known already.
func (h *host) reached(fn csource.Function) bool {
	for i := range fn.Body {
		if opensLaunch(fn.Body, i) {
			if name, _ := launched(fn.Body, i); h.launches[name] == nil {
				return false
			}
		}
	}
	return true
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

var blockName = regexp.MustCompile(`(?i)(block|thread|tpb|warp|tile|grid|num_?sm|unroll|coarse)`)

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

// exec executes statements. It returns false where the rest of the function is not reached.
func (h *host) exec(list []csource.Statement, env map[string]value) bool {
	for _, s := range list {
		if h.steps++; h.steps > maxHostSteps {
			return false
		}
		switch s.Kind {
		case csource.Simple:
			h.simple(s.Tokens, env)
		case csource.Return:
			if len(s.Tokens) > 0 {
				h.returned = h.eval(csource.ReadExpression(s.Tokens), env)
			}
			return false
		case csource.Block:
			if !h.exec(s.Body, env) {
				return false
			}
		case csource.If:
			if !h.branch(s, env) {
				return false
			}
		case csource.Loop:
			root := h.root
			h.root = false
			h.simple(s.Init, env)
			h.root = root
			h.loops++
			h.exec(s.Body, env)
			h.loops--
		case csource.Switch:
			h.cases(s.Body, env)
		}
	}
	return true
}

// cases executes all cases of a switch, each with the variables as they were before.
func (h *host) cases(list []csource.Statement, env map[string]value) {
	own := maps.Clone(env)
	for _, s := range list {
		if s.Kind == csource.Return {
			own = maps.Clone(env)
			continue
		}
		h.exec([]csource.Statement{s}, own)
	}
}

// branch executes what an if statement chooses. What an unknown condition governs is tried, and its
// assignments forgotten.
func (h *host) branch(s csource.Statement, env map[string]value) bool {
	condition := csource.ReadExpression(s.Tokens)
	if h.roundsUp(condition, s.Body, env) {
		return true
	}
	if n, ok := h.numeric(h.eval(condition, env)); ok {
		if n != 0 {
			return h.exec(s.Body, env)
		}
		if h.loops > 0 { // a later round may take it
			h.exec(s.Body, maps.Clone(env))
		}
		return h.exec(s.Else, env)
	}
	yes, no := maps.Clone(env), maps.Clone(env)
	h.exec(s.Body, yes)
	h.exec(s.Else, no)
	if h.ofSizes(condition, env) {
		for name, v := range env {
			if v.kind == integer && (!sameTerms(v.sum, yes[name].sum) || !sameTerms(v.sum, no[name].sum)) {
				env[name] = value{}
			}
		}
	}
	return true
}

// roundsUp executes if (n % b) blocks++, where blocks is n / b.
func (h *host) roundsUp(condition *csource.Expression, body []csource.Statement, env map[string]value) bool {
	if condition != nil && (condition.Op == "!=" || condition.Op == ">") && condition.Args[1].Text == "0" {
		condition = condition.Args[0]
	}
	if condition == nil || condition.Op != "%" {
		return false
	}
	a, b := h.eval(condition.Args[0], env), h.eval(condition.Args[1], env)
	for name, e := range bumps(body) {
		if v := env[name]; e.Text == "1" && a.kind == integer && b.kind == integer && v.kind == integer && sameTerms(v.sum, a.sum.over(b.sum)) {
			env[name] = integerValue(a.sum.ceilOver(b.sum))
			return true
		}
	}
	return false
}

// ofSizes reports whether an expression has a variable that is a formula of sizes.
func (h *host) ofSizes(e *csource.Expression, env map[string]value) bool {
	if e == nil {
		return false
	}
	if v := env[e.Text]; e.Op == "name" && v.kind == integer && hasName(v.sum) {
		return true
	}
	return slices.ContainsFunc(e.Args, func(a *csource.Expression) bool { return h.ofSizes(a, env) })
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

// simple executes a declaration, an assignment, calls and launches.
func (h *host) simple(tokens []csource.Token, env map[string]value) {
	if len(tokens) == 0 {
		return
	}
	for i := range tokens {
		if opensLaunch(tokens, i) {
			h.launch(tokens, i, env)
			return
		}
	}
	if list := declarations(tokens); list != nil {
		for _, d := range list {
			h.declare(d, env)
		}
		return
	}
	e := csource.ReadExpression(tokens)
	if e == nil {
		return
	}
	h.calls(e, env)
	h.assign(e, env)
}

// assign executes an assignment, if the expression is one, and returns its value.
func (h *host) assign(e *csource.Expression, env map[string]value) value {
	if len(e.Args) != 2 || !strings.HasSuffix(e.Op, "=") || slices.Contains([]string{"==", "!=", "<=", ">="}, e.Op) {
		return h.eval(e, env)
	}
	right := h.assign(e.Args[1], env)
	if e.Op != "=" {
		right = h.eval(&csource.Expression{Op: strings.TrimSuffix(e.Op, "="), Args: e.Args}, env)
	}
	switch left := e.Args[0]; left.Op {
	case "name":
		if right.kind != unknown || env[left.Text].kind == unknown {
			env[left.Text] = right
		}
	case ".":
		if axis := strings.Index("xyz", left.Text); axis >= 0 && len(left.Text) == 1 && left.Args[0].Op == "name" {
			v := env[left.Args[0].Text]
			if v.kind == dimensions && right.kind == integer {
				v.dims[axis] = right.sum
				env[left.Args[0].Text] = v
			}
		}
	}
	return right
}

func (h *host) declare(d declarator, env map[string]value) {
	kind := ""
	if len(d.words) > 0 {
		kind = d.words[len(d.words)-1]
	}
	var args []value
	var only *csource.Expression
	if d.init != nil {
		for _, part := range csource.SplitAt(d.init, ",") {
			only = csource.ReadExpression(part)
			h.calls(only, env)
			args = append(args, h.eval(only, env))
		}
	}
	switch {
	case kind == "dim3" && len(args) == 1 && args[0].kind == list:
		env[d.name] = dimensionsOf(args[0].items)
	case kind == "dim3" && (d.list || d.init == nil):
		env[d.name] = dimensionsOf(args)
	case strings.HasSuffix(kind, "device_vector") && len(args) > 0 && args[0].kind == integer:
		env[d.name] = value{kind: buffer, name: d.name, count: args[0].sum, zero: len(args) == 1}
	case d.array && len(args) == 1 && args[0].kind == list:
		env[d.name] = args[0]
	case len(args) != 1:
		env[d.name] = value{}
		if d.stars > 0 {
			env[d.name] = value{kind: buffer, name: d.name, element: h.boundType(d.words)}
		}
	default:
		v := args[0]
		if v.kind == ratio && h.integral(d.words) {
			v = integerValue(v.sum.over(v.divisor))
		}
		if v.kind == list && d.stars == 0 && only.Op == "[]" {
			v = h.choose(d.name, v)
		}
		if n, ok := v.sum.constant(); ok && v.kind == integer && h.root && h.depth == 1 && !blockName.MatchString(d.name) {
			v = h.size(d.name, n)
		}
		if v.kind != buffer && d.stars > 0 {
			v = value{kind: buffer, name: d.name, element: h.boundType(d.words)}
		}
		if v.kind == unknown && h.root && h.depth == 1 && d.stars == 0 && h.integral(d.words) {
			v = integerValue(h.file.unknownSize(d.name))
		}
		env[d.name] = v
	}
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

func dimensionsOf(args []value) value {
	v := value{kind: dimensions, dims: [3]sum{number(1), number(1), number(1)}}
	for i, a := range args {
		if i > 2 || a.kind != integer {
			return value{}
		}
		v.dims[i] = a.sum
	}
	return v
}

// choose takes one number of a list that the host code tries one after the other. Block sizes
// become a param.
func (h *host) choose(name string, v value) value {
	var numbers []int64
	for _, item := range v.items {
		n, ok := h.numeric(item)
		if !ok {
			return value{}
		}
		numbers = append(numbers, n)
	}
	if len(numbers) == 0 {
		return value{}
	}
	if !blockName.MatchString(name) {
		return h.size(name, numbers[0])
	}
	first := numbers[len(numbers)/2]
	for _, usual := range []int64{16, 128, 256} {
		if slices.Contains(numbers, usual) {
			first = usual
		}
	}
	var others []string
	for _, n := range numbers {
		if n != first {
			others = append(others, strconv.FormatInt(n, 10))
		}
	}
	m := Macro{Name: strings.ToUpper(name), Value: strconv.FormatInt(first, 10), Others: strings.Join(others, ", ")}
	for h.file.words[m.Name] {
		m.Name = "LAUNCH_" + m.Name
	}
	if !identifier.MatchString(m.Name) {
		return integerValue(number(first))
	}
	if !slices.Contains(h.params, m) {
		h.params = append(h.params, m)
	}
	return integerValue(named(m.Name))
}

// templateArguments writes the arguments of a kernel's template, numbers where they are known.
func (h *host) templateArguments(tokens []csource.Token, env map[string]value) string {
	if len(tokens) == 0 {
		return ""
	}
	var parts []string
	for _, part := range csource.SplitList(tokens) {
		text := h.typeText(part)
		v := h.eval(csource.ReadExpression(part), env)
		if n, ok := h.numeric(v); ok && !(len(part) == 1 && (h.file.macro(part[0].Text) || part[0].Is("true") || part[0].Is("false"))) {
			text = strconv.FormatInt(n, 10)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// launched returns the kernel before the brackets of a launch, and its template's arguments.
func launched(tokens []csource.Token, i int) (name string, template []csource.Token) {
	at := i - 1
	if tokens[at].Is(">") {
		depth := 0
		end := at
		for ; at >= 0; at-- {
			if tokens[at].Is(">") {
				depth++
			} else if tokens[at].Is("<") {
				if depth--; depth == 0 {
					break
				}
			}
		}
		if at <= 0 {
			return "", nil
		}
		template = tokens[at+1 : end]
		at--
	}
	return tokens[at].Text, template
}

// tokenText writes tokens as source.
func tokenText(tokens []csource.Token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && t.Kind != csource.Punct && tokens[i-1].Kind != csource.Punct || i > 0 && tokens[i-1].Is(",") {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// launch records kernel<<<grid, block, shared, stream>>>(arguments).
func (h *host) launch(tokens []csource.Token, i int, env map[string]value) {
	name, arguments := launched(tokens, i)
	end, depth := i+3, 0
	for ; end+2 < len(tokens); end++ {
		switch t := tokens[end]; {
		case t.Is("(") || t.Is("{"):
			depth++
		case t.Is(")") || t.Is("}"):
			depth--
		}
		if depth == 0 && tokens[end].Is(">") && tokens[end+1].Is(">") && tokens[end+2].Is(">") {
			break
		}
	}
	if end+3 >= len(tokens) || !tokens[end+3].Is("(") || name == "" {
		return
	}
	l := &launch{template: h.templateArguments(arguments, env)}
	var given []value
	for _, part := range csource.SplitAt(tokens[i+3:end], ",") {
		given = append(given, h.eval(csource.ReadExpression(part), env))
	}
	if len(given) < 2 {
		return
	}
	closing := csource.SkipGroup(tokens, end+3, "(", ")")
	if inside := tokens[end+4 : max(end+4, closing)]; len(inside) > 0 {
		for _, part := range csource.SplitAt(inside, ",") {
			l.args = append(l.args, h.eval(csource.ReadExpression(part), env))
		}
	}
	h.record(name, l, given)
}

// record keeps a launch, unless a better one of the same kernel is known.
func (h *host) record(name string, l *launch, given []value) {
	for at, to := range map[int]*[3]sum{0: &l.grid, 1: &l.block} {
		switch v := given[at]; v.kind {
		case integer:
			*to = [3]sum{v.sum, number(1), number(1)}
		case dimensions:
			*to = v.dims
		default:
			l.guessed = true
		}
	}
	if len(given) > 2 {
		if given[2].kind == integer {
			l.shared = given[2].sum
		} else {
			l.guessed = true
		}
	}
	if have := h.launches[name]; have == nil || have.guessed && !l.guessed {
		h.launches[name] = l
	}
}

// calls follows the calls within an expression: of functions of the file, and of those that allocate.
func (h *host) calls(e *csource.Expression, env map[string]value) {
	if e == nil {
		return
	}
	if e.Op != "call" {
		for _, a := range e.Args {
			h.calls(a, env)
		}
		return
	}
	for _, a := range e.Args {
		if a != nil && a.Op == "call" {
			h.calls(a, env)
		}
	}
	target := func(at int) string {
		if at >= len(e.Args) {
			return ""
		}
		a := e.Args[at]
		for a.Op == "cast" || a.Op == "u&" {
			a = a.Args[0]
		}
		return a.Text
	}
	switch {
	case strings.HasPrefix(e.Text, "cudaMalloc") && len(e.Args) >= 2:
		v := value{kind: buffer, name: target(0), element: env[target(0)].element}
		if size := h.eval(e.Args[1], env); size.kind == integer {
			v.sum = size.sum
		}
		env[target(0)] = v
	case strings.HasPrefix(e.Text, "cudaMemset") && len(e.Args) >= 2:
		if v := env[target(0)]; v.kind == buffer {
			v.zero = true
			env[target(0)] = v
		}
	case (e.Text == "cudaLaunchKernel" || e.Text == "cudaLaunchCooperativeKernel") && len(e.Args) >= 4:
		l := &launch{cooperative: e.Text != "cudaLaunchKernel", args: h.eval(e.Args[3], env).items}
		given := []value{h.eval(e.Args[1], env), h.eval(e.Args[2], env)}
		if len(e.Args) > 4 {
			given = append(given, h.eval(e.Args[4], env))
		}
		h.record(target(0), l, given)
	default:
		h.eval(e, env)
	}
}
