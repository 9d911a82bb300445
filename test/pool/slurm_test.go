package pool

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/internal/result"
)

// The stages of one cluster's life: each leaves it as it found it.
func TestSlurm(t *testing.T) {
	c := newCluster(t)
	for _, stage := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"bench", benchOverSlurm},
		{"losses", loseWorkers},
		{"killed", killRun},
		{"check", checkOverSlurm},
		{"fuzz", fuzzOverSlurm},
		{"tune", tuneOverSlurm},
	} {
		if !t.Run(stage.name, func(t *testing.T) {
			before := c.t
			defer func() { c.t = before }()
			c.t = t
			_ = os.Remove(filepath.Join(c.dir, "workers"))
			_ = os.Remove(filepath.Join(c.dir, "cleaned"))
			_ = os.RemoveAll(filepath.Join(c.dir, "locks"))
			stage.run(t, c)
			c.quiet()
		}) {
			return
		}
	}
}

// Four workers share the rows, and the cleanup runs once.
func benchOverSlurm(t *testing.T, c *cluster) {
	dir := c.project("bench", c.pool(4), 1, 8, 1)
	report := c.start(dir, "bench", "--pool", "slurm", "--json", "--budget", "400ms").report()
	mustMeasure(t, report, 8)
	if n := len(c.lines("workers")); n != 4 {
		t.Errorf("%d workers were started", n)
	}
	if got := c.lines("cleaned"); len(got) != 1 || got[0] != strings.ToLower(report.ID) {
		t.Errorf("cleaned %v after run %s", got, report.ID)
	}
	if len(report.Warnings) > 0 {
		t.Errorf("%+v", report.Warnings)
	}
}

// An srun is killed, a job is cancelled, and a node's daemon dies: every row is measured all the same.
func loseWorkers(t *testing.T, c *cluster) {
	dir := c.project("losses", c.pool(4), 1, 16, 1)
	r := c.start(dir, "bench", "--pool", "slurm", "--json", "--budget", "5s", "--min-samples", "600", "--max-samples", "600")
	eventually(t, "four workers measure", func() bool { return c.measuring() == 4 })
	jobs := map[string]string{} // by node
	for _, line := range c.lines("workers") {
		job, node, _ := strings.Cut(line, " ")
		jobs[node] = job
	}
	srun := 0
	for pid, line := range started(c.dir) {
		if strings.HasPrefix(line, "srun ") {
			srun = pid
		}
	}
	if group, err := syscall.Getpgid(srun); err != nil || syscall.Kill(-group, syscall.SIGKILL) != nil { // it consists of two processes
		t.Errorf("srun: %v", err)
	}
	c.must("scancel", jobs["n2"])
	_ = c.daemons["n3"].Process.Kill()
	report := r.report()
	mustMeasure(t, report, 16)
	if !warned(report, "lost while the run went on") {
		t.Errorf("%+v", report.Warnings)
	}
	if n := len(c.lines("workers")); n < 5 {
		t.Errorf("%d workers were started: none in the place of another", n)
	}
	c.slurmd("n3")
}

// What a killed run leaves ends by itself, and the next run cleans up after it.
func killRun(t *testing.T, c *cluster) {
	dir := c.project("killed", c.pool(2), 1, 8, 1)
	r := c.start(dir, "bench", "--pool", "slurm", "--json", "--budget", "5s", "--min-samples", "600")
	eventually(t, "two workers measure", func() bool { return c.measuring() == 2 })
	_ = r.Process.Kill()
	<-r.done
	eventually(t, "no pawl is left", func() bool { return len(pawls(c.dir)) == 0 })
	if got := c.lines("cleaned"); len(got) != 0 {
		t.Fatalf("cleaned %v", got)
	}
	// A job whose srun was killed while it waited for a node runs with nobody there.
	records, _ := filepath.Glob(filepath.Join(dir, ".pawl/runs/*/pool"))
	if len(records) != 1 {
		t.Fatalf("records %v", records)
	}
	killed := strings.ToLower(filepath.Base(filepath.Dir(records[0])))
	c.write("job", "#!/bin/sh\nexec sleep 600\n", 0o755)
	c.must("sbatch", "-J", "pawl-"+killed, "-o", "/dev/null", filepath.Join(c.dir, "job"))
	report := c.start(dir, "bench", "--pool", "slurm", "--json", "--budget", "200ms").report()
	mustMeasure(t, report, 8)
	if got := c.lines("cleaned"); len(got) != 2 || got[0] != killed || got[1] != strings.ToLower(report.ID) {
		t.Errorf("cleaned %v, want %s and %s", got, killed, report.ID)
	}
}

// The rows of a check are verified and played by several workers.
func checkOverSlurm(t *testing.T, c *cluster) {
	dir := c.project("check", c.pool(2), 3, 1, 1)
	git := func(args ...string) {
		c.must(append([]string{"git", "-C", dir, "-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "base")
	c.kernel("check", 0, 1.5)
	c.kernel("check", 1, 0.5)
	report := c.start(dir, "check", "--pool", "slurm", "--json", "--budget", "500ms", "--explain", "off").report()
	for i, want := range []result.Verdict{result.Regression, result.Improvement, result.Unchanged} {
		if row := report.Rows[i]; row.Verdict != want {
			t.Errorf("%s: %s, want %s; fault %+v", row.Name(), row.Verdict, want, row.Fault)
		}
	}
	if n := len(c.lines("workers")); n != 2 {
		t.Errorf("%d workers were started", n)
	}
}

func fuzzOverSlurm(t *testing.T, c *cluster) {
	dir := c.project("fuzz", c.pool(4), 4, 1, 0.01)
	report := c.start(dir, "fuzz", "--pool", "slurm", "--json").report()
	if len(report.Rows) != 4 {
		t.Errorf("%d rows", len(report.Rows))
	}
	for _, row := range report.Rows {
		if v := row.Verification; row.Fault != nil || v == nil || v.Failed > 0 || v.Passed < 3 {
			t.Errorf("%s: %+v, %+v", row.Name(), row.Fault, v)
		}
	}
}
