package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/search/score"
)

const recordings = "../search/recorded/testdata/"

// replay runs the command and returns what it prints.
func replay(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out, errors strings.Builder
	cmd := newTuneReplay(&env{stdout: &out, stderr: &errors})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func TestTuneReplay(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.jsonl")
	files := []string{recordings + "pnpoly-RTX_3090.json.gz", recordings + "pnpoly-RTX_Titan.json.gz"}
	out, err := replay(t, append(files, "--strategy", "evolve", "--evals", "60", "--seeds", "3", "--trace", trace)...)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if !strings.HasPrefix(out, "evolve · 3 runs on 2 spaces · 60 evaluations each · ") || len(lines) != 7 {
		t.Fatalf("printed:\n%s", out)
	}
	for i, begin := range []string{"space", "pnpoly-RTX_3090", "pnpoly-RTX_Titan", "mean of all", "without outliers"} {
		if !strings.HasPrefix(strings.TrimSpace(lines[i+2]), begin) {
			t.Errorf("line %d is %q: expected it to begin with %s", i+3, lines[i+2], begin)
		}
	}

	// What was played and what its trace holds score the same.
	played, err := replay(t, append(files, "--strategy", "evolve", "--evals", "60", "--seeds", "3", "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	scored, err := replay(t, append(files, "--evals", "60", "--from", trace, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	var a, b []score.Judgement
	if err := json.Unmarshal([]byte(played), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(scored), &b); err != nil {
		t.Fatal(err)
	}
	if a[0].Mean.P != b[0].Mean.P || a[0].Mean.Fraction != b[0].Mean.Fraction || a[0].Mean.Spaces != 2 {
		t.Errorf("played %+v, scored from the trace %+v", a[0].Mean, b[0].Mean)
	}
}

func TestTuneReplayRefuses(t *testing.T) {
	file := recordings + "pnpoly-RTX_3090.json.gz"
	folder := t.TempDir()
	failed := filepath.Join(folder, "failed.json")
	if err := os.WriteFile(failed, []byte(`{"name": "f", "params": ["x"], "values": [[1]], "configs": [[0]], "time": [null]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(folder, "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"requires at least 1 arg", nil},
		{"--evals 0: expected 1 to", []string{file, "--evals", "0"}},
		{"--seeds -1: expected 1 to", []string{file, "--seeds", "-1"}},
		{`--strategy genetic: expected one of auto, bayes, evolve, random, exhaustive`, []string{file, "--strategy", "genetic"}},
		{"no such file", []string{folder + "/none.json.gz"}},
		{"space pnpoly-RTX_3090 is in", []string{file, file}},
		{"no setting has a time", []string{failed}},
		{"no such file", []string{file, "--from", folder + "/none.jsonl"}},
		{"no runs", []string{file, "--from", empty}},
		{"from seeds", []string{file, "--from", empty, "--seeds", "3"}},
		{"write the trace", []string{file, "--strategy", "random", "--evals", "1", "--seeds", "1", "--trace", folder + "/no/such/folder"}},
	} {
		if out, err := replay(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v: expected %q (printed %q)", c.args, err, c.want, out)
		}
	}
}
