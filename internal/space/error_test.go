package space

import (
	"errors"
	"strings"
	"testing"
)

func TestErrors(t *testing.T) {
	ab := []Param{ints("A", 0, 1, 2, 3), ints("B", 0, 1, 2, 3)}
	large := []Param{upTo("A", 3000), upTo("B", 3000)}
	tests := []struct {
		name        string
		params      []Param
		constraints []string
		want        Error
	}{
		{
			"unknown name", ab,
			[]string{"A < 2", "A < CC"},
			Error{"", 1, `constraint "A < CC" names CC, which is no param`, "the params are A, B"},
		},
		{"no params", nil, []string{"A < 2"}, Error{"", 0, `constraint "A < 2" names A, which is no param`, "there are no params"}},
		{
			"no values",
			[]Param{ints("A")},
			nil,
			Error{"A", -1, "param A has no values", "list at least one; the first is the default"},
		},
		{"twice", []Param{ab[0], ab[0]}, nil, Error{"A", -1, "param A is given twice", "rename one of them"}},
		{"value twice", []Param{ints("A", 1, 2, 1)}, nil, Error{"A", -1, "param A lists 1 twice", "list each value once"}},
		{
			"too many values",
			[]Param{upTo("A", 65536)},
			nil,
			Error{"A", -1, "param A has 65536 values; at most 65535 are allowed", "list fewer, or make two params of it"},
		},
		{"false", ab, []string{"A < 2", "1 > 2"}, Error{"", 1, `constraint "1 > 2" is false at every point`, "loosen it, or list further values"}},
		{"never", ab, []string{"A < 2", "A + B > 6"}, Error{"", 1, `constraint "A + B > 6" is false at every point`, "loosen it, or list further values"}},
		{"never of many", large, []string{"A < 2", "A + B > 6000"}, Error{"", 1, `constraint "A + B > 6000" is false at every point`, "loosen it, or list further values"}},
		{"no boolean", ab, []string{"A + B"}, Error{"", 0, `constraint "A + B" must be true or false, not the integer 0`, "compare it with something"}},
		{"constant", ab, []string{"'a'"}, Error{"", 0, `constraint "'a'" must be true or false, not the string a`, "compare it with something"}},
		{
			"division", ab,
			[]string{"A % (B - B) == 0"},
			Error{"", 0, `constraint "A % (B - B) == 0" cannot be evaluated at any point: division by zero in 0 % 0`, "change it, or the values of its params"},
		},
		{
			"together", ab,
			[]string{"A < 2", "B < 2", "A + B > 2", "A < 3"},
			Error{"", 2, `no point satisfies the constraints: "A + B > 2" removes the last 4 points that those before it leave`, "loosen it, or list further values"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := New(test.params, parse(t, test.constraints...))
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v, %v, want an *Error", s, err)
			}
			if *got != test.want {
				t.Errorf("got  %+v\nwant %+v", *got, test.want)
			}
		})
	}
}

// A component that cannot be walked, and in which no draw succeeds.
func TestNotFound(t *testing.T) {
	params, _ := huge(t)
	parsed := parse(t, "P0 * P1 * P2 * P3 * P4 * P5 * P6 * P7 * P8 * P9 * P10 * P11 == 11", "P0 < 100")
	_, err := New(params, parsed)
	var got *Error
	if !errors.As(err, &got) || got.Constraint != 0 || !strings.Contains(got.Message, "found no point that satisfies the constraints, in ") || got.Hint == "" {
		t.Errorf("got %v", err)
	}
}
