package soak

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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

// honest returns a project of kernels that do what they say, in three commits that compute the
// same. The baseline names the first as the best-known version of every kernel at n200k.
func honest(t *testing.T, env []string) string {
	t.Helper()
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	commit := func(message string) {
		t.Helper()
		run("git", "add", ".")
		run("git", "-c", "user.name=soak", "-c", "user.email=soak@localhost", "commit", "-q", "-m", message)
	}
	run("git", "init", "-q", "-b", "main")
	for _, change := range []string{"best", "before", "after"} {
		for _, name := range []string{"pawl.yaml", "k.c", "k.py"} {
			raw, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), bytes.ReplaceAll(raw, []byte("CHANGE"), []byte(change)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		commit(change)
		if change == "best" {
			run(os.Getenv("PAWL_BIN"), "check", "--update-baseline", "--budget", "50ms", "*/n200k")
			commit("the baseline")
		}
	}
	return dir
}

// accusations returns the rows of a report that anybody was accused in.
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
	env := append(os.Environ(), "PAWL_LOCK_DIR="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir(), "NO_COLOR=1")
	dir, rows := honest(t, env), 0
	// What only two versions beside each other can show, or three, and answers; and times.
	check := []string{"check", "--base", "HEAD~1", "--budget", "100ms", "--json", "*/n256", "*/n4k", "*/n200k"}
	bench := []string{"bench", "--budget", "50ms", "--json"}
	kinds := [][]string{check, append(slices.Clone(check), "--cache", "hot"), bench, append(slices.Clone(bench), "--cache", "hot"), bench}
	busy(t)
	for run := 0; rows < want; run++ {
		args := kinds[run%len(kinds)]
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
		if args[0] == "check" && !slices.ContainsFunc(report.Rows, func(row *result.Row) bool {
			return slices.ContainsFunc(row.Sides, func(side *result.Side) bool { return side.Role == result.Best })
		}) {
			t.Fatalf("pawl %v compared nothing with the best-known version\n%s", args, &stderr)
		}
		rows += measured
		t.Logf("%d rows, the last %d by pawl %s: %d accused", rows, measured, strings.Join(args, " "), len(accused))
	}
}
