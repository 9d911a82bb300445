package pool

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/result"
)

// tunable writes a project with one kernel whose settings sleep for 1 to 24 tenths of a millisecond.
func (s *site) tunable(name, pool string) string {
	s.write(name+"/k.c", `#include <time.h>
void twice(const float *x, float *y, long n) {
    struct timespec t = {0, SLEEP * 100000};
    nanosleep(&t, 0);
    for (long i = 0; i < n; i++) y[i] = 2 * x[i];
}
`, 0o644)
	var values []string
	for i := range 24 {
		values = append(values, fmt.Sprint((i*7+11)%24+1)) // today's 12 first, all once
	}
	s.write(name+"/pawl.yaml", `version: 1
kernels:
  k:
    source: k.c
    entry: twice
    params: {SLEEP: [`+strings.Join(values, ", ")+`]}
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i64, value: N}]
    oracle: {elementwise: "2 * x"}
configs: {c: {N: 64}}
pools:
`+pool, 0o644)
	return s.dir + "/" + name
}

// Four nodes search; an srun is killed, a job is cancelled, and a node's daemon dies. Every setting is tried once, none is
// lost, and the winner is that of a search on one machine.
func tuneOverSlurm(t *testing.T, c *cluster) {
	dir := c.tunable("tune", c.pool(4))
	r := c.start(dir, "tune", "k", "--pool", "slurm", "--json", "--strategy", "exhaustive", "--budget", "1m")
	eventually(t, "four workers try settings", func() bool { return c.measuring() == 4 })
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
	if group, err := syscall.Getpgid(srun); err != nil || syscall.Kill(-group, syscall.SIGKILL) != nil {
		t.Errorf("srun: %v", err)
	}
	c.must("scancel", jobs["n2"])
	_ = c.daemons["n3"].Process.Kill()
	overSlurm := r.report()
	c.slurmd("n3")
	c.env = append(c.env, "PAWL_LOCK_DIR="+t.TempDir()) // this machine's may be in use
	alone := c.start(dir, "tune", "k", "--json", "--strategy", "exhaustive", "--budget", "1m").report()
	for _, report := range []*result.Report{overSlurm, alone} {
		times := map[string]int{}
		for _, trial := range report.Tuning.Trials {
			times[trial.Params["SLEEP"]]++
			if trial.Status != result.TrialOK && trial.Status != result.TrialCut {
				t.Errorf("SLEEP=%s: %s, %v", trial.Params["SLEEP"], trial.Status, trial.Fault)
			}
		}
		if len(times) != 24 || len(report.Tuning.Trials) != 24 {
			t.Errorf("%d trials of %d settings, want 24 of 24", len(report.Tuning.Trials), len(times))
		}
		if winner := report.Tuning.Winner(); winner == nil || len(winner.Params["SLEEP"]) != 1 || winner.Params["SLEEP"] > "3" {
			t.Errorf("winner %+v (%s), want SLEEP=1, or what a busy machine cannot tell from it", winner, report.Tuning.NoSuggestion)
		}
	}
	if overSlurm.Tuning.Workers < 4 {
		t.Errorf("%d workers tried settings", overSlurm.Tuning.Workers)
	}
}

// BenchmarkTunePool measures how many more settings four workers try in a time than one: kernels that
// sleep, since the nodes share this machine.
func BenchmarkTunePool(b *testing.B) {
	c := newCluster(b)
	one, four := c.tunable("one", c.pool(1)), c.tunable("four", c.pool(4))
	search := func(dir string) float64 {
		report := c.start(dir, "tune", "k", "--pool", "slurm", "--json", "--strategy", "exhaustive", "--budget", "3m").report()
		trials := report.Tuning.Trials
		if len(trials) != 24 {
			b.Fatalf("%d trials", len(trials))
		}
		return trials[len(trials)-1].AtS - trials[0].AtS
	}
	c.start(one, "tune", "k", "--json", "--trials", "24", "--budget", time.Minute.String()).report() // compiles
	for b.Loop() {
		alone, together := search(one), search(four)
		b.ReportMetric(alone, "s/1-worker")
		b.ReportMetric(together, "s/4-workers")
		b.ReportMetric(alone/together, "times")
	}
}
