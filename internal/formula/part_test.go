package formula

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// written writes a part as nested calls.
func written(p Part) string {
	if p.Symbol == "" {
		if p.Name != "" {
			return p.Name
		}
		return p.Value.String()
	}
	var operands []string
	for _, operand := range p.Operands {
		operands = append(operands, written(operand))
	}
	return p.Symbol + "(" + strings.Join(operands, ", ") + ")"
}

func TestParts(t *testing.T) {
	for source, want := range map[string]string{
		"a":                  "a",
		"-a * 2 + 0.5":       "+(*(-(a), 2), 0.5)",
		"-a ** 2":            "-(**(a, 2))",
		"max(a, b, 3)":       "max(max(a, b), 3)",
		"a if b > 0 else -a": "if(a, >(b, 0), -(a))",
		"0 < a <= b":         "and(<(0, a), <=(a, b))",
		"a and not b":        "and(a, not(b))",
	} {
		expr, err := Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := written(expr.Root()); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
		for _, symbol := range []string{"-", ">", "max", "or"} {
			if got := expr.Root().Uses(symbol); got != strings.Contains(want, symbol+"(") {
				t.Errorf("%s uses %s: %v", source, symbol, got)
			}
		}
	}
}

func TestInside(t *testing.T) {
	expr, err := Parse("(A * B + 2 * 3) % C == 0 and 0 < A <= D")
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		Names []string
		Of    int
	}
	var got []part
	for _, inner := range expr.Inside() {
		got = append(got, part{inner.Names(), inner.Of})
	}
	want := []part{
		{[]string{"A", "B", "C", "D"}, -1},
		{[]string{"A", "B", "C"}, 0}, // ==
		{[]string{"A", "B", "C"}, 1}, // %
		{[]string{"A", "B"}, 2},      // +
		{[]string{"A", "B"}, 3},
		{[]string{"A"}, 4},
		{[]string{"B"}, 4}, // *
		{[]string{"C"}, 2},
		{[]string{"A", "D"}, 0},
		{[]string{"A"}, 8},
		{[]string{"D"}, 8}, // chain
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	program, err := expr.Inside()[3].Compile([]string{"A", "B"})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := program.Eval([]Value{Int(4), Int(5)}); err != nil || v != Int(26) {
		t.Errorf("A * B + 2 * 3 is %s, %v; want 26", v, err)
	}
}
