package draft

import (
	"maps"
	"slices"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/pattern"
)

// use says what a kernel does with the elements of a buffer.
type use struct {
	read, written bool
	readFirst     bool  // before anything is written
	added         bool  // something is added to what is there
	atomic        bool  // by an atomic function
	extent        sum   // one more than the largest index
	known         bool  // extent is
	row           int64 // elements from one row to the next, where that is a number
	unbounded     bool  // there is an index without a known limit
	passed        bool  // to a function that is not in the file
	index         bool  // its elements are indices, or limits of loops
}

// bound is what is known of a value in device code.
type bound struct {
	ok    bool
	top   sum  // the largest value; of a pointer the largest offset
	exact bool // top is the value
	form  sum  // the value, of block and thread numbers too; nil: not known

	base   string // the parameter that a pointer points into
	scale  int64  // elements of base in one of the pointer's
	loaded string // the parameter that the value was read from

	meaning *csource.Expression // of a variable: the expression that it was declared with, while that has the same value; nil: none
}

// guard is a limit that device code has for a value.
type guard struct{ form, limit, step sum }

// device follows the body of a kernel: which buffers it reads and writes, and how far.
type device struct {
	file        *source
	functions   map[string]csource.Function // of the device
	globals     map[string]value
	numbers     map[string]int64 // values of all variables, to compare sums
	given       map[string]int64 // those that the source says
	filled      sum              // elements of a buffer of the launch, where that is a formula
	grid, block [3]sum           // nil: not known yet
	bytes       map[string]int   // size of a parameter's elements
	types       map[string]bool  // what parameters point to, as written
	uses        map[string]*use
	guards      []guard
	indices     []sum // forms of all indices
	forms       []sum // forms of all variables
	parameters  map[string]bound
	shared      bool // the size of the shared memory comes from the launch
	assigned    map[string]bool
	result      bound
	depth       int
	steps       int
	work        int // expressions evaluated
}

const (
	maxDeviceSteps = 20000
	maxDeviceDepth = 5
	maxWork        = 100000
)

// follow walks through a kernel's body with its parameters.
func (d *device) follow(e *Entry) {
	d.uses, d.guards, d.indices, d.forms, d.steps, d.work = map[string]*use{}, nil, nil, nil, 0, 0
	d.assigned = map[string]bool{}
	env := maps.Clone(d.parameters)
	for _, p := range e.Params {
		if p.Pointer {
			d.uses[p.Name] = &use{}
			env[p.Name] = bound{ok: true, base: p.Name, scale: 1, form: zeroForm}
		}
	}
	d.exec(csource.Statements(e.body), env)
}

// exec follows statements. It returns false where the rest is not reached.
func (d *device) exec(list []csource.Statement, env map[string]bound) bool {
	for _, s := range list {
		if d.steps++; d.steps > maxDeviceSteps {
			return false
		}
		switch s.Kind {
		case csource.Simple:
			d.simple(s.Tokens, env)
		case csource.Return:
			if len(s.Tokens) > 0 {
				d.result = d.larger(d.result, d.eval(csource.ReadExpression(s.Tokens), env))
			}
			return false
		case csource.Block, csource.Switch:
			if !d.exec(s.Body, env) && s.Kind == csource.Block {
				return false
			}
		case csource.If:
			d.branch(s, env)
		case csource.Loop:
			d.loop(s, env)
		}
	}
	return true
}

func (d *device) branch(s csource.Statement, env map[string]bound) {
	condition := csource.ReadExpression(s.Tokens)
	d.eval(condition, env)
	yes, no := maps.Clone(env), maps.Clone(env)
	d.assume(condition, true, yes)
	d.assume(condition, false, no)
	outer := d.assigned
	d.assigned = map[string]bool{}
	goesOn := d.exec(s.Body, yes)
	d.exec(s.Else, no)
	for name := range d.assigned {
		if goesOn {
			env[name] = d.larger(yes[name], no[name])
		}
		outer[name] = true
	}
	changed := len(d.assigned) > 0
	d.assigned = outer
	if !goesOn {
		clear(env)
		maps.Copy(env, no)
	}
	if changed {
		unmean(env)
	}
}

