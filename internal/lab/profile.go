package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// The launches of a job may take this long under Nsight Compute, unless the caller says otherwise. A
// kernel of milliseconds is replayed a few times for curated metrics, and some fifty times for all.
const (
	profiledDeadline = 3 * time.Minute
	fullDeadline     = 10 * time.Minute
)

// profilerMinor is the first minor version of the protocol whose workers run Nsight Compute. Older
// ones would launch without it and say nothing.
const profilerMinor = 6

// Profiling says what a profile reads. The zero value of a field means what comes first in its
// comment.
type Profiling struct {
	Metrics  []string      // counters, as this kind of GPU names them
	Full     bool          // all sections and the findings of Nsight Compute's rules, too
	Clock    string        // none, base, boost: what is done to the GPU's clock
	Cache    string        // all, none: what is flushed before every pass
	Replay   string        // kernel, application: what is repeated for every pass
	Repeats  int           // launches of each job, 1 if not set; the arguments are filled again before each
	Sandbox  string        // overrides the lab's; "": the lab's
	Stranger bool          // the code is a stranger's: it is never profiled as root
	Seed     uint64        // of the data
	Deadline time.Duration // for the launches of a job; 0: minutes
}

// Profiled is what Nsight Compute says of the launches of jobs.
type Profiled struct {
	Report  []byte   // .ncu-rep
	Raw     []byte   // CSV of all metrics, in base units, a row per launch
	Details []byte   // CSV of the sections
	Tool    string   // the version of Nsight Compute, in its own words
	Command []string // its command line, without folders
	Log     string   // what it said, bounded
	Printed string   // what the cell printed, bounded
	Sandbox result.Sandbox

	// Launches has for each job how many of the profiled launches are its own: those of the first job
	// come first. -1 means all: of launchers and Python functions nobody but the profiler knows how
	// many kernels they launch.
	Launches []int
	Unknown  []string // metrics that Nsight Compute does not know on this GPU, and that were left out
}

// Alone reports whether a job must be profiled without others: nobody knows beforehand how many
// kernels it launches, and so the rows of the profile could not be told apart.
func (p *Job) Alone() bool { return p.Cell() != spec.CellCUDA || p.Variant.Kernel.Launcher }

// Profiles groups jobs into those that one process can profile; a start of Nsight Compute takes
// seconds. Each group is for one call of Profile.
func Profiles(jobs []*Job) [][]*Job {
	var groups [][]*Job
	together := -1
	for _, job := range jobs {
		switch {
		case job.Alone():
			groups = append(groups, []*Job{job})
		case together < 0:
			together = len(groups)
			groups = append(groups, []*Job{job})
		default:
			groups[together] = append(groups[together], job)
		}
	}
	return groups
}

// Profile launches jobs under Nsight Compute, one after another in one cell, each on its own
// arguments. Nothing else is launched where it looks. A metric that some versions of Nsight Compute do
// not know makes them profile nothing: then all is done once more without such metrics. Others, such as
// 2025.3, say nothing and leave it out. On an error the profile has what is known: the log of Nsight
// Compute, its command line, the sandbox.
func (l *Lab) Profile(ctx context.Context, jobs []*Job, opts Profiling) (*Profiled, error) {
	if err := l.profilable(jobs, opts); err != nil {
		return &Profiled{}, err
	}
	done, unknown, err := l.profileOnce(ctx, jobs, opts)
	if err == nil || len(unknown) == 0 {
		done.Unknown = done.without(opts.Metrics, unknown)
		return done, err
	}
	opts.Metrics = slices.DeleteFunc(slices.Clone(opts.Metrics), func(name string) bool { return slices.Contains(unknown, name) })
	if len(opts.Metrics) == 0 && !opts.Full {
		done.Unknown = unknown
		return done, err
	}
	again, more, err := l.profileOnce(ctx, jobs, opts)
	again.Unknown = again.without(opts.Metrics, append(unknown, more...))
	return again, err
}

