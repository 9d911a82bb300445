package formula

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pythonCase is one line for testdata/evaluate.py.
type pythonCase struct {
	Src string         `json:"src"`
	Env map[string]any `json:"env"`
}

// TestPython compares with Python itself: its parser, its operators, its repr.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on PATH")
	}
	if exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 10))").Run() != nil {
		t.Skip("python3 is older than 3.10")
	}
	cases := append(fixedCases(), append(integerCases(2000), floatCases(1500)...)...)
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	for _, c := range cases {
		if err := encoder.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(python, "testdata/evaluate.py")
	command.Stdin = &input
	var complaints bytes.Buffer
	command.Stderr = &complaints
	output, err := command.Output()
	if err != nil {
		t.Fatalf("evaluate.py: %v\n%s", err, complaints.String())
	}
	answers := strings.Split(strings.TrimSuffix(string(output), "\n"), "\n")
	if len(answers) != len(cases) {
		t.Fatalf("%d answers to %d formulas", len(answers), len(cases))
	}
	failed := 0
	for i, c := range cases {
		env := map[string]Value{}
		for name, v := range c.Env {
			env[name] = Int(v.(int64))
		}
		got := "error"
		value, err := evaluate(c.Src, env)
		if err == nil {
			got = value.String()
		} else {
			failed++
		}
		if got != answers[i] {
			t.Errorf("%s with %v = %s, %v; Python says %s", c.Src, c.Env, got, err, answers[i])
		}
	}
	if failed == 0 || failed > len(cases)/2 {
		t.Errorf("%d of %d formulas fail: the cases are too one-sided", failed, len(cases))
	}
}

func fixedCases() []pythonCase {
	var cases []pythonCase
	for _, src := range []string{
		"-2 ** 2", "2 ** -1", "2 ** -1 ** 2", "2 ** 3 ** 2", "-3 ** -2", "~2 ** 2", "-7 // 2", "7 // -2", "-7 % 3", "7 % -3",
		"not 1 == 2", "not 1 and 0", "not (1 and 0)", "1 or 0 and 0", "1 < 2 < 3 == 3", "3 > 2 == True", "1 < 3 > 2 != 2",
		"1 | 2 ^ 3 & 4 << 1 + 1", "5 & 4 == 4", "1 if 0 else 2 if 0 else 3", "0 or 1 if 1 or 0 else 2",
		"1 << 62", "1 << 63", "-1 << 63", "0 << 1000", "-1 >> 1000", "-9223372036854775808", "-9223372036854775808 // -1",
		"- -9223372036854775808", "9223372036854775807 + 1", "9223372036854775807 / 9223372036854775806", "1 / 3", "1 / 0",
		"0 ** 0", "0 ** -1", "0.0 ** 0", "(-8) ** 0.5", "10 ** -2", "2 ** 0.5", "64 ** -0.5", "1_000 * 0x_ff - 0b11 + 0o17",
		"1e3", "1.", ".5", "1e16", "1e15", "0.0001", "0.00001", "123456789.125", "1e22", "5e-324", "1.7976931348623157e308 * 2",
		"True == 1", "True == 1.0", "False != 0", "'a' == 'a'", "'a' != \"b\"", "'1' == 1", "0.0 or 0", "0 or 0.0", "2 and 0.5",
		"9007199254740993 == 9007199254740992.0", "9007199254740993 > 9007199254740992.0", "2 ** 62 * 2.0 > 9223372036854775807",
		"max(1, 1.0)", "max(1.0, 1)", "min(2, 1.5, -3)", "int(-1.8)", "int(True)", "float(3)", "ceil(-1.5)", "floor(-1.5)", "ceil(1e30)",
		"abs(-0.0)", "-0.0", "sqrt(2)", "sqrt(-1)", "log2(8)", "log2(0)", "exp(0)", "exp(1000)", "log(1)", "log(0)", "log(-1)", "tanh(0)", "tanh(1000)", "erf(0)", "erf(-10)", "sin(0)", "cos(0)",
		"gcd(-12, 18)", "gcd(0, 0)", "next_pow2(1000)",
	} {
		cases = append(cases, pythonCase{Src: src})
	}
	return cases
}

// integerCases returns the formulas of the property test. Examples are numbered,
// so every run has the same.
func integerCases(count int) []pythonCase {
	trees := rapid.OneOf(integerTrees(5), booleanTrees(4))
	var cases []pythonCase
	for i := 0; len(cases) < count; i++ {
		c := pythonCase{Src: trees.Example(i).String(), Env: map[string]any{}}
		if len(c.Src) > maxSource {
			continue
		}
		for name, value := range environments().Example(i) {
			c.Env[name] = value
		}
		cases = append(cases, c)
	}
	return cases
}

// floatCases are operations that IEEE 754 or exact comparison decides to the
// last bit, on floats and integers of every size.
func floatCases(count int) []pythonCase {
	numbers := rapid.Map(rapid.OneOf(
		rapid.Map(rapid.Float64Range(-100, 100), Float),
		rapid.Map(rapid.IntRange(-8, 8), func(i int) Value { return Float(float64(i) / 4) }),
		rapid.Map(rapid.Float64(), Float),
		rapid.Map(integers(), Int),
	), func(v Value) string { return "(" + v.String() + ")" })
	operators := rapid.SampledFrom([]string{"+", "-", "*", "/", "//", "%", "//", "%", "<", "<=", ">", ">=", "==", "!=", "or", "and"})
	calls := rapid.SampledFrom([]string{"min", "max", "abs", "ceil", "floor", "int", "float", "sqrt"})
	var cases []pythonCase
	for i := range count {
		a, b := numbers.Example(2*i), numbers.Example(2*i+1)
		c := pythonCase{Src: a + " " + operators.Example(i) + " " + b}
		if i%4 == 0 {
			name := calls.Example(i)
			c.Src = name + a
			if name == "min" || name == "max" {
				c.Src = fmt.Sprintf("%s(%s, %s)", name, a, b)
			}
		}
		cases = append(cases, c)
	}
	return cases
}
