package formula

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseErrors(t *testing.T) {
	const all = "expected one of: abs, ceil, ceildiv, cos, erf, exp, float, floor, gcd, int, log, log2, max, min, next_pow2, " +
		"round_up, sin, sqrt, tanh"
	tests := []struct {
		src  string
		want Error
	}{
		{"", Error{Message: "the formula is empty"}},
		{" \n\t", Error{Message: "the formula is empty"}},

		{"B *", Error{Offset: 3, Message: `expected a value after "*"`}},
		{"B *  \n", Error{Offset: 3, Message: `expected a value after "*"`}},
		{"B * * C", Error{Offset: 4, Width: 1, Message: `expected a value after "*", found "*"`}},
		{"* B", Error{Offset: 0, Width: 1, Message: `expected a value, found "*"`}},
		{"(B + )", Error{Offset: 5, Width: 1, Message: `expected a value after "+", found ")"`}},
		{"()", Error{Offset: 1, Width: 1, Message: `expected a value after "(", found ")"`}},
		{"not", Error{Offset: 3, Message: `expected a value after "not"`}},
		{"-", Error{Offset: 1, Message: `expected a value after "-"`}},
		{"a < ", Error{Offset: 3, Message: `expected a value after "<"`}},
		{"a <> b", Error{Offset: 3, Width: 1, Message: `expected a value after "<", found ">"`}},
		{"a and or b", Error{Offset: 6, Width: 2, Message: `expected a value after "and", found "or"`}},
		{"min(a, )", Error{Offset: 7, Width: 1, Message: `expected a value after ",", found ")"`}},
		{"min(", Error{Offset: 4, Message: `expected a value after "("`}},
		{"min(,a)", Error{Offset: 4, Width: 1, Message: `expected a value after "(", found ","`}},

		{"a b", Error{Offset: 2, Width: 1, Message: `expected an operator after "a", found "b"`}},
		{"2 'x'", Error{Offset: 2, Width: 3, Message: `expected an operator after "2", found 'x'`}},
		{`2 "x"`, Error{Offset: 2, Width: 3, Message: `expected an operator after "2", found "x"`}},
		{"2 (a)", Error{Offset: 2, Width: 1, Message: `expected an operator after "2", found "("`}},
		{"a, b", Error{Offset: 1, Width: 1, Message: `expected an operator after "a", found ","`}},
		{"a else b", Error{Offset: 2, Width: 4, Message: `expected an operator after "a", found "else"`}},
		{"a not b", Error{Offset: 2, Width: 3, Message: `expected an operator after "a", found "not"`}},
		{"a AND b", Error{Offset: 2, Width: 3, Message: `expected an operator after "a", found "AND"`, Hint: "use and"}},
		{"a Or b", Error{Offset: 2, Width: 2, Message: `expected an operator after "a", found "Or"`, Hint: "use or"}},

		{"(a", Error{Offset: 0, Width: 1, Message: `"(" is never closed`}},
		{"2 * (a + (b)", Error{Offset: 4, Width: 1, Message: `"(" is never closed`}},
		{"max(a, b", Error{Offset: 3, Width: 1, Message: `"(" is never closed`}},
		{"a)", Error{Offset: 1, Width: 1, Message: `")" has no matching "("`}},
		{"(a b)", Error{Offset: 3, Width: 1, Message: `expected an operator or ")" after "a", found "b"`}},
		{"(a, b)", Error{Offset: 2, Width: 1, Message: `expected an operator or ")" after "a", found ","`}},
		{"max(a b)", Error{Offset: 6, Width: 1, Message: `expected an operator, "," or ")" after "a", found "b"`}},

		{"a if b", Error{Offset: 6, Message: `expected "else" after "b"`}},
		{"a if b c", Error{Offset: 7, Width: 1, Message: `expected "else" after "b", found "c"`}},
		{"a if else b", Error{Offset: 5, Width: 4, Message: `expected a value after "if", found "else"`}},
		{"a if b else", Error{Offset: 11, Message: `expected a value after "else"`}},
		{"if a", Error{Offset: 0, Width: 2, Message: `expected a value, found "if"`}},
		{"a == not b", Error{Offset: 5, Width: 3, Message: `"not" binds too loosely to stand after "=="`, Hint: "put it in parentheses"}},
		{"-not a", Error{Offset: 1, Width: 3, Message: `"not" binds too loosely to stand after "-"`, Hint: "put it in parentheses"}},

		{"S = 4", Error{Offset: 2, Width: 1, Message: `"=" is not an operator`, Hint: "use =="}},
		{"S === 4", Error{Offset: 4, Width: 1, Message: `"=" is not an operator`, Hint: "use =="}},
		{"a && b", Error{Offset: 2, Width: 2, Message: `"&&" is not an operator`, Hint: "use and"}},
		{"a || b", Error{Offset: 2, Width: 2, Message: `"||" is not an operator`, Hint: "use or"}},
		{"!a", Error{Offset: 0, Width: 1, Message: `"!" is not an operator`, Hint: "use not"}},
		{"a ? b : c", Error{Offset: 2, Width: 1, Message: `"?" is not an operator`, Hint: "use a if condition else b"}},
		{"a × b", Error{Offset: 2, Width: 2, Message: `"×" is not an operator`, Hint: "use *"}},
		{"a ≤ b", Error{Offset: 2, Width: 3, Message: `"≤" is not an operator`, Hint: "use <="}},
		{"a − b", Error{Offset: 2, Width: 3, Message: `"−" is not an operator`, Hint: "use -"}},
		{"$a", Error{Offset: 0, Width: 1, Message: `unexpected character "$"`}},
		{"a[0]", Error{Offset: 1, Width: 1, Message: `unexpected character "["`}},
		{"a.b", Error{Offset: 1, Width: 1, Message: `unexpected character "."`}},
		{"größe", Error{Offset: 2, Width: 2, Message: `unexpected character "ö"`}},
		{"a \xff", Error{Offset: 2, Width: 1, Message: `unexpected character "\xff"`}},

		{"cieldiv(S, 2)", Error{Offset: 0, Width: 7, Message: `unknown function "cieldiv"`, Hint: "did you mean ceildiv?", Name: "cieldiv"}},
		{"1 + Min(S)", Error{Offset: 4, Width: 3, Message: `unknown function "Min"`, Hint: "did you mean min?", Name: "Min"}},
		{"cdiv(S, 2)", Error{Offset: 0, Width: 4, Message: `unknown function "cdiv"`, Hint: "use ceildiv(a, b)", Name: "cdiv"}},
		{"pow(S, 2)", Error{Offset: 0, Width: 3, Message: `unknown function "pow"`, Hint: "use a ** b", Name: "pow"}},
		{"S(2)", Error{Offset: 0, Width: 1, Message: `unknown function "S"`, Hint: all, Name: "S"}},
		{"ceildiv(S)", Error{Offset: 0, Width: 7, Message: "ceildiv needs 2 arguments, not 1"}},
		{"2 * ceildiv(S, 2, 3)", Error{Offset: 4, Width: 7, Message: "ceildiv needs 2 arguments, not 3"}},
		{"min()", Error{Offset: 0, Width: 3, Message: "min needs at least 1 argument, not 0"}},
		{"sqrt(1, 2)", Error{Offset: 0, Width: 4, Message: "sqrt needs 1 argument, not 2"}},
		{"abs()", Error{Offset: 0, Width: 3, Message: "abs needs 1 argument, not 0"}},

		{"2x", Error{Offset: 0, Width: 2, Message: "2x is not a number"}},
		{"1 + 1.2.3", Error{Offset: 4, Width: 5, Message: "1.2.3 is not a number"}},
		{"0x", Error{Offset: 0, Width: 2, Message: "0x is not a number"}},
		{"0xg", Error{Offset: 0, Width: 3, Message: "0xg is not a number"}},
		{"0b12", Error{Offset: 0, Width: 4, Message: "0b12 is not a number"}},
		{"0x1.8", Error{Offset: 0, Width: 5, Message: "0x1.8 is not a number"}},
		{"0x1p4", Error{Offset: 0, Width: 5, Message: "0x1p4 is not a number"}},
		{"1e", Error{Offset: 0, Width: 2, Message: "1e is not a number"}},
		{"1e+", Error{Offset: 0, Width: 3, Message: "1e+ is not a number"}},
		{"1_", Error{Offset: 0, Width: 2, Message: "1_ is not a number"}},
		{"1__0", Error{Offset: 0, Width: 4, Message: "1__0 is not a number"}},
		{"1_.5", Error{Offset: 0, Width: 4, Message: "1_.5 is not a number"}},
		{"1_e5", Error{Offset: 0, Width: 4, Message: "1_e5 is not a number"}},
		{"0_x1", Error{Offset: 0, Width: 4, Message: "0_x1 is not a number"}},
		{"007", Error{Offset: 0, Width: 3, Message: "007 has a leading zero"}},
		{"9223372036854775808", Error{Offset: 0, Width: 19, Message: "9223372036854775808 does not fit in a 64-bit integer"}},
		{"1-9223372036854775808", Error{Offset: 2, Width: 19, Message: "9223372036854775808 does not fit in a 64-bit integer"}},
		{"-9223372036854775808 ** 2", Error{Offset: 1, Width: 19, Message: "9223372036854775808 does not fit in a 64-bit integer"}},
		{"-9223372036854775809", Error{Offset: 1, Width: 19, Message: "9223372036854775809 does not fit in a 64-bit integer"}},
		{"0x8000000000000000", Error{Offset: 0, Width: 18, Message: "0x8000000000000000 does not fit in a 64-bit integer"}},
		{"1e999", Error{Offset: 0, Width: 5, Message: "1e999 is not a finite number"}},

		{"'a", Error{Offset: 0, Width: 1, Message: "the string is never closed"}},
		{"x == \"a'", Error{Offset: 5, Width: 1, Message: "the string is never closed"}},
		{"'a\nb'", Error{Offset: 0, Width: 1, Message: "the string is never closed"}},
		{`'a\n'`, Error{Offset: 2, Width: 1, Message: "strings have no escapes"}},
		{"'\xff'", Error{Offset: 0, Width: 3, Message: "the string is not UTF-8"}},
	}
	for _, test := range tests {
		t.Run(test.src, func(t *testing.T) {
			_, err := Parse(test.src)
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if err.Error() != test.want.Message {
				t.Errorf("Error() = %q", err.Error())
			}
		})
	}
}

