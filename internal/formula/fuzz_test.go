package formula

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, bm := range benchmarks {
		f.Add(bm.src)
	}
	for _, src := range []string{
		"", "-9223372036854775808", "0 < a <= b != c", "not a and b or c", "'a' == \"b\"",
		"1_000.5e-3 * 0x_ff", "min(a, max(b, 1.5), -c) // (a - a)", "a if b else c if d else 1 // 0",
		"~a ** -b ** c << 3 >> 1 & 7 | 2 ^ 1", "a && b", "a ? b : c", "cieldiv(a, b)", "((((a", "a \xff",
		"log2(a) + sqrt(b) - exp(c) * float(d)", "gcd(a, b) % round_up(c, d)", "True == 1 or 'x' != y",
		"max(a, 0) * erf(b) ** -tanh(c)", "(a > 0) * a", "int(a > 0) * (b if c else d) % 0 // a", "a and b or a < b < c",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		expr, err := Parse(src)
		if err != nil {
			checkPlace(t, src, err)
			return
		}
		if expr.Source() != src {
			t.Fatalf("source of %q is %q", src, expr.Source())
		}
		names := expr.Names()
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Fatalf("names of %q are %q", src, names)
		}
		for _, name := range names {
			if !strings.Contains(src, name) {
				t.Fatalf("name %q is not in %q", name, src)
			}
		}
		program, err := expr.Compile(names)
		if err != nil {
			t.Fatalf("compile %q with its own names: %v", src, err)
		}
		values := make([]Value, len(names))
		for i := range values {
			values[i] = Int(int64(i) - 1)
		}
		first, err := program.Eval(values)
		if err != nil {
			checkPlace(t, src, err)
		}
		second, err2 := program.general(values)
		if first != second || (err == nil) != (err2 == nil) {
			t.Fatalf("%q: Eval gives %s, %v; the general code %s, %v", src, first, err, second, err2)
		}
		// Variables of other kinds must not panic either.
		others := []Value{Float(0.5), Bool(true), String("x"), Int(-1 << 63), Float(-1e308)}
		for i := range values {
			values[i] = others[i%len(others)]
		}
		if _, err := program.Eval(values); err != nil {
			checkPlace(t, src, err)
		}
		real, err := expr.CompileReal(names)
		if err != nil {
			checkPlace(t, src, err)
			return
		}
		real.Eval(make([]float64, len(names)))
	})
}

// checkPlace makes sure that an error says something about a place in src.
func checkPlace(t *testing.T, src string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%q: %v is a %T", src, err, err)
	}
	if e.Message == "" || e.Offset < 0 || e.Width < 0 || e.Offset+e.Width > len(src) {
		t.Fatalf("%q: error %+v", src, *e)
	}
	if e.Name != "" && src[e.Offset:e.Offset+e.Width] != e.Name {
		t.Fatalf("%q: name %q is not at %d", src, e.Name, e.Offset)
	}
}
