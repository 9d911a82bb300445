package draft

import (
	"slices"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/pattern"
	"pawl/internal/spec"
)

const axes = "xyz"

// inferLaunch finds a launch for a kernel that nobody launches: as many threads as the guards of
// its body let through. It returns what had to be guessed.
func (d *device) inferLaunch(e *Entry) (*launch, string) {
	l := &launch{grid: [3]sum{number(1), number(1), number(1)}, block: [3]sum{number(1), number(1), number(1)}}
	var threaded []int
	for axis := range axes {
		if asksFor(e.reach, "threadIdx", axis) || asksFor(e.reach, "blockDim", axis) {
			threaded = append(threaded, axis)
		}
	}
	guess := ""
	for axis := range axes {
		place := d.place(axis)
		if slices.Contains(threaded, axis) {
			l.block[axis] = d.blockSize(e, axis, len(threaded), place.stride)
		}
		if !asksFor(e.reach, "blockIdx", axis) {
			continue
		}
		step := substitute(place.stride, "blockDim."+axes[axis:axis+1], l.block[axis])
		if len(step) == 0 {
			step = number(1)
		}
		if place.limit == nil {
			place.limit = d.unguarded(e, axis)
			if place.limit == nil {
				guess = "grid"
				if place.limit = d.filled; place.limit == nil {
					place.limit = d.file.unknownSize("N")
				}
			}
		}
		if place.blocks != nil {
			l.grid[axis] = place.blocks
			continue
		}
		if l.grid[axis] = place.limit.ceilOver(step); hasAtom(l.grid[axis]) {
			guess = "grid"
			l.grid[axis] = number(1)
		}
	}
	if len(threaded) == 0 && !asksFor(e.reach, "blockIdx", 0) && !d.aloneIsEnough() {
		guess = "grid and block"
		if l.block[0] = number(256); e.launchBounds != nil {
			l.block[0] = e.launchBounds
		}
		l.grid[0] = d.allSizes(e).ceilOver(l.block[0])
	}
	if e.launchBounds != nil && len(threaded) == 1 && !hasName(l.block[threaded[0]]) {
		l.block[threaded[0]] = e.launchBounds
	}
	if d.shared {
		if guess != "" {
			guess += " and "
		}
		guess += "shared memory"
		l.shared = l.block[0].times(l.block[1]).times(l.block[2]).times(number(4))
	}
	return l, guess
}

// aloneIsEnough reports whether one thread can do all that the body does: everything it touches is
// known, and something is written.
func (d *device) aloneIsEnough() bool {
	written := false
	for _, u := range d.uses {
		if u.unbounded || !u.known {
			return false
		}
		written = written || u.written
	}
	return written
}

// allSizes returns the product of all sizes that a kernel is given.
func (d *device) allSizes(e *Entry) sum {
	product := number(1)
	for _, p := range e.Params {
		if b := d.parameters[p.Name]; !p.Pointer && b.exact && hasName(b.top) {
			product = product.times(b.top)
		}
	}
	return product
}

// asksFor reports whether a body uses a built-in variable along an axis.
func asksFor(body []csource.Token, name string, axis int) bool {
	for i, t := range body {
		if t.Is(name) && i+2 < len(body) && body[i+1].Is(".") && body[i+2].Is(axes[axis:axis+1]) {
			return true
		}
	}
	return false
}

// place is where a block's work lies along an axis.
type place struct {
	stride sum // elements from block to block
	limit  sum // elements in all; nil: not known
	blocks sum // where the step of a loop says how many there are
}

// place finds the guard of a value that depends on the block's number.
func (d *device) place(axis int) place {
	name := "blockIdx." + axes[axis:axis+1]
	var found place
	for _, g := range d.guards {
		stride := coefficient(g.form, name)
		if len(stride) == 0 || hasAtom(g.limit) {
			continue
		}
		if _, constant := g.limit.constant(); found.limit == nil || !constant && len(found.limit.variables()) == 0 {
			found = place{stride: stride, limit: g.limit}
			if blocks, rest := g.step.split(stride); len(rest) == 0 && len(blocks) > 0 && !hasAtom(blocks) && hasName(blocks) {
				found.blocks = blocks
			}
		}
	}
	if found.limit != nil {
		return found
	}
	for _, form := range d.forms {
		if stride := coefficient(form, name); len(stride) > 0 && len(found.stride) == 0 {
			found.stride = stride
		}
	}
	return found
}