// Grammar, shown by what the formula comes to; Python says the same of each.
func TestPrecedence(t *testing.T) {
	tests := []struct{ src, want string }{
		{"2 + 3 * 4", "14"},
		{"(2 + 3) * 4", "20"},
		{"10 - 4 - 3", "3"},
		{"100 // 5 // 2", "10"},
		{"7 % 4 * 2", "6"},
		{"2 ** 3 ** 2", "512"},
		{"(2 ** 3) ** 2", "64"},
		{"-2 ** 2", "-4"},
		{"(-2) ** 2", "4"},
		{"2 ** -1", "0.5"},
		{"2 ** -1 ** 2", "0.5"},
		{"2 ** ~1", "0.25"},
		{"-2 ** -2", "-0.25"},
		{"- - 2", "2"},
		{"-+~2", "3"},
		{"2 * -3", "-6"},
		{"-7 // 2", "-4"},
		{"~1 + 1", "-1"},
		{"1 << 2 + 1", "8"},
		{"1 + 1 << 2", "8"},
		{"1 << 2 << 1", "8"},
		{"6 & 3 << 1", "6"},
		{"4 ^ 6 & 3", "6"},
		{"1 | 2 ^ 3", "1"},
		{"5 & 4 == 4", "True"},
		{"5 & (4 == 4) == 4", ""},
		{"1 | 2 == 3", "True"},
		{"not 1 == 2", "True"},
		{"not not 2", "True"},
		{"not 0 and 5", "5"},
		{"1 or 0 and 0", "1"},
		{"(1 or 0) and 0", "0"},
		{"0 or 0 and 1 or 2", "2"},
		{"1 < 2 < 3", "True"},
		{"1 < 3 < 2", "False"},
		{"3 > 2 == 2", "True"},
		{"(3 > 2) == 2", "False"},
		{"1 == 1 != 2 <= 2", "True"},
		{"1 if 1 else 2 if 1 else 3", "1"},
		{"1 if 0 else 2 if 0 else 3", "3"},
		{"(1 if 1 else 2) if 0 else 3", "3"},
		{"0 or 1 if 1 or 0 else 2", "1"},
		{"1 if 0 else 2 + 3", "5"},
		{"2 + 3 if 1 else 4", "5"},
		{"1 if (0 if 1 else 1) else 2", "2"},
		{"max(1 if 0 else 4, 3)", "4"},
	}
	for _, test := range tests {
		value, err := evaluate(test.src, nil)
		if test.want == "" {
			if err == nil {
				t.Errorf("%s = %s, want an error", test.src, value)
			}
			continue
		}
		if err != nil || value.String() != test.want {
			t.Errorf("%s = %s, %v; want %s", test.src, value, err, test.want)
		}
	}
}

