package draft

import (
	"slices"
	"strings"

	"pawl/internal/csource"
)

// zeroForm is a form whose value is 0; nil means that there is none.
var zeroForm = sum{}

func exactly(s sum) bound {
	if s == nil {
		s = zeroForm
	}
	return bound{ok: true, exact: true, top: s, form: s}
}

// eval evaluates an expression of device code, and records the accesses in it.
func (d *device) eval(e *csource.Expression, env map[string]bound) bound {
	if d.work++; e == nil || d.work > maxWork {
		return bound{}
	}
	b := d.evaluate(e, env)
	if b.top.tooLarge() || b.form.tooLarge() {
		b = bound{base: b.base, scale: b.scale}
	}
	if have, ok := env[e.String()]; ok && e.Op != "name" && b.base == "" {
		if have.form == nil {
			have.form = b.form
		}
		return have
	}
	return b
}

func (d *device) evaluate(e *csource.Expression, env map[string]bound) bound {
	switch e.Op {
	case "number":
		if v := literal(e.Text); v.kind == integer {
			return exactly(v.sum)
		}
	case "name":
		return d.name(e.Text, env)
	case "cast":
		return d.cast(e, env)
	case ".":
		return d.member(e, env)
	case "[]", "u*":
		return d.element(e, env, false, false)
	case "u&":
		return d.address(e.Args[0], env)
	case "u++", "u--":
		b := d.eval(e.Args[0], env)
		if e.Args[0].Op == "name" && b.base == "" {
			d.forget(e.Args[0].Text, env)
		}
		return b
	case "u-", "u!", "u~", "u+":
		d.eval(e.Args[0], env)
	case "?:":
		d.eval(e.Args[0], env)
		yes, no := map[string]bound{}, map[string]bound{}
		for key, b := range env {
			yes[key], no[key] = b, b
		}
		d.assume(e.Args[0], true, yes)
		d.assume(e.Args[0], false, no)
		return d.larger(d.eval(e.Args[1], yes), d.eval(e.Args[2], no))
	case "call":
		return d.call(e, env)
	case "{}":
		for _, a := range e.Args {
			d.eval(a, env)
		}
	default:
		if len(e.Args) == 2 && strings.HasSuffix(e.Op, "=") && !slices.Contains([]string{"==", "!=", "<=", ">="}, e.Op) {
			return d.assign(e, env)
		}
		if len(e.Args) == 2 {
			return d.arithmetic(e.Op, d.eval(e.Args[0], env), d.eval(e.Args[1], env))
		}
	}
	return bound{}
}

func (d *device) name(name string, env map[string]bound) bound {
	if b, ok := env[name]; ok {
		b.meaning = nil // of the variable, not of its value elsewhere
		return b
	}
	if v, ok := d.globals[name]; ok && v.kind == integer {
		return exactly(v.sum)
	}
	if d.file.macro(name) {
		return exactly(named(name))
	}
	if n, ok := d.file.packSize(name); ok {
		return exactly(number(n))
	}
	if name == "warpSize" {
		return exactly(number(32))
	}
	return bound{}
}

// member evaluates threadIdx.x and its like; others are read as a whole.
func (d *device) member(e *csource.Expression, env map[string]bound) bound {
	axis := strings.Index("xyz", e.Text)
	if e.Args[0].Op != "name" || axis < 0 || len(e.Text) != 1 {
		d.eval(e.Args[0], env)
		return bound{}
	}
	form := named(e.Args[0].Text + "." + e.Text)
	switch e.Args[0].Text {
	case "threadIdx":
		if d.block[axis] == nil {
			return bound{form: form}
		}
		return bound{ok: true, top: d.block[axis].plus(number(1), -1), form: form}
	case "blockIdx":
		if d.grid[axis] == nil {
			return bound{form: form}
		}
		return bound{ok: true, top: d.grid[axis].plus(number(1), -1), form: form}
	case "blockDim", "gridDim":
		have := d.block[axis]
		if e.Args[0].Text == "gridDim" {
			have = d.grid[axis]
		}
		if have == nil {
			return bound{form: form}
		}
		return exactly(have)
	}
	d.eval(e.Args[0], env)
	return bound{}
}

