package formula

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Random formulas have the value that math/big gives them, or fail at the
// operator that has no result in 64 bits; in the general code as in the short.
func TestIntegersAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		boolean := rapid.Bool().Draw(t, "boolean")
		trees := integerTrees(5)
		if boolean {
			trees = booleanTrees(5)
		}
		formula := trees.Draw(t, "formula")
		src := formula.String()
		if len(src) > maxSource {
			t.Skip("too long")
		}
		expr, err := Parse(src)
		if err != nil {
			t.Fatalf("parse %s: %v", src, err)
		}
		program, err := expr.Compile(treeNames)
		if err != nil {
			t.Fatalf("compile %s: %v", src, err)
		}
		general := func(values []Value) (Value, error) {
			v, err := program.general(values)
			if err != nil {
				return Value{}, err
			}
			return v, nil
		}
		for range 10 {
			env := environments().Draw(t, "env")
			want, fault := formula.compute(env)
			checkExact(t, src, program.Eval, env, want, fault, boolean)
			checkExact(t, src, general, env, want, fault, boolean)
		}
	})
}

func checkExact(t *rapid.T, src string, eval func([]Value) (Value, error), env map[string]int64, want *big.Int, fault int, boolean bool) {
	values := make([]Value, len(treeNames))
	for i, name := range treeNames {
		values[i] = Int(env[name])
	}
	got, err := eval(values)
	if fault >= 0 {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%s with %v = %s, want an error", src, env, got)
		}
		if e.Offset != fault {
			t.Fatalf("%s with %v failed at %d (%v), want %d", src, env, e.Offset, e, fault)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s with %v: %v, want %s", src, env, err, want)
	}
	if expected := (Value{bits: uint64(want.Int64()), kind: resultKind(boolean)}); got != expected {
		t.Fatalf("%s with %v = %s, want %s", src, env, got, expected)
	}
}

// Whatever the kinds of the variables, the short code gives what the general
// code gives, or gives up.
func TestShortCodeNeverDisagrees(t *testing.T) {
	values := rapid.OneOf(
		rapid.Map(integers(), Int),
		rapid.Map(integers(), Int),
		rapid.Map(rapid.Float64(), Float),
		rapid.Map(rapid.Bool(), Bool),
		rapid.Map(rapid.SampledFrom([]string{"", "f16"}), String),
	)
	rapid.Check(t, func(t *rapid.T) {
		formula := rapid.OneOf(integerTrees(3), booleanTrees(3)).Draw(t, "formula")
		src := formula.String()
		expr, err := Parse(src)
		if err != nil {
			t.Fatalf("parse %s: %v", src, err)
		}
		program, err := expr.Compile(treeNames)
		if err != nil {
			t.Fatalf("compile %s: %v", src, err)
		}
		for range 20 {
			env := rapid.SliceOfN(values, len(treeNames), len(treeNames)).Draw(t, "env")
			got, err := program.Eval(env)
			want, wantErr := program.general(env)
			if got != want || (err == nil) != (wantErr == nil) {
				t.Fatalf("%s with %v: %s, %v; want %s, %v", src, env, got, err, want, wantErr)
			}
		}
	})
}

// Writing values into a formula in place of names changes nothing.
func TestFoldingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		formula := integerTrees(4).Draw(t, "formula")
		env := environments().Draw(t, "env")
		values := map[string]Value{}
		for name, i := range env {
			values[name] = Int(i)
		}
		withNames, errNames := evaluate(formula.String(), values)
		formula.bind(env)
		folded, errFolded := evaluate(formula.String(), nil)
		if withNames != folded || (errNames == nil) != (errFolded == nil) {
			t.Fatalf("%s: %s, %v with names, %s, %v folded", formula, withNames, errNames, folded, errFolded)
		}
	})
}

// bind replaces names by their values.
func (n *tree) bind(env map[string]int64) {
	if n.form == "name" {
		n.form, n.value = "constant", env[n.name]
	}
	for _, kid := range n.kids {
		kid.bind(env)
	}
}

func TestComparisonOfIntegerAndFloatIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := integers().Draw(t, "i")
		// Most floats are nowhere near; take one beside i too.
		f := rapid.OneOf(
			rapid.Float64(),
			rapid.Just(float64(i)),
			rapid.Just(math.Nextafter(float64(i), math.Inf(1))),
			rapid.Just(math.Nextafter(float64(i), math.Inf(-1))),
		).Draw(t, "f")
		want := new(big.Rat).SetInt64(i).Cmp(new(big.Rat).SetFloat64(f))
		if got := compare(Int(i), Float(f)); got != want {
			t.Errorf("compare(%d, %v) = %d, want %d", i, f, got, want)
		}
		if got := compare(Float(f), Int(i)); got != -want {
			t.Errorf("compare(%v, %d) = %d, want %d", f, i, got, -want)
		}
	})
}

func TestQuotientIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := integers().Draw(t, "a")
		b := integers().Filter(func(b int64) bool { return b != 0 }).Draw(t, "b")
		want, _ := big.NewRat(a, b).Float64()
		if got := divideInt(a, b); got != want {
			t.Errorf("%d / %d = %v, want %v", a, b, got, want)
		}
	})
}