func TestLiterals(t *testing.T) {
	tests := []struct {
		src  string
		want Value
	}{
		{"0", Int(0)},
		{"64", Int(64)},
		{"1_000_000", Int(1000000)},
		{"9223372036854775807", Int(1<<63 - 1)},
		{"-9223372036854775808", Int(-1 << 63)},
		{"- 9_223_372_036_854_775_808", Int(-1 << 63)},
		{"0xFf", Int(255)},
		{"0X_ff_00", Int(0xff00)},
		{"0x1e-5", Int(25)},
		{"0b101", Int(5)},
		{"0o17", Int(15)},
		{"1.5", Float(1.5)},
		{"1.", Float(1)},
		{".5", Float(0.5)},
		{"01.5", Float(1.5)},
		{"1e3", Float(1000)},
		{"1E-3", Float(0.001)},
		{"1.5e+3", Float(1500)},
		{"1_0.2_5", Float(10.25)},
		{"0e5", Float(0)},
		{"1e-999", Float(0)},
		{"True", Bool(true)},
		{"true", Bool(true)},
		{"False", Bool(false)},
		{"false", Bool(false)},
		{"'f16'", String("f16")},
		{`"f16"`, String("f16")},
		{`"it's"`, String("it's")},
		{`'say "é"'`, String(`say "é"`)},
		{"''", String("")},
		{"\t(\r\n 3 )\n", Int(3)},
	}
	for _, test := range tests {
		if got, err := evaluate(test.src, nil); err != nil || got != test.want {
			t.Errorf("%s = %v %s, %v; want %v %s", test.src, got.Kind(), got, err, test.want.Kind(), test.want)
		}
	}
}

