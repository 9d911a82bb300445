package spec

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/diag"
)

// frame is a pawl.yaml around the params of a kernel k.
const frame = `version: 1
kernels:
  k:
    source: k.c
    entry: k
%s
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}] # untouched
    oracle: {elementwise: "x * 2"}
configs:
  c: {N: 64}
`

func TestApplyLists(t *testing.T) {
	for name, c := range map[string]struct{ before, after, set string }{
		"flow":          {"    params: {A: [1, 2,  4], B: [3, 5]}", "    params: {A: [4, 1,  2], B: [3, 5]}", "A=4"},
		"two at once":   {"    params: {A: [1, 2], B: [3, 5]}", "    params: {A: [2, 1], B: [5, 3]}", "A=2 B=5"},
		"as it is":      {"    params: {A: [1, 2], B: 3}", "    params: {A: [1, 2], B: 3}", "A=1 B=3"},
		"quotes":        {`    params: {A: ["f16", 'bf16', f32]}`, `    params: {A: ['bf16', "f16", f32]}`, "A=bf16"},
		"booleans":      {"    params: {A: [false, true]}", "    params: {A: [true, false]}", "A=1"},
		"floats":        {"    params: {A: [1.0, 0.50]}", "    params: {A: [0.50, 1.0]}", "A=0.5"},
		"hexadecimal":   {"    params: {A: [0x10, 0x40]}", "    params: {A: [0x40, 0x10]}", "A=64"},
		"namespace":     {`    params: {A: ["t::a", "t::b"]}`, `    params: {A: ["t::b", "t::a"]}`, "A=t::b"},
		"spaces":        {"    params: { A : [ 1 ,2 ] } # c", "    params: { A : [ 2 ,1 ] } # c", "A=2"},
		"trailing":      {"    params: {A: [1, 2,], }", "    params: {A: [2, 1,], }", "A=2"},
		"several lines": {"    params:\n      A: [1,\n          2, 4,\n          8]", "    params:\n      A: [8,\n          1, 2,\n          4]", "A=8"},
		"quoted key":    {`    params: {"A": [1, 2]}`, `    params: {"A": [2, 1]}`, "A=2"},
		"flow, comments": {
			"    params:\n      A: [ # sizes\n        1, # one\n\n        # two,\n        2,\n        4 # four\n      ] # end",
			"    params:\n      A: [ # sizes\n        4, # four\n\n        1, # one\n        # two,\n        2\n      ] # end", "A=4",
		},
		"block": {
			"    params:\n      A:\n        - 1\n        - 2 # two\n        - 4   # four\n      B: [1]",
			"    params:\n      A:\n        - 4   # four\n        - 1\n        - 2 # two\n      B: [1]", "A=4",
		},
		"block, not indented": {
			"    params:\n      A:\n      - 1\n      -   2\n      B: [1]",
			"    params:\n      A:\n      -   2\n      - 1\n      B: [1]", "A=2",
		},
		"comment about the list": {
			"    params:\n      A: # sizes\n        # rows of a tile\n        - 1\n        - 2\n        # and no more",
			"    params:\n      A: # sizes\n        # rows of a tile\n        - 2\n        - 1\n        # and no more", "A=2",
		},
		"comments between": {
			"    params:\n      A:\n        # the small one\n        - 1\n        # the large one,\n        # for H200\n        - 2\n\n        # apart\n\n        - 4",
			"    params:\n      A:\n        # the large one,\n        # for H200\n        - 2\n        # the small one\n        - 1\n\n        # apart\n\n        - 4", "A=2",
		},
		"anchors of items": {
			"    params: {A: [&one 1, &two 2], B: [*one, *two, 3]}", "    params: {A: [&two 2, &one 1], B: [*one, *two, 3]}", "A=2",
		},
		"list shared in the kernel": {
			"    params: {A: &sizes [1, 2], B: *sizes}", "    params: {A: &sizes [2, 1], B: [1, 2]}", "A=2",
		},
		"the sharing list": {
			"    params: {A: &sizes [1, 2, true], B: *sizes}", "    params: {A: &sizes [1, 2, true], B: [2, 1, true]}", "B=2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, want := fmt.Sprintf(frame, c.before), fmt.Sprintf(frame, c.after)
			for _, style := range []func(string) string{
				func(s string) string { return s },
				func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
				func(s string) string { return "\ufeff" + s },
				func(s string) string { return strings.Replace(s, "untouched", "Übergröße → ∞", 1) },
			} {
				got, err := Apply([]byte(style(before)), "pawl.yaml", "k", settings(c.set))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(style(want), string(got)); diff != "" {
					t.Errorf("want -, got +:\n%s", diff)
				}
			}
		})
	}
}

