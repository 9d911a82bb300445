package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"

	"pawl/internal/diag"
	"pawl/internal/dtype"
	"pawl/internal/formula"
)

// Instance is a variant at a config: everything a launch needs, as numbers.
type Instance struct {
	Variant   Variant
	Config    *Config
	Launches  []InstanceLaunch
	Args      []InstanceArg
	Flops     float64 // of one run of all launches; 0 when the file does not say
	Bytes     float64 // moved by one run; 0 when the file does not say
	Footprint int64   // bytes of all buffers
}

// InstanceLaunch is one call of one entry.
type InstanceLaunch struct {
	Entry   string
	Args    []int    // indexes into Instance.Args
	Grid    [3]int64 // CUDA; zero on the host
	Block   [3]int64 // CUDA; zero on the host
	Cluster [3]int64 // zero without clusters
	Shared  int64    // bytes of dynamic shared memory
	Threads int      // host: threads the entry may use

	Cooperative           bool
	ProgrammaticDependent bool
}

// InstanceArg is a buffer, a scalar or a tensor map.
type InstanceArg struct {
	Name     string
	DType    dtype.Type
	Buffer   bool
	Shape    []int64       // buffers
	Elements int64         // buffers
	Bytes    int64         // buffers
	Role     Role          // buffers
	Init     Init          // buffers
	Scalar   formula.Value // scalars: an integer or a float, as DType is

	Symbol    string // as in Arg
	TensorMap *InstanceTensorMap
}

// both is the scope of an instance's formulas.
type both struct {
	variant Variant
	config  *Config
}

func (b both) Lookup(name string) (formula.Value, bool) {
	if v, ok := b.variant.Lookup(name); ok {
		return v, true
	}
	return b.config.Lookup(name)
}

// resolver evaluates formulas and collects what is wrong.
type resolver struct {
	scope    both
	problems diag.List
}

// At evaluates all formulas of the variant at a config. The error holds every
// formula that has no usable value there, as diag.Errors.
func (v Variant) At(c *Config) (*Instance, error) {
	r := &resolver{scope: both{v, c}}
	in := &Instance{Variant: v, Config: c}
	index := map[string]int{}
	var all []int // that an entry takes
	for i, a := range v.Kernel.Args {
		if index[a.Name] = i; a.Symbol == "" {
			all = append(all, i)
		}
		arg := r.arg(a)
		if sum, carry := bits.Add64(uint64(in.Footprint), uint64(arg.Bytes), 0); carry != 0 || sum > math.MaxInt64 {
			r.fail(a.Shape[0], "makes the buffers larger than 64 bits can count")
		} else {
			in.Footprint = int64(sum)
		}
		in.Args = append(in.Args, arg)
	}
	for i, a := range v.Kernel.Args {
		if a.TensorMap != nil {
			of := index[a.TensorMap.Of]
			in.Args[i].TensorMap = r.tensorMap(a, of, v.Kernel.Args[of], in.Args[of])
		}
	}
	for _, l := range v.Kernel.Launches {
		launch := r.launch(v.Kernel.Cell, l)
		launch.Args = all
		if l.Args != nil {
			launch.Args = make([]int, len(l.Args))
			for i, name := range l.Args {
				launch.Args[i] = index[name]
			}
		}
		in.Launches = append(in.Launches, launch)
	}
	for _, f := range v.Kernel.Requires {
		r.add(f.unmet(r.scope))
	}
	in.Flops = r.amount(v.Kernel.Work.Flops)
	in.Bytes = r.amount(v.Kernel.Work.Bytes)
	if err := r.problems.Err(v.Kernel.source); err != nil {
		return nil, err
	}
	return in, nil
}

// add records a problem, unless it is nil, and reports whether there was none.
func (r *resolver) add(p *diag.Problem) bool {
	if p != nil {
		p.Message = fmt.Sprintf("%s/%s: %s", r.scope.variant.Kernel.Name, r.scope.config.Name, p.Message)
		r.problems.Add(p)
	}
	return p == nil
}

// fail records that a formula has a value that it should not have.
func (r *resolver) fail(f *Formula, format string, args ...any) *diag.Problem {
	p := f.wrong(r.scope, format, args...)
	r.add(p)
	return p
}

// eval evaluates a formula; false: it has no value.
func (r *resolver) eval(f *Formula) (formula.Value, bool) {
	v, p := f.eval(r.scope)
	return v, r.add(p)
}

// whole says how to write a number of a config or param that is whole, as 4e3 is, so that a
// formula is an integer; "" where that is not the matter.
func (r *resolver) whole(f *Formula) string {
	for _, name := range f.names {
		v, _ := r.scope.Lookup(name)
		if number, ok := v.Float(); ok && v.Kind() == formula.KindFloat && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
			return fmt.Sprintf("write %s: %.0f; %s is a floating-point number", name, number, valueText(v))
		}
	}
	return ""
}

