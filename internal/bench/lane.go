package bench

import (
	"context"
	"iter"
	"slices"

	"pawl/internal/lab"
	"pawl/internal/run"
)

// anywhere reports whether any GPU's lane may measure the row: no side of it runs on the CPU.
func (p *plan) anywhere() bool {
	return !slices.ContainsFunc(p.sides(), func(side *plan) bool { return !side.GPU() })
}

// measureAll lets the lanes measure all rows.
func (b *bench) measureAll(ctx context.Context, plans []*plan, startErr error) ([]*measured, error) {
	work := 0 // number of lanes that have something to do
	rows := make([]*measured, len(plans))
	for i, p := range plans {
		rows[i] = unmeasured(p)
		if p.anywhere() || b.lab.Workers > 1 {
			work++
		}
	}
	if work < len(plans) {
		work++
	}
	lanes, err := b.lab.Lanes(ctx, b.Devices, work)
	if err != nil {
		return nil, err
	}
	lab.Share(lanes, len(rows), func(i int) bool { return rows[i].anywhere() }, func(lane *lab.Lab, pieces iter.Seq[int]) {
		startErr := startErr
		room := &examRoom{lane: lane}
		defer room.close(ctx)
		for i := range pieces {
			m := rows[i]
			tried := m.fault == nil
			if tried {
				if len(lanes) > 1 && m.GPU() {
					m.device = lane.UUID()
				}
				b.measure(ctx, room, m, startErr, i, len(rows))
			}
			median := 0.0
			if m.timing != nil {
				median = m.timing.Stats.Median
			}
			b.run.Emit(run.Event{Kind: run.RowDone, Row: m.Name(), Fault: m.fault, MedianS: median, Done: i + 1, Total: len(rows)})
			if tried && killed(startErr) { // this row fails; the next one tries another worker
				startErr = nil
			}
		}
		lane.Release(ctx)
	})
	return rows, nil
}
