package draft

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/dtype"
	"pawl/internal/pattern"
	"pawl/internal/spec"
)

// plan is what the source says about running an entry.
type plan struct {
	launch *launch
	guess  string // what of the launch is guessed; "": nothing
	args   []planned
	params []Macro // block sizes that the host code tries
	sizes  []size
}

// planned is an argument of the plan.
type planned struct {
	value string // scalars
	count sum    // of a buffer's elements
	moved sum    // those that the kernel reaches, where they are fewer
	row   int64  // elements of a row, where the count is a number
	role  spec.Role
	init  string
	notes []string // what is guessed

	usual    bool // value is what such a parameter usually has
	returned bool // it is no output: the function returns its answer
	atomic   bool // atomic functions change its elements
}

// size is a variable of the config.
type size struct {
	name    string
	value   int64
	guessed bool
}

var (
	identifier  = pattern.New(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	outputName  = pattern.New(`(?i)^(.*_)?(out|output|outputs|o|y|c|d|dst|dest|res|result|results|z)$`)
	scratchName = pattern.New(`(?i)^(.*_)?(tmp|temp|scratch|workspace|work|ws|partial|partials|buf|buffer)$`)
	flagName    = pattern.New(`(?i)^(causal|mode|flags?|axis|seed|verbose|(is|has|use|do)_.*|trans.*)$`)
)

// makePlan finds out how an entry is launched, how large its buffers are and what it does with them.
func (e *Entry) makePlan(cell string, f *source, h *host) {
	e.plan = plan{args: make([]planned, len(e.Params))}
	var l *launch
	if cell == spec.CellCUDA {
		l = h.launches[e.Name]
	}
	d := &device{file: f, globals: h.globals, functions: map[string]csource.Function{}, parameters: map[string]bound{}, bytes: map[string]int{}, types: map[string]bool{}}
	for _, fn := range f.functions {
		if fn.Name != e.Name {
			d.functions[fn.Name] = fn
		}
	}
	for i, p := range e.Params {
		d.bytes[p.Name] = p.Width * p.DType.Size()
		d.types[p.Type] = d.types[p.Type] || p.Pointer
		if !p.Pointer {
			d.parameters[p.Name] = e.planScalar(i, l, f)
		}
	}
	for _, a := range e.template {
		if n, ok := literal(a.value).sum.constant(); ok && n > 0 {
			d.parameters[a.name] = exactly(number(n))
		} else if f.macro(a.value) {
			d.parameters[a.name] = exactly(named(a.value))
		}
	}
	d.given, d.numbers = h.values(), h.values()
	d.guessSizes()
	if cell == spec.CellCUDA {
		e.planLaunch(d, l)
		d.grid, d.block = e.plan.launch.grid, e.plan.launch.block
	}
	d.guessSizes()
	d.follow(e)
	for i, p := range e.Params {
		if p.Pointer {
			e.planBuffer(i, d, l)
		}
	}
	e.fixSizes(d)
	e.simplifyCounts(d)
	e.chooseRoles(d)
	e.chooseSizes(d, h)
}

// simplifyCounts replaces a long formula by that of another buffer that has as many elements.
func (e *Entry) simplifyCounts(d *device) {
	for i := range e.plan.args {
		a := &e.plan.args[i]
		if len(a.count) < 2 {
			continue
		}
		n, _ := a.count.at(d.numbers)
		for _, other := range e.plan.args {
			if m, _ := other.count.at(d.numbers); len(other.count) == 1 && m == n {
				a.count = other.count
				break
			}
		}
	}
}

// guessSizes gives variables without a value one for the comparison of formulas.
func (d *device) guessSizes() {
	for name := range d.file.unsure {
		if _, known := d.numbers[name]; !known {
			d.numbers[name] = 1024
		}
	}
}

// fixSizes writes numbers where the kernel has its sizes in its code: it uses none of its integers, and
// reaches as far whatever they are.
func (e *Entry) fixSizes(d *device) {
	fixed := false
	for i, p := range e.Params {
		a, u := e.plan.args[i], d.uses[p.Name]
		switch {
		case !p.Pointer && !p.DType.Float() && csource.Has(e.reach, p.Name), slices.ContainsFunc(a.count.variables(), func(name string) bool { return d.file.unsure[name] }):
			return
		case p.Pointer && u != nil && u.known && !u.unbounded:
			if hasName(u.extent) {
				return
			}
			most, _ := a.count.at(d.numbers)
			reached, _ := u.extent.constant()
			fixed = fixed || hasName(a.count) && reached > most/2
		}
	}
	if !fixed {
		return
	}
	fix := func(s sum) sum {
		if n, ok := s.at(d.numbers); ok {
			return number(n)
		}
		return s
	}
	for i := range e.plan.args {
		a := &e.plan.args[i]
		if a.count != nil {
			a.count, a.moved = fix(a.count), fix(a.moved)
		}
		if n, ok := evaluate(a.value, d.numbers); ok && !e.Params[i].DType.Float() {
			a.value = number(n).String()
		}
	}
	if l := e.plan.launch; l != nil {
		own := *l
		for axis := range axes {
			own.grid[axis], own.block[axis] = fix(l.grid[axis]), fix(l.block[axis])
		}
		own.shared = fix(l.shared)
		e.plan.launch = &own
	}
}

// usualScalars are floating-point parameters whose name says what they are.
var usualScalars = map[string]string{"eps": "1e-05", "epsilon": "1e-05", "alpha": "1.0", "beta": "0.0", "learning_rate": "0.001", "lr": "0.001", "beta1": "0.9", "beta2": "0.999", "weight_decay": "0.0"}

// planScalar finds the value of a scalar: what the launch passes, else a variable.
func (e *Entry) planScalar(i int, l *launch, f *source) bound {
	p, a := e.Params[i], &e.plan.args[i]
	var v value
	if l != nil && i < len(l.args) {
		v = l.args[i]
	}
	text, known := v.formula()
	switch usual, isBlock := usualBlock(p.Name); {
	case p.Width > 1 && p.scalarType(true) == p.DType:
		a.value = "0"
		a.notes = append(a.notes, "no value has the size of a "+commentText(p.Type)+"; let the kernel take its numbers, or a pointer")
	case p.Width > 1:
		a.value = "0"
		a.notes = append(a.notes, "check the value, which holds the bits of a "+commentText(p.Type))
	case p.DType.Float():
		a.value = "1.0"
		if known {
			a.value = text
		} else if s, ok := usualScalars[strings.ToLower(p.Name)]; ok {
			a.value, a.usual = s, true
		} else {
			a.notes = append(a.notes, "check the value")
		}
	case v.kind == integer:
		a.value = text
		return exactly(v.sum)
	case !p.Known || flagName.MatchString(p.Name) || p.Type == "bool" || p.Type == "_Bool":
		a.value = "0"
		if p.Known {
			a.notes = append(a.notes, "check the value")
		}
		return exactly(nil)
	case isBlock && l == nil:
		a.value = number(usual).String()
		return exactly(number(usual))
	default:
		s := f.unknownSize(p.Name)
		a.value = s.String()
		return exactly(s)
	}
	return bound{}
}

// planLaunch takes the launch that the host code has, and infers what it does not say.
func (e *Entry) planLaunch(d *device, l *launch) {
	if l != nil && !l.guessed && d.saneSomewhere(l) {
		e.plan.launch = l
		return
	}
	if l != nil {
		for i, a := range l.args[:min(len(l.args), len(e.Params))] {
			p := e.Params[i]
			if count := a.elements(int64(p.DType.Size() * p.Width)); p.Pointer && d.filled == nil && hasName(count) {
				d.filled = count
			}
		}
	}
	d.follow(e)
	inferred, guess := d.inferLaunch(e)
	if l != nil { // a part of it is known
		guess = "grid, block and shared memory"
		for _, part := range []struct{ have, to *[3]sum }{{&l.grid, &inferred.grid}, {&l.block, &inferred.block}} {
			if part.have[0] != nil {
				*part.to = *part.have
			}
		}
		if l.shared != nil {
			inferred.shared = l.shared
		}
		inferred.cooperative = l.cooperative
	}
	d.guessSizes()
	if !d.sane(inferred) {
		guess = "grid, block and shared memory"
		inferred = &launch{grid: [3]sum{number(1), number(1), number(1)}, block: [3]sum{number(256), number(1), number(1)}}
	}
	e.plan.launch, e.plan.guess = inferred, guess
}

// saneSomewhere reports whether a launch is sane for sizes that nobody says, large or small.
func (d *device) saneSomewhere(l *launch) bool {
	for _, n := range []int64{1024, 128, 32} {
		for name := range d.file.unsure {
			if _, given := d.given[name]; !given {
				d.numbers[name] = n
			}
		}
		if d.sane(l) {
			return true
		}
	}
	return false
}

// sane reports whether a launch has dimensions that a GPU takes.
func (d *device) sane(l *launch) bool {
	threads := int64(1)
	for axis := range axes {
		n, ok := l.block[axis].at(d.numbers)
		m, also := l.grid[axis].at(d.numbers)
		if !ok || !also || n < 1 || m < 1 || n > spec.MaxBlockThreads || m > 1<<30 || axis > 0 && m > 65535 {
			return false
		}
		threads *= n
	}
	shared, ok := l.shared.at(d.numbers)
	return ok && shared >= 0 && shared < 227<<10 && threads <= spec.MaxBlockThreads
}

// elements returns how many elements of a size a buffer of the host code has; nil where it is not known.
func (v value) elements(size int64) sum {
	if quotient, rest := v.sum.split(number(size)); v.kind == buffer && len(rest) == 0 && len(v.sum) > 0 {
		return quotient
	}
	return v.count
}

// planBuffer finds how many elements a buffer has: as many as the host code allocates, else as many
// as the kernel reaches.
func (e *Entry) planBuffer(i int, d *device, l *launch) {
	p, a, u := e.Params[i], &e.plan.args[i], d.uses[e.Params[i].Name]
	if u == nil {
		u = &use{unbounded: true}
	}
	host := p.count
	if l != nil && i < len(l.args) && l.args[i].kind == buffer {
		v := l.args[i]
		host = v.elements(int64(p.DType.Size() * p.Width))
		if v.zero && (u.added || u.written && u.readFirst) {
			a.init = "zero"
		}
	}
	reached := u.known && !u.unbounded
	switch {
	case len(host) > 0 && reached && sameTerms(host, u.extent):
		a.count = u.extent // its names are in the order of the dimensions
	case len(host) > 0:
		a.count = host
	case reached:
		a.count = u.extent.whole(d.numbers)
	default:
		a.notes = append(a.notes, "check the shape")
	}
	if n, ok := a.count.at(d.numbers); a.count != nil && (!ok || n < 1 || n > 1<<33) {
		a.count = nil
		a.notes = append(a.notes, "check the shape")
	}
	if len(host) == 0 && a.count.beyond() {
		a.notes = append(a.notes, "check the shape")
	}
	if n, ok := a.count.at(d.numbers); ok && reached {
		if m, _ := u.extent.at(d.numbers); m < n {
			a.moved = u.extent
		}
	}
	if a.row = u.row; p.Symbol {
		a.row = p.row
	}
	if u.index && !p.DType.Float() {
		a.init = "zero" // stays inside any buffer
		most := 1023
		if p.DType.Size() == 1 {
			most = 127
		}
		a.notes = append(a.notes, fmt.Sprintf("fill it with valid indices, such as init: {integers: [0, %d]} for a buffer of %d", most, most+1))
	}
	a.atomic = u.atomic || atomically(e.body, p.Name)
	if u.added && !u.unbounded && a.init == "" && p.DType.Size() >= 4 && a.atomic {
		a.init = "zero"
	}
	if a.count == nil && !p.DType.Float() && p.DType.Size() >= 4 && !u.written && a.init == "" {
		a.init = "zero"
	}
}

// atomically reports whether a body adds to a buffer with atomic functions.
func atomically(body []csource.Token, name string) bool {
	for i, t := range body {
		if strings.HasPrefix(t.Text, "atomic") && csource.Has(body[i:min(len(body), i+4)], name) {
			return true
		}
	}
	return false
}

// sameTerms reports whether two sums are equal but for the order of their names.
func sameTerms(a, b sum) bool { return len(a.plus(b, -1)) == 0 }

// chooseRoles says what buffers are for: what the body does with them, else what is const is read,
// else their names, or their place at the end.
func (e *Entry) chooseRoles(d *device) {
	var open, pointers []int // open: those that may be written
	for i, p := range e.Params {
		if !p.Pointer {
			continue
		}
		e.plan.args[i].role = spec.RoleIn
		pointers = append(pointers, i)
		if u := d.uses[p.Name]; !p.Const && (u == nil || u.written || !u.read) {
			open = append(open, i)
		}
	}
	output := false
	for _, i := range open {
		p, a, u := e.Params[i], &e.plan.args[i], d.uses[e.Params[i].Name]
		if u == nil {
			u = &use{}
		}
		switch {
		case u.written && u.readFirst, len(pointers) == 1 && !u.written:
			a.role = spec.RoleInOut
		case scratchName.MatchString(p.Name) && len(open) > 1:
			a.role = spec.RoleScratch
		case u.written, outputName.MatchString(p.Name), len(open) < len(pointers):
			a.role = spec.RoleOut
		}
		if !u.written {
			a.notes = append(a.notes, "check the role")
		}
		output = output || a.role == spec.RoleOut || a.role == spec.RoleInOut
	}
	if !output {
		onlyRead := len(open) == 0
		if onlyRead { // but one buffer must be an output
			open = pointers
		}
		last := &e.plan.args[open[len(open)-1]]
		last.role = spec.RoleOut
		passed := func(i int) bool { u := d.uses[e.Params[i].Name]; return !e.Params[i].Const && u != nil && u.passed }
		if onlyRead && e.returns != "" && !slices.ContainsFunc(pointers, passed) {
			last.returned = true
			last.notes = append(last.notes, e.wrapper())
		} else if e.Params[open[len(open)-1]].Const {
			last.notes = append(last.notes, "a const buffer is no output: give the function one that it writes its result to")
		} else if !slices.Contains(last.notes, "check the role") {
			last.notes = append(last.notes, "check the role")
		}
	}
	for i := range e.plan.args {
		if a := &e.plan.args[i]; a.role == spec.RoleOut || a.role == spec.RoleScratch {
			a.init = ""
		}
	}
}

// wrapper says what to do where a function returns its answer: pawl sees only what is written to buffers.
func (e *Entry) wrapper() string {
	return fmt.Sprintf("%s returns its answer, and pawl sees only buffers: let another function write it to one, such as void %[1]s_to(..., %[2]s *out) { *out = %[1]s(...); }", e.Name, e.returns)
}

// maxDraftBits bounds the product of all guessed sizes, a power of two.
const maxDraftBits = 22

// chooseSizes lists the variables that the plan uses, with values for those that nobody gives:
// the largest power of two that keeps buffers small. Small integer types stay small.
func (e *Entry) chooseSizes(d *device, h *host) {
	var names []string
	add := func(s sum) {
		for _, name := range s.variables() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for i, a := range e.plan.args {
		add(a.count)
		if !e.Params[i].Pointer {
			add(sum{{1, []string{a.value}}})
		}
	}
	if l := e.plan.launch; l != nil {
		for axis := range axes {
			add(l.grid[axis])
			add(l.block[axis])
		}
		add(l.shared)
	}
	guessed := 0
	for _, name := range names {
		switch n, known := h.sizes[name]; {
		case known:
			e.plan.sizes = append(e.plan.sizes, size{name, n, false})
		case slices.ContainsFunc(h.params, func(m Macro) bool { return m.Name == name }):
			at := slices.IndexFunc(h.params, func(m Macro) bool { return m.Name == name })
			e.plan.params = append(e.plan.params, h.params[at])
		case d.file.unsure[name]:
			guessed++
			e.plan.sizes = append(e.plan.sizes, size{name, 0, true})
		}
	}
	if len(e.plan.sizes) == 0 && slices.ContainsFunc(e.plan.args, func(a planned) bool { return a.role != "" && a.count == nil }) {
		name := numbered("N", map[string]bool{"N": d.file.macro("N")})
		guessed++
		e.plan.sizes = append(e.plan.sizes, size{name, 0, true})
	}
	if guessed == 0 {
		return
	}
	total := maxDraftBits
	if e.plan.launch != nil { // a GPU does more
		total = 30
	}
	bits := min(20, total/guessed)
	if guessed > 1 {
		bits = min(10, bits)
	}
	for ; bits > 0; bits-- {
		e.setSizes(bits, d)
		if e.fits(d) {
			return
		}
	}
}

// setSizes gives all guessed sizes a value.
func (e *Entry) setSizes(bits int, d *device) {
	for i := range e.plan.sizes {
		s := &e.plan.sizes[i]
		if !s.guessed {
			continue
		}
		s.value = 1 << bits
		for j, a := range e.plan.args {
			if a.value == s.name {
				switch e.Params[j].DType.Size() {
				case 1:
					s.value = min(s.value, 64)
				case 2:
					s.value = min(s.value, 16384)
				}
			}
		}
		d.numbers[s.name] = s.value
	}
}

// maxDraftElements bounds a buffer with guessed sizes.
const maxDraftElements = 4 << maxDraftBits

// fits reports whether buffers and launch are of a reasonable size.
func (e *Entry) fits(d *device) bool {
	product := int64(1)
	for _, s := range e.plan.sizes {
		product *= max(1, min(s.value, 1<<20))
		product = min(product, 1<<40)
	}
	for i, a := range e.plan.args {
		if !e.Params[i].Pointer {
			continue
		}
		n, most := product, int64(1<<maxDraftBits)
		if a.count != nil {
			n, _ = a.count.at(d.numbers)
			most = maxDraftElements
		}
		if n > most {
			return false
		}
	}
	return e.plan.launch == nil || d.sane(e.plan.launch)
}

// scalarType is the element type that a scalar is passed as; that of a vector has as many bytes.
func (p Param) scalarType(cuda bool) dtype.Type {
	switch {
	case p.Width > 1 && p.Width*p.DType.Size() == 4:
		return dtype.U32
	case p.Width > 1 && p.Width*p.DType.Size() == 8:
		return dtype.U64
	case !cuda && p.DType.Float() && p.DType.Size() < 4:
		return dtype.F32
	}
	return p.DType
}
