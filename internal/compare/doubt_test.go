package compare

import (
	"testing"

	"pawl/internal/foreign"
	"pawl/internal/result"
)

// Warnings say which file they belong to, also those of rows that only the second file has. Where
// both files have one name, their folders tell them apart.
func TestWarningsHaveTheirFile(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{"runs/old.json", "runs/new.json", "new.json"},
		{"runs/1/report.json", "runs/2/report.json", "2/report.json"},
	} {
		c := &comparison{before: &foreign.File{Path: test.before}, after: &foreign.File{Path: test.after}}
		born := &result.Row{Kernel: "born", Verdict: result.New, Warnings: []result.Warning{{Code: "cv", Message: "samples vary"}}}
		if err := c.adjust(t.Context(), []*result.Row{born}); err != nil {
			t.Fatal(err)
		}
		if w := born.Warnings[0]; w.File != test.want || w.Message != test.want+": samples vary" {
			t.Errorf("%+v, want it to be of %s", w, test.want)
		}
	}
}
