package dashtest

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pawl/internal/history"
	"pawl/internal/result"
	"pawl/internal/store"
)

// Bulk is a large history: runs of one row each, 100 samples in each, of 200 series. The first series has
// a run for each of so many commits; the others share the rest.
type Bulk struct {
	Runs, Commits int
	End           time.Time
}

// BulkKernel and BulkConfig name the long series.
const (
	BulkKernel = "kernel0"
	BulkConfig = "config0"
	bulkSeries = 200
)

// Write makes the project in a folder, unless it is there.
func (b Bulk) Write(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return nil
	}
	s := Story{Commits: b.Commits, Seed: 3, End: b.End}
	if err := s.project(ctx, dir); err != nil {
		return err
	}
	h, err := history.Open(ctx, dir, "", store.Create)
	if err != nil {
		return err
	}
	defer h.Close()
	line, err := h.Line(ctx, "")
	if err != nil {
		return err
	}
	t := &teller{Story: s, random: rand.New(rand.NewPCG(3, 1)), commits: line.Commits}
	entries := make([]store.Entry, 0, 500)
	for n := range b.Runs {
		entries = append(entries, store.Entry{Report: t.bulk(b, n)})
		if len(entries) == cap(entries) || n == b.Runs-1 {
			if _, err := h.Add(ctx, entries...); err != nil {
				return err
			}
			entries = entries[:0]
		}
	}
	return os.WriteFile(filepath.Join(dir, "complete"), nil, 0o644)
}

// bulk makes the report of a number: the first Commits are of the long series, one for each commit.
func (t *teller) bulk(b Bulk, n int) *result.Report {
	series, at := 0, n
	if n >= b.Commits {
		series = 1 + (n-b.Commits)%(bulkSeries-1)
		at = (n - b.Commits) * b.Commits / max(b.Runs-b.Commits, 1)
	}
	at = min(at, b.Commits-1)
	r := t.head(result.KindCheck, t.at(at), "check")
	r.Commit = &result.Commit{SHA: t.commits[at]}
	row := &result.Row{
		Kernel: "kernel" + strconv.Itoa(series/4), Config: "config" + strconv.Itoa(series%4), Cell: "cuda", Class: Class, Verdict: result.Maintained, Identity: strings.Repeat("0", 56) + strconv.FormatInt(int64(10000000+at/3), 10),
	}
	size := 0.0
	if at%97 == 96 {
		size, row.Verdict = 0.05, result.Regression
	} else if at%97 == 40 {
		size, row.Verdict = -0.06, result.Improvement
	}
	row.Timing = t.timing(50e-6*math.Exp(0.1*t.random.NormFloat64()), 50)
	row.Timing.State = nil
	if at > 0 {
		r.Base = &result.BaseRef{Ref: "HEAD~1", SHA: t.commits[at-1]}
		side := t.side(result.Base, t.commits[at-1], size, 0.004, row)
		side.Row.Timing.Samples.Seconds, side.Row.Timing.Samples.GHz = side.Row.Timing.Samples.Seconds[:50], side.Row.Timing.Samples.GHz[:50]
		side.Row.Timing.State = nil
		row.Sides = []*result.Side{side}
	}
	r.Rows = []*result.Row{row}
	r.Outcome = &result.Outcome{Result: result.Passed, Verdicts: map[result.Verdict]int{row.Verdict: 1}}
	return r
}
