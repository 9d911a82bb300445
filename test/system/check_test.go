package system

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pawl/internal/result"
)

// newChange returns a project under git whose last commit changed kernel good, and for
// a check of which there is always more to measure.
func newChange(t *testing.T) *project {
	t.Helper()
	p := newProject(t, "good")
	p.env = append(p.env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	p.git("init", "--quiet", "--initial-branch=main")
	p.git("add", "--all")
	p.git("commit", "--quiet", "-m", "first")
	p.replace("good.c", "int i = 0; i < n; i++", "int i = n - 1; i >= 0; i--") // other code, the same answers
	p.git("commit", "--quiet", "-am", "change")
	return p
}

func (p *project) git(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// An interrupted check says nothing of the change, and moves nothing.
func TestInterruptedCheck(t *testing.T) {
	t.Parallel()
	p := newChange(t)
	s := p.start("check", "--budget", "1h", "--update-baseline")
	s.measuring(t, p, "good/small")
	children := descendants(s.Process.Pid)
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = s.Wait()
	if code := s.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, &s.stderr)
	}
	eventually(t, "all children to end", func() bool { return allGone(children) })
	r := p.report()
	row := rowOf(t, r, "good")
	if !r.Interrupted || row.Verdict != "" || row.Fault == nil || row.Fault.Cause != result.CauseInterrupted || row.Timing == nil {
		t.Errorf("interrupted %t, verdict %q, fault %+v", r.Interrupted, row.Verdict, row.Fault)
	}
	if _, err := os.Stat(filepath.Join(p.dir, ".pawl", "baseline")); err == nil {
		t.Error("a baseline was written")
	}
}

// Who kills a cell, or the worker, in the middle of a duet proves nothing about
// either version.
func TestKilledInADuet(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{" cell ", " worker"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			p := newChange(t)
			s := p.start("check", "--budget", "1h")
			s.measuring(t, p, "good/small")
			kill(s.below(t, victim))
			_ = s.Wait()
			if code := s.ProcessState.ExitCode(); code != 3 {
				t.Errorf("exit code %d, want 3\n%s\n%s", code, &s.stdout, &s.stderr)
			}
			row := rowOf(t, p.report(), "good")
			fault := row.Fault
			if fault == nil && len(row.Sides) == 1 {
				fault = row.Sides[0].Row.Fault
			}
			if fault == nil || fault.Cause != result.CauseKilled || row.Verdict != "" && row.Verdict != result.Incomparable {
				t.Errorf("verdict %q, fault %+v", row.Verdict, fault)
			}
		})
	}
}
