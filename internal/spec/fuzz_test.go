package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/diag"
	"pawl/internal/formula"
)

// FuzzParse checks that no file makes Parse panic, that every error has its
// place in the file, and that what is accepted can be used.
func FuzzParse(f *testing.F) {
	for _, glob := range []string{"testdata/good/*.yaml", "testdata/errors/*.yaml"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	for _, text := range []string{
		"a: &a [*a]", "<<: *x", "<<: {a: 1}", "? a\n: b", "- - - -", "{a: {b: [c", "a: |\n  b\n c", "a: 'x", "\t", "a:\n\t- b", "--- a\n--- b", "a: !!binary x", "&a &b c", "[a: b: c]", "{? a}", "a: \"\\x\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		own, alone := parseFindings("pawl.yaml", text)
		if alone != nil {
			checkPlaces(t, text, alone)
		}
		s, err := Parse("pawl.yaml", text)
		if err != nil {
			checkPlaces(t, text, err)
			return
		}
		if alone != nil || len(own.Findings) != len(s.Findings) {
			t.Fatalf("findings alone: %v", alone)
		}
		for _, found := range s.Findings {
			for i := range found.Evidence.Facts {
				checkPlaces(t, text, diag.Errors{found.Evidence.Problem(i, "wrong", "")})
			}
			for _, f := range found.When {
				checkPlaces(t, text, diag.Errors{f.Problem(&formula.Error{Message: "wrong", Offset: len(f.Text)})})
			}
		}
		if len(s.Kernels) == 0 {
			t.Fatal("accepted without kernels")
		}
		for _, k := range s.Kernels {
			seen := 0
			for v := range k.Variants() {
				if seen == 0 && v.Name() != k.Default().Name() {
					t.Fatalf("first variant %s, default %s", v.Name(), k.Default().Name())
				}
				if _, err := v.At(k.Configs[0]); err != nil && strings.Contains(err.Error(), "neither a param nor") {
					t.Fatal(err)
				}
				if seen++; seen == 10 {
					break
				}
			}
			if seen == 0 {
				t.Fatalf("kernel %s has no variants", k.Name)
			}
		}
		if _, err := s.Select(nil); err != nil {
			t.Fatal(err)
		}
	})
}
