package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Points lists the points of the series that a filter selects, the oldest first. Limit counts points.
func (db *DB) Points(ctx context.Context, f Filter) ([]Point, error) {
	const doing = "read the points"
	where, none, err := db.conditions(ctx, f)
	if err != nil || none {
		return nil, db.explain(doing, err)
	}
	points, err := db.points(ctx, `SELECT `+pointColumns+` FROM `+where.from()+` `+where.text()+` ORDER BY p.at DESC, p.run DESC, p.n DESC`+limit(f.Limit), where.values...)
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
	points, err := db.points(ctx, `WITH edge AS (SELECT s.id, coalesce((SELECT p.at FROM `+where.from()+` WHERE `+inner+
		fmt.Sprintf(` ORDER BY p.at DESC LIMIT 1 OFFSET %d), -9000000000000000000) AS since FROM series s)`, max(1, each)-1)+`
		SELECT `+pointColumns+` FROM edge s CROSS JOIN `+where.from()+` WHERE p.series = s.id AND p.at >= s.since`+strings.TrimPrefix(inner, `p.series = s.id`)+`
		ORDER BY p.series, p.at, p.run, p.n`, where.values...)
	return points, db.explain(doing, err)
}

// conditions are those of a filter, about points and their runs.
func (db *DB) conditions(ctx context.Context, f Filter) (conditions, bool, error) {
	of := f
	of.Class = "" // of the series, below
	where, none, err := db.runConditions(ctx, "p", of)
	if err != nil || none {
		return where, none, err
	}
	points, none, err := db.pointConditions(ctx, f)
	where.terms = append(where.terms, points.terms...)
	if where.commit {
		where.add(`p.series = rs.id AND p.at = r.at AND p.run = r.seq`)
	} else if f.timed() && !f.ofSeries() {
		where.add(`p.series IN (SELECT id FROM series)`) // points lie in the order of series and time
	}
	return where, none, err
}

const pointColumns = `p.series, p.run, p.n, p.verdict, p.data`

// points runs a query for pointColumns.
func (db *DB) points(ctx context.Context, query string, values ...any) ([]Point, error) {
	found, err := db.storedPoints(ctx, query, values...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	numbers := make([]int64, len(found))
	for i := range found {
		numbers[i] = found[i].series
	}
	series, err := db.seriesOf(ctx, numbers)
	if err != nil {
		return nil, err
	}
	for i := range found {
		numbers[i] = found[i].run
	}
	runs, err := db.runsOf(ctx, numbers)
	if err != nil {
		return nil, err
	}
	made := make([]Point, 0, len(found))
	texts := make([]named, 0, 4*len(found))
	for _, p := range found {
		run, of := runs[p.run], series[p.series]
		if run == nil || of == nil { // removed meanwhile
			continue
		}
		made = append(made, Point{Run: run, Row: Row{Kernel: of.Kernel, Config: of.Config, Class: of.Class, N: int(p.n)}})
		point := &made[len(made)-1] // it stays where it is: there is room for all
		values := rowValues{Row: &point.Row}
		if err := values.decode(p.data); err != nil {
			return nil, fmt.Errorf("run %s: %w", run.ID, err)
		}
		texts = append(texts, named{p.verdict, (*string)(&point.Verdict)}, named{values.fault, (*string)(&point.Fault)}, named{values.identity, &point.Identity})
		if point.Base != nil {
			point.Base.Commit = run.Base
		}
		if point.Best != nil {
			texts = append(texts, named{values.best, &point.Best.Commit})
		}
	}
	return made, db.name(ctx, texts)
}

// storedPoint is a point with the numbers of its texts.
type storedPoint struct {
	series, run, n, verdict int64

	data []byte
}

func (db *DB) storedPoints(ctx context.Context, query string, values ...any) ([]storedPoint, error) {
	rows, err := db.sql.QueryContext(ctx, db.query(query), values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []storedPoint
	for rows.Next() {
		var p storedPoint
		if err := rows.Scan(&p.series, &p.run, &p.n, &p.verdict, &p.data); err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, rows.Err()
}

// keptRuns is how many runs are remembered. They never change, and most points that are asked for are
// asked for again.
const keptRuns = 50_000

// mostNumbers is how many numbers a query names.
const mostNumbers = 1000

// runsOf returns runs by their numbers.
func (db *DB) runsOf(ctx context.Context, seqs []int64) (map[int64]*Run, error) {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	made := make(map[int64]*Run, len(seqs))
	var missing []int64
	db.runs.mu.Lock()
	for _, seq := range seqs {
		if run := db.runs.of[seq]; run != nil {
			made[seq] = run
		} else {
			missing = append(missing, seq)
		}
	}
	db.runs.mu.Unlock()
	for chunk := range slices.Chunk(missing, mostNumbers) {
		var where conditions
		where.add(`r.seq IN ` + where.list(chunk))
		found, err := db.readRuns(ctx, where, "")
		if err != nil {
			return nil, err
		}
		db.runs.mu.Lock()
		if db.runs.of == nil || len(db.runs.of) > keptRuns {
			db.runs.of = map[int64]*Run{}
		}
		for _, run := range found {
			made[run.seq], db.runs.of[run.seq] = run, run
		}
		db.runs.mu.Unlock()
	}
	return made, nil
}

// readRuns reads the runs of a condition.
func (db *DB) readRuns(ctx context.Context, where conditions, order string) ([]*Run, error) {
	rows, err := db.sql.QueryContext(ctx, db.query(`SELECT `+runColumns+` FROM runs r `+where.text()+order), where.values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []*storedRun
	for rows.Next() {
		var run storedRun
		if err := rows.Scan(run.into()...); err != nil {
			return nil, err
		}
		found = append(found, &run)
	}
	if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	made := make([]*Run, len(found))
	var texts []named
	for i, run := range found {
		texts = append(texts, run.texts()...)
		made[i] = run.made()
	}
	return made, db.name(ctx, texts)
}

// storedRun is a run with the numbers of its texts.
type storedRun struct {
	Run

	at, took, flags, kind, branch, class, machine, outcome, tool int64
	sha, base                                                    []byte
}

func (r *storedRun) into() []any {
	return []any{
		&r.seq, &r.ID, &r.kind, &r.at, &r.took, &r.sha, &r.base, &r.flags, &r.branch, &r.Pull, &r.class, &r.machine, &r.outcome, &r.tool, &r.Rows,
	}
}

// texts lists where the texts of the run's numbers go.
func (r *storedRun) texts() []named {
	run := &r.Run
	return []named{
		{r.kind, (*string)(&run.Kind)}, {r.branch, &run.Branch}, {r.class, &run.Class}, {r.machine, &run.Machine}, {r.outcome, (*string)(&run.Outcome)}, {r.tool, &run.Tool},
	}
}

// made returns the run; its texts are those of name.
func (r *storedRun) made() *Run {
	run := &r.Run
	run.Started, run.Finished = time.UnixMilli(r.at).UTC(), time.UnixMilli(r.at+r.took).UTC()
	run.Commit, run.Base = shaText(r.sha), shaText(r.base)
	run.Dirty, run.Fork = r.flags&dirty != 0, r.flags&fork != 0
	return run
}
