package advice

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/diag"
	"pawl/internal/spec"
)

func parsed(t *testing.T, findings string) *spec.Spec {
	t.Helper()
	s, err := spec.Parse("pawl.yaml", []byte(`version: 1
kernels:
  k: {source: k.c, entry: k, args: [{name: y, dtype: f32, shape: [64], role: out}]}
findings:
`+findings))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a user wrote is judged beside pawl's own, and in the place of those that it replaces.
func TestOf(t *testing.T) {
	c, err := Of(parsed(t, `
  - id: gather-thrashes
    title: the gather evicts its own table
    when: [dram_pct >= 70, l2_hit_pct < 30]
    unless: [{if: uses_tma > 0, why: the table comes by TMA}]
    gain: "90 / max(sm_pct, 10)"
    confidence: 70%
    evidence: "L2 hit rate {l2_hit_pct}"
    first: sort the indices
    deeper: [split the table]
    next: pawl check gather
  - {id: dram-bound, title: t, when: [dram_pct >= 99], evidence: e, first: f}
`))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]float64{"dram_pct": 85, "l2_hit_pct": 12, "coalescing_pct": 100, "local_pct": 0, "sm_pct": 45}
	said := c.Judge(facts(known))
	if len(said.Findings) != 1 {
		t.Fatalf("%+v", said.Findings)
	}
	want := "gather-thrashes: the gather evicts its own table: L2 hit rate 12: 2 0.7 sort the indices [split the table] pawl check gather true"
	x := said.Findings[0]
	if got := fmt.Sprint(x.ID, ": ", x.Title, ": ", x.Evidence, ": ", x.Bound, " ", x.Confidence, " ", x.First, " ", x.Deeper, " ", x.Next, " ", x.Own); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	known["uses_tma"] = 1
	if said := c.Judge(facts(known)); len(said.Findings) != 0 || len(said.Excepted) != 1 || said.Excepted[0].Why != "the table comes by TMA" {
		t.Errorf("%+v", said)
	}
	known["dram_pct"] = 99.5
	if said := c.Judge(facts(known)); len(said.Findings) != 1 || said.Findings[0].Title != "t" || said.Findings[0].Confidence != 0.5 {
		t.Errorf("%+v", said)
	}
}

func TestOfNothing(t *testing.T) {
	for _, s := range []*spec.Spec{nil, parsed(t, "  []\n")} {
		c, err := Of(s)
		if err != nil || len(c.entries) != len(builtin) {
			t.Errorf("%v, %v", c, err)
		}
	}
}

// What only the facts can tell has its place in the file, and says what to write.
func TestOfRefuses(t *testing.T) {
	_, err := Of(parsed(t, `  - id: slow
    title: it is slow
    when: [drm_pct >= 70, dram_pct, "'a' == dram_pct", 1 < 2, dram_pct // 3 > 1 | 2]
    unless: [{if: tma_used > 0, why: none}]
    gain: dram_pct > 3
    evidence: "{dram_pct} and {zebra}"
    first: y
  - {id: other, title: t, when: [sm_pct < 1], gain: 2 * speed, evidence: "{l2_hits}", first: f}
`))
	const want = `pawl.yaml:7:12: when of slow: there is no fact "drm_pct"
  7 |     when: [drm_pct >= 70, dram_pct, "'a' == dram_pct", 1 < 2, dram_pct // 3 > 1 | 2]
    |            ^^^^^^^
  hint: did you mean dram_pct?

pawl.yaml:7:27: when of slow: expected a condition, found a number
  7 |     when: [drm_pct >= 70, dram_pct, "'a' == dram_pct", 1 < 2, dram_pct // 3 > 1 | 2]
    |                           ^^^^^^^^
  hint: compare it, for example dram_pct > 10
`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	wantAll := []string{
		`when of slow: there is no fact "drm_pct" (did you mean dram_pct?)`,
		`when of slow: expected a condition, found a number (compare it, for example dram_pct > 10)`,
		`when of slow: the string "a" has no place among numbers ()`,
		`when of slow: there is no fact in it (a condition compares a fact, for example dram_pct >= 70)`,
		`when of slow: "|" works on integers, and these are floats ()`,
		`unless of slow: there is no fact "tma_used" (docs/profiling.md lists all facts)`,
		`gain of slow: expected a number, found a condition (the gain is an upper bound of the speed-up: 2 is twice as fast)`,
		`the evidence of slow: there is no fact "zebra" (docs/profiling.md lists all facts)`,
		`gain of other: there is no fact "speed" (docs/profiling.md lists all facts)`,
		`the evidence of other: there is no fact "l2_hits" (did you mean l2_pct?)`,
	}
	var got []string
	for _, p := range diag.Problems(err) {
		if p.Pos.Column < 10 || p.Excerpt == "" {
			t.Errorf("%s has no place", p.Message)
		}
		got = append(got, fmt.Sprintf("%s (%s)", p.Message, p.Hint))
	}
	if diff := cmp.Diff(wantAll, got); diff != "" {
		t.Error(diff)
	}
}

// A division by zero bounds nothing.
func TestGainDividedByZero(t *testing.T) {
	c, err := Of(parsed(t, `
  - {id: idle, title: t, when: [dram_pct >= 0], gain: 100 / sm_pct, evidence: e, first: f}
`))
	if err != nil {
		t.Fatal(err)
	}
	said := c.Judge(facts(map[string]float64{"dram_pct": 85, "sm_pct": 0}))
	if len(said.Findings) != 1 || said.Findings[0].Gain() != "gain not known" {
		t.Errorf("%+v", said.Findings)
	}
}