// settings reads "A=1 B=2".
func settings(text string) map[string]string {
	params := map[string]string{}
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		params[name] = value
	}
	return params
}

func TestApplyRefuses(t *testing.T) {
	for name, c := range map[string]struct{ params, kernel, set, want string }{
		"no such kernel":   {"    params: {A: [1, 2]}", "kk", "A=2", `pawl.yaml has no kernel "kk"`},
		"no such param":    {"    params: {A: [1, 2]}", "k", "AA=2", `kernel k has no param "AA"`},
		"no params":        {"", "k", "A=2", "kernel k has no params"},
		"no such value":    {"    params: {A: [1, 2]}", "k", "A=3", `"3" is not a value of A in kernel k: it lists 1, 2`},
		"a constraint":     {"    params: {A: [1, 2], B: [1, 2]}\n    constraints: [\"A >= B\"]", "k", "B=2", "variant A=1 B=2: A >= B is false"},
		"the file":         {"    params: {A: []}", "k", "A=2", "param A has no values"},
		"nested comment":   {"    params:\n      A: [1, 2, # small\n        4, 8] # large", "k", "A=4", "nobody can say which comment is whose"},
		"comment, bracket": {"    params:\n      A: [\n        1, # one\n        2]", "k", "A=2", "nobody can say which comment is whose"},
		"value below dash": {"    params:\n      A:\n        - 1\n        -\n          2", "k", "A=2", "does not stand on the line of its dash"},
		"anchor after":     {"    params: {A: [&one 1, 2], B: [3, *one]}\n    flags: [-O3]", "k", "B=1 A=2", ""},
		"anchor moves":     {"    params: {A: [1, &two 2, *two0]}", "k", "A=2", "no anchor &two0"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Apply(fmt.Appendf(nil, frame, c.params), "pawl.yaml", c.kernel, settings(c.set))
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// TestApplyTogether: values that a constraint allows only together are applied, whatever the order.
func TestApplyTogether(t *testing.T) {
	before := fmt.Sprintf(frame, "    params: {A: [1, 2], B: [1, 2]}\n    constraints: [\"A == B\"]")
	got, err := Apply([]byte(before), "pawl.yaml", "k", settings("A=2 B=2"))
	if err != nil || !strings.Contains(string(got), "params: {A: [2, 1], B: [2, 1]}") {
		t.Errorf("%v:\n%s", err, got)
	}
}

const shared = `version: 1
kernels:
  first: &first
    source: k.c
    entry: k
    params: &sizes # tiles
      A: [1, 2]
      B: [8, 16] # columns
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}]
    oracle: {elementwise: "x * 2"}
  merging:
    <<: *first # as the first
    flags: [-O3]
  alias:
    source: k.c
    entry: k
    params: *sizes
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}]
    oracle: {elementwise: "x * 2"}
  wider: {<<: *first, params: &wider {<<: *sizes, C: [3]}}
  same: *first
  widest:
    <<: *first
    params:
      <<: *wider
      A: [4]
configs:
  c: {N: 64}
`

// TestApplyShared: where kernels share lists, only the one that is asked for changes.
func TestApplyShared(t *testing.T) {
	for kernel, c := range map[string]struct{ set, want string }{
		"merging": {"A=2", "    <<: *first # as the first\n+    params: {A: [2, 1], B: [8, 16]}\n"},
		"alias":   {"B=16", "-    params: *sizes\n+    params: {A: [1, 2], B: [16, 8]}\n"},
		"wider":   {"B=16", "params: &wider {A: [1, 2], B: [16, 8], C: [3]}"},
		"same":    {"A=2", "+  same: {<<: *first, params: {A: [2, 1], B: [8, 16]}}"},
		"widest":  {"B=16", "+      B: [16, 8]\n+      C: [3]\n"},
		"first":   {"A=2", "+      A: [2, 1]\n"},
	} {
		for _, ending := range []string{"\n", "\r\n"} {
			source := strings.ReplaceAll(shared, "\n", ending)
			got, err := Apply([]byte(source), "pawl.yaml", kernel, settings(c.set))
			if err != nil {
				t.Errorf("%s: %v", kernel, err)
				continue
			}
			onlyDefaults(t, []byte(source), got, kernel, settings(c.set))
			if changes := strings.ReplaceAll(lineChanges(source, string(got)), "\r", ""); !strings.Contains(changes, c.want) {
				t.Errorf("%s: %q is not in\n%s", kernel, c.want, changes)
			}
			if strings.Count(string(got), "\r\n") != strings.Count(string(got), "\n") && ending == "\r\n" {
				t.Errorf("%s: lines end in two ways: %q", kernel, got)
			}
		}
	}
}

// lineChanges lists lines that are only in one text, in the order of the first difference.
func lineChanges(before, after string) string {
	var b strings.Builder
	old, now := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(old) > 0 && len(now) > 0 && old[0] == now[0]:
			b.WriteString(" " + strings.TrimPrefix(old[0], " "))
			b.Reset()
			b.WriteString(old[0])
			old, now = old[1:], now[1:]
			continue
		case len(now) > 0 && !slices.Contains(old, now[0]):
			if len(old) > 0 && !slices.Contains(now, old[0]) {
				b.WriteString("-" + old[0])
				old = old[1:]
			}
			for len(now) > 0 && !slices.Contains(old, now[0]) {
				b.WriteString("+" + now[0])
				now = now[1:]
			}
			return b.String()
		default:
			return b.String() + "?"
		}
	}
	return b.String()
}

// onlyDefaults checks that two files mean the same, but for the defaults of one kernel. It looks at what Parse
// makes of them, not at what Apply does.
func onlyDefaults(t interface {
	Helper()
	Errorf(string, ...any)
}, before, after []byte, kernel string, params map[string]string,
) {
	t.Helper()
	old, err := Parse("pawl.yaml", before)
	if err != nil {
		t.Errorf("before: %v", err)
		return
	}
	now, err := Parse("pawl.yaml", after)
	if err != nil {
		t.Errorf("after: %v", err)
		return
	}
	k := old.Kernel(kernel)
	for _, p := range k.Params {
		text, given := params[p.Name]
		if !given {
			continue
		}
		for i, v := range p.Values {
			if sameText(v, text) {
				copy(p.Values[1:i+1], slices.Clone(p.Values[:i]))
				p.Values[0] = v
			}
		}
	}
	if diff := cmp.Diff(withoutPlaces(old), withoutPlaces(now)); diff != "" {
		t.Errorf("before with the defaults -, after +:\n%s\n%s", diff, after)
	}
	for name, value := range params {
		if v, ok := now.Kernel(kernel).Default().Lookup(name); !ok || !sameText(v, value) {
			t.Errorf("%s=%s is not the default of %s:\n%s", name, value, kernel, after)
		}
	}
}

// withoutPlaces is a dump without lines and columns.
func withoutPlaces(s *Spec) []string {
	var lines []string
	for line := range strings.Lines(dump(s)) {
		words := strings.Fields(line)
		for i, w := range words {
			if strings.HasPrefix(w, "pawl.yaml:") {
				words[i] = "at"
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// TestApplyExamples: any variant of any kernel of the examples can become the default.
func TestApplyExamples(t *testing.T) {
	for _, file := range []string{"../../examples/pawl.yaml", "../../examples/cuda/pawl.yaml"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(file, source)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range s.Kernels {
			var variants []Variant
			for v := range k.Variants() {
				if variants = append(variants, v); len(variants) == 20 {
					break
				}
			}
			v := variants[len(variants)-1]
			got, err := Apply(source, file, k.Name, v.Params())
			if err != nil {
				t.Errorf("%s: %s: %v", file, k.Name, err)
				continue
			}
			onlyDefaults(t, source, got, k.Name, v.Params())
			again, err := Apply(got, file, k.Name, v.Params())
			if err != nil || string(again) != string(got) {
				t.Errorf("%s: %s: a second time changes it again, %v", file, k.Name, err)
			}
		}
	}
}

// drawnFile is a random pawl.yaml. Every value of its lists has a comment of its own, or none has.
func drawnFile(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("version: 1 # é\nkernels:\n")
	count := rapid.IntRange(1, 4).Draw(t, "kernels")
	for k := range count {
		how := "own"
		if k > 0 {
			how = rapid.SampledFrom([]string{"own", "merge", "alias", "wider", "flow", "same"}).Draw(t, "how")
		}
		of := rapid.IntRange(0, max(0, k-1)).Draw(t, "of")
		comment := rapid.SampledFrom([]string{"", " # why", "\n    # below"}).Draw(t, "comment")
		rest := "    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}]\n    oracle: {elementwise: x * 2}\n"
		switch how {
		case "merge":
			fmt.Fprintf(&b, "  k%d: &k%d%s\n    <<: *k%d%s\n    flags: [-O3]\n", k, k, comment, of, comment)
		case "flow":
			fmt.Fprintf(&b, "  k%d: &k%d {<<: *k%d, flags: [-O3]}%s\n", k, k, of, comment)
		case "same":
			fmt.Fprintf(&b, "  k%d: *k%d\n  # between\n\n", k, of)
			fmt.Fprintf(&b, "  l%d: &k%d {<<: *k%d}\n", k, k, of)
		case "alias":
			fmt.Fprintf(&b, "  k%d: &k%d\n    source: k.c\n    entry: k\n    params: *p0%s\n%s", k, k, comment, rest)
		case "wider":
			fmt.Fprintf(&b, "  k%d: &k%d\n    source: k.c\n    entry: k\n    params:%s\n      <<: *p0%s\n      Z%d: [1, 2]\n%s", k, k, comment, comment, k, rest)
		default:
			fmt.Fprintf(&b, "  k%d: &k%d # kernel %d\n    source: k.c\n    entry: k\n    params: &p%d\n", k, k, k, k)
			for p := range rapid.IntRange(1, 3).Draw(t, "params") {
				b.WriteString(drawnList(t, fmt.Sprintf("P%d", p)))
			}
			b.WriteString(rest)
		}
	}
	b.WriteString("configs:\n  c: {N: 64} # end\n")
	return b.String()
}

// drawnList is a random param in one of the ways to write a list.
func drawnList(t *rapid.T, name string) string {
	// Not true, which 1 names as well.
	pool := []string{"1", "2", "-3", "0x40", "0.5", "1e-4", "false", "word", `"quoted"`, "'single'", `"ns::name"`, `"yes"`}
	values := rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 1, 5, rapid.ID).Draw(t, "values")
	above := rapid.Bool().Draw(t, "above")
	behind := rapid.Bool().Draw(t, "behind")
	var b strings.Builder
	note := func(v string) string { return "# of " + name + " " + strings.Trim(v, `"'`) }
	item := func(open, v, comma string) {
		if above {
			b.WriteString("        " + note(v) + "\n")
		}
		b.WriteString("        " + open + v + comma)
		if behind {
			b.WriteString("  " + note(v))
		}
		b.WriteString("\n" + rapid.SampledFrom([]string{"", "", "\n", "\n        # apart\n\n"}).Draw(t, "after"))
	}
	switch rapid.SampledFrom([]string{"flow", "block", "lines"}).Draw(t, "style") {
	case "flow":
		end := rapid.SampledFrom([]string{"", ",", " , "}).Draw(t, "end")
		return "      " + name + ": [" + strings.Join(values, rapid.SampledFrom([]string{", ", ",  ", ",\n          "}).Draw(t, "between")) + end + "] # list\n"
	case "block":
		b.WriteString("      " + name + ":\n")
		for _, v := range values {
			item("- ", v, "")
		}
	default:
		b.WriteString("      " + name + ": [\n")
		for i, v := range values {
			comma := ","
			if i == len(values)-1 {
				comma = rapid.SampledFrom([]string{",", ""}).Draw(t, "comma")
			}
			item("", v, comma)
		}
		b.WriteString("      ]\n")
	}
	return b.String()
}

// TestApplyProperty: for any file and any values, the edit changes the defaults and nothing else, and every
// comment stays with its value.
func TestApplyProperty(t *testing.T) {
	applied, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		source := drawnFile(t)
		if rapid.Bool().Draw(t, "crlf") {
			source = strings.ReplaceAll(source, "\n", "\r\n")
		}
		s, err := Parse("pawl.yaml", []byte(source))
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		k := s.Kernels[rapid.IntRange(0, len(s.Kernels)-1).Draw(t, "kernel")]
		params := map[string]string{}
		for _, p := range k.Params {
			if rapid.Bool().Draw(t, "set") {
				params[p.Name] = valueText(p.Values[rapid.IntRange(0, len(p.Values)-1).Draw(t, "value")])
			}
		}
		got, err := Apply([]byte(source), "pawl.yaml", k.Name, params)
		if err != nil {
			if strings.Contains(err.Error(), "cannot change") {
				refused++
				return
			}
			t.Fatalf("%s %v: %v\n%s", k.Name, params, err, source)
		}
		applied++
		onlyDefaults(t, []byte(source), got, k.Name, params)
		if want, have := commentsOf(source), commentsOf(string(got)); !maps.Equal(want, have) {
			t.Fatalf("comments: %v, want %v\n%s", have, want, got)
		}
		lines := strings.Split(strings.ReplaceAll(string(got), "\r", ""), "\n")
		for i, line := range lines {
			text, note, found := strings.Cut(line, "# of ")
			if strings.TrimSpace(text) == "" && found {
				text, _, _ = strings.Cut(lines[i+1], "#") // it stands above its value
			}
			if value := strings.Trim(strings.TrimPrefix(strings.TrimSpace(text), "- "), `"', `); found && !strings.HasSuffix(note, " "+value) {
				t.Fatalf("%q has another value's comment\n%s", line, got)
			}
		}
		if left := strings.Count(string(got), "\n") - strings.Count(string(got), "\r\n"); strings.Contains(source, "\r") && left != 0 {
			t.Fatalf("%d lines end otherwise than the others: %q", left, got)
		}
	})
	if refused > applied/10 {
		t.Errorf("%d of %d files refused", refused, refused+applied)
	}
}

// commentsOf counts every comment of a text.
func commentsOf(text string) map[string]int {
	found := map[string]int{}
	for line := range strings.Lines(text) {
		if _, note, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "#"); ok {
			found[note]++
		}
	}
	return found
}

// FuzzApply: whatever the file, the edit changes the defaults alone or says why not.
func FuzzApply(f *testing.F) {
	const short = "version: 1\nkernels:\n  k:\n    source: k.c\n    entry: k\n    params: %s\n    args: [{name: x, dtype: f32, shape: [1], role: inout}]\nconfigs: {c: {N: 1}}\n"
	for _, params := range []string{"{A: [1, 2]}", "\n      A:\n        # c\n        - 1\n        - 2 # d", "{A: [1, # c\n 2,]}", "{B: &b [1, 2], A: *b}"} {
		f.Add(fmt.Appendf(nil, short, params), "k", "A", "2")
	}
	f.Add([]byte("version: 1\nkernels:\n  k: &k {source: k.c, entry: k, params: {A: [1, 2]}, args: [{name: x, dtype: f32, shape: [1], role: inout}]}\n  l: {<<: *k}\nconfigs: {c: {N: 1}}\n"), "l", "A", "2")
	f.Fuzz(func(t *testing.T, source []byte, kernel, name, value string) {
		got, err := Apply(source, "pawl.yaml", kernel, map[string]string{name: value})
		if err != nil {
			var known diag.Errors
			if err.Error() == "" || errors.As(err, &known) && len(known) == 0 {
				t.Fatal("an error without words")
			}
			return
		}
		onlyDefaults(t, source, got, kernel, map[string]string{name: value})
	})
}
