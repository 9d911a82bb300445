package check

import (
	"fmt"
	"slices"
	"testing"

	"pawl/internal/build"
	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// Rows of device code share cells, up to a bound. Rows of a stranger's change do not, nor what runs
// on the host, nor a row that is not played.
func TestParties(t *testing.T) {
	yaml := "version: 1\nkernels:\n"
	const args = "args: [{name: y, dtype: f32, shape: [1], role: out}]"
	for i := range 20 {
		yaml += fmt.Sprintf("  k%d: {source: k.cu, entry: k, launch: {grid: 1, block: 1}, %s}\n", i, args)
	}
	yaml += "  launcher: {source: k.cu, entry: k, launcher: true, " + args + "}\n  host: {source: k.c, entry: k, " + args + "}\n"
	s, err := spec.Parse("pawl.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	var rows []*verified
	for i, k := range s.Kernels {
		job := lab.NewJob(".", k.Default(), k.Configs[0])
		job.Artifact = build.NewArtifact([]byte(k.Name), "k")
		job.Artifact.Key = k.Name
		v := &verified{built: &built{planned: &planned{index: i, candidate: job}}}
		v.sides.base = &side{role: result.Base, job: job, plays: true}
		rows = append(rows, v)
	}
	rows[3].fault = &result.Fault{Message: "broken"}
	rows[4].sides.base.plays = false
	names := func(fork bool) (out [][]string) {
		for _, party := range (&check{Options: Options{Fork: fork}}).parties(groupsOf(rows)) {
			var all []string
			for _, v := range party {
				all = append(all, v.candidate.Variant.Kernel.Name)
			}
			out = append(out, all)
		}
		return out
	}
	got := names(false)
	sizes := make([]int, len(got))
	for i, party := range got {
		if sizes[i] = len(party); sizes[i] > 1 && slices.ContainsFunc(party, func(name string) bool {
			return slices.Contains([]string{"k3", "k4", "launcher", "host"}, name)
		}) {
			t.Errorf("together: %v", party)
		}
	}
	if slices.Sort(sizes); !slices.Equal(sizes, []int{1, 1, 1, 1, 2, partyMost}) {
		t.Errorf("parties of %v rows: %v", sizes, got)
	}
	if alone := names(true); len(alone) != len(rows) {
		t.Errorf("a stranger's kernels share cells: %v", alone)
	}
}
