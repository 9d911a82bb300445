package check

import (
	"context"
	"fmt"
	"time"

	"pawl/internal/lab"
	"pawl/internal/machine"
	"pawl/internal/run"
	"pawl/internal/unit"
)

const (
	aheadFrom  = time.Minute            // a check that starts cells for less needs no forecast
	aheadLook  = 200 * time.Millisecond // for which the machine is watched
	aheadBusy  = 0.5                    // cores that others may use, as in the doubt "foreign"
	aheadCells = 4                      // of each version, at least, for rows that share them
)

// forecast says, before anything is timed, how long starting processes takes at least, where that is long, and
// whether other programs use this machine: later, only the wait is left to end.
func (c *check) forecast(ctx context.Context, rows []*verified) {
	if c.total == 0 || ctx.Err() != nil {
		return
	}
	if text := c.duration(rows, c.lab.StartOf); text != "" {
		c.run.Emit(run.Event{Kind: run.Note, Text: text})
	}
	if len(c.Lab.Worker) > 0 { // it is measured on another machine
		return
	}
	meter := machine.NewMeter()
	select {
	case <-ctx.Done():
	case <-time.After(aheadLook):
		if text := crowd(meter.Read("before").Busy); text != "" {
			c.run.Emit(run.Event{Kind: run.Note, Text: text})
		}
	}
}

// crowd says that other programs use so many cores; "" where that is next to nothing, or not known.
func crowd(busy *float64) string {
	if busy == nil || *busy <= aheadBusy {
		return ""
	}
	return fmt.Sprintf("other programs use %.1f cores of this machine: measuring takes longer beside them, and rows may stay undecided; stop them, or measure later", *busy)
}

// duration says how long the cells of rows that are measured take to start; "" where that is short, or not known.
// Rows that share cells wait for them together, and so do the versions of a row, which start at once.
func (c *check) duration(rows []*verified, startOf func(*lab.Job) time.Duration) string {
	var starting, longest time.Duration
	for _, party := range c.parties(groupsOf(rows)) {
		var start time.Duration
		cells := 0
		for _, v := range party {
			if !v.isMeasured() {
				continue
			}
			cells = max(cells, 1)
			if len(v.playing()) > 0 {
				cells = aheadCells
			}
			for _, one := range append(v.playing(), &side{job: v.candidate}) {
				start = max(start, startOf(one.job))
			}
		}
		starting += time.Duration(cells) * start
		longest = max(longest, start)
	}
	if starting < aheadFrom {
		return ""
	}
	return fmt.Sprintf("measuring %s takes at least %s: starting a process takes up to %s here, and a comparison needs at least %d; then up to %v a row to measure (--budget)",
		unit.Plural(c.total, "row", "rows"), unit.Plural(int(starting.Minutes()), "minute", "minutes"), unit.Duration(longest.Seconds()), aheadCells, c.Duet.Budget)
}