// loop follows the body of a loop once, with the variables at their largest.
func (d *device) loop(s csource.Statement, env map[string]bound) {
	d.simple(s.Init, env)
	condition, step := csource.ReadExpression(s.Tokens), csource.ReadExpression(s.Step)
	unmean(env) // every turn may change the values
	inner := maps.Clone(env)
	d.eval(condition, inner)
	if condition != nil && len(condition.Args) == 2 {
		d.limits(condition.Args[1], inner)
	}
	counter, limit, by := d.counter(condition, step, env)
	for name, e := range bumps(s.Body) {
		b, known := env[name]
		if !known {
			continue
		}
		change := d.quiet(e, env)
		if counter == "" || !change.ok || !b.ok {
			b.ok, b.form = false, nil
		} else {
			b.top = b.top.plus(limit.times(change.top).over(by), 1).plus(change.top, -1) // rows come first
			b.exact, b.form = false, nil
		}
		if b.loaded = ""; b.base == "" && !b.ok {
			b = bound{}
		}
		inner[name] = b
	}
	if step != nil && len(step.Args) > 0 && step.Args[0].Op == "name" {
		name := step.Args[0].Text
		b := inner[name]
		if grows(step) {
			b.ok = false
		}
		b.exact = false
		inner[name] = b
	}
	if start := env[counter]; counter != "" {
		if start.form != nil {
			d.guards = append(d.guards, guard{start.form, limit, by})
		}
		d.refine(condition, true, inner)
		if first, ok := start.top.constant(); ok && start.exact && first == 0 && d.divides(by, limit) { // the last step begins there
			inner[counter] = bound{ok: true, top: limit.plus(by, -1), form: start.form}
		}
	} else {
		d.refine(condition, true, inner)
	}
	d.exec(s.Body, inner)
	for name := range d.assigned {
		if _, there := env[name]; there {
			env[name] = d.larger(env[name], inner[name])
		}
	}
}

// limits notes the buffers that the limit of a loop is read from.
func (d *device) limits(e *csource.Expression, env map[string]bound) {
	if u := d.uses[d.quiet(e, env).loaded]; u != nil {
		u.index = true
	}
	for _, a := range e.Args {
		d.limits(a, env)
	}
}

// divides reports whether a sum divides another one.
func (d *device) divides(by, s sum) bool {
	n, ok := by.at(d.numbers)
	m, also := s.at(d.numbers)
	return ok && also && n > 1 && m%n == 0
}

// grows reports whether a step makes its variable larger.
func grows(step *csource.Expression) bool {
	return step.Op == "u++" || step.Op == "+=" || step.Op == "*=" || step.Op == "<<=" || step.Op == "="
}

// counter returns the variable of a loop that counts up to a limit by equal steps.
func (d *device) counter(condition, step *csource.Expression, env map[string]bound) (string, sum, sum) {
	if condition == nil || condition.Op != "<" || condition.Args[0].Op != "name" || step == nil || len(step.Args) == 0 || step.Args[0].String() != condition.Args[0].Text {
		return "", nil, nil
	}
	limit := d.eval(condition.Args[1], env)
	by := bound{ok: true, top: number(1)}
	if step.Op == "+=" {
		by = d.eval(step.Args[1], env)
	} else if step.Op != "u++" {
		return "", nil, nil
	}
	if !limit.ok || !by.ok || len(by.top) == 0 {
		return "", nil, nil
	}
	return condition.Args[0].Text, limit.top, by.top
}

// bumps lists what a loop's body adds to its variables every time.
func bumps(list []csource.Statement) map[string]*csource.Expression {
	out := map[string]*csource.Expression{}
	for _, s := range list {
		if s.Kind == csource.Simple {
			e := csource.ReadExpression(s.Tokens)
			switch {
			case e == nil || len(e.Args) == 0 || e.Args[0].Op != "name":
			case e.Op == "+=":
				out[e.Args[0].Text] = e.Args[1]
			case e.Op == "u++":
				out[e.Args[0].Text] = &csource.Expression{Op: "number", Text: "1"}
			}
		}
		if s.Kind == csource.Block {
			maps.Copy(out, bumps(s.Body))
		}
	}
	return out
}

