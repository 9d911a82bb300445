package lab

import (
	"context"

	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// CountLaunches runs a job once, in a cell of its own, and counts what it launches: different
// kernels where the profiler lists them, else the launches of its file.
func (l *Lab) CountLaunches(ctx context.Context, job *Job, seed uint64) (int, error) {
	lease, err := l.Lease(ctx, job, Purpose{})
	if err != nil {
		return 0, err
	}
	problem := worker.Problem(job.Instance, job.Artifact.Symbols)
	problem.Seed, problem.Copies = seed, 1
	var said *wire.ProduceReply
	if _, err = lease.Cell.Prepare(ctx, problem); err == nil {
		said, err = lease.Cell.Produce(ctx, wire.Produce{Trace: lease.Cell.OnDevice, DeadlineS: l.Timeout.Seconds()})
	}
	if err = lease.Close(ctx, job, err); err != nil {
		return 0, err
	}
	return max(len(said.Kernels), len(job.Instance.Launches)), nil
}