// unguarded returns the limit of a block's number that nothing guards: the size that a row of
// blocks must fill, or a parameter that the body does not use.
func (d *device) unguarded(e *Entry, axis int) sum {
	name := "blockIdx." + axes[axis:axis+1]
	var wider sum
	for _, index := range d.indices {
		own := coefficient(index, name)
		if len(own) == 0 {
			continue
		}
		for other := range axes {
			if other == axis {
				continue
			}
			across := coefficient(index, "blockIdx."+axes[other:other+1])
			stride, mine := d.place(other).stride, d.place(axis).stride
			if len(across) == 0 || len(stride) == 0 || len(mine) == 0 {
				continue
			}
			for _, size := range []sum{across.over(stride), own.over(mine)} {
				if n, ok := size.at(d.numbers); ok && n > 1 && !hasAtom(size) {
					wider = size
				}
			}
		}
	}
	if wider != nil {
		return wider
	}
	for _, p := range e.Params {
		if !p.Pointer && !p.DType.Float() && !csource.Has(e.body, p.Name) {
			if b := d.parameters[p.Name]; b.exact {
				return b.top
			}
		}
	}
	return nil
}

// coefficient returns what a name is multiplied with.
func coefficient(s sum, name string) sum {
	var out sum
	for _, t := range s {
		if i := slices.Index(t.names, name); i >= 0 {
			out = out.plus(sum{{t.factor, slices.Concat(t.names[:i], t.names[i+1:])}}, 1)
		}
	}
	return out
}

// substitute puts a sum in the place of a name.
func substitute(s sum, name string, by sum) sum {
	var out sum
	for _, t := range s {
		if i := slices.Index(t.names, name); i >= 0 {
			out = out.plus(sum{{t.factor, slices.Concat(t.names[:i], t.names[i+1:])}}.times(by), 1)
		} else {
			out = out.plus(sum{t}, 1)
		}
	}
	return out
}

// hasAtom reports whether a sum depends on the number of a block or thread.
func hasAtom(s sum) bool {
	return strings.Contains(s.String(), "Idx.") || strings.Contains(s.String(), "Dim.")
}

// hasName reports whether a sum has a variable.
func hasName(s sum) bool { return len(s.variables()) > 0 }

var (
	blockMacro  = pattern.New(`(?i)^(block|threads?|local|tpb|bs)`)
	genericName = pattern.New(`(?i)^(block_?(size|dim)?|threads?(_?per_?block)?|num_?threads|tpb)$`)
)

// blockSize returns the block's size along an axis: what blocks are apart, a macro with such a
// name, or a usual one.
func (d *device) blockSize(e *Entry, axis, dimensions int, stride sum) sum {
	own := coefficient(stride, "blockDim."+axes[axis:axis+1])
	if len(own) == 0 && len(stride) == 1 && !hasAtom(stride) && d.threadsFill(axis) {
		for _, name := range stride[0].names {
			if blockMacro.MatchString(name) {
				return named(name)
			}
		}
		if names := stride[0].names; len(names) > 0 && stride[0].factor == 1 {
			return named(names[0])
		}
		if n, ok := stride.constant(); ok && n > 1 && n <= spec.MaxBlockThreads {
			return stride
		}
	}
	words := map[string]bool{}
	for _, t := range e.reach {
		words[t.Text] = true
	}
	for _, m := range d.file.macros {
		if !words[m.Name] || !blockMacro.MatchString(m.Name) {
			continue
		}
		if strings.HasSuffix(strings.ToLower(m.Name), "_"+axes[axis:axis+1]) || dimensions == 1 && genericName.MatchString(m.Name) {
			return named(m.Name)
		}
	}
	switch dimensions {
	case 1:
		if n := sharedArray(e.body); n > 0 {
			return number(n)
		}
		return number(256)
	case 2:
		return number(16)
	}
	return number(8)
}

// threadsFill reports whether the threads of a block lie beside each other along an axis.
func (d *device) threadsFill(axis int) bool {
	block, thread := "blockIdx."+axes[axis:axis+1], "threadIdx."+axes[axis:axis+1]
	for _, form := range d.forms {
		if n, ok := coefficient(form, thread).constant(); ok && n == 1 && len(coefficient(form, block)) > 0 {
			return true
		}
	}
	return false
}

// sharedArray returns the length of a shared array of one dimension that threads index by their
// number, if it can be a block's.
func sharedArray(body []csource.Token) int64 {
	for i, t := range body {
		if !t.Is("__shared__") || i+6 >= len(body) || !body[i+3].Is("[") || !body[i+5].Is("]") || body[i+6].Is("[") {
			continue
		}
		n, ok := literal(body[i+4].Text).sum.constant()
		if !ok || n < 64 || n > spec.MaxBlockThreads || n%32 != 0 {
			continue
		}
		return n
	}
	return 0
}
