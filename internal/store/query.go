package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"pawl/internal/diag"
)

// Runs lists runs, the newest first.
func (db *DB) Runs(ctx context.Context, f Filter) ([]*Run, error) {
	runs, err := db.listRuns(ctx, f)
	return runs, db.explain("list the runs", err)
}

const runColumns = `r.seq, r.id, r.kind, r.at, r.took, r.sha, r.base, r.flags, r.branch, r.pull, r.class, r.machine, r.outcome, r.tool, r.rows`

func (db *DB) listRuns(ctx context.Context, f Filter) ([]*Run, error) {
	where, none, err := db.runConditions(ctx, "r", f)
	if err != nil || none {
		return nil, err
	}
	f.Class = "" // of the run, above
	points, none, err := db.pointConditions(ctx, f)
	if err != nil || none {
		return nil, err
	}
	if len(points.terms) > 0 {
		where.add(`r.seq IN (SELECT p.run FROM points p WHERE ` + where.take(points) + `)`)
	}
	if f.Before != "" {
		where.add(`(r.at, r.seq) < (SELECT at, seq FROM runs WHERE id = `+where.slot()+`)`, f.Before)
	}
	return db.readRuns(ctx, where, ` ORDER BY r.at DESC, r.seq DESC`+limit(f.Limit))
}

// Run returns a run with its rows. Its ID may be shortened, to the end or to the beginning that no
// other run has.
func (db *DB) Run(ctx context.Context, id string) (*Run, []*Row, error) {
	run, rows, err := db.run(ctx, id)
	if err != nil && !errors.Is(err, ErrNoRun) {
		err = db.explain("read run "+id, err)
	}
	return run, rows, err
}

func (db *DB) run(ctx context.Context, id string) (*Run, []*Row, error) {
	var found storedRun
	err := db.sql.QueryRowContext(ctx, db.query(`SELECT `+runColumns+` FROM runs r WHERE r.id = $1`), id).Scan(found.into()...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, db.noRun(id)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := db.name(ctx, found.texts()); err != nil {
		return nil, nil, err
	}
	run := found.made()
	// A cross join keeps its order in SQLite: points are found by series, time and run.
	points, err := db.points(ctx, `SELECT `+pointColumns+` FROM series s CROSS JOIN points p WHERE p.series = s.id AND p.at = $1 AND p.run = $2 ORDER BY p.n`, found.at, found.seq)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]*Row, len(points))
	for i := range points {
		rows[i] = &points[i].Row
	}
	return run, rows, nil
}

// Find returns the ID of the run whose ID begins or ends with a text; "latest" is the newest run.
func (db *DB) Find(ctx context.Context, text string) (string, error) {
	if text == "latest" {
		runs, err := db.Runs(ctx, Filter{Limit: 1})
		if err != nil {
			return "", err
		}
		if len(runs) == 0 {
			return "", db.noRun(text)
		}
		return runs[0].ID, nil
	}
	escaped := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
	rows, err := db.sql.QueryContext(ctx, db.query(`SELECT id FROM runs WHERE id = $1 OR id LIKE $2 ESCAPE '\' OR id LIKE $3 ESCAPE '\' ORDER BY id LIMIT 4`), text, escaped+"%", "%"+escaped)
	if err != nil {
		return "", db.explain("find run "+text, err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return "", db.explain("find run "+text, err)
		}
		if id == text {
			return id, nil
		}
		ids = append(ids, id)
	}
	switch {
	case rows.Err() != nil:
		return "", db.explain("find run "+text, rows.Err())
	case len(ids) == 0:
		return "", db.noRun(text)
	case len(ids) > 1:
		return "", &diag.Problem{Message: fmt.Sprintf("several runs are named like %s: %s", text, strings.Join(ids[:min(3, len(ids))], ", ")), Hint: "name more of the one that you mean"}
	}
	return ids[0], nil
}
