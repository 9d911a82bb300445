package lab

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"pawl/internal/result"
)

// Lanes returns the labs that share a run's work, each with its own worker: one for each of the
// GPUs (nil: all there are), or for each worker of a pool. The first is the lab itself. There are
// no more lanes than pieces of work.
func (l *Lab) Lanes(ctx context.Context, devices []int, work int) ([]*Lab, error) {
	lanes := []*Lab{l}
	for l.pooled() && len(lanes) < min(l.Workers, work) && ctx.Err() == nil {
		other, err := l.ofPool(ctx)
		if err != nil { // those that are there do the work
			l.note(func(r *result.Report) {
				r.Warnings = append(r.Warnings, result.Warning{Code: "pool", Message: fmt.Sprintf("%d of the pool's %d workers take part: %v", len(lanes), l.Workers, err)})
			})
			break
		}
		lanes = append(lanes, other)
	}
	if len(lanes) > 1 || l.machine().GPU == nil {
		return lanes, nil
	}
	there := l.Devices()
	if devices == nil {
		for i := range there {
			devices = append(devices, i)
		}
	}
	for _, device := range devices[1:] {
		if device >= len(there) {
			return nil, fmt.Errorf("there is no GPU %d; this machine has %d", device, len(there))
		}
		if first, other := there[devices[0]], there[device]; first.Name != other.Name {
			return nil, fmt.Errorf("GPU %d is a %s, but GPU %d is a %s: choose GPUs of one kind with --device", devices[0], first.Name, device, other.Name)
		}
		if len(lanes) < work {
			lanes = append(lanes, l.another(device))
		}
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

// ofPool returns a lab with another worker of the pool.
func (l *Lab) ofPool(ctx context.Context) (*Lab, error) {
	other := l.another(l.Device)
	other.processor = l.processor
	_, err := other.Client(ctx)
	return other, err
}

// pooled reports whether the lab has a pool's workers, one of which has started. Several on this
// machine would disturb each other.
func (l *Lab) pooled() bool { return len(l.Worker) > 0 && l.hello().DeviceClass != "" }

// Share lets lanes do pieces of work, numbered from 0, each lane as soon as it is free: do is
// called once for every lane, with the pieces for that lane. Work that not every lane can do stays
// with the first. A worker keeps the devices it has used until it ends, and GPUs of one machine
// share its CPU: work that needs the CPU therefore stays with the first lane, except among the
// workers of a pool.
func Share(lanes []*Lab, pieces int, anywhere func(int) bool, do func(lane *Lab, pieces iter.Seq[int])) {
	first, shared := make(chan int, pieces), make(chan int, pieces)
	for i := range pieces {
		if len(lanes) > 1 && (lanes[0].pooled() && lanes[0].Workers > 1 || anywhere(i)) {
			shared <- i
		} else {
			first <- i
		}
	}
	close(first)
	close(shared)
	var busy sync.WaitGroup
	for n, lane := range lanes {
		busy.Go(func() {
			if len(lanes) > 1 { // another run may wait for this GPU while this run waits for that one's other GPU
				defer lane.Close()
			}
			do(lane, func(yield func(int) bool) {
				for _, waiting := range []chan int{first, shared}[min(n, 1):] {
					for i := range waiting {
						if !yield(i) {
							return
						}
					}
				}
			})
		})
	}
	busy.Wait()
}
