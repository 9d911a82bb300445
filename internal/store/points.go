package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// Points lists the points of the series that a filter selects, the oldest first. Limit counts points.
func (db *DB) Points(ctx context.Context, f Filter) ([]Point, error) {
	const doing = "read the points"
	where, none, err := db.conditions(ctx, f)
	if err != nil || none {
		return nil, db.explain(doing, err)
	}
	points, err := db.points(ctx, `SELECT `+pointColumns+`, `+runColumns+` FROM points p JOIN runs r ON r.seq = p.run `+
		where.text()+` ORDER BY p.at DESC, p.run DESC, p.n DESC`+limit(f.Limit), where.values...)
	slices.Reverse(points)
	return points, db.explain(doing, err)
}

// Latest lists the last points of each series that a filter selects, at most each of them, the oldest
// first. Limit counts nothing.
func (db *DB) Latest(ctx context.Context, f Filter, each int) ([]Point, error) {
	const doing = "read the latest points"
	where, none, err := db.conditions(ctx, f)
	if err != nil || none {
		return nil, db.explain(doing, err)
	}
	// The series are few, and each is in the order of time: its last points are read alone.
	inner := `p.series = s.id`
	for _, term := range where.terms {
		inner += ` AND ` + term
	}
	points, err := db.points(ctx, `WITH edge AS (
			SELECT s.id, coalesce((SELECT p.at FROM points p JOIN runs r ON r.seq = p.run WHERE `+inner+
		fmt.Sprintf(` ORDER BY p.at DESC LIMIT 1 OFFSET %d), -9000000000000000000) AS since FROM series s)`, max(1, each)-1)+`
		SELECT `+pointColumns+`, `+runColumns+` FROM edge s JOIN points p ON p.series = s.id AND p.at >= s.since JOIN runs r ON r.seq = p.run `+
		where.text()+` ORDER BY p.series, p.at, p.run, p.n`, where.values...)
	return points, db.explain(doing, err)
}

// conditions are those of a filter, about points and their runs.
func (db *DB) conditions(ctx context.Context, f Filter) (conditions, bool, error) {
	of := f
	of.Class = "" // of the series, below
	where, none, err := db.runConditions(ctx, of)
	if err != nil || none {
		return where, none, err
	}
	points, none, err := db.pointConditions(ctx, f)
	where.terms = append(where.terms, points.terms...)
	return where, none, err
}

const pointColumns = `p.series, p.run, p.n, p.flags, p.verdict, p.fault, p.samples, p.median, p.low, p.high, p.roof,
	p.base, p.base_low, p.base_high, p.best, p.best_low, p.best_high, p.best_sha, p.identity`

// points runs a query for pointColumns and runColumns.
func (db *DB) points(ctx context.Context, query string, values ...any) ([]Point, error) {
	rows, err := db.sql.QueryContext(ctx, db.query(query), values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []storedPoint
	runs := map[int64]*storedRun{}
	for rows.Next() {
		var p storedPoint
		var run storedRun
		if err := rows.Scan(append(p.into(), run.into()...)...); err != nil {
			return nil, err
		}
		if runs[run.seq] == nil {
			runs[run.seq] = &run
		}
		found = append(found, p)
	}
	if err := cmp.Or(rows.Err(), rows.Close()); err != nil || len(found) == 0 {
		return nil, err
	}
	all, err := db.allSeries(ctx, Filter{})
	if err != nil {
		return nil, err
	}
	series := map[int64]Series{}
	for _, s := range all {
		series[s.id] = s
	}
	named := map[int64]*Run{}
	for seq, run := range runs {
		if named[seq], err = run.named(ctx, db); err != nil {
			return nil, err
		}
	}
	made := make([]Point, len(found))
	for i, p := range found {
		row, err := p.named(ctx, db, series[p.series], named[p.run].Base)
		if err != nil {
			return nil, err
		}
		made[i] = Point{Run: named[p.run], Row: row}
	}
	return made, nil
}

// storedPoint is a point with the numbers of its texts.
type storedPoint struct {
	series, run, n, flags, verdict, fault, samples, bestSHA, identity int64

	median, low, high, roof sql.NullFloat64
	base, baseLow, baseHigh sql.NullFloat64
	best, bestLow, bestHigh sql.NullFloat64
}

func (p *storedPoint) into() []any {
	return []any{
		&p.series, &p.run, &p.n, &p.flags, &p.verdict, &p.fault, &p.samples, &p.median, &p.low, &p.high, &p.roof,
		&p.base, &p.baseLow, &p.baseHigh, &p.best, &p.bestLow, &p.bestHigh, &p.bestSHA, &p.identity,
	}
}

func (p *storedPoint) named(ctx context.Context, db *DB, s Series, base string) (Row, error) {
	row := Row{
		Kernel: s.Kernel, Config: s.Config, Class: s.Class, N: int(p.n), Samples: int(p.samples),
		MedianS: p.median.Float64, LowS: p.low.Float64, HighS: p.high.Float64, RoofPct: p.roof.Float64,
		Moved: p.flags&moved != 0, Dropped: p.flags&dropped != 0,
	}
	if p.base.Valid {
		row.Base = &Change{Commit: base, Median: p.base.Float64, Low: p.baseLow.Float64, High: p.baseHigh.Float64}
	}
	best := ""
	if p.best.Valid {
		row.Best = &Change{Median: p.best.Float64, Low: p.bestLow.Float64, High: p.bestHigh.Float64}
	}
	err := db.named(ctx, []named{
		{p.verdict, (*string)(&row.Verdict)}, {p.fault, (*string)(&row.Fault)}, {p.identity, &row.Identity}, {p.bestSHA, &best},
	})
	if row.Best != nil {
		row.Best.Commit = best
	}
	return row, err
}

// storedRun is a run with the numbers of its texts.
type storedRun struct {
	Run

	at, finished, flags, kind, branch, class, machine, outcome, tool int64
	sha, base                                                        []byte
}

func (r *storedRun) into() []any {
	return []any{
		&r.seq, &r.ID, &r.kind, &r.at, &r.finished, &r.sha, &r.base, &r.flags, &r.branch, &r.Pull, &r.class, &r.machine, &r.outcome, &r.tool, &r.Rows,
	}
}

func (r *storedRun) named(ctx context.Context, db *DB) (*Run, error) {
	run := &r.Run
	run.Started, run.Finished = time.UnixMilli(r.at).UTC(), time.UnixMilli(r.finished).UTC()
	run.Commit, run.Base = shaText(r.sha), shaText(r.base)
	run.Dirty, run.Fork = r.flags&dirty != 0, r.flags&fork != 0
	return run, db.named(ctx, []named{
		{r.kind, (*string)(&run.Kind)}, {r.branch, &run.Branch}, {r.class, &run.Class}, {r.machine, &run.Machine}, {r.outcome, (*string)(&run.Outcome)}, {r.tool, &run.Tool},
	})
}

// named is the number of a text, and where the text goes.
type named struct {
	id int64
	to *string
}

func (db *DB) named(ctx context.Context, list []named) (err error) {
	for _, one := range list {
		if *one.to, err = db.text(ctx, one.id); err != nil {
			return err
		}
	}
	return nil
}
