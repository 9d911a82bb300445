package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/trial"
)

func TestJudgeFuzz(t *testing.T) {
	row := func(verdict result.Verdict) *result.Row { return &result.Row{Verdict: verdict} }
	passed := &result.Row{Verification: &result.Verification{Passed: 3}}
	untried := &result.Row{Kernel: "scale", Verdict: result.Inconclusive, Verification: &result.Verification{Passed: 4, Skipped: 6}}
	unjudged := &result.Row{Fault: &result.Fault{Cause: result.CauseOracle}}
	for _, test := range []struct {
		rows []*result.Row
		code int
		want string
	}{
		{[]*result.Row{passed}, exitOK, ""},
		{[]*result.Row{passed, row(result.Incorrect)}, exitFailed, "1 kernel gives wrong answers"},
		{[]*result.Row{passed, row(result.Broken)}, exitFailed, "1 kernel is broken"},
		{[]*result.Row{row(result.Broken), row(result.Broken), unjudged}, exitFailed, "2 kernels are broken"},
		{[]*result.Row{row(result.Rejected)}, exitFailed, "1 kernel is rejected"},
		{[]*result.Row{row(result.Broken), row(result.Incorrect), row(result.Incorrect)}, exitFailed, "2 kernels give wrong answers, 1 kernel is broken"},
		{[]*result.Row{passed, untried}, exitUndecided, "nothing that pawl.yaml asks for was tried of scale: every such case was skipped"},
		{[]*result.Row{untried, row(result.Incorrect)}, exitFailed, "1 kernel gives wrong answers"},
		{[]*result.Row{passed, unjudged}, exitUnjudged, "1 kernel could not be judged"},
		{[]*result.Row{{Verification: &result.Verification{Skipped: 3}}}, exitUndecided, "no case could be tried"},
	} {
		err := judgeFuzz(&result.Report{Rows: test.rows})
		said := ""
		if err != nil {
			said = err.Error()
		}
		if exitCode(err) != test.code || said != test.want {
			t.Errorf("%d %q, want %d %q", exitCode(err), said, test.code, test.want)
		}
	}
}

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
