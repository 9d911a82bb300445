package check

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"pawl/internal/explain"
	"pawl/internal/judge"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/unit"
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
	why     []*result.Why
}

// explain says why rows changed, and gives every row that has a baseline the history of that
// baseline up to this run. The moves are in the baseline itself. Their intervals are only in git's
// history: those that git does not have, or cannot find in time, are left out.
func (c *check) explain(ctx context.Context, rows []*moved) []*explained {
	var out []*explained
	for _, m := range rows {
		out = append(out, &explained{moved: m})
	}
	c.why(ctx, out)
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

// findings finds the catalogue that rows are explained by. The findings of a project are those of the base:
// a change cannot say what was its fault. Its own must be right all the same.
func (c *check) findings() error {
	settings := explain.Settings{}
	if c.Explain != nil {
		settings = *c.Explain
	}
	own, err := settings.By(c.Spec)
	if err != nil {
		return err
	}
	from := c.Spec
	if c.base != nil && c.base.spec != nil {
		from = c.base.spec
		if own, err = settings.By(from); err != nil {
			c.warn("findings", "", "the base's own findings are not used: %v", err)
			return nil
		}
	}
	if c.Explain != nil {
		c.Explain, c.report.OwnFindings = own, explain.Own(from)
	}
	return nil
}

// why says why rows became slower or much faster than what they were measured against: the base or, where
// that did not play, the best-known version. Those that changed most come first, since not all may have
// their turn.
func (c *check) why(ctx context.Context, rows []*explained) {
	asked := slices.DeleteFunc(slices.Clone(rows), func(e *explained) bool {
		return c.Explain == nil || len(e.playing()) == 0 || e.fault != nil || !judge.Confirm(e.verdict)
	})
	if len(asked) == 0 || ctx.Err() != nil {
		return
	}
	c.run.Stage("explain")
	slices.SortStableFunc(asked, func(x, y *explained) int {
		return cmp.Or(cmp.Compare(gravity(x.verdict), gravity(y.verdict)), cmp.Compare(y.distance(), x.distance()))
	})
	var questions []explain.Question
	for _, e := range asked {
		other := e.playing()[0]
		questions = append(questions, explain.Question{Versions: []explain.Version{
			{Name: string(other.role), Job: other.job, Timing: other.timing}, {Name: "change", Job: e.candidate, Timing: e.timing},
		}})
	}
	settings := *c.Explain
	settings.Stranger = c.Fork
	late, most := 0, settings.Most
	for i, why := range explain.Rows(ctx, c.lab, c.run, settings, questions) {
		if asked[i].why = why; why == nil && (most <= 0 || i < most) {
			late++
		}
	}
	if late > 0 && ctx.Err() == nil {
		c.warn("explained", "pawl profile looks at a kernel for as long as that takes",
			"%s not explained: a check spends %s on that", unit.Plural(late, "row is", "rows are"), unit.Duration(settings.Budget.Seconds()))
	}
	if most > 0 && most < len(asked) {
		c.warn("explained", "pawl profile "+asked[most].candidate.Name()+" looks at one of them",
			"%s not explained: a check looks at the %d that changed most", unit.Plural(len(asked)-most, "row is", "rows are"), most)
	}
}

// gravity orders verdicts for which there is no time to explain all rows.
func gravity(v result.Verdict) int {
	if v == result.Improvement {
		return 1
	}
	return 0
}

// distance is how far a row has changed, as a logarithm without sign.
func (e *explained) distance() float64 {
	if change := e.playing()[0].change; change != nil && change.Median > -1 {
		return math.Abs(math.Log1p(change.Median))
	}
	return 0
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
