package check

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/spec"
)

// Every config of a kernel is examined at a neighbouring size, every variable grows at one of them,
// and no more neighbours are examined than that takes: also when configs begin at the same time, and
// when some of them are never examined.
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
		n := &nearby{left: configs, grown: map[string]bool{}}
		seen, total, examined := map[string]int{}, 0, 0
		for i, config := range kernel.Configs {
			n.begin()
			if i+1 < configs && rapid.Bool().Draw(t, "is skipped") {
				continue
			}
			here, err := variant.At(config)
			if err != nil {
				t.Fatal(err)
			}
			near := n.share(here)
			if len(near) == 0 {
				t.Fatalf("config %d has no neighbour", i)
			}
			examined++
			total += len(near)
			for _, next := range near {
				seen[grown(here, next)]++
			}
		}
		if len(seen) != vars || seen[""] > 0 {
			t.Fatalf("%d variables in %d configs: %v grow", vars, examined, seen)
		}
		if total > max(vars, examined) {
			t.Fatalf("%d variables in %d configs: %d neighbours", vars, examined, total)
		}
	})
}
