package bench

import (
	"context"
	"fmt"
	"sync"

	"pawl/internal/run"
	"pawl/internal/stand"
)

// lanes are the run's GPUs: each has a worker of its own and measures one row at a
// time, so that several share the rows. What does not run on a GPU has one lane.
func (b *bench) lanes(rows int) ([]*stand.Stand, error) {
	lanes := []*stand.Stand{b.stand}
	if b.report.Machine.GPU == nil {
		return lanes, nil
	}
	there, chosen := b.stand.Devices(), b.Devices
	if chosen == nil {
		for i := range there {
			chosen = append(chosen, i)
		}
	}
	for _, device := range chosen[1:] {
		if device >= len(there) {
			return nil, fmt.Errorf("there is no GPU %d; this machine has %d", device, len(there))
		}
		if first, other := there[chosen[0]], there[device]; first.Name != other.Name {
			return nil, fmt.Errorf("GPU %d is a %s and GPU %d a %s: name those of one kind with --device", chosen[0], first.Name, device, other.Name)
		}
		if len(lanes) < rows {
			lanes = append(lanes, b.stand.Another(device))
		}
	}
	return lanes, nil
}

// measureAll lets the lanes measure every row.
func (b *bench) measureAll(ctx context.Context, lanes []*stand.Stand, plans []*plan, startErr error) {
	waiting := make(chan int, len(plans))
	for i := range plans {
		waiting <- i
	}
	close(waiting)
	var busy sync.WaitGroup
	for n, lane := range lanes {
		busy.Go(func() {
			if n > 0 {
				defer lane.Close()
			}
			startErr := startErr
			for i := range waiting {
				p := plans[i]
				if p.Row.Fault == nil {
					if len(lanes) > 1 {
						p.Row.Device = lane.UUID()
					}
					b.row(ctx, lane, p, startErr, i, len(plans))
					if killed(startErr) { // costs this row; the next one tries another worker
						startErr = nil
					}
				}
				b.run.Emit(run.Event{Kind: run.RowDone, Row: p.Row.Name(), Fault: p.Row.Fault, MedianS: median(p.Row), Done: i + 1, Total: len(plans)})
			}
			lane.Release(ctx)
		})
	}
	busy.Wait()
}
