package pool

import (
	"testing"
	"time"
)

// BenchmarkPool measures how much sooner four workers of a Slurm pool are done with 16 rows than one:
// kernels that sleep, since the nodes share this machine. Starting and ending the workers is included.
func BenchmarkPool(b *testing.B) {
	c := newCluster(b)
	one, four := c.project("one", c.pool(1), 1, 16, 1), c.project("four", c.pool(4), 1, 16, 1)
	bench := func(dir string) time.Duration {
		began := time.Now()
		mustMeasure(b, c.start(dir, "bench", "--pool", "slurm", "--json", "--budget", "10s", "--min-samples", "2000", "--max-samples", "2000").report(), 16)
		return time.Since(began)
	}
	c.start(one, "bench", "--json", "--budget", "1ms", "--min-samples", "2").report() // compiles
	for b.Loop() {
		alone := bench(one)
		together := bench(four)
		b.ReportMetric(alone.Seconds(), "s/1-worker")
		b.ReportMetric(together.Seconds(), "s/4-workers")
		b.ReportMetric(alone.Seconds()/together.Seconds(), "times")
		c.quiet()
	}
}
