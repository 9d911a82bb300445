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

// A kernel that only answers for others, and lists no configs, has theirs. It is left out unless it is named.
func TestReference(t *testing.T) {
	text := `version: 1
kernels:
  k: {source: k.c, entry: k, args: &args [{name: y, dtype: f32, shape: [N], role: out}], oracle: {kernel: ref}, configs: {small: {N: 1}, large: {N: 2}}}
  other: {source: k.c, entry: other, args: *args, oracle: {kernel: ref}, configs: {large: {N: 3}, huge: {N: 4}}}
  close: {source: k.c, entry: close, args: *args, oracle: {elementwise: "1"}, tolerance: {rival: {kernel: peer}, factor: 2}, configs: {small: {N: 1}}}
  ref: {source: k.c, entry: ref, args: *args}
  peer: {source: k.c, entry: peer, args: *args}
  listed: {source: k.c, entry: listed, args: *args, configs: {mine: {N: 5}}}
  judged: {source: k.c, entry: judged, args: *args, oracle: {kernel: listed}, configs: {mine: {N: 5}}}
`
	s, err := Parse("pawl.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ patterns, want string }{
		{"", "k/small k/large other/large other/huge close/small listed/mine judged/mine"},
		{"ref", "ref/small ref/large ref/huge"},
		{"k ref/large", "k/small k/large ref/large"},
		{"*/small", "k/small close/small"},
		{"?e*", "ref/small ref/large ref/huge peer/small"},
	} {
		patterns := strings.Fields(tt.patterns)
		selections, err := s.Select(patterns)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, sel := range Without(selections, patterns, IsReference) {
			for _, c := range sel.Configs {
				parts = append(parts, sel.Kernel.Name+"/"+c.Name)
			}
		}
		if got := strings.Join(parts, " "); got != tt.want {
			t.Errorf("%q: got %s\nwant %s", tt.patterns, got, tt.want)
		}
	}
	if large, _ := s.Kernel("ref").Config("large").Lookup("N"); large.String() != "2" {
		t.Errorf("the first of a name counts: N is %v", large)
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
