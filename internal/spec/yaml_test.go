package spec

import (
	"fmt"
	"strings"
	"testing"

	"pawl/internal/diag"
)

// show writes a node in flow style.
func show(n *node) string {
	var parts []string
	switch n.kind {
	case mappingKind:
		for _, f := range n.fields {
			parts = append(parts, f.key.text+": "+show(f.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case listKind:
		for _, item := range n.items {
			parts = append(parts, show(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case textKind:
		return fmt.Sprintf("%q", n.text)
	case nullKind:
		return "~"
	}
	return n.text
}

func TestYAML(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"scalars", "{a: 1, b: 1.5, c: 1e-4, d: x, e: '1', f: true, g: ~, h: , i: 0x1F, j: 1_000, k: yes, l: -.5e3}", `{a: 1, b: 1.5, c: 1e-4, d: "x", e: "1", f: true, g: ~, h: ~, i: 0x1F, j: 1_000, k: "yes", l: -.5e3}`},
		{"block", "a:\n  - b: 1\n    c: 2\n  - [3, 4]\nd: |\n  text\n  more\n", `{a: [{b: 1, c: 2}, [3, 4]], d: "text\nmore\n"}`},
		{"alias", "a: &x {b: 1}\nc: *x\n", `{a: {b: 1}, c: {b: 1}}`},
		{"anchor shadows", "a: &x 1\nb: &x 2\nc: *x\n", `{a: 1, b: 2, c: 2}`},
		{"merge", "a: &x {p: 1, q: 2}\nb: {<<: *x, r: 3}\n", `{a: {p: 1, q: 2}, b: {p: 1, q: 2, r: 3}}`},
		{"merge loses to a later key", "a: &x {p: 1, q: 2}\nb: {<<: *x, p: 3}\n", `{a: {p: 1, q: 2}, b: {q: 2, p: 3}}`},
		{"merge loses to an earlier key", "a: &x {p: 1, q: 2}\nb: {p: 3, <<: *x}\n", `{a: {p: 1, q: 2}, b: {p: 3, q: 2}}`},
		{"merge of several, the first wins", "a: &x {p: 1}\nb: &y {p: 2, q: 3}\nc: {<<: [*x, *y]}\n", `{a: {p: 1}, b: {p: 2, q: 3}, c: {p: 1, q: 3}}`},
		{"merge key in quotes is a key", "a: {'<<': 1}", `{a: {<<: 1}}`},
		{"one document with marks", "---\na: 1\n...\n", `{a: 1}`},
		{"integer key", "512: a", `{512: "a"}`},
		{"nothing", "# only a comment", "nothing"},
		{"self reference", "a: &x [*x]", "pawl.yaml:1:8: no anchor &x above this alias"},
		{"merge of unknown", "a: {<<: *x}", "pawl.yaml:1:9: no anchor &x above this alias"},
		{"twice", "a: 1\nb: {c: 1, c: 2}\na: 2\n", "pawl.yaml:2:11: c is given twice; first on line 2\npawl.yaml:3:1: a is given twice; first on line 1"},
		{"empty key", "'': 1", "pawl.yaml:1:1: a key must be a name, found an empty string"},
	} {
		var problems diag.List
		root, _ := readYAML("pawl.yaml", []byte(tt.text), &problems)
		got := "nothing"
		if root != nil {
			got = show(root)
		}
		if err := problems.Err([]byte(tt.text)); err != nil {
			var lines []string
			for _, p := range diag.Problems(err) {
				lines = append(lines, p.Error())
			}
			got = strings.Join(lines, "\n")
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestTextHasItsPlace checks that a place inside a scalar is a place in the
// file wherever the scalar stands there as it is.
func TestTextHasItsPlace(t *testing.T) {
	for _, tt := range []struct {
		text   string
		offset int
		want   string
	}{
		{`a: N + x`, 4, "1:8"},
		{`a: "N + x"`, 4, "1:9"},
		{`a: 'N + x'`, 4, "1:9"},
		{`é: "ü + x"`, 5, "1:9"}, // ü has two bytes
		{"a:\n  - {b: [1, N + x]}", 4, "2:17"},
		{`a: 'it''s x'`, 5, "1:4, not exact"},
		{`a: "\x41 + x"`, 4, "1:4, not exact"},
		{"a: N\n  + x", 4, "1:4, not exact"},
		{"a: >-\n  N + x", 4, "1:4, not exact"},
		{"a: &x N + x", 4, "1:11"},
	} {
		var problems diag.List
		root, _ := readYAML("pawl.yaml", []byte(tt.text), &problems)
		if root == nil {
			t.Fatalf("%s: %v", tt.text, problems.Err(nil))
		}
		n := root.fields[0].value
		for n.kind == listKind || n.kind == mappingKind {
			if n.kind == mappingKind {
				n = n.fields[0].value
			} else {
				n = n.items[len(n.items)-1]
			}
		}
		pos, exact := n.at(tt.offset)
		got := fmt.Sprintf("%d:%d", pos.Line, pos.Column)
		if !exact {
			got += ", not exact"
		}
		if got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.text, got, tt.want)
		}
	}
}
