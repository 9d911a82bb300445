package trial

import (
	"cmp"
	"slices"
	"strings"

	"pawl/internal/formula"
	"pawl/internal/oracle"
	"pawl/internal/spec"
)

// Lanes say why a trial is made.
const (
	LaneMatrix   = "matrix"   // the file asks for it
	LaneConfig   = "config"   // a config of the file
	LaneShape    = "shape"    // beside the tiles
	LaneValues   = "values"   // another distribution of the inputs
	LaneIntegers = "integers" // every partial sum is exact
	LaneSpecials = "specials" // NaN, infinities and the like
)

// Lanes lists them in the order in which they are tried.
var Lanes = []string{LaneMatrix, LaneConfig, LaneShape, LaneValues, LaneIntegers, LaneSpecials}

// Trial is one problem to try a kernel at.
type Trial struct {
	Lane    string
	Vars    []spec.Var // of the config, in its order
	Fill    string     // name of a distribution; "": the inputs as the file fills them
	Exact   bool       // every bit of the answer must be right
	Repeats int        // runs on the same data, which must agree in every bit; at least 1
	Seed    uint64     // of the data
	Batch   int        // of the data
	Stored  string     // the file that has kept it since it failed; "" for a new one
}

// key returns the key of an argument's data.
func (t Trial) key(arg int) uint64 {
	seed, batch := oracle.ForCell(t.Seed, t.Batch)
	return oracle.Key(seed, arg, batch)
}

// Name distinguishes the trials of a kernel, in one line: "S=448 B=16 H=4 D=64", and what is
// unusual about it.
func (t Trial) Name() string {
	parts := []string{t.Config().Name}
	switch t.Lane {
	case LaneMatrix, LaneConfig, LaneValues, LaneIntegers, LaneSpecials: // told by the sizes, or by the fill
	default:
		parts = append(parts, t.Lane)
	}
	if t.Fill != "" {
		parts = append(parts, t.Fill)
	}
	if t.Exact {
		parts = append(parts, "exact")
	}
	return strings.Join(parts, " ")
}

// Vars writes variables as people read them: "S=448 B=16".
func Vars(vars []spec.Var) string {
	parts := make([]string, len(vars))
	for i, v := range vars {
		parts[i] = v.Name + "=" + v.Value.String()
	}
	return strings.Join(parts, " ")
}

// Config returns the trial's problem size as a config of its own.
func (t Trial) Config() *spec.Config {
	return &spec.Config{Name: cmp.Or(Vars(t.Vars), "default"), Vars: t.Vars}
}

// Lookup returns the value of a variable.
func (t Trial) Lookup(name string) (formula.Value, bool) {
	return (&spec.Config{Vars: t.Vars}).Lookup(name)
}

// integer returns the value of an integer variable.
func (t Trial) integer(name string) (int64, bool) {
	v, ok := t.Lookup(name)
	n, whole := v.Int()
	return n, ok && whole
}

// With returns the trial with one variable changed.
func (t Trial) With(name string, value formula.Value) Trial {
	t.Vars = slices.Clone(t.Vars)
	for i := range t.Vars {
		if t.Vars[i].Name == name {
			t.Vars[i].Value = value
		}
	}
	return t
}
