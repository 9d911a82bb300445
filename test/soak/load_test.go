package soak

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"pawl/internal/result"
)

// busy keeps every core of the machine occupied twice over until the test ends.
func busy(t *testing.T) {
	t.Helper()
	for range 2 * runtime.NumCPU() {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = loop.Process.Kill()
			_ = loop.Wait()
		})
	}
}

// honest is a project of kernels that do what they say, in two commits that compute the
// same.
func honest(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=soak", "-c", "user.email=soak@localhost"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	for _, change := range []string{"before", "after"} {
		for _, name := range []string{"pawl.yaml", "k.c", "k.py"} {
			raw, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), bytes.ReplaceAll(raw, []byte("CHANGE"), []byte(change)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git("add", ".")
		git("commit", "-q", "-m", change)
	}
	return dir
}

// accusations are the rows of a report that anybody was accused in.
func accusations(report *result.Report) (rows int, accused []string) {
	for _, row := range report.Rows {
		fault := row.Fault
		if fault != nil && fault.Cause == result.CauseUnsupported {
			continue
		}
		rows++
		if fault != nil {
			accused = append(accused, row.Kernel+"/"+row.Config+": "+string(fault.Cause)+": "+fault.Message)
		}
		if v := row.Verification; v != nil {
			for _, f := range v.Findings {
				accused = append(accused, row.Kernel+"/"+row.Config+": "+f.Exploit+": "+f.Message)
			}
		}
	}
	return rows, accused
}

// Whatever else runs on the machine, honest kernels are neither broken nor dishonest.
// PAWL_SOAK_ROWS says how many rows are measured, and without it there are none.
func TestNobodyHonestIsAccusedUnderLoad(t *testing.T) {
	want := number(t, "PAWL_SOAK_ROWS", 0)
	if want == 0 {
		t.Skip("PAWL_SOAK_ROWS says how many; make soak does")
	}
	dir, rows := honest(t), 0
	env := append(os.Environ(), "PAWL_LOCK_DIR="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir(), "NO_COLOR=1")
	busy(t)
	for run := 0; rows < want; run++ {
		args := []string{"bench", "--budget", "50ms", "--json"}
		if run%5 == 4 { // what only two versions beside each other can show, and answers
			args = []string{"check", "--base", "HEAD~1", "--budget", "100ms", "--json", "*/n4k", "*/n200k"}
		}
		cmd := exec.Command(os.Getenv("PAWL_BIN"), args...)
		cmd.Dir, cmd.Env = dir, env
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run() // verdicts on a machine like this are nobody's business here
		var report result.Report
		if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
			t.Fatalf("pawl %v: %v\n%s", args, err, &stderr)
		}
		measured, accused := accusations(&report)
		if measured == 0 {
			t.Fatalf("pawl %v measured nothing\n%s", args, &stderr)
		}
		for _, what := range accused {
			t.Errorf("pawl %v: %s", args, what)
		}
		rows += measured
		t.Logf("%d rows, the last %d by pawl %s: %d accused", rows, measured, args[0], len(accused))
	}
}
