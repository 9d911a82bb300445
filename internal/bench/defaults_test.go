package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/formula"
	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// A default that is not the source's own is said once, whatever the number of configs; not of a value that the
// command line sets.
func TestDefaultsOfTheSourceAreNamed(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"pawl.yaml": "version: 1\nkernels:\n  k:\n    source: k.c\n    entry: f\n    params: {TILE: [64, 32, 16]}\n    args: [{name: y, dtype: f32, shape: [N], role: out}]\nconfigs: {small: {N: 8}, large: {N: 9}}\n",
		"k.c":       "#ifndef TILE\n#define TILE 32\n#endif\nvoid f(float *y) {}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := spec.Load(filepath.Join(folder, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	k := s.Kernels[0]
	set := k.Default()
	set.Values[0] = formula.Int(16)
	for _, test := range []struct {
		variant spec.Variant
		want    string
	}{{k.Default(), "k is built with TILE=64 (k.c has 32): "}, {set, ""}} {
		b := &bench{Spec: s, report: &result.Report{}}
		var rows []*measured
		for _, c := range k.Configs {
			rows = append(rows, &measured{Job: lab.NewJob(s.Dir, test.variant, c)})
		}
		b.noteDefaults(rows)
		said := ""
		for _, w := range b.report.Warnings {
			said += w.Message
		}
		if (said != "") != (test.want != "") || !strings.HasPrefix(said, test.want) {
			t.Errorf("%q, want %q", said, test.want)
		}
	}
}
