package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"slices"
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
	run, err := found.named(ctx, db)
	if err != nil {
		return nil, nil, err
	}
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

// Series lists the kernels and configs that the history has points of, in their order.
func (db *DB) Series(ctx context.Context, f Filter) ([]Series, error) {
	list, err := db.allSeries(ctx, f)
	return list, db.explain("list the kernels", err)
}

func (db *DB) allSeries(ctx context.Context, f Filter) ([]Series, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT id, kernel, config, class FROM series`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found [][4]int64
	for rows.Next() {
		var ids [4]int64
		if err := rows.Scan(&ids[0], &ids[1], &ids[2], &ids[3]); err != nil {
			return nil, err
		}
		found = append(found, ids)
	}
	if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	var list []Series
	for _, ids := range found {
		s := Series{id: ids[0]}
		for i, to := range []*string{&s.Kernel, &s.Config, &s.Class} {
			if *to, err = db.text(ctx, ids[i+1]); err != nil {
				return nil, err
			}
		}
		if f.matches(s) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, Series.Compare)
	return list, nil
}

func (f *Filter) matches(s Series) bool {
	for _, one := range [][2]string{{f.Kernel, s.Kernel}, {f.Config, s.Config}} {
		if is, err := path.Match(one[0], one[1]); one[0] != "" && bounded(one[0]) != one[1] && (err != nil || !is) {
			return false
		}
	}
	return f.Class == "" || bounded(f.Class) == s.Class
}
