package spec

import (
	"pawl/internal/diag"
	"pawl/internal/dtype"
	"pawl/internal/formula"
)

// Spec is a whole pawl.yaml, checked: every formula parses, every name it uses
// exists, and every kernel's default variant satisfies its constraints and can
// be resolved at every config that applies to it.
type Spec struct {
	File        string // as the user named it
	Dir         string // folder of File; sources are relative to it
	SHA256      string // of the file's bytes
	Kernels     []*Kernel
	Configs     []*Config // top level, in file order
	Gate        Gate
	Fuzz        *Fuzz
	Pools       []*Pool
	CI          CI
	DeviceClass string
	Findings    []*Finding // in file order
	TODOs       []diag.Pos // comments that begin with TODO: `check` refuses while there are any

	Unfinished map[string]diag.Pos // top-level keys, other than kernels and configs, with their first TODO comment

	source []byte // for excerpts
}

// Cell kinds, told by the ending of a kernel's source.
const (
	CellHost   = "host"   // .c .cc .cpp .cxx
	CellCUDA   = "cuda"   // .cu
	CellPython = "python" // .py
)

// Kernel is what is under test.
type Kernel struct {
	Name        string
	Pos         diag.Pos
	Source      string // relative to Spec.Dir, as written
	SourcePos   diag.Pos
	Cell        string // CellHost, CellCUDA or CellPython
	Python      string // module:function, of a Python kernel; Source is the module's file
	Framework   string // of a Python kernel; "" leaves it to the module's imports
	Flags       []string
	Launcher    bool      // the entry is host code that is given a stream and launches by itself
	Launches    []*Launch // at least one; `entry` with `launch` is the short form of one
	Params      []*Param
	Constraints []*Formula
	Requires    []*Formula // of params and config variables: problems that it is made for
	Args        []*Arg
	Oracle      *Oracle
	Tolerance   Tolerance
	Work        Work
	Configs     []*Config // those that apply to this kernel; at least one
	Reference   bool      // it only answers for other kernels, and has their configs since it lists none

	Deterministic bool // the same input gives the same bits, run after run; so unless the file says otherwise

	TODO diag.Pos // the first TODO comment about it; zero: it is finished

	todos  []diag.Pos // all TODO comments in it
	source []byte     // of the whole file, for excerpts
}

// DeviceCode reports whether all of the author's code runs on a GPU: none of it shares a
// process with what measures it.
func (k *Kernel) DeviceCode() bool { return k.Cell == CellCUDA && !k.Launcher }

// Formula is an expression with its place in the file.
type Formula struct {
	Text string
	Pos  diag.Pos // of the expression's first character
	Expr *formula.Expr

	what    string // what it is for, as messages say it
	node    *node  // where it was read
	names   []string
	program *formula.Program // takes the values of names
}

// Param is a compile-time parameter, given to the compiler as a macro, or to a
// Python function as a keyword argument. The first value is the default.
type Param struct {
	Name   string
	Pos    diag.Pos
	Values []formula.Value
}

// Launch is one call of one entry.
type Launch struct {
	Entry   string
	Pos     diag.Pos
	Args    []string // names of Kernel.Args in the entry's order; nil means all of them in file order
	Stream  int      // of a launcher: how many of Args its entry takes before the stream
	Grid    []*Formula
	Block   []*Formula
	Cluster []*Formula
	Shared  *Formula
	Threads *Formula // host: threads the kernel may use; nil means 1

	Cooperative           bool
	ProgrammaticDependent bool
}

// Role says what a kernel does with an argument.
type Role string

// The roles.
const (
	RoleIn      Role = "in"
	RoleOut     Role = "out"
	RoleInOut   Role = "inout"
	RoleScratch Role = "scratch"
)

// Read reports whether a kernel reads what such an argument holds before the launch.
func (r Role) Read() bool { return r == RoleIn || r == RoleInOut }

// Written reports whether such an argument is an output.
func (r Role) Written() bool { return r == RoleOut || r == RoleInOut }

// Arg is a buffer (Shape set), a scalar (Value set) or a tensor map. A buffer or scalar may be a symbol.
type Arg struct {
	Name  string
	Pos   diag.Pos
	DType dtype.Type
	Shape []*Formula // buffer
	Role  Role       // buffer
	Init  Init       // buffer
	Value *Formula   // scalar

	Symbol    string // a __constant__ or __device__ variable of the source that holds it, in place of a parameter; "": none
	TensorMap *TensorMap

	dtypeAt    diag.Pos // of the dtype's name
	dtypeWidth int
}