// without adds to the metrics that Nsight Compute has called unknown those that it left out in silence.
func (p *Profiled) without(asked, unknown []string) []string {
	columns, err := csv.NewReader(bytes.NewReader(p.Raw)).Read()
	if err != nil { // whoever reads the whole table says what is wrong with it
		return unknown
	}
	for _, name := range asked {
		if !slices.Contains(columns, name) && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// profilable refuses what cannot be profiled together, or by this user.
func (l *Lab) profilable(jobs []*Job, opts Profiling) error {
	refused := func(cause result.Cause, hint, format string, args ...any) error {
		return &result.Fault{Stage: "profile", Cause: cause, Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	for _, job := range jobs {
		switch {
		case job.Record.Fault != nil:
			return job.Record.Fault
		case job.Artifact == nil || job.Instance == nil:
			return refused(result.CauseInternal, "", "%s is not built", job.Name())
		case !l.OnGPU(job):
			return refused(result.CauseUnsupported, "counters of the CPU are read by other tools, such as perf", "%s runs on the CPU, and Nsight Compute profiles GPUs", job.Name())
		case job.Alone() && len(jobs) > 1:
			return refused(result.CauseInternal, "profile it by itself", "%s is profiled with other jobs, and its launches could not be told from theirs", job.Name())
		}
	}
	switch {
	case len(jobs) == 0:
		return refused(result.CauseInternal, "", "there is nothing to profile")
	case opts.Repeats < 0:
		return refused(result.CauseInternal, "", "%d launches to profile", opts.Repeats)
	case opts.Stranger && os.Geteuid() == 0:
		return refused(result.CauseUnsupported, "run pawl as a user of its own, and let every user read counters: options nvidia NVreg_RestrictProfilingToAdminUsers=0",
			"the code of a stranger is not profiled as root")
	}
	return nil
}

// profileOnce is Profile with the metrics as they are. It also returns those that Nsight Compute does
// not know.
func (l *Lab) profileOnce(ctx context.Context, jobs []*Job, opts Profiling) (*Profiled, []string, error) {
	out := &Profiled{}
	client, err := l.Client(ctx)
	if err != nil {
		return out, nil, &unreachedError{err}
	}
	if client.Minor() < profilerMinor {
		return out, nil, &result.Fault{
			Stage: "profile", Cause: result.CauseUnsupported, Message: "the worker is of an older pawl, which does not run Nsight Compute",
			Hint: "install this version of pawl on the worker's machine",
		}
	}
	opts.Deadline = cmp.Or(opts.Deadline, profiledDeadline)
	if opts.Full {
		opts.Deadline = max(opts.Deadline, fullDeadline)
	}
	lease, err := l.Lease(ctx, jobs[0], Purpose{Sandbox: opts.Sandbox, Deadline: max(opts.Deadline, l.Timeout), client: client, Profiler: &wire.Profiler{
		Metrics: opts.Metrics, Full: opts.Full, Clock: opts.Clock, Cache: opts.Cache, Replay: opts.Replay, Stranger: opts.Stranger,
	}})
	var unloaded *unloadedError
	switch {
	case errors.As(err, &unloaded):
		unknown := out.left(unloaded.end)
		return out, unknown, named(jobs[0], unloaded.end.err)
	case err != nil:
		unknown := out.left(cellEnd{err: err})
		return out, unknown, err
	}
	for i, job := range jobs {
		if i > 0 {
			err = l.loadNext(ctx, lease, job, opts)
		}
		launches := 0
		if err == nil {
			launches, err = profileJob(ctx, lease, job, opts)
		}
		if err != nil {
			err = named(job, err)
			break
		}
		out.Launches = append(out.Launches, launches)
	}
	end := endCell(ctx, lease.Cell, err)
	unknown := out.left(end)
	if err = cmp.Or(err, end.err); err != nil {
		return out, unknown, err
	}
	return out, unknown, out.fetch(ctx, client, end.reply.Profile)
}

// loadNext replaces the code in the cell by that of another job. Its arguments replace those of the
// job before it, so that the device holds one problem at a time.
func (l *Lab) loadNext(ctx context.Context, lease *Lease, job *Job, opts Profiling) error {
	_, err := l.Lease(ctx, job, Purpose{Beside: lease, Sandbox: opts.Sandbox, Deadline: max(opts.Deadline, l.Timeout)})
	return err
}

// profileJob launches the job that is loaded.
func profileJob(ctx context.Context, lease *Lease, job *Job, opts Profiling) (int, error) {
	problem := worker.Problem(job.Instance, job.Artifact.Symbols)
	problem.Seed, problem.Pin, problem.Copies, problem.DeadlineS = opts.Seed, false, 1, opts.Deadline.Seconds()
	if _, err := lease.Cell.Prepare(ctx, problem); err != nil {
		return 0, err
	}
	done, err := lease.Cell.Profile(ctx, wire.ProfileLaunches{Repeats: max(1, opts.Repeats), DeadlineS: opts.Deadline.Seconds()})
	if err != nil {
		return 0, err
	}
	return done.Launches, nil
}

// named puts the name of the job into a fault that it had under the profiler.
func named(job *Job, err error) error {
	failed, ended := errors.AsType[*worker.Failed](err)
	if ended {
		copied := *failed
		copied.Fault.Stage = cmp.Or(copied.Fault.Stage, "profile")
		copied.Fault.Message = job.Name() + ": " + copied.Fault.Message
		return &copied
	}
	return fmt.Errorf("%s: %w", job.Name(), err)
}

// left takes what a cell that has ended left behind, and returns the metrics that were not known.
func (p *Profiled) left(end cellEnd) (unknown []string) {
	profile := (*wire.Profile)(nil)
	if end.reply != nil {
		profile, p.Sandbox, p.Printed = end.reply.Profile, end.reply.Sandbox, end.reply.Log
	}
	for _, err := range []error{end.closing, end.err} {
		failed, ok := errors.AsType[*worker.Failed](err)
		if !ok || end.reply != nil {
			continue
		}
		profile, p.Printed = failed.Profile, failed.Log
		if failed.Sandbox != nil {
			p.Sandbox = *failed.Sandbox
		}
		break
	}
	if profile == nil {
		return nil
	}
	p.Tool, p.Command, p.Log = profile.Tool, profile.Command, profile.Log
	return profile.Unknown
}

// fetch gets the files of a profile from the worker.
func (p *Profiled) fetch(ctx context.Context, client *worker.Client, profile *wire.Profile) error {
	if profile == nil || profile.Report == nil || profile.Raw == nil || profile.Details == nil {
		return result.Faultf(result.CauseProtocol, "the worker has closed a profiled cell and says nothing of a profile")
	}
	for _, one := range []struct {
		into *[]byte
		file *wire.File
		most int64
	}{{&p.Report, profile.Report, wire.MaxReport}, {&p.Raw, profile.Raw, wire.MaxCSV}, {&p.Details, profile.Details, wire.MaxCSV}} {
		var err error
		if *one.into, err = client.Fetch(ctx, one.file, one.most); err != nil {
			return fmt.Errorf("fetch the profile: %w", err)
		}
	}
	return nil
}
