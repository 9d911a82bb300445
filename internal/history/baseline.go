package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl/internal/git"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/store"
)

// ImportBaseline adds the moves of the baseline, as git's history has them: each commit that moved it is
// a run, with what its file says of the new version. Moves that only another branch has made, and no
// merge took, are left out. These runs have no samples.
func (h *History) ImportBaseline(ctx context.Context) (*Imported, error) {
	files := ratchet.Open(h.root)
	classes, err := files.Classes()
	if err != nil {
		return nil, err
	}
	line, err := git.Line(ctx, h.root, "HEAD")
	if err != nil {
		return nil, err
	}
	on := map[string]bool{"": true} // "": the file as it is now, not committed yet
	for _, sha := range line {
		on[sha] = true
	}
	made, got := &Imported{}, &parsed{}
	for _, class := range classes {
		events, err := files.History(ctx, class)
		if err != nil {
			return made, err
		}
		for _, r := range movesOf(class, events, on) {
			got.entries = append(got.entries, store.Entry{Report: r})
		}
	}
	return made, h.add(ctx, made, got)
}

// movesOf makes a run of the moves that a commit was measured for. on are the commits of the branch.
func movesOf(class string, events []ratchet.Event, on map[string]bool) []*result.Report {
	runs := map[string]*result.Report{}
	for _, e := range events {
		m := e.Move
		if m.By == ratchet.ByReset || m.By == ratchet.ByMerge || m.MedianMS == 0 || m.Commit == "" || !on[e.Recorded] && !on[m.Commit] {
			continue
		}
		id := fmt.Sprintf("baseline-%s-%s", m.Time.UTC().Format("20060102T150405Z"), shortDigest([]byte(class+"\n"+m.Commit+"\n"+m.Time.String())))
		r := runs[id]
		if r == nil {
			r = &result.Report{
				Schema: result.Schema, Kind: result.KindCheck, ID: id, Tool: result.Tool{Version: "baseline"}, Started: m.Time.UTC(), Finished: m.Time.UTC(),
				Outcome: &result.Outcome{Result: result.Passed}, Commit: &result.Commit{SHA: m.Commit}, DeviceClass: class,
			}
			runs[id] = r
		}
		kernel, config, _ := strings.Cut(e.Name, "/")
		row := &result.Row{Kernel: kernel, Config: config, Class: class, Verdict: result.New, Moved: &result.Moved{Done: true, ToS: m.MedianMS / 1e3}}
		// The interval is not in the move.
		row.Timing = &result.Timing{Stats: result.Stats{Median: m.MedianMS / 1e3, Low: m.MedianMS / 1e3, High: m.MedianMS / 1e3}}
		if m.From != nil {
			row.Moved.From, row.Moved.FromS = m.From.Commit, m.From.MedianMS/1e3
		}
		if m.Change != nil {
			row.Verdict = result.Improvement
			if m.Change.Median > 0 {
				row.Verdict = result.Regression
			}
			row.Sides = []*result.Side{{Role: result.Best, Commit: row.Moved.From, Change: &result.Change{Median: m.Change.Median, Low: m.Change.Low, High: m.Change.High, Paired: true}}}
		}
		if m.By == ratchet.ByAnchor {
			row.Verdict = result.Unchanged
		}
		r.Rows = append(r.Rows, row)
	}
	made := slices.Collect(maps.Values(runs))
	slices.SortFunc(made, func(a, b *result.Report) int { return strings.Compare(a.ID, b.ID) })
	return made
}
