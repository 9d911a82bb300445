package check

import (
	"context"
	"time"

	"pawl/internal/judge"
	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// How far back the report's history goes, and how long a check waits for it.
const (
	mostPoints   = 30 // per row
	mostVersions = 60 // of a class's file
	lookBack     = 2 * time.Second
)

// explained is a row with everything that the report says of it.
type explained struct {
	*moved
	history []result.HistoryPoint
	why     []result.Warning
}

// explain asks why rows changed, and gives every row that has a baseline the history of that
// baseline up to this run. The moves are in the baseline itself. Their intervals are only in git's
// history: those that git does not have, or cannot find in time, are left out.
func (c *check) explain(ctx context.Context, rows []*moved) []*explained {
	var out []*explained
	for _, m := range rows {
		e := &explained{moved: m}
		out = append(out, e)
		playing := m.playing()
		if c.Explain == nil || len(playing) == 0 || !judge.Confirm(m.verdict) {
			continue
		}
		e.why = c.Explain(ctx, c.lab, m.candidate, playing[0].job)
	}
	ctx, cancel := context.WithTimeout(ctx, lookBack)
	defer cancel()
	intervals := map[string]map[string]ratchet.Interval{}
	for _, e := range out {
		entry := e.entries.counts
		if entry == nil {
			continue
		}
		if _, known := intervals[e.class]; !known && len(entry.Moves) > 1 {
			intervals[e.class], _ = c.store.Intervals(ctx, e.class, mostVersions)
		}
		e.history = past(entry, intervals[e.class])
	}
	return out
}

// past returns the last moves of an entry.
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
