package spec

import (
	"fmt"
	"strings"
	"testing"
)

func TestSelect(t *testing.T) {
	s := loadGood(t, "everything.yaml")
	for _, tt := range []struct{ patterns, want string }{
		{"", "softmax/small softmax/large two_step/1m two_step/512"},
		{"softmax", "softmax/small softmax/large"},
		{"two_step softmax/large", "softmax/large two_step/1m two_step/512"},
		{"*/512", "two_step/512"},
		{"*/[1s]* softmax/small", "softmax/small two_step/1m"},
		{"s*/l*", "softmax/large"},
		{"sofmax", `error: no kernel matches "sofmax" / did you mean softmax?`},
		{"softmax/smal", `error: no config of softmax matches "smal" / did you mean small?`},
		{"*/x*", `error: no config of * matches "x*" / expected one of: 1m, 512, large, small`},
		{"large", `error: no kernel matches "large" / large is a config; write '*/large'`},
		{"[a", `error: "[a" is not a valid selector / write kernel or kernel/config; * stands for any characters, ? for one, [abc] for one of several`},
		{"softmax nope", `error: no kernel matches "nope" / expected one of: softmax, two_step`},
	} {
		selections, err := s.Select(strings.Fields(tt.patterns))
		var parts []string
		for _, sel := range selections {
			for _, c := range sel.Configs {
				parts = append(parts, sel.Kernel.Name+"/"+c.Name)
			}
		}
		got := strings.Join(parts, " ")
		if err != nil {
			got = strings.ReplaceAll(fmt.Sprint("error: ", err), "\n  hint: ", " / ")
		}
		if got != tt.want {
			t.Errorf("%q: got %s\nwant %s", tt.patterns, got, tt.want)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"ssh -T host pawl worker", "ssh|-T|host|pawl|worker"},
		{"  a\t b\n", "a|b"},
		{`a 'b c' "d e"`, "a|b c|d e"},
		{`a'b'"c"d`, "abcd"},
		{`'' ""`, "|"},
		{`a\ b "c\"d" 'e\f' "g\h" "\$i"`, `a b|c"d|e\f|g\h|$i`},
		{"", ""},
		{"'a", "error: a ' is never closed"},
		{`"a\"`, `error: a " is never closed`},
		{`a\`, "error: a backslash at the end keeps nothing"},
		{"ü 'é'", "ü|é"},
	} {
		words, err := splitWords(tt.line)
		got := strings.Join(words, "|")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.line, got, tt.want)
		}
	}
}
