package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/diag"
	"pawl/internal/formula"
)

// Whoever explains profiles reads findings alone: kernels do not matter, and nor does a file without findings.
func TestLoadFindings(t *testing.T) {
	const slow = "findings: [{id: slow, title: slow, when: [sm_pct < 10], evidence: x, first: y}]\n"
	for name, c := range map[string]struct {
		text string
		want int    // findings
		err  string // a part of it
	}{
		"findings":               {"version: 1\n" + slow, 1, ""},
		"no key":                 {"version: 1\nkernels: {}\n", 0, ""},
		"empty":                  {"", 0, ""},
		"a list":                 {"- findings: 1\n", 0, ""},
		"broken kernels":         {"version: 1\nkernels: 7\ncolour: red\n" + slow, 1, ""},
		"no YAML, no findings":   {"version: 1\nkernels: {a: [\n", 0, ""},
		"no YAML, and findings":  {"version: 1\nkernels: {a: [\n" + slow, 0, "pawl.yaml:2:"},
		"no YAML, quoted":        {"version: 1\nkernels: {a: [\n\"findings\" : []\n", 0, "pawl.yaml:2:"},
		"no YAML, in a comment":  {"version: 1\nkernels: {a: [\n# findings: []\n", 0, ""},
		"broken findings":        {"version: 1\nfindings: [{id: slow}]\n", 0, "pawl.yaml:2:12: slow has no title"},
		"given twice":            {"version: 1\n" + slow + slow, 0, "findings is given twice"},
		"a newer version":        {"version: 2\n" + slow, 0, "version 2 is not known"},
		"no version":             {slow, 0, "version is missing"},
		"a newer version, none":  {"version: 2\n", 0, ""},
		"a mark, and Windows":    {"\ufeffversion: 1\r\n" + strings.ReplaceAll(slow, "\n", "\r\n"), 1, ""},
		"an alias, from kernels": {"version: 1\nkernels: &k [sm_pct < 10]\nfindings: [{id: slow, title: slow, when: *k, evidence: x, first: y}]\n", 1, ""},
		"a long text":            {"version: 1\nfindings: [{id: slow, title: " + strings.Repeat("é", maxLine+1) + ", when: [sm_pct < 10], evidence: x, first: y}]\n", 0, "has 401 characters, more than the 400 allowed"},
		"many":                   {"version: 1\nfindings: [" + strings.Repeat("{}, ", maxFindings) + "{}]\n", 0, "201 findings, more than the 200 allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pawl.yaml")
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			s, err := LoadFindings(file)
			switch {
			case c.err == "" && err != nil:
				t.Fatal(err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Fatalf("%v, expected %q", err, c.err)
			case err != nil:
				checkPlaces(t, []byte(c.text), err)
			case len(s.Findings) != c.want || s.File != file:
				t.Errorf("%d findings in %s", len(s.Findings), s.File)
			}
		})
	}
	if _, err := LoadFindings(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !os.IsNotExist(unwrapped(err)) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func unwrapped(err error) error {
	if inner, ok := err.(interface{ Unwrap() error }); ok {
		return inner.Unwrap()
	}
	return err
}

// Whoever knows the facts can say where in the file a name is wrong.
func TestFindingPlaces(t *testing.T) {
	s, err := Parse("pawl.yaml", []byte("\ufeff"+`version: 1
kernels:
  k: {source: k.c, entry: k, args: [{name: y, dtype: f32, shape: [64], role: out}]}
findings:
  - id: slow
    title: slow
    when: ["l2_pct == 1 or sm_pct < 10"]
    evidence: "  ä {sm_pct} und {dram_pct}"
    first: y
`))
	if err != nil {
		t.Fatal(err)
	}
	slow := s.Findings[0]
	var problems diag.List
	problems.Add(slow.Evidence.Problem(1, "no", "yes"))
	problems.Add(slow.When[0].Problem(&formula.Error{Message: "no", Offset: 15, Width: 6}))
	want := `pawl.yaml:7:28: when of slow: no
  7 |     when: ["l2_pct == 1 or sm_pct < 10"]
    |                            ^^^^^^

pawl.yaml:8:34: the evidence of slow: no
  8 |     evidence: "  ä {sm_pct} und {dram_pct}"
    |                                  ^^^^^^^^
  hint: yes`
	if got := fmt.Sprint(s.Wrong(&problems)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := s.Wrong(&diag.List{}); err != nil {
		t.Error(err)
	}
}
