package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// CrewOptions say who works together.
type CrewOptions struct {
	Most    int   // workers: no more than there are pieces of work; 0: as many as there can be
	Devices []int // GPUs of this machine; nil: all there are
	Mixed   bool  // workers of another kind may join: do keeps apart what Lab.Kind tells apart

	left func() bool // reports whether work waits that was put back; nil: none does once a do has returned nil
}

// Crew calls do once for every worker that takes part, each with a lab of its own: the workers of a
// pool, or one for each GPU of this machine. It returns when all calls have. The workers of a pool
// start in parallel, and do is called as soon as a worker is there, however late.
//
// do takes work from wherever its caller keeps it. It returns nil when none is left: workers that
// have not started by then are not waited for. When its own worker is lost (Lab.Lost), it puts back
// what it was working on and returns that error: another worker is started, and do called again.
// Starts are bounded. The report's warnings say what kept workers from taking part. An error means
// that there may be work left, but nobody to do it.
func (l *Lab) Crew(ctx context.Context, opts CrewOptions, do func(context.Context, *Lab) error) error {
	if l.pooled() {
		return l.poolCrew(ctx, opts, do)
	}
	lanes, err := l.gpus(opts)
	if err != nil {
		return err
	}
	defer func() { l.several = false }()
	errs := make([]error, len(lanes))
	atOnce(len(lanes), func(n int) {
		if len(lanes) > 1 { // another run may wait for this GPU while this run waits for that one's other GPU
			defer lanes[n].end()
		}
		errs[n] = do(ctx, lanes[n])
	})
	return errors.Join(errs...)
}

// pooled reports whether the lab's workers are those of a pool. Several on this machine would disturb
// each other.
func (l *Lab) pooled() bool { return len(l.Worker) > 0 && l.Workers > 0 }

// gpus returns a lab for each GPU of this machine that takes part; the first is the lab itself.
func (l *Lab) gpus(opts CrewOptions) ([]*Lab, error) {
	lanes, devices := []*Lab{l}, opts.Devices
	if l.machine().GPU == nil {
		return lanes, nil
	}
	there := l.Devices()
	if devices == nil {
		for i := range there {
			devices = append(devices, i)
		}
	}
	for _, device := range devices[min(1, len(devices)):] {
		if device >= len(there) {
			return nil, fmt.Errorf("there is no GPU %d; this machine has %d", device, len(there))
		}
		if first, other := there[devices[0]], there[device]; first.Name != other.Name && !opts.Mixed {
			return nil, fmt.Errorf("GPU %d is a %s, but GPU %d is a %s: choose GPUs of one kind with --device", devices[0], first.Name, device, other.Name)
		}
		if opts.Most == 0 || len(lanes) < opts.Most {
			lanes = append(lanes, l.another(device))
		}
	}
	for n, lane := range lanes {
		lane.lane, lane.several = n, len(lanes) > 1
	}
	return lanes, nil
}

// another returns a lab beside this one, with its own worker. What is timed on the CPU stays with
// the first.
func (l *Lab) another(device int) *Lab {
	other := *l
	other.Device, other.starting, other.worker, other.kept, other.processor = device, &sync.Mutex{}, nil, nil, false
	return &other
}

// Lane returns the lab's number in its crew, from 0.
func (l *Lab) Lane() int { return l.lane }

// InCrew reports whether other labs work beside this one.
func (l *Lab) InCrew() bool { return l.several }

// Crewed reports whether the lab's worker is one of a pool's, in a crew that starts another when it is
// lost. Any other lab starts its next worker itself.
func (l *Lab) Crewed() bool { return l.crewed }

// Lost returns why the lab has no worker any more; nil while it has one, and before it had one.
func (l *Lab) Lost() error {
	l.starting.Lock()
	defer l.starting.Unlock()
	switch {
	case l.absent != nil:
		return l.absent
	case l.worker == nil || !hasEnded(l.worker):
		return nil
	}
	return l.worker.Lost()
}