func (d *device) cast(e *csource.Expression, env map[string]bound) bound {
	b := d.eval(e.Args[0], env)
	if b.base == "" || !strings.HasSuffix(e.Text, "*") {
		return b
	}
	name := strings.Join(strings.Fields(strings.ReplaceAll(strings.TrimSuffix(e.Text, "*"), "const", "")), " ")
	switch t, ok := typeNamed(name, d.file.aliases); {
	case ok:
		b.scale = max(1, int64(t.width*t.dtype.Size()/max(1, d.bytes[b.base])))
	case d.types[name]: // what the parameter points to
	default:
		b.ok = false
	}
	return b
}

// element evaluates p[i] or *p, and records the access.
func (d *device) element(e *csource.Expression, env map[string]bound, write, add bool) bound {
	for e.Op == "." || e.Op == "cast" {
		e = e.Args[0]
	}
	if e.Op != "[]" && e.Op != "u*" {
		return bound{}
	}
	p, at := d.eval(e.Args[0], env), exactly(nil)
	if e.Op == "[]" {
		at = d.eval(e.Args[1], env)
	}
	if p.base == "" {
		return bound{}
	}
	d.touch(p, at, write, add)
	return bound{loaded: p.base}
}

// address evaluates &p[i] and &variable.
func (d *device) address(e *csource.Expression, env map[string]bound) bound {
	if e.Op != "[]" {
		return d.eval(e, env)
	}
	return d.offset(d.eval(e.Args[0], env), d.eval(e.Args[1], env), 1)
}

// offset moves a pointer.
func (d *device) offset(p, by bound, sign int64) bound {
	if p.base == "" {
		return bound{}
	}
	p.loaded = by.loaded
	if by.loaded != "" && d.uses[by.loaded] != nil {
		d.uses[by.loaded].index = true
	}
	if p.ok = p.ok && by.ok; p.ok && (sign > 0 || by.exact) {
		p.top = p.top.plus(by.top, sign*p.scale)
	}
	if p.form != nil && by.form != nil {
		p.form = p.form.plus(by.form, sign*p.scale)
	} else {
		p.form = nil
	}
	p.exact = false
	return p
}

func (d *device) assign(e *csource.Expression, env map[string]bound) bound {
	right := d.eval(e.Args[1], env)
	left := e.Args[0]
	if left.Op != "name" {
		d.element(left, env, true, e.Op != "=")
		return bound{}
	}
	b := right
	if e.Op != "=" {
		b = d.arithmetic(strings.TrimSuffix(e.Op, "="), d.eval(left, env), right)
	}
	b.exact = b.exact && e.Op == "="
	d.forget(left.Text, env)
	env[left.Text] = b
	if b.form != nil {
		d.forms = append(d.forms, b.form)
	}
	return b
}

