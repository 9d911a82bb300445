package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseDepfile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want []string
	}{
		{"a.o: a.c\n", []string{"a.c"}},
		{"a.o: a.c b.h \\\n  /usr/include/c.h \\\n d.h\n", []string{"/usr/include/c.h", "a.c", "b.h", "d.h"}},
		{"a.o: a.c a.c\n", []string{"a.c"}},
		{"a.o: with\\ space.h hash\\#.h dollar$$.h\n", []string{"dollar$.h", "hash#.h", "with space.h"}},
		{"a.o b.o: a.c\n", []string{"a.c"}},
		{"a.o: a.c b.h\n\nb.h:\n", []string{"a.c", "b.h"}},
		{"a.o: c:d.h\n", []string{"c:d.h"}},
		{"a.o: \\\n a.c", []string{"a.c"}},
		{"a.o:\\\n a.c", []string{"a.c"}},
		{"a.o: a.c \\\r\n b.h\r\n", []string{"a.c", "b.h"}},
		{"a.o:\n", nil},
	} {
		got, err := parseDepfile(test.text)
		if err != nil || cmp.Diff(test.want, got) != "" {
			t.Errorf("%q: %q, %v", test.text, got, err)
		}
	}
	for _, text := range []string{"", "a.c b.h\n", "\n"} {
		if got, err := parseDepfile(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// escapeMake writes a name as gcc does.
func escapeMake(name string) string {
	return strings.NewReplacer(" ", `\ `, "#", `\#`, "$", "$$").Replace(name)
}

func TestDepfileRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.StringMatching(`[a-zé/.+~%#$ ]*[a-zé/.#$]`)).Draw(t, "names")
		text := "out.o:"
		for _, name := range names {
			text += rapid.SampledFrom([]string{" ", " \\\n ", "  "}).Draw(t, "space") + escapeMake(name)
		}
		got, err := parseDepfile(text + "\n")
		slices.Sort(names)
		if err != nil || !slices.Equal(got, slices.Compact(names)) {
			t.Fatalf("%q: %q, %v", text, got, err)
		}
	})
}

func FuzzDepfile(f *testing.F) {
	f.Add("a.o: a.c b.h \\\n c\\ d.h $$\n")
	f.Add("a.o b.o : \\\r\n x:y\n\nb.h:\n")
	f.Fuzz(func(t *testing.T, text string) {
		deps, err := parseDepfile(text)
		if err != nil {
			return
		}
		if !slices.IsSorted(deps) || slices.Contains(deps, "") {
			t.Errorf("%q: %q", text, deps)
		}
	})
}

// The real compiler's own escaping, of names that need some.
func TestDepfileOfOddNames(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"k.c":        "#include \"a b#c$d.h\"\nvoid run(float *x, long n) { *x = A; }\n",
		"a b#c$d.h":  "#define A 1\n",
		"unrelated ": "",
	})
	b := newBuilder(t)
	first := p.artifact(b)
	p.write("a b#c$d.h", "#define A 2\n")
	if second := p.artifact(b); second.Cached || first.Key == second.Key {
		t.Error("a change of a header with an odd name went unseen")
	}
	if !p.artifact(b).Cached {
		t.Error("not cached")
	}
}
