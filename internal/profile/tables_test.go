package profile

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file again")

// The tables in one place, to be read before a change to them is committed: which of ncu's metrics
// stand for each, on which chips; what a diff weighs; what an SM holds.
func TestTables(t *testing.T) {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s [%s] %q\n", e.metric, e.unit, e.words)
		for _, w := range e.ways {
			fmt.Fprintf(&b, "  %s", strings.Join(w.sum, " + "))
			for _, name := range w.with {
				fmt.Fprintf(&b, " × %s", name)
			}
			if w.times != 0 {
				fmt.Fprintf(&b, " × %g", w.times)
			}
			if w.from != 0 || w.until != 0 {
				fmt.Fprintf(&b, " (from %d, before %d)", w.from, w.until)
			}
			if w.asked {
				b.WriteString(" [read only]")
			}
			b.WriteString("\n")
		}
	}
	for _, reason := range Reasons {
		fmt.Fprintf(&b, "stall %s: %s, %s %v\n", reason, stallName(reason), sampledName(reason), only[reason])
	}
	for _, m := range moving {
		fmt.Fprintf(&b, "diff %s: %s %g\n", m.metric, m.group, m.weight)
	}
	for _, cc := range slices.Sorted(maps.Keys(limitsByCC)) {
		fmt.Fprintf(&b, "SM %d: %+v\n", cc, limitsByCC[cc])
	}
	for _, unit := range slices.Sorted(maps.Keys(unitWords)) {
		fmt.Fprintf(&b, "unit %s: %g %s\n", unit, unitWords[unit].size, unitWords[unit].base)
	}
	const golden = "testdata/tables.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("go test ./internal/profile -run TestTables -update\n%s", d)
	}
}

// Each way gives its metric, by itself.
func TestEveryWay(t *testing.T) {
	for _, e := range entries {
		for _, w := range e.ways {
			if strings.Contains(w.sum[0], ": ") || w.sum[0] == "Duration" {
				continue // labels of the page details
			}
			metrics, want := map[string]float64{}, 0.0
			for i, name := range w.sum {
				metrics[name] = float64(i + 3)
				want += float64(i + 3)
			}
			for _, name := range w.with {
				metrics[name] = 5
				want *= 5
			}
			if w.times != 0 {
				want *= w.times
			}
			cc := max(w.from, 80)
			p := made(t, fmt.Sprintf("%d.%d", cc/10, cc%10), metrics)
			if v, ok := p.Get(e.metric); !ok || !near(v, want) {
				t.Errorf("%s by %v: %v, %t; expected %v", e.metric, w.sum, v, ok, want)
			}
			if w.until != 0 {
				p := made(t, fmt.Sprintf("%d.%d", w.until/10, w.until%10), metrics)
				if v, ok := p.Get(e.metric); ok && near(v, want) && !w.there(w.until) && len(e.ways) == 1 {
					t.Errorf("%s by %v on %d: %v", e.metric, w.sum, w.until, v)
				}
			}
		}
	}
}
