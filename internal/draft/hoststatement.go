package draft

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/csource"
)

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