func TestNames(t *testing.T) {
	tests := []struct {
		src  string
		want []string
	}{
		{"1 + 2", []string{}},
		{"S", []string{"S"}},
		{"b * a + b // _c1", []string{"_c1", "a", "b"}},
		{"x if y else min(z, x)", []string{"x", "y", "z"}},
		{"min + max(min, True)", []string{"min"}},
		{"a < b < c and not d", []string{"a", "b", "c", "d"}},
	}
	for _, test := range tests {
		expr, err := Parse(test.src)
		if err != nil {
			t.Fatalf("%s: %v", test.src, err)
		}
		if diff := cmp.Diff(test.want, expr.Names()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.src, diff)
		}
		if expr.Source() != test.src {
			t.Errorf("source of %q is %q", test.src, expr.Source())
		}
	}
}

func TestLimits(t *testing.T) {
	fits := strings.Repeat("1+", maxSource/2-1) + "1 "
	if v, err := evaluate(fits, nil); err != nil || v != Int(maxSource/2) {
		t.Errorf("a formula of %d bytes: %s, %v", len(fits), v, err)
	}
	if _, err := Parse(fits + " "); err == nil || err.Error() != "the formula has 4097 bytes; at most 4096 are allowed" {
		t.Errorf("a formula of 4097 bytes: %v", err)
	}

	deep := map[string]string{
		"parentheses":  strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000),
		"calls":        strings.Repeat("abs(", 1000),
		"minus":        strings.Repeat("-", 1000) + "1",
		"not":          strings.Repeat("not ", 1000) + "1",
		"powers":       strings.Repeat("1**", 1000) + "1",
		"conditionals": strings.Repeat("1 if 1 else ", 300) + "1",
	}
	for name, src := range deep {
		if _, err := Parse(src); err == nil || err.Error() != "the formula is nested too deeply" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	shallow := strings.Repeat("(", 90) + "1" + strings.Repeat(")", 90)
	if v, err := evaluate(shallow, nil); err != nil || v != Int(1) {
		t.Errorf("90 parentheses: %s, %v", v, err)
	}
}

func TestFunctionHintsNameFunctions(t *testing.T) {
	for name, hint := range elsewhere {
		if _, ok := functions[name]; ok {
			t.Errorf("%s is a function; its hint %q is never shown", name, hint)
		}
		if _, err := Parse(strings.TrimPrefix(hint, "use ")); err != nil {
			t.Errorf("the hint for %s does not parse: %v", name, err)
		}
	}
}

// evaluate runs src with every name bound as in env.
func evaluate(src string, env map[string]Value) (Value, error) {
	expr, err := Parse(src)
	if err != nil {
		return Value{}, err
	}
	names := expr.Names()
	program, err := expr.Compile(names)
	if err != nil {
		return Value{}, err
	}
	values := make([]Value, len(names))
	for i, name := range names {
		values[i] = env[name]
	}
	return program.Eval(values)
}
