package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"pawl/internal/run"
	"pawl/internal/lab"
)

// lanes are the run's GPUs: each has a worker of its own and measures one row at a
// time, so that several share the rows. What does not run on a GPU has one lane.
func (b *bench) lanes(plans []*plan) ([]*lab.Lab, error) {
	lanes := []*lab.Lab{b.lab}
	most := 0 // lanes that have something to do
	for _, p := range plans {
		if p.anywhere() {
			most++
		}
	}
	if most < len(plans) {
		most++
	}
	if b.report.Machine.GPU == nil {
		return lanes, nil
	}
	there, chosen := b.lab.Devices(), b.Devices
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
		if len(lanes) < most {
			lanes = append(lanes, b.lab.Another(device))
		}
	}
	return lanes, nil
}

// anywhere tells whether any lane may measure the row. A worker keeps the devices it
// has used until it ends, and all lanes have the same processor: what needs that
// stays with the first of them.
func (p *plan) anywhere() bool {
	return !slices.ContainsFunc(p.sides(), func(side *plan) bool { return !side.GPU() })
}

// measureAll lets the lanes measure every row.
func (b *bench) measureAll(ctx context.Context, lanes []*lab.Lab, plans []*plan, startErr error) {
	first, shared := make(chan int, len(plans)), make(chan int, len(plans))
	for i, p := range plans {
		if len(lanes) > 1 && p.anywhere() {
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
			mine := []chan int{first, shared}
			if n > 0 {
				mine = mine[1:]
			}
			if len(lanes) > 1 { // another run may wait for this GPU while this one waits for its other
				defer lane.Close()
			}
			startErr := startErr
			room := &examRoom{lane: lane}
			defer room.close(ctx)
			for _, waiting := range mine {
				for i := range waiting {
					tried := b.measureOne(ctx, room, plans, i, len(lanes) > 1, startErr)
					if tried && killed(startErr) { // costs this row; the next one tries another worker
						startErr = nil
					}
				}
			}
			lane.Release(ctx)
		})
	}
	busy.Wait()
}

// measureOne measures one of the rows unless it has failed before, and tells of it;
// among several GPUs the row names its own.
func (b *bench) measureOne(ctx context.Context, room *examRoom, plans []*plan, i int, several bool, startErr error) (tried bool) {
	p := plans[i]
	if tried = p.Row.Fault == nil; tried {
		if several && p.GPU() {
			p.Row.Device = room.lane.UUID()
		}
		b.row(ctx, room, p, startErr, i, len(plans))
	}
	b.run.Emit(run.Event{Kind: run.RowDone, Row: p.Row.Name(), Fault: p.Row.Fault, MedianS: median(p.Row), Done: i + 1, Total: len(plans)})
	return tried
}