// larger returns the larger of two bounds.
func (d *device) larger(a, b bound) bound {
	if !a.ok && a.base == "" && a.loaded == "" {
		b.exact = false
		return b
	}
	if !b.ok && b.base == "" && b.loaded == "" {
		a.exact = false
		return a
	}
	x, ok := a.top.at(d.numbers)
	y, also := b.top.at(d.numbers)
	if ok && also && y > x {
		a, b = b, a
	}
	if a.top.String() != b.top.String() {
		a.exact, a.form = false, nil
	}
	a.ok = a.ok && b.ok
	return a
}

// simple follows a declaration, an assignment or a call.
func (d *device) simple(tokens []csource.Token, env map[string]bound) {
	if len(tokens) == 0 {
		return
	}
	if list := declarations(tokens); list != nil {
		d.shared = d.shared || csource.Has(tokens, "extern") && csource.Has(tokens, "__shared__")
		for _, v := range list {
			b := bound{}
			if v.init != nil && !v.list {
				b = d.eval(csource.ReadExpression(v.init), env)
			} else if v.init != nil {
				for _, part := range csource.SplitAt(v.init, ",") {
					b = d.eval(csource.ReadExpression(part), env)
				}
			}
			if v.array || b.base != "" && v.stars == 0 && !slices.Contains(v.words, "auto") {
				b = bound{}
			}
			d.forget(v.name, env)
			if v.init != nil && !v.list && !v.array {
				b.meaning = plain(csource.ReadExpression(v.init))
			}
			if mentions(b.meaning, v.name) {
				b.meaning = nil
			}
			env[v.name] = b
			if b.form != nil {
				d.forms = append(d.forms, b.form)
			}
		}
		return
	}
	if e := csource.ReadExpression(tokens); e != nil {
		d.eval(e, env)
		return
	}
	for _, part := range csource.SplitAt(tokens, ",") {
		d.eval(csource.ReadExpression(part), env)
	}
}

// forget drops what was known of expressions with a variable that changes.
func (d *device) forget(name string, env map[string]bound) {
	d.assigned[name] = true
	for key, b := range env {
		if mentions(b.meaning, name) {
			b.meaning = nil
			env[key] = b
		}
		if key != name && strings.Contains(key, "(") && slices.Contains(plainName.FindAllString(key, -1), name) {
			delete(env, key)
		}
	}
}

// assume records what a condition says about its values, and about variables that are made of them.
func (d *device) assume(e *csource.Expression, holds bool, env map[string]bound) {
	d.refine(e, holds, env)
	for again, turns := true, 0; again && turns < maxDeviceDepth; turns++ { // variables are made of each other
		again = false
		for name, b := range env {
			if b.meaning == nil || !b.ok || b.exact {
				continue
			}
			now := d.quiet(b.meaning, env)
			x, ok := now.top.at(d.numbers)
			if y, also := b.top.at(d.numbers); ok && also && now.ok && now.base == b.base && x < y {
				b.top, again = now.top, true
				env[name] = b
			}
		}
	}
}

// plain returns an expression that changes nothing and calls nobody; nil where it does.
func plain(e *csource.Expression) *csource.Expression {
	if e == nil || !slices.Contains(plainOps, e.Op) || slices.ContainsFunc(e.Args, func(a *csource.Expression) bool { return plain(a) == nil }) {
		return nil
	}
	return e
}

var plainOps = strings.Fields("number name cast . + - * / % && || == != < <= > >= u! u- u+")

// mentions reports whether an expression has a name.
func mentions(e *csource.Expression, name string) bool {
	return e != nil && slices.Contains(plainName.FindAllString(e.String(), -1), name)
}

// unmean drops the meanings of all variables.
func unmean(env map[string]bound) {
	for name, b := range env {
		b.meaning = nil
		env[name] = b
	}
}