// TensorMap describes a buffer and its tiles to the bulk copy engine of a GPU, in a
// kernel's parameter of type CUtensorMap. Lists are in the order of a shape: the
// innermost dimension is the last.
type TensorMap struct {
	Of             string     // the buffer's argument
	Box            []*Formula // elements of a tile; of the last dimensions when there are fewer
	Dims           []*Formula // elements; nil: the buffer's shape
	Strides        []*Formula // elements, of all dimensions but the last; nil: without gaps
	ElementStrides []*Formula // nil: all 1
	Swizzle        string     // none, 32B, 64B, 128B
	Interleave     string     // none, 16B, 32B
	L2             string     // promotion: none, 64B, 128B, 256B
	Fill           string     // outside the tensor: zero, nan
}

// Init says how a buffer is filled before a launch. The zero Init means the
// usual one of the element type.
type Init struct {
	Kind string    // normal, uniform, integers, constant, zero, iota, rows, outliers, specials
	Args []float64 // normal: mean, std; uniform, integers: low, high; constant: value; others as package oracle says
}

// Oracle names where right answers come from; exactly one field is set.
type Oracle struct {
	Pos     diag.Pos
	Builtin string // attention, gemm, …
	Kernel  string // another kernel of this file
	Python  string // module:function

	Elementwise string // formulas over arguments, in the arithmetic of formula.CompileReal, as oracle.Formulas reads them

	formulas []outputFormula // of Elementwise
}

// Tolerance bounds the error of an output against the oracle's: by numbers, and
// where a rival is given also by the rival's own error.
type Tolerance struct {
	Atol   float64
	Rtol   float64
	Usual  float64 // Atol, where that and Rtol are those of the outputs' types and nobody has said otherwise
	Rival  *Oracle // another implementation of the same precision; nil: none
	Factor float64 // how many times the rival's error is allowed; 0 without a rival
}

// Work is what one launch does, for GFLOP/s and GB/s; either may be nil.
type Work struct {
	Flops *Formula
	Bytes *Formula
}

// Config is a named problem size.
type Config struct {
	Name string
	Pos  diag.Pos
	Vars []Var    // in file order
	TODO diag.Pos // the first TODO comment about it; zero: it is finished
}

// Var is one name of a config with its value.
type Var struct {
	Name  string
	Value formula.Value
}

// Gate holds the thresholds of the verdicts, as fractions: 3% is 0.03.
type Gate struct {
	Regression  float64
	Improvement float64
	Claim       float64 // of pawl compare, as Delta
	Delta       float64
	CV          float64
}

// DefaultGate is the gate of a spec that says nothing about it.
var DefaultGate = Gate{Regression: 0.03, Improvement: 0.05, Claim: 0.10, Delta: 0.3, CV: 0.12}

// CI is what reports say about the runs of a project.
type CI struct {
	PricePerHour float64 // of what is rented while pawl runs; 0: no price is set
	Currency     string  // three capital letters
}

// DefaultCurrency is the currency of a price that names none.
const DefaultCurrency = "USD"

// Fuzz says at which problems answers are checked. Its matrix is the product of all
// lists.
type Fuzz struct {
	Pos      diag.Pos
	Matrix   []FuzzAxis // nil: not given; empty, or an axis without values: no case
	Sample   int        // cases to draw; 0 means all
	Specials string     // SpecialsNone or SpecialsPropagate
}

// What a kernel does with NaN, infinities and the like among its inputs.
const (
	SpecialsNone      = "none"      // it never sees any: not tried
	SpecialsPropagate = "propagate" // they come out where the oracle has them
)

// FuzzAxis is one variable of the matrix.
type FuzzAxis struct {
	Name   string
	Pos    diag.Pos
	Values []formula.Value
}

// Pool is a way to start workers elsewhere.
type Pool struct {
	Name    string
	Pos     diag.Pos
	Launch  []string // command words; the worker speaks on its stdin and stdout
	Workers int      // at least 1
	Cleanup []string // command words; nil: there is none
}

// Finding is a bottleneck that the file describes, beside those that pawl knows. Its formulas are over
// facts of a kernel, whose names package advice knows and checks.
type Finding struct {
	ID         string
	Pos        diag.Pos
	Title      string       // a clause: "the gather evicts its own table"
	When       []*Formula   // all must hold
	Unless     []*Exception // it does not apply where one of these holds
	Gain       *Formula     // upper bound of the speed-up; nil: not known
	Confidence float64      // that the cause is what it looks like: more than 0, at most 1
	Evidence   *Sentence
	First      string   // what to do first
	Deeper     []string // and then
	Next       string   // the exact next step; "": none is given
}

// Exception is a condition under which a finding does not apply.
type Exception struct {
	If  *Formula
	Why string
}

// Sentence is a text with names of facts in braces.
type Sentence struct {
	Text  string
	Facts []string // in the text's order

	what   string // what it is for, as messages say it
	node   *node  // where it was read
	inset  int    // bytes of the node's text before Text
	places []int  // of Facts in Text, in bytes
}
