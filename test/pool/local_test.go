package pool

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The workers of a run that is stopped end by their lease. When it goes on, others do their work.
func TestStoppedRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := s.project("bench", fmt.Sprintf("  here: {launch: %s/worker, workers: 2}\n", s.dir), 1, 6, 1)
	r := s.start(dir, "bench", "--pool", "here", "--json", "--budget", "5s", "--min-samples", "600", "--max-samples", "600")
	eventually(t, "two workers measure", func() bool { return s.measuring() == 2 })
	if err := r.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the workers and their cells have ended", func() bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(pawls(s.dir))), func(line string) bool {
			return strings.Contains(line, "pawl worker ") || strings.Contains(line, "pawl cell ") || strings.Contains(line, "sandbox-stage")
		})
	})
	if err := r.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	report := r.report()
	mustMeasure(t, report, 6)
	if !warned(report, "2 workers of the pool were lost") {
		t.Errorf("%+v", report.Warnings)
	}
}

// An interrupt ends the workers, and the cleanup still runs.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := s.project("bench", fmt.Sprintf("  here: {launch: %s/worker, workers: 2, cleanup: \"sh -c 'echo $RUN >>%s/cleaned'\"}\n", s.dir, s.dir), 1, 6, 1)
	r := s.start(dir, "bench", "--pool", "here", "--json", "--budget", "5s", "--min-samples", "600")
	eventually(t, "two workers measure", func() bool { return s.measuring() == 2 })
	if err := r.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	report := r.report()
	if got := s.lines("cleaned"); !report.Interrupted || len(got) != 1 || got[0] != strings.ToLower(report.ID) {
		t.Errorf("interrupted %t, cleaned %v", report.Interrupted, got)
	}
	eventually(t, "no pawl is left", func() bool { return len(pawls(s.dir)) == 0 })
}

// A launch command that fails, or prints something else than a worker, ends the run with the command and
// what it printed last. What it may have begun is cleaned up.
func TestPoolThatDoesNotStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, test := range map[string]struct{ launch, want string }{
		"missing": {"/nowhere/to/be/found", `cannot start the worker "/nowhere/to/be/found"`},
		"fails":   {`"sh -c 'echo no route to host >&2; exit 255'"`, "the worker ended before its hello (exit status 255): no route to host (its command: sh -c"},
		"garbage": {`"sh -c 'echo Welcome to the cluster'"`, "the worker did not start: protocol: noise: the peer closed after 23 bytes that were no hello: Welcome to the cluster (its command: sh -c"},
		"endless": {`"yes garbage"`, "and no hello among them: garbage; garbage"},
	} {
		for _, command := range []string{"bench", "fuzz", "check"} {
			dir := s.project(name, fmt.Sprintf("  here: {launch: %s, workers: 3, cleanup: \"touch %s/cleaned-%s-%s\"}\n", test.launch, s.dir, name, command), 2, 1, 1)
			r := s.start(dir, command, "--pool", "here")
			<-r.done
			if _, err := os.Stat(fmt.Sprintf("%s/cleaned-%s-%s", s.dir, name, command)); err != nil {
				t.Errorf("%s %s: %v", command, name, err)
			}
			if text := r.stderr.String(); r.ProcessState.ExitCode() != 3 || strings.Count(text, test.want) != 1 || !strings.Contains(text, "hint: ") && name != "missing" {
				t.Errorf("%s %s: %s\n%s%s", command, name, r.ProcessState, text, r.stdout.String())
			}
		}
	}
}
