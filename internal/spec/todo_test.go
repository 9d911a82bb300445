package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What a TODO comment is about: the line it stands on, or the one that it stands above.
func TestWhatTODOsAreAbout(t *testing.T) {
	const kernel = "{source: k.c, entry: k, args: [{name: y, dtype: f32, shape: [N], role: out}]}"
	for name, c := range map[string]struct{ text, want string }{
		"none":                    {"version: 1\nkernels:\n  a: KERNEL # no TODO\nconfigs: {c: {N: 1}}\n", ""},
		"on its line":             {"version: 1\nkernels:\n  a: KERNEL # TODO\n  b: KERNEL\nconfigs: {c: {N: 1}}\n", "a:3"},
		"above it":                {"version: 1\nkernels:\n  a: KERNEL\n  # TODO: b\n  # indeed\n\n  b: KERNEL\nconfigs: {c: {N: 1}}\n", "b:4"},
		"above the first":         {"version: 1\nkernels:\n  # TODO\n  a: KERNEL\n  b: KERNEL\nconfigs: {c: {N: 1}}\n", "a:3"},
		"inside, deeper":          {"version: 1\nkernels:\n  a:\n    source: k.c\n    entry: k\n    args: [{name: y, dtype: f32, shape: [N], role: out}]\n    # TODO: an oracle\n  b: KERNEL\nconfigs: {c: {N: 1}}\n", "a:7"},
		"of an argument":          {"version: 1\nkernels:\n  a: KERNEL\n  b:\n    source: k.c\n    entry: k\n    args:\n      - {name: x, dtype: f32, shape: [N]}\n      - {name: y, dtype: f32, shape: [N], role: out} # TODO\nconfigs: {c: {N: 1}}\n", "b:9"},
		"all kernels":             {"version: 1\nkernels: # TODO\n  a: KERNEL\n  b: KERNEL\nconfigs: {c: {N: 1}}\n", "a:2 b:2"},
		"above all kernels":       {"version: 1\n# TODO\nkernels:\n  a: KERNEL\n  b: KERNEL\nconfigs: {c: {N: 1}}\n", "a:2 b:2"},
		"a config":                {"version: 1\nkernels:\n  a: KERNEL\nconfigs:\n  c: {N: 1}\n  d: {N: 2} # TODO\n", "config d:6"},
		"all configs":             {"version: 1\nkernels:\n  a: KERNEL\n# TODO\nconfigs:\n  c: {N: 1}\n  d: {N: 2}\n", "config c:4 config d:4"},
		"the end":                 {"version: 1\nkernels:\n  a: KERNEL\nconfigs:\n  c: {N: 1}\n  d: {N: 2}\n# TODO\n", "config d:7"},
		"gate":                    {"version: 1\nkernels:\n  a: KERNEL\ngate:\n  regression: 3% # TODO\nconfigs: {c: {N: 1}}\n", "key gate:5"},
		"the file":                {"# TODO: all of it\n\nversion: 1\nkernels:\n  a: KERNEL\nconfigs: {c: {N: 1}}\n", "a:1 config c:1 key version:1"},
		"a flow over lines":       {"version: 1\nkernels: {a: {source: k.c, entry: k, args: [\n  {name: y, dtype: f32, shape: [N], role: out} # TODO\n ]}, b: {source: k.c,\n entry: k, args: [{name: y, dtype: f32, shape: [N], role: out}]}}\nconfigs: {c: {N: 1}}\n", "a:3"},
		"a bracket of its own":    {"version: 1\nkernels:\n  a:\n    source: k.c\n    entry: k\n    args: [\n      {name: y, dtype: f32, shape: [N], role: out}\n    ] # TODO\n  b: KERNEL\nconfigs: {c: {N: 1}}\n", "a:8"},
		"an alias":                {"version: 1\nkernels:\n  a: &a\n    source: k.c\n    entry: k # TODO\n    args: [{name: y, dtype: f32, shape: [N], role: out}]\n  b: *a\n  c: KERNEL\nconfigs: {c: {N: 1}}\n", "a:5 b:5"},
		"merged":                  {"version: 1\nkernels:\n  a: &a\n    source: k.c # TODO\n    entry: k\n    args: [{name: y, dtype: f32, shape: [N], role: out}]\n  b:\n    <<: *a\n    entry: k\n  c:\n    <<: *a\n    source: k.c\nconfigs: {c: {N: 1}}\n", "a:4 b:4"},
		"a kernel's own configs":  {"version: 1\nkernels:\n  a:\n    source: k.c\n    entry: k\n    args: [{name: y, dtype: f32, shape: [N], role: out}]\n    configs:\n      c: {N: 1} # TODO\n", "a:8"},
		"Windows and a byte mark": {"\ufeffversion: 1\r\nkernels:\r\n  a: KERNEL # TODO\r\n  b: KERNEL\r\nconfigs: {c: {N: 1}}\r\n", "a:3"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("pawl.yaml", []byte(strings.ReplaceAll(c.text, "KERNEL", kernel)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, k := range s.Kernels {
				if k.TODO.Line > 0 {
					got = append(got, fmt.Sprintf("%s:%d", k.Name, k.TODO.Line))
				}
			}
			for _, k := range s.Configs {
				if k.TODO.Line > 0 {
					got = append(got, fmt.Sprintf("config %s:%d", k.Name, k.TODO.Line))
				}
			}
			for key, at := range s.Unfinished {
				got = append(got, fmt.Sprintf("key %s:%d", key, at.Line))
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

// A kernel with several TODO comments is one draft; a comment about all kernels is in the first one's.
func TestDraftsOf(t *testing.T) {
	s, err := Parse("pawl.yaml", []byte(`version: 1
kernels:
  # TODO: all of them
  a:
    source: k.c # TODO: is it?
    entry: k # TODO: is it?
    args: [{name: y, dtype: f32, shape: [N], role: out}]
  b: {source: k.c, entry: k, args: [{name: y, dtype: f32, shape: [N], role: out}]}
  c: {source: k.c, entry: k, args: [{name: y, dtype: f32, shape: [N], role: out}]} # TODO
configs:
  small: {N: 1} # TODO
  large: {N: 2}
gate: {regression: 3%} # TODO
`))
	if err != nil {
		t.Fatal(err)
	}
	for patterns, want := range map[string]string{
		"":        "[kernel a 3 5 6] [kernel c 9] [config small 11] [gate 13]",
		"b/large": "[gate 13]",
		"b":       "[config small 11] [gate 13]",
		"c/large": "[kernel c 9] [gate 13]",
	} {
		rows, err := s.Select(strings.Fields(patterns))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range s.DraftsOf(strings.Fields(patterns), rows) {
			text := d.Name
			for _, at := range d.TODOs {
				text += fmt.Sprint(" ", at.Line)
			}
			got = append(got, text)
		}
		if text := fmt.Sprint("[", strings.Join(got, "] ["), "]"); text != want {
			t.Errorf("%q: %s, want %s", patterns, text, want)
		}
	}
}
