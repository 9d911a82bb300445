package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/diag"
	"pawl/internal/trial"
)

func TestDetail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pawl.yaml")
	if err := os.WriteFile(file, []byte("version: 1\nfuzz: {matrix: {}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	problem := &diag.Problem{Pos: diag.Pos{File: "pawl.yaml", Line: 2, Column: 7}, Message: "the fuzz matrix is empty", Hint: "leave it out"}
	said := detail(file, diag.Errors{problem})
	for _, want := range []string{"pawl.yaml:2:7: the fuzz matrix is empty", "2 | fuzz: {matrix: {}}", "hint: leave it out"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
	if said := detail(file, trial.ErrNoCase); said != trial.ErrNoCase.Error() {
		t.Errorf("%q", said)
	}
}