func (d *device) arithmetic(op string, a, b bound) bound {
	switch {
	case a.base != "" && (op == "+" || op == "-"):
		sign := int64(1)
		if op == "-" {
			sign = -1
		}
		return d.offset(a, b, sign)
	case b.base != "" && op == "+":
		return d.offset(b, a, 1)
	}
	out := bound{ok: a.ok && b.ok, exact: a.exact && b.exact, loaded: a.loaded}
	if out.loaded == "" {
		out.loaded = b.loaded
	}
	both := a.form != nil && b.form != nil
	keep := func(s sum) sum {
		if s == nil {
			return zeroForm
		}
		return s
	}
	switch op {
	case "+":
		if out.top = a.top.plus(b.top, 1); both {
			out.form = keep(a.form.plus(b.form, 1))
		}
	case "-":
		if out.top = a.top; b.exact {
			out.top = a.top.plus(b.top, -1)
		}
		if out.ok = a.ok; both {
			out.form = keep(a.form.plus(b.form, -1))
		}
	case "*":
		if out.top = a.top.times(b.top); both {
			out.form = keep(a.form.times(b.form))
		}
	case "/":
		if out.ok = a.ok; b.exact && len(b.top) > 0 {
			out.top = quotientBound(a, b)
		} else {
			out.top = a.top
		}
		if both && out.exact {
			out.form = out.top
		}
	case "%":
		out = bound{ok: b.ok, top: b.top.plus(number(1), -1)}
	case "&":
		out = bound{ok: b.exact || a.exact, top: b.top}
		if !b.exact {
			out.top = a.top
		}
	case "<<", ">>":
		n, constant := b.top.constant()
		if out.ok = a.ok && constant && b.exact && n >= 0 && n < 40; !out.ok {
			return bound{}
		}
		if op == "<<" {
			return d.arithmetic("*", a, exactly(number(1<<n)))
		}
		return d.arithmetic("/", a, exactly(number(1<<n)))
	default:
		return bound{}
	}
	if out.top.tooLarge() || out.form.tooLarge() {
		return bound{}
	}
	return out
}

// quotientBound divides a bound; of exact values it is the quotient that C has.
func quotientBound(a, b bound) sum {
	if a.exact {
		return quotientOf(a.top, b.top)
	}
	return a.top.over(b.top)
}

func (d *device) call(e *csource.Expression, env map[string]bound) bound {
	var args []bound
	atomic := strings.HasPrefix(e.Text, "atomic")
	fn, own := d.functions[e.Text]
	for i, a := range e.Args {
		b := d.eval(a, env)
		args = append(args, b)
		if b.base == "" || own {
			continue
		}
		if e.Text != "float4" && !strings.HasPrefix(e.Text, "__syn") {
			d.touch(b, exactly(nil), i == 0 && storeName.MatchString(e.Text), atomic)
			if u := d.uses[b.base]; u != nil {
				u.passed = true
				u.atomic = u.atomic || atomic && i == 0
			}
		}
	}
	switch name := strings.TrimPrefix(e.Text, "std::"); {
	case (name == "min" || name == "max") && len(args) == 2:
		x, y := args[0], args[1]
		if name == "max" {
			return d.larger(x, y)
		}
		if x.ok && y.ok {
			if n, _ := x.top.at(d.numbers); true {
				if m, _ := y.top.at(d.numbers); m < n {
					x = y
				}
			}
		} else if y.ok {
			x = y
		}
		x.exact, x.form = args[0].exact && args[1].exact, nil
		return x
	case name == ".thread_rank" && d.block[0] != nil:
		return bound{ok: true, top: d.block[0].plus(number(1), -1)}
	case name == ".meta_group_size" && d.block[0] != nil:
		return exactly(d.block[0].over(number(32)))
	case name == ".meta_group_rank" && d.block[0] != nil:
		return bound{ok: true, top: d.block[0].over(number(32)).plus(number(1), -1)}
	case (name == "int" || name == "unsigned" || name == "size_t") && len(args) == 1:
		return args[0]
	case ceilName.MatchString(name) && len(args) == 2 && args[0].ok && args[1].exact:
		return bound{ok: true, exact: args[0].exact, top: args[0].top.ceilOver(args[1].top)}
	}
	if !own || d.depth >= maxDeviceDepth {
		return bound{}
	}
	d.depth++
	outer := d.result
	d.result = bound{}
	inner := map[string]bound{}
	given := csource.SplitList(e.Template)
	for i, tokens := range csource.SplitList(fn.Template) {
		if i < len(given) {
			inner[paramName(tokens)] = d.quiet(csource.ReadExpression(given[i]), env)
		}
	}
	for i, tokens := range csource.SplitList(fn.Params) {
		if name := paramName(tokens); name != "" && i < len(args) {
			inner[name] = args[i]
		}
	}
	saved := d.assigned
	d.assigned = map[string]bool{}
	d.exec(csource.Statements(fn.Body), inner)
	result := d.result
	d.assigned, d.result = saved, outer
	d.depth--
	return result
}