// refine records what a condition says about its values.
func (d *device) refine(e *csource.Expression, holds bool, env map[string]bound) {
	if e == nil {
		return
	}
	switch {
	case e.Op == "u!":
		d.refine(e.Args[0], !holds, env)
	case e.Op == "&&" && holds, e.Op == "||" && !holds:
		d.refine(e.Args[0], holds, env)
		d.refine(e.Args[1], holds, env)
	case e.Op == "<" && holds, e.Op == ">=" && !holds:
		d.limit(e.Args[0], e.Args[1], -1, env)
	case e.Op == "<=" && holds, e.Op == ">" && !holds:
		d.limit(e.Args[0], e.Args[1], 0, env)
	case e.Op == ">" && holds, e.Op == "<=" && !holds:
		d.limit(e.Args[1], e.Args[0], -1, env)
	case e.Op == ">=" && holds, e.Op == "<" && !holds:
		d.limit(e.Args[1], e.Args[0], 0, env)
	case e.Op == "==" && holds, e.Op == "!=" && !holds:
		d.limit(e.Args[0], e.Args[1], 0, env)
	case e.Op == "!=" && holds, e.Op == "==" && !holds:
		have, other := d.quiet(e.Args[0], env), d.quiet(e.Args[1], env)
		if n, ok := other.top.at(d.numbers); have.ok && other.exact && ok && n > 0 && have.top.String() == other.top.String() { // all but the largest
			d.limit(e.Args[0], e.Args[1], -1, env)
		}
	case e.Op == "name":
		d.refine(env[e.Text].meaning, holds, env)
	}
}

// limit records that an expression is at most another one plus a number.
func (d *device) limit(e, limit *csource.Expression, more int64, env map[string]bound) {
	most := d.quiet(limit, env)
	have := d.quiet(e, env)
	if !most.ok || most.base != "" || have.exact {
		return
	}
	top := most.top.plus(number(more), 1)
	d.guard(have, top.plus(number(1), 1))
	if have.ok {
		x, ok := have.top.at(d.numbers)
		y, also := top.at(d.numbers)
		if ok && also && x < y {
			return
		}
	}
	env[e.String()] = bound{ok: true, top: top, form: have.form}
	if len(e.Args) != 2 {
		return
	}
	other := d.quiet(e.Args[1], env)
	switch {
	case e.Op == "+" && other.exact:
		d.limit(e.Args[0], limit, more-constantOf(other), env)
	case e.Op == "*" && other.exact && len(other.top) > 0:
		env[e.Args[0].String()] = bound{ok: true, top: top.over(other.top), form: d.quiet(e.Args[0], env).form}
	}
}

func constantOf(b bound) int64 {
	n, _ := b.top.constant()
	return n
}

func (d *device) guard(b bound, limit sum) {
	if b.form != nil {
		d.guards = append(d.guards, guard{form: b.form, limit: limit})
	}
}

// quiet evaluates without recording accesses.
func (d *device) quiet(e *csource.Expression, env map[string]bound) bound {
	uses, indices := d.uses, d.indices
	d.uses = map[string]*use{}
	for name := range uses {
		d.uses[name] = &use{}
	}
	b := d.eval(e, env)
	d.uses, d.indices = uses, indices
	return b
}

// touch records an access to the element of a pointer.
func (d *device) touch(p, at bound, write, add bool) {
	u := d.uses[p.base]
	if u == nil {
		return
	}
	if at.loaded != "" && d.uses[at.loaded] != nil {
		d.uses[at.loaded].index = true
	}
	if add || !write {
		u.readFirst = u.readFirst || !u.written
		u.read = true
	}
	u.written = u.written || write
	u.added = u.added || add
	if p.form != nil && at.form != nil {
		index := p.form.plus(at.form, p.scale)
		d.indices = append(d.indices, index)
		if n, ok := coefficient(index, "threadIdx.y").constant(); ok && n > 1 {
			u.row = n
		}
	}
	if !p.ok || !at.ok {
		u.unbounded = true
		return
	}
	extent := p.top.plus(at.top.plus(number(1), 1), p.scale)
	n, ok := extent.at(d.numbers)
	if !ok || n < 1 || extent.tooLarge() {
		u.unbounded = true
		return
	}
	if have, _ := u.extent.at(d.numbers); !u.known || n > have || n == have && len(extent) < len(u.extent) {
		u.extent, u.known = extent, true
	}
}

// storeName matches functions that write where their first argument points.
var storeName = pattern.New(`(?i)^(__st|st|store|write|save|atomic)`)
