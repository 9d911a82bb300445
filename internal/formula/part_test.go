package formula

import (
	"strings"
	"testing"
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
