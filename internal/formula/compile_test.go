package formula

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustCompile(t testing.TB, src string, names ...string) *Program {
	t.Helper()
	expr, err := Parse(src)
	if err != nil {
		t.Fatalf("parse %s: %v", src, err)
	}
	program, err := expr.Compile(names)
	if err != nil {
		t.Fatalf("compile %s: %v", src, err)
	}
	return program
}

func TestCompileUnknownName(t *testing.T) {
	expr, err := Parse("S * BLOCKM + other")
	if err != nil {
		t.Fatal(err)
	}
	_, err = expr.Compile([]string{"S", "BLOCK_M"})
	var got *Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want an *Error", err)
	}
	want := Error{Offset: 4, Width: 6, Message: `unknown name "BLOCKM"`, Name: "BLOCKM"}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestEvalTakesValuesInOrderOfNames(t *testing.T) {
	program := mustCompile(t, "a - b", "unused", "b", "a")
	if v, err := program.Eval([]Value{Int(100), Int(1), Int(10)}); err != nil || v != Int(9) {
		t.Errorf("got %s, %v; want 9", v, err)
	}
}

func TestEvalWrongNumberOfValues(t *testing.T) {
	program := mustCompile(t, "a", "a", "b")
	for _, values := range [][]Value{nil, {Int(1)}, {Int(1), Int(2), Int(3)}} {
		if v, err := program.Eval(values); err == nil {
			t.Errorf("%d values for two names gave %s", len(values), v)
		}
	}
}

// One Expr serves several sets of names, and nothing of one leaks into another.
func TestCompileTwice(t *testing.T) {
	expr, err := Parse("a < b < a + 2 * 3")
	if err != nil {
		t.Fatal(err)
	}
	forward, err := expr.Compile([]string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	backward, err := expr.Compile([]string{"b", "a"})
	if err != nil {
		t.Fatal(err)
	}
	values := []Value{Int(1), Int(5)}
	if v, err := forward.Eval(values); err != nil || v != Bool(true) {
		t.Errorf("1 < 5 < 7 is %s, %v", v, err)
	}
	if v, err := backward.Eval(values); err != nil || v != Bool(false) {
		t.Errorf("5 < 1 < 11 is %s, %v", v, err)
	}
}

func TestConstantPartsAreFolded(t *testing.T) {
	for src, want := range map[string]Value{
		"2 * 3 + 4":                  Int(10),
		"1 < 2 < 3":                  Bool(true),
		"ceildiv(10, 3) ** 2":        Int(16),
		"not 'a' == 'b'":             Bool(true),
		"1 // 0 if False else 2 * 2": Int(4),
		"x if 0 else 3":              Int(3),
	} {
		expr, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := resolve(expr.root, map[string]int{"x": 0}).(*constantNode); !ok || n.value != want {
			t.Errorf("%s folds to %+v, want %s", src, n, want)
		}
	}
}

// A constant part without a value is an error only where it is reached.
func TestConstantErrorsWaitForEval(t *testing.T) {
	program := mustCompile(t, "1 // 0 if S > 4 else S", "S")
	if v, err := program.Eval([]Value{Int(4)}); err != nil || v != Int(4) {
		t.Errorf("got %s, %v; want 4", v, err)
	}
	if v, err := program.Eval([]Value{Int(5)}); err == nil || err.Error() != "division by zero in 1 // 0" {
		t.Errorf("got %s, %v; want a division by zero", v, err)
	}
}

// Integer formulas have a short code, and so have the integer parts of others.
func TestShortCode(t *testing.T) {
	tests := []struct {
		src   string
		whole bool
	}{
		{"ceildiv(S, M) * 2 + 16 * (D % 8)", true},
		{"S % (16 * M) == 0 and S > D", true},
		{"0 < S <= D", true},
		{"-S if not D else abs(M)", true},
		{"int(S > D) + 1", true},
		{"S * D / 2", false},
		{"S and D > 1", false},
		{"S if D else D > 1", false},
		{"S == 'a'", false},
		{"(S > 1) + 1", false},
		{"0 < S < D > True", false},
		{"S * 0.5", false},
	}
	for _, test := range tests {
		if got := mustCompile(t, test.src, "S", "M", "D").short != nil; got != test.whole {
			t.Errorf("%s: short code %v, want %v", test.src, got, test.whole)
		}
	}
}

func TestEvalDoesNotAllocate(t *testing.T) {
	for _, bm := range benchmarks {
		program := mustCompile(t, bm.src, benchmarkNames...)
		allocations := testing.AllocsPerRun(100, func() {
			if _, err := program.Eval(benchmarkValues); err != nil {
				t.Fatal(err)
			}
		})
		if allocations != 0 {
			t.Errorf("%s allocates %v times", bm.src, allocations)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	expr, err := Parse("0 < a <= 2 * 50 and (a // zero if a > 90 else a) or -1")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			program, err := expr.Compile([]string{"a", "zero"})
			if err != nil {
				t.Error(err)
				return
			}
			for a := range int64(100) {
				v, err := program.Eval([]Value{Int(a), Int(0)})
				switch {
				case a > 90 && err == nil:
					t.Errorf("a = %d: got %s, want an error", a, v)
				case a == 0 && v != Int(-1), 0 < a && a <= 90 && v != Int(a):
					t.Errorf("a = %d: got %s, %v", a, v, err)
				}
			}
		})
	}
	all.Wait()
}

func TestFunctionsAreSorted(t *testing.T) {
	names := Functions()
	if len(names) != len(functions) || !slices.IsSorted(names) {
		t.Errorf("got %v", names)
	}
}
