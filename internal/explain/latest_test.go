package explain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// The newest run that explains a selected row counts, whatever lies beside it.
func TestLatest(t *testing.T) {
	project := &spec.Spec{Dir: t.TempDir()}
	selected := func(kernels ...string) (all []spec.Selection) {
		for _, name := range kernels {
			all = append(all, spec.Selection{Kernel: &spec.Kernel{Name: name}, Configs: []*spec.Config{{Name: "c"}}})
		}
		return all
	}
	keep := func(id string, raw []byte) {
		folder := filepath.Join(project.Dir, ".pawl", "runs", id)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if raw != nil {
			if err := os.WriteFile(filepath.Join(folder, "report.json"), raw, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	report := func(id string, explained bool, kernels ...string) {
		r := &result.Report{Schema: result.Schema, Kind: result.KindProfile, ID: id}
		for _, name := range kernels {
			row := &result.Row{Kernel: name, Config: "c"}
			if explained {
				row.Why = []*result.Why{{Kernel: name, Versions: []result.ExplainedSide{{}}}}
			}
			r.Rows = append(r.Rows, row)
		}
		raw, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		keep(id, raw)
	}
	_, _, err := Latest(project, selected("k", "l"))
	if p := diag.Problems(err); len(p) != 1 || p[0].Message != "no run has profiled the selected kernels yet" || p[0].Hint != "pawl profile k does" {
		t.Errorf("%v", err)
	}
	report("2026-01", true, "k", "l")
	report("2026-02", true, "l")
	report("2026-03", false, "k")
	keep("2026-04", nil)                        // it has not ended
	keep("2026-05", []byte(`{"schema": 1000}`)) // of a newer pawl
	for kernel, want := range map[string]string{"k": "2026-01", "l": "2026-02"} {
		r, broken, err := Latest(project, selected(kernel))
		if err != nil || len(broken) != 1 || !strings.Contains(broken[0].Error(), "newer pawl") {
			t.Fatal(err, broken)
		}
		if r.ID != want || len(r.Rows) != 1 || r.Rows[0].Kernel != kernel {
			t.Errorf("%s: run %s with %d rows, want run %s", kernel, r.ID, len(r.Rows), want)
		}
	}
	if _, broken, err := Latest(project, selected("m")); err == nil || len(broken) != 1 {
		t.Errorf("nothing is said of what could not be read: %v, %v", broken, err)
	}
}
