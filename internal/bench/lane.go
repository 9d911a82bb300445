package bench

import (
	"context"
	"fmt"
	"sync"

	"pawl/internal/result"
	"pawl/internal/run"
)

// lanes are the run's GPUs: each has a worker of its own and measures one row at a
// time, so that several share the rows. What does not run on a GPU has one lane.
func (b *bench) lanes(plans []*plan) ([]*bench, error) {
	if b.worker == nil || b.report.Machine.GPU == nil {
		return []*bench{b}, nil
	}
	there, chosen := b.worker.Hello().Devices, b.Devices
	if chosen == nil {
		for i := range there {
			chosen = append(chosen, i)
		}
	}
	lanes := []*bench{b}
	b.uuid = b.report.Machine.GPU.UUID
	for _, device := range chosen[1:] {
		if device >= len(there) {
			return nil, fmt.Errorf("there is no GPU %d; this machine has %d", device, len(there))
		}
		if first, other := there[chosen[0]], there[device]; first.Name != other.Name {
			return nil, fmt.Errorf("GPU %d is a %s and GPU %d a %s: name those of one kind with --device", chosen[0], first.Name, device, other.Name)
		}
		if len(lanes) == len(plans) {
			break
		}
		lane := *b
		lane.device, lane.uuid, lane.worker, lane.kept, lane.peaks = device, there[device].UUID, nil, nil, nil
		lanes = append(lanes, &lane)
	}
	return lanes, nil
}

// measureAll lets the lanes measure every row.
func (b *bench) measureAll(ctx context.Context, lanes []*bench, plans []*plan, startErr error) {
	waiting := make(chan int, len(plans))
	for i := range plans {
		waiting <- i
	}
	close(waiting)
	var busy sync.WaitGroup
	for n, lane := range lanes {
		busy.Go(func() {
			if n > 0 {
				defer lane.closeWorker()
			}
			startErr := startErr
			for i := range waiting {
				p := plans[i]
				if p.row.Fault == nil {
					if len(lanes) > 1 {
						p.row.Device = lane.uuid
					}
					lane.row(ctx, p, startErr, i, len(plans))
					if killed(startErr) { // costs this row; the next one tries another worker
						startErr = nil
					}
				}
				b.run.Emit(run.Event{Kind: run.RowDone, Row: p.row.Name(), Fault: p.row.Fault, MedianS: median(p.row), Done: i + 1, Total: len(plans)})
			}
			lane.release(ctx)
		})
	}
	busy.Wait()
}

// note writes to the part of the report that lanes share.
func (b *bench) note(write func(*result.Report)) {
	b.shared.Lock()
	defer b.shared.Unlock()
	write(b.report)
}
