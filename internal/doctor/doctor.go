// Package doctor finds out what pawl can use on this machine, and says what each tool is good for
// and how to get a missing one. It runs every tool that it names, because an installed but broken
// tool is worth reporting. It never fails: a tool that does not answer is reported as such.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"pawl/internal/machine"
	"pawl/internal/result"
)

// Status is how usable a thing is.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Limited Status = "limited" // there, but not all of it works; Note says why
	Missing Status = "missing"
)

// The groups that checks come in, in the order of a report.
const (
	Compilers  = "compilers"
	CUDA       = "cuda"
	BuildTools = "build tools"
	Python     = "python"
	Machine    = "this machine"
)

// Check is one thing that pawl can make use of.
type Check struct {
	Group  string `json:"group"`
	Name   string `json:"name"`
	Status Status `json:"status"`
	Value  string `json:"value,omitempty"` // version, level or size
	Path   string `json:"path,omitempty"`
	Note   string `json:"note,omitempty"` // why it is limited
	Gives  string `json:"gives"`          // what pawl does with it
	Fix    string `json:"fix,omitempty"`  // the command that helps
}

// Report is the state of this machine.
type Report struct {
	DeviceClass string             `json:"device_class"`
	Machine     result.Fingerprint `json:"machine"`
	Checks      []Check            `json:"checks"`
}

// Options change what Examine inspects. The zero value is this machine.
type Options struct {
	CacheDir string        // pawl's cache folder; empty means the user's
	Timeout  time.Duration // for each probe; 0 means 5 s

	root string // below which system files lie, in tests
}

// probe examines one thing, or at several that one question answers. It is
// given the checks with their names, to fill in.
type probe struct {
	checks []Check
	look   func(context.Context, []Check)
}

// Examine runs all probes at once; it takes as long as the slowest probe.
func Examine(ctx context.Context, o Options) *Report {
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	if o.root == "" {
		o.root = "/"
	}
	fp := machine.Fingerprint()
	s := &system{root: o.root, container: fp.Container != ""}
	s.readDistribution()

	probes := slices.Concat(
		s.compilers(),
		s.cuda(),
		s.buildTools(),
		[]probe{s.python()},
		s.machine(o.CacheDir),
		[]probe{s.peaks(o.CacheDir, machine.Class(fp))},
	)
	answers := make([][]Check, len(probes))
	var wait sync.WaitGroup
	for i, p := range probes {
		wait.Go(func() { answers[i] = p.ask(ctx, o.Timeout) })
	}
	wait.Wait()
	return &Report{DeviceClass: machine.Class(fp), Machine: fp, Checks: slices.Concat(answers...)}
}

// grace is what a probe has left to tell, once its time is up.
const grace = 500 * time.Millisecond

// ask gives a probe its time. One that is stuck where no context reaches, as
// in a file system that has gone away, is left behind.
func (p probe) ask(ctx context.Context, patience time.Duration) []Check {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := make(chan []Check, 1)
	go func() {
		checks := slices.Clone(p.checks)
		defer func() {
			if cause := recover(); cause != nil {
				done <- p.unanswered(fmt.Sprintf("inspecting it failed: %v", cause))
			}
		}()
		p.look(ctx, checks)
		done <- checks
	}()
	select {
	case checks := <-done:
		return checks
	case <-ctx.Done():
	}
	// Tools are ended at the same moment, and what is known of them by then
	// is better than nothing.
	select {
	case checks := <-done:
		return checks
	case <-time.After(grace):
		if ctx.Err() == context.Canceled {
			return p.unanswered("interrupted")
		}
		return p.unanswered(fmt.Sprintf("no answer within %v", patience))
	}
}

func (p probe) unanswered(note string) []Check {
	checks := slices.Clone(p.checks)
	for i := range checks {
		checks[i].Status, checks[i].Note = Limited, note
	}
	return checks
}