// integer evaluates a formula to an integer between low and high.
func (r *resolver) integer(f *Formula, low, high int64) (int64, bool) {
	v, ok := r.eval(f)
	if !ok {
		return 0, false
	}
	n, ok := v.Int()
	switch {
	case v.Kind() == formula.KindFloat:
		p := r.fail(f, "must be an integer, and is %s", valueText(v))
		p.Hint = cmp.Or(r.whole(f), joinHints("// divides to an integer, ceildiv rounds up", p.Hint))
	case !ok:
		r.fail(f, "must be an integer, and is the %s %s", v.Kind(), valueText(v))
	case n < low && high == math.MaxInt64:
		r.fail(f, "must be at least %d, and is %d", low, n)
		ok = false
	case n < low || n > high:
		r.fail(f, "must be between %d and %d, and is %d", low, high, n)
		ok = false
	}
	return n, ok
}

// amount evaluates a count of work; nil is 0.
func (r *resolver) amount(f *Formula) float64 {
	if f == nil {
		return 0
	}
	v, ok := r.eval(f)
	if !ok {
		return 0
	}
	n, ok := v.Float()
	if !ok || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		r.fail(f, "must be a number of at least 0, and is %s", valueText(v))
		return 0
	}
	return n
}

func (r *resolver) arg(a *Arg) InstanceArg {
	arg := InstanceArg{Name: a.Name, DType: a.DType, Symbol: a.Symbol}
	if a.TensorMap != nil {
		return arg
	}
	if a.Value != nil {
		arg.Scalar = r.scalar(a)
		return arg
	}
	arg.Buffer, arg.Role, arg.Init, arg.Elements = true, a.Role, a.Init, 1
	for _, f := range a.Shape {
		n, ok := r.integer(f, 1, math.MaxInt64)
		if !ok {
			arg.Elements = 0
			continue
		}
		arg.Shape = append(arg.Shape, n)
		high, low := bits.Mul64(uint64(arg.Elements), uint64(n))
		if high != 0 || low > math.MaxInt64/uint64(a.DType.Size()) {
			r.fail(f, "makes %s larger than 64 bits can count", a.Name)
			arg.Elements = 0
			break
		}
		arg.Elements = int64(low)
	}
	arg.Bytes = arg.Elements * int64(a.DType.Size())
	return arg
}

// scalar evaluates an argument passed by value and makes it fit its type.
func (r *resolver) scalar(a *Arg) formula.Value {
	low, high := a.DType.Range()
	v, ok := r.eval(a.Value)
	if !ok {
		return v
	}
	if a.DType.Float() {
		number, ok := v.Float()
		if !ok {
			r.fail(a.Value, "must be a number, and is the %s %s", v.Kind(), valueText(v))
		} else if number < low || number > high {
			r.fail(a.Value, "is %s, outside the range of %s", valueText(v), a.DType)
		}
		return formula.Float(number)
	}
	v = asNumber(v)
	n, ok := v.Int()
	switch {
	case v.Kind() == formula.KindFloat:
		p := r.fail(a.Value, "must be an integer, as %s is %s, and is %s", a.Name, a.DType, valueText(v))
		p.Hint = cmp.Or(r.whole(a.Value), p.Hint)
	case !ok:
		r.fail(a.Value, "must be an integer, and is the %s %s", v.Kind(), valueText(v))
	case a.DType.Size() < 8 && (float64(n) < low || float64(n) > high) || n < 0 && low == 0:
		r.fail(a.Value, "is %d, outside the range of %s", n, a.DType)
	}
	return v
}

// Identity returns a hash of everything that decides how fast the instance runs:
// the code (its hash), the entries and their launches, the scalars, and type,
// shape and role of every argument. What things are called in pawl.yaml is no
// part of it.
func (in *Instance) Identity(code string) string {
	h := sha256.New()
	fmt.Fprintf(h, "pawl identity 1\n%q\n", code)
	for _, l := range in.Launches {
		fmt.Fprintf(h, "launch %q %v %v %v %v %d %d %t %t\n", l.Entry, l.Args, l.Grid, l.Block, l.Cluster, l.Shared, l.Threads,
			l.Cooperative, l.ProgrammaticDependent)
	}
	byName := in.Variant.Kernel.Cell == CellPython // are arguments passed
	for _, a := range in.Args {
		if byName {
			fmt.Fprintf(h, "name %q\n", a.Name)
		}
		if a.Symbol != "" {
			fmt.Fprintf(h, "symbol %q\n", a.Symbol)
		}
		if a.Buffer {
			fmt.Fprintf(h, "buffer %s %v %s\n", a.DType, a.Shape, a.Role)
		} else if a.TensorMap != nil {
			fmt.Fprintf(h, "tensor map %+v\n", *a.TensorMap)
		} else {
			fmt.Fprintf(h, "scalar %s %s\n", a.DType, a.Scalar)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
