package check

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/verify"
	"pawl/internal/worker/puppet"
)

// Every config of a kernel is examined at a neighbouring size, every variable grows at one of them,
// and no more neighbours are examined than that takes.
func TestNeighboursAreSharedOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vars := rapid.IntRange(1, 4).Draw(t, "variables")
		configs := rapid.IntRange(1, 6).Draw(t, "configs")
		var shape, values, all []string
		for i := range vars {
			shape, values = append(shape, fmt.Sprintf("V%d", i)), append(values, fmt.Sprintf("V%d: %d", i, 16+i))
		}
		for i := range configs {
			all = append(all, fmt.Sprintf("  c%d: {%s}", i, strings.Join(values, ", ")))
		}
		s, err := spec.Parse("pawl.yaml", []byte(`version: 1
kernels:
  k:
    source: k.c
    entry: k
    args:
      - {name: y, dtype: f32, shape: [`+strings.Join(shape, ", ")+`], role: out}
configs:
`+strings.Join(all, "\n")+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		kernel := s.Kernels[0]
		var variant spec.Variant
		for variant = range kernel.Variants() {
			break
		}
		done, seen, total := map[string]bool{}, map[string]int{}, 0
		for i, config := range kernel.Configs {
			here, err := variant.At(config)
			if err != nil {
				t.Fatal(err)
			}
			near := someNeighbours(here, done, configs-i-1)
			if len(near) == 0 {
				t.Fatalf("config %d has no neighbour", i)
			}
			total += len(near)
			for _, next := range near {
				seen[grown(here, next)]++
			}
		}
		if len(seen) != vars || seen[""] > 0 {
			t.Fatalf("%d variables in %d configs: %v grow", vars, configs, seen)
		}
		if total > max(vars, configs) {
			t.Fatalf("%d variables in %d configs: %d neighbours", vars, configs, total)
		}
	})
}

// A change that is wrong only at the size next to a config's is incorrect where the base version is
// right, and suspicious where that version is wrong too, cannot run, or is not known.
func TestWrongBeside(t *testing.T) {
	wrong := puppet.Script{Micros: 400, Wrong: "always", Only: 65}
	ends := puppet.Script{Micros: 400, Crash: "produce", Only: 65}
	const elements = "out: 65 of 65 elements are wrong"
	for name, tc := range map[string]struct {
		base     puppet.Script
		change   puppet.Script
		says     string // of a change that is incorrect
		kernel   string // of pawl.yaml; "": with an oracle
		verdict  result.Verdict
		findings int
	}{
		"the base is right":             {base: puppet.Script{Micros: 500}, change: wrong, verdict: result.Incorrect, says: elements},
		"the base is wrong":             {base: puppet.Script{Micros: 500, Wrong: "always", Only: 65}, change: wrong, verdict: result.Improvement, findings: 1},
		"the base ends there":           {base: puppet.Script{Micros: 500, Crash: "produce", Only: 65}, change: wrong, verdict: result.Improvement, findings: 1},
		"no oracle":                     {base: puppet.Script{Micros: 500}, change: wrong, kernel: withoutOracle("k"), verdict: result.Incorrect, says: elements},
		"no oracle, and the base races": {base: puppet.Script{Micros: 500, Wrong: "race", Only: 65}, change: wrong, kernel: withoutOracle("k"), verdict: result.Improvement},
		"it ends there":                 {base: puppet.Script{Micros: 500}, change: ends, verdict: result.Incorrect, says: "the kernel"},
		"it ends there, no oracle":      {base: puppet.Script{Micros: 500}, change: ends, kernel: withoutOracle("k"), verdict: result.Incorrect, says: "the kernel"},
		"both end there":                {base: puppet.Script{Micros: 500, Crash: "produce", Only: 65}, change: ends, verdict: result.Improvement},
		"the base is not for that size": {base: puppet.Script{Micros: 500}, kernel: entry("k", "requires: [N % 2 == 0]"), change: wrong, verdict: result.Improvement, findings: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "the base is right" && name != "the base is wrong" && name != "it ends there, no oracle" && name != "the base is not for that size" {
				t.Skip("long: run by make long")
			}
			p := newProject(t)
			if tc.kernel != "" {
				p.spec("", tc.kernel)
			}
			p.script("k", tc.base)
			p.commit("base")
			if strings.Contains(tc.kernel, "requires") {
				p.spec("")
			}
			p.script("k", tc.change)
			p.commit("faster")
			row := rowOf(t, p.check(), "k/c")
			mustBe(t, row, tc.verdict)
			v := row.Verification
			if n := v.Neighbours; len(n) != 1 || n[0].Size != "N=65" || (n[0].Untried != "") != (name == "both end there" || name == "no oracle, and the base races") {
				t.Errorf("the neighbour is not recorded: %+v", n)
			}
			if len(v.Findings) != tc.findings || tc.findings > 0 && v.Findings[0].Exploit != verify.ShapeSpecial {
				t.Errorf("%+v", v.Findings)
			}
			if tc.verdict != result.Incorrect {
				return
			}
			last := v.Cases[len(v.Cases)-1]
			if v.Passed != 1 || v.Failed != 1 || row.Timing != nil || last.Vars["N"] != "65" ||
				!strings.HasPrefix(last.Reason, "right at this size, wrong at the next (N=65), where the base version is right: "+tc.says) {
				t.Errorf("%d right, %d wrong: %+v", v.Passed, v.Failed, last)
			}
		})
	}
}
