// Package pool tests pools of workers on real engines: Slurm, with four virtual nodes on this machine,
// and sshd. PAWL_BIN names the binary under test; `make pool` builds it.
package pool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/result"
)

// mark is in the environment of everything that a test starts, with the test's folder.
const mark = "PAWL_POOL_TEST="

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "keeper" {
		keep(os.Args[2])
		return
	}
	if os.Getenv("PAWL_BIN") == "" {
		fmt.Fprintln(os.Stderr, "pool tests drive the shipped binary: run `make pool`, or set PAWL_BIN")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// keep waits until the test that has started it ends, in whichever way, and ends all that it has left.
func keep(dir string) {
	var nothing [1]byte
	_, _ = os.Stdin.Read(nothing[:])
	for range 100 {
		left := started(dir)
		if len(left) == 0 {
			break
		}
		for pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = os.RemoveAll(dir)
}

// started returns the processes that a test's folder has to do with, as pid → command line: by their
// environment, their command line (sshd overwrites the first), their folder (slurmstepd overwrites both)
// or, since cells have none, their binary.
func started(dir string) map[int]string {
	found := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if bytes.Contains(line, []byte("keeper")) || len(line) == 0 { // a zombie has none
			continue
		}
		env, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		exe, _ := os.Readlink(filepath.Join("/proc", entry.Name(), "exe"))
		cwd, _ := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if cwd == dir || bytes.Contains(line, []byte(dir+"/")) || bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+dir+"\x00")) || strings.HasPrefix(exe, dir+"/") {
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}

// pawls returns those of them that are pawl: workers, cells and runs.
func pawls(dir string) map[int]string {
	found := started(dir)
	for pid := range found {
		if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); exe != filepath.Join(dir, "pawl") {
			delete(found, pid)
		}
	}
	return found
}

// site is a folder outside of the test's own, with the binary under test, in which engines run.
type site struct {
	t   testing.TB
	dir string
	env []string
}

// newSite makes one. All that it has started is gone afterwards, even if the test is killed.
func newSite(t testing.TB) *site {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pawl-pool-") // short: paths of sockets are
	if err != nil {
		t.Fatal(err)
	}
	keeper := exec.Command("/proc/self/exe", "keeper", dir)
	keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end, err := keeper.StdinPipe()
	if err == nil {
		err = keeper.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range []string{"slurmctld.log", "sshd.log"} {
				if raw, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
					lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
					t.Logf("%s:\n%s", name, strings.Join(lines[max(0, len(lines)-30):], "\n"))
				}
			}
		}
		_ = end.Close()
		_ = keeper.Wait()
		if left := started(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	s := &site{t: t, dir: dir, env: append(os.Environ(), mark+dir, "NO_COLOR=1", "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))}
	raw, err := os.ReadFile(os.Getenv("PAWL_BIN"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("pawl", string(raw), 0o755)
	// Virtual nodes have the machine's CPU each to themselves, as far as locks go.
	s.write("worker", "#!/bin/sh\necho \"$SLURM_JOB_ID $SLURMD_NODENAME\" >>"+dir+"/workers\nmkdir -p "+dir+"/locks/$$\n"+
		"PAWL_LOCK_DIR="+dir+"/locks/$$ "+mark+dir+" exec "+dir+"/pawl worker --lease 10s\n", 0o755)
	return s
}

func (s *site) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

// lines returns the lines of a file of the site; none where there is no such file.
func (s *site) lines(name string) []string {
	raw, _ := os.ReadFile(filepath.Join(s.dir, name))
	return strings.FieldsFunc(string(raw), func(c rune) bool { return c == '\n' })
}

// measuring counts the workers that have begun to: each locks its own device.
func (s *site) measuring() int {
	found, _ := filepath.Glob(filepath.Join(s.dir, "locks/*/.pawl-*"))
	return len(found)
}

// command prepares a command in the site's environment.
func (s *site) command(words ...string) *exec.Cmd {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// must runs a command that has to succeed, and returns its output.
func (s *site) must(words ...string) string {
	s.t.Helper()
	out, err := s.command(words...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return string(out)
}

// project writes a project with kernels that sleep for milliseconds, and a pool.
func (s *site) project(name, pool string, kernels, configs int, millis float64) string {
	s.t.Helper()
	dir := filepath.Join(s.dir, name)
	yaml := "version: 1\nkernels:\n"
	for k := range kernels {
		yaml += fmt.Sprintf(`  k%d:
    source: k%d.c
    entry: twice
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i64, value: N}]
    oracle: {elementwise: "2 * x"}
`, k, k)
		s.kernel(name, k, millis)
	}
	yaml += "configs:\n"
	for c := range configs {
		yaml += fmt.Sprintf("  c%d: {N: %d}\n", c, 64+c)
	}
	s.write(name+"/pawl.yaml", yaml+"fuzz: {matrix: {N: [1, 64, 65]}}\npools:\n"+pool, 0o644)
	return dir
}

// kernel writes a kernel that sleeps.
func (s *site) kernel(project string, number int, millis float64) {
	s.t.Helper()
	s.write(fmt.Sprintf("%s/k%d.c", project, number), fmt.Sprintf(`#include <time.h>
void twice(const float *x, float *y, long n) {
    struct timespec t = {0, %d};
    nanosleep(&t, 0);
    for (long i = 0; i < n; i++) y[i] = 2 * x[i];
}
`, int(millis*1e6)), 0o644)
}

// running is a run of pawl.
type running struct {
	*exec.Cmd
	s              *site
	stdout, stderr bytes.Buffer
	done           chan error
}

// start starts pawl in a project.
func (s *site) start(dir string, args ...string) *running {
	s.t.Helper()
	r := &running{Cmd: s.command(append([]string{filepath.Join(s.dir, "pawl")}, args...)...), s: s, done: make(chan error, 1)}
	r.Dir, r.Stdout, r.Stderr = dir, &r.stdout, &r.stderr
	if err := r.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { r.done <- r.Wait() }()
	return r
}

// report waits for the run's end and returns its report.
func (r *running) report() *result.Report {
	r.s.t.Helper()
	select {
	case err := <-r.done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			r.s.t.Fatal(err)
		}
	case <-time.After(3 * time.Minute):
		r.s.t.Fatalf("%v does not end\n%s", r.Args, &r.stderr)
	}
	report, err := result.Decode(r.stdout.Bytes())
	if err != nil {
		r.s.t.Fatalf("%v: %v (%s)\n%s", r.Args[1:], err, r.ProcessState, &r.stderr)
	}
	return report
}

// eventually waits until something holds. Most questions read all of /proc or ask Slurm: more often, and the
// asking keeps a processor busy.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// mustMeasure checks that a report has so many rows, each measured.
func mustMeasure(t testing.TB, report *result.Report, rows int) {
	t.Helper()
	if len(report.Rows) != rows {
		t.Errorf("%d rows, want %d", len(report.Rows), rows)
	}
	for _, row := range report.Rows {
		if row.Fault != nil || row.Timing == nil {
			t.Errorf("%s: %+v", row.Name(), row.Fault)
		}
	}
}

// warned reports whether a report has a warning about its pool that says something.
func warned(report *result.Report, part string) bool {
	return slices.ContainsFunc(report.Warnings, func(w result.Warning) bool { return w.Code == "pool" && strings.Contains(w.Message, part) })
}
