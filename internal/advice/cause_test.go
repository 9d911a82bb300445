package advice

import (
	"slices"
	"strings"
	"testing"

	"pawl/internal/profile"
)

func repeats(all []*profile.Profile, kernel string, grid int) (found []*profile.Profile) {
	for _, p := range all {
		if strings.HasPrefix(p.Kernel, kernel+"(") && (grid == 0 || p.Grid[0] == grid) {
			found = append(found, p)
		}
	}
	return found
}

// The diff of a kernel and its repaired twin names what was planted, both ways.
func TestExplain(t *testing.T) {
	all := profiles(t, "h200_planted_curated.csv.gz")
	functions, err := profile.ReadSASS("planted", string(recorded(t, "h200_planted.sass.gz")))
	if err != nil {
		t.Fatal(err)
	}
	no := false
	side := func(kernel string, grid int) Side {
		s := Side{Repeats: repeats(all, kernel, grid), Evidence: Evidence{Double: &no}}
		for _, f := range functions {
			if strings.Contains(f.Name, kernel+"P") {
				s.Mix = f.Mix()
			}
		}
		if len(s.Repeats) != 3 || s.Mix == nil {
			t.Fatalf("%s: %d repeats", kernel, len(s.Repeats))
		}
		return s
	}
	for _, test := range []struct {
		fast, slow string
		grids      [2]int
		want       string
		says       []string
	}{
		{"copy_ok", "load_bad", [2]int{}, "uncoalesced-loads", []string{"sectors per global load 4 → 32"}},
		{"copy4_ok", "store_bad", [2]int{}, "uncoalesced-stores", []string{"sectors per global store 16 → 32", "use of stored sectors 100 → 12.5%"}},
		{"bank_ok", "bank_bad", [2]int{}, "bank-conflicts", []string{"bank conflicts 0.03 → 94%", "shared-memory pipe"}},
		{"spill_ok", "spill_bad", [2]int{}, "register-spills", []string{"LDL 0 → ", "registers per thread 80 → 32"}},
		{"flt_ok", "dbl_bad", [2]int{}, "fp64-accident", []string{"f64 instructions: 0 → "}},
		{"sum_rows", "sum_rows", [2]int{2112, 16}, "small-grid", []string{"grid 2,112 → 16", "waves 2 → 0.02"}},
	} {
		fast, slow := side(test.fast, test.grids[0]), side(test.slow, test.grids[1])
		worse, better := Builtin().Explain(fast, slow, 0), Builtin().Explain(slow, fast, 0)
		for _, cause := range []*Cause{worse, better} {
			if cause.Finding == nil || cause.Finding.ID != test.want {
				t.Errorf("%s, %s: %s", test.fast, test.slow, cause.Sentence)
			}
		}
		if !strings.HasPrefix(worse.Sentence, "it is slower: ") || !strings.HasPrefix(better.Sentence, "it is faster: no more "+test.want) {
			t.Errorf("%q and %q", worse.Sentence, better.Sentence)
		}
		for _, said := range test.says {
			if !strings.Contains(worse.Sentence, said) {
				t.Errorf("%q does not say %q", worse.Sentence, said)
			}
		}
	}
}

// The same against itself has no cause.
func TestExplainSame(t *testing.T) {
	all := profiles(t, "h200_planted_curated.csv.gz")
	s := Side{Repeats: repeats(all, "spill_bad", 0), Compiler: "nvcc 13.0", Flags: []string{"-O3"}}
	cause := Builtin().Explain(s, s, 1.04)
	if cause.Finding != nil || cause.Static != nil || cause.Build != nil || cause.Sentence != "it is slower, and no counter shows why" {
		t.Errorf("%+v", cause)
	}
	other := s
	other.Compiler, other.Flags = "nvcc 12.0", []string{"-O3", "-G"}
	if cause := Builtin().Explain(s, other, 1.04); !slices.Equal(cause.Build, []string{"compiler: nvcc 13.0 → nvcc 12.0", "flag added: -G"}) || cause.Sentence != "it is slower: compiler: nvcc 13.0 → nvcc 12.0, flag added: -G" {
		t.Errorf("%+v", cause)
	}
}
