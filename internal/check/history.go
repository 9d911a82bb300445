package check

import (
	"context"
	"time"

	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// How far back the report looks, and for how long a check waits to find out.
const (
	mostPoints   = 30 // of a row
	mostVersions = 60 // of a class's file
	lookBack     = 2 * time.Second
)

// recall tells every row that has a baseline how that came to be what it was before
// this run. The moves are in the baseline itself. Their intervals only git's history
// has: what it has not, or cannot say in time, is left out.
func (c *check) recall(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookBack)
	defer cancel()
	intervals := map[string]map[string]ratchet.Interval{}
	for _, k := range c.contests {
		if k.entry == nil {
			continue
		}
		if _, known := intervals[k.class]; !known && len(k.entry.Moves) > 1 {
			intervals[k.class], _ = c.store.Intervals(ctx, k.class, mostVersions)
		}
		k.row.History = past(k.entry, intervals[k.class])
	}
}

// past are the last moves of an entry.
func past(e *ratchet.Entry, intervals map[string]ratchet.Interval) []result.HistoryPoint {
	moves := e.Moves[max(0, len(e.Moves)-mostPoints):]
	var out []result.HistoryPoint
	for i, m := range moves {
		p := result.HistoryPoint{Commit: m.Commit, Time: m.Time, MedianS: m.MedianMS / 1e3, By: string(m.By), Reason: m.Reason}
		of, known := intervals[m.Sum]
		if i == len(moves)-1 {
			of, known = ratchet.Interval{LowMS: e.LowMS, HighMS: e.HighMS}, true
		}
		if known && 0 < of.LowMS && of.LowMS <= m.MedianMS && m.MedianMS <= of.HighMS {
			p.LowS, p.HighS = of.LowMS/1e3, of.HighMS/1e3
		}
		out = append(out, p)
	}
	return out
}
