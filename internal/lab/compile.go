package lab

import (
	"context"
	"errors"
	"slices"
	"time"

	"pawl/internal/build"
	"pawl/internal/result"
)

// Compiler builds jobs one at a time, for a caller that decides on the next while others are built.
// Several goroutines may use it, each for jobs of its own.
type Compiler struct {
	builder *build.Builder
	gpu     *result.GPU // what device code must fit; nil: there is none
}

// NewCompiler makes a compiler for the machine that the lab has measured on: Each has built
// something before.
func (l *Lab) NewCompiler() (*Compiler, error) {
	opts := l.Options.Build
	opts.Jobs, opts.OnProgress = 1, nil // the caller has as many goroutines as it wants compilers
	builder, err := build.New(opts)
	if err != nil {
		return nil, err
	}
	gpu := l.machine().GPU
	if gpu == nil {
		gpu = limitsOf(build.Arch(opts.Arch))
	}
	return &Compiler{builder, gpu}, nil
}

// Fits fails the jobs that the device cannot run, as their formulas alone show, and reports whether
// none is.
func (c *Compiler) Fits(jobs []*Job) bool {
	RefuseUnfit(jobs, c.gpu)
	return !slices.ContainsFunc(jobs, func(p *Job) bool { return p.Record.Fault != nil })
}

// Build builds one variant for all jobs, which are the same variant on several configs. A job that
// cannot be built says so in its record; late reports whether it took longer than the given time.
func (c *Compiler) Build(ctx context.Context, jobs []*Job, most time.Duration) (late bool) {
	limited, cancel := context.WithTimeoutCause(ctx, most, errLate)
	defer cancel()
	outcome := c.builder.Build(limited, []build.Request{{Dir: jobs[0].Dir, Variant: jobs[0].Variant, Module: jobs[0].Module}})[0]
	for _, p := range jobs {
		p.record(outcome)
	}
	return outcome.Fault != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), errLate)
}

var errLate = errors.New("the compiler took too long")

// MemoryFor returns the bytes that a cell needs in which one variant runs on several configs.
func (l *Lab) MemoryFor(jobs []*Job) int64 {
	most := int64(0)
	for _, p := range jobs {
		open, _ := l.requests(p, Purpose{})
		most = max(most, open.Memory)
	}
	return most
}
