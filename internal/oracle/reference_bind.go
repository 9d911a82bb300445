package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pawl/internal/dtype"
)

// problem is a reference with the arguments that play its parts.
type problem struct {
	reference string
	inputs    map[string]*operand
	outputs   map[string]*operand
	main      *operand // the first output
	initial   *operand // that output, when the result is added to what it holds
	scalars   map[string]float64
	terms     int64 // that an element of the first output adds up; 0: none
}

// operand is a buffer that takes part.
type operand struct {
	Value
	index int // of the argument
	count int64
	out   []byte // float64, of an output
}

// other is the way out when a reference does not fit.
const other = `or take another oracle: {kernel: name} or {python: "module:function"}`

func (p *problem) refuse(remedy, format string, args ...any) error {
	return fmt.Errorf("reference %s: %s; %s", p.reference, fmt.Sprintf(format, args...), remedy)
}

// bind gives every argument its part.
func bind(name string, r reference, args []Value) (*problem, error) {
	p := &problem{reference: name, inputs: map[string]*operand{}, outputs: map[string]*operand{}, scalars: map[string]float64{}}
	var inputs, outputs []*operand
	for i, v := range args {
		if !v.Buffer {
			if err := p.bindScalar(r, v); err != nil {
				return nil, err
			}
			continue
		}
		if v.Role == "scratch" {
			continue
		}
		o := &operand{Value: v, index: i}
		if err := p.measure(o); err != nil {
			return nil, err
		}
		if v.Role != "out" {
			inputs = append(inputs, o)
		}
		if v.Role == "out" || v.Role == "inout" {
			outputs = append(outputs, o)
		}
	}
	if err := p.bindOutputs(r, outputs); err != nil {
		return nil, err
	}
	if err := p.bindInputs(r, inputs); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *problem) bindScalar(r reference, v Value) error {
	for part, names := range r.scalars {
		if slices.Contains(names, strings.ToLower(v.Name)) {
			p.scalars[part] = rounded(v)
			return nil
		}
	}
	if v.Type.Float() {
		return p.refuse("leave it out, "+other, "it does not know what the %s scalar %s means; it knows %s", v.Type, v.Name, known(r.scalars))
	}
	return nil
}

func known(scalars map[string][]string) string {
	return cmp.Or(strings.Join(slices.Sorted(maps.Keys(scalars)), ", "), "no scalars")
}

// rounded returns what a kernel sees of a scalar.
func rounded(v Value) float64 {
	if !v.Type.Float() || v.Type == dtype.F64 {
		return v.Scalar
	}
	var raw [8]byte
	v.Type.Put(raw[:], 0, float32(v.Scalar))
	return float64(v.Type.Get(raw[:], 0))
}

// measure counts the elements of a buffer.
func (p *problem) measure(o *operand) error {
	if !o.Type.Valid() {
		return p.refuse("use one of pawl's element types", "%s has the unknown type %q", o.Name, o.Type)
	}
	o.count = 1
	for _, size := range o.Shape {
		if size < 1 || o.count > math.MaxInt64/8/size {
			return p.refuse("give every dimension a size of at least 1", "%s has the shape %s", o.Name, shown(o.Shape))
		}
		o.count *= size
	}
	return nil
}

func (s slot) is(name string) bool {
	name = strings.ToLower(name)
	return name == s.name || slices.Contains(s.also, name)
}

func (p *problem) bindOutputs(r reference, outputs []*operand) error {
	for _, o := range outputs {
		i := slices.IndexFunc(r.outputs[1:], func(s slot) bool { return s.is(o.Name) && p.outputs[s.name] == nil })
		switch {
		case i >= 0:
			p.outputs[r.outputs[1+i].name] = o
		case p.main == nil:
			p.main = o
			p.outputs[r.outputs[0].name] = o
		default:
			return p.refuse("drop one, "+other, "it does not know the output %s beside %s; it knows %s", o.Name, p.main.Name, slotNames(r.outputs))
		}
	}
	if p.main == nil {
		return p.refuse("give the argument that is written role: out", "there is no output to compare with")
	}
	return nil
}

// bindInputs goes by name, then fills what must be there in order. Optional parts
// are filled in order only when no name was known: else an argument that happens
// to be there would become a part it does not play.
func (p *problem) bindInputs(r reference, inputs []*operand) error {
	var left []*operand
	for _, o := range inputs {
		i := slices.IndexFunc(r.inputs, func(s slot) bool { return s.is(o.Name) && p.inputs[s.name] == nil })
		if i < 0 {
			left = append(left, o)
		} else {
			p.inputs[r.inputs[i].name] = o
		}
	}
	named := len(p.inputs) > 0
	for _, s := range r.inputs {
		if p.inputs[s.name] != nil || s.optional && named {
			continue
		}
		i := slices.IndexFunc(left, func(o *operand) bool { return !r.accumulates || o.Role == "in" })
		switch {
		case i >= 0:
			p.inputs[s.name] = left[i]
			left = slices.Delete(left, i, i+1)
		case !s.optional:
			return p.refuse("name the inputs so, "+other, "expected the inputs %s, found %s", slotNames(r.inputs), operandNames(inputs))
		}
	}
	for _, o := range left {
		switch {
		case o.Role == "in":
			return p.refuse("drop or rename it, "+other, "it does not know the input %s; it knows %s", o.Name, slotNames(r.inputs))
		case !r.accumulates:
			return p.refuse("give it role: out, "+other, "%s has role inout, and it does not know what to do with what %s holds before", o.Name, o.Name)
		default:
			p.initial = o
		}
	}
	return nil
}

func slotNames(slots []slot) string {
	var names []string
	for _, s := range slots {
		name := s.name
		if s.optional {
			name = "optional " + name
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func operandNames(operands []*operand) string {
	var names []string
	for _, o := range operands {
		names = append(names, o.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// shown writes a shape as pawl.yaml does.
func shown(shape []int64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}

func (p *problem) checkData() error {
	inputs := slices.Collect(maps.Values(p.inputs))
	if p.initial != nil {
		inputs = append(inputs, p.initial)
	}
	for _, o := range inputs {
		if want := o.count * int64(o.Type.Size()); int64(len(o.Data)) != want {
			return p.refuse("hand over the whole buffer", "%s has %d bytes, and %s of %s are %d", o.Name, len(o.Data), shown(o.Shape), o.Type, want)
		}
	}
	return nil
}

// allocate makes room for the outputs.
func (p *problem) allocate() map[int][]byte {
	results := map[int][]byte{}
	for _, o := range p.outputs {
		o.out = make([]byte, 8*o.count)
		results[o.index] = o.out
	}
	return results
}

// scalar returns a scalar by the part it plays.
func (p *problem) scalar(part string, otherwise float64) float64 {
	if v, ok := p.scalars[part]; ok {
		return v
	}
	return otherwise
}

// read gives elements of the operand from number first on.
func (o *operand) read(into []float64, first int) {
	Values(into, Typed[[]byte]{Data: o.Data, Type: o.Type}, int64(first))
}

// write stores elements of an output from number first on.
func (o *operand) write(values []float64, first int) {
	store64(o.out[8*first:], values)
}
