package store

import (
	"bytes"
	"strings"
	"testing"
)

func TestEqualJSON(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[true,null,"x"]}`, ` { "b": [ true, null, "\u0078" ], "a": 1.0 } `, true},
		{`[1e-05,0.1,-0]`, `[0.00001,0.10000000000000001,0]`, true},
		{`[[],{}]`, `[[],[]]`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `["1"]`, false},
		{`["1e20"]`, `[100000000000000000000]`, false},
		{`[null]`, `[]`, false},
		{`{"a":null}`, `{}`, false},
		{`[9007199254740991]`, `[9007199254740992]`, false},
		{`[9007199254740992]`, `[9007199254740993]`, false},
		{`[-9007199254740992]`, `[-9007199254740993]`, false},
		{`[9007199254740993]`, `[9007199254740993.0]`, true},
		{`[9007199254740993]`, `[90071992547409930e-1]`, true},
		{`[9007199254740993]`, `[-9007199254740993]`, false},
		{`[18446744073709551615]`, `[18446744073709551614]`, false},
		{`[1e20,1.5E+300]`, `[100000000000000000000,15e299]`, true},
		{`[-0.1e30]`, `[-1e29]`, true},
		{`[1e29]`, `[-1e29]`, false},
		{`[1e400]`, `[1e401]`, false},
		{`[1e99999999999999999999]`, `[1e99999999999999999999]`, true},
		{`[1e99999999999999999999]`, `[1e99999999999999999998]`, false},
		{`{"a":1,"a":2}`, `{"a":2}`, false},
		{`{"a":2}`, `{"a":2,"a":2}`, false},
		{`{"a":{"b":1,"b":1}}`, `{"a":{"b":1,"b":1}}`, true},
		{`{"a":{"b":1,"b":1}}`, `{"a": {"b":1,"b":1}}`, false},
		{`{"a":1,"A":1}`, `{"A":1,"a":1}`, true},
		{"[\"\xff\"]", "[\"\xfe\"]", false},
	} {
		if got := equalJSON([]byte(c.a), []byte(c.b)); got != c.same {
			t.Errorf("%s and %s: %v, want %v", c.a, c.b, got, c.same)
		}
		if got := equalJSON([]byte(c.b), []byte(c.a)); got != c.same {
			t.Errorf("%s and %s: %v, want %v", c.b, c.a, got, c.same)
		}
	}
}

// A report that differs in no more than the last digit of a large integer is another one.
func TestAddLargeIntegers(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		r := made(1, 10)
		r.Command = []string{"18446744073709551615"}
		raw, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		number := func(text string) Entry {
			return Entry{r, bytes.Replace(raw, []byte(`"18446744073709551615"`), []byte(text), 1)}
		}
		for _, c := range []struct {
			text  string
			added int
			says  string
		}{{`18446744073709551615`, 1, ""}, {`18446744073709551615.0`, 0, ""}, {`18446744073709551614`, 0, "with another report"}} {
			n, err := db.Add(t.Context(), number(c.text))
			if n != c.added || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %d, %v", c.text, n, err)
			}
		}
	})
}
