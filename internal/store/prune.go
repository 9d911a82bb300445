package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Keep says which runs stay. The newest run and those with notes always do.
type Keep struct {
	Runs  int       // so many of the newest; 0: by their time
	Since time.Time // those that started then or later
}

var pruneBatch = 1000 // runs in a transaction: others write meanwhile. Tests make it smaller

// Prune removes old runs, and returns how many. The room that they took is given back to the disk.
func (db *DB) Prune(ctx context.Context, keep Keep) (removed int, err error) {
	const doing = "remove old runs"
	if keep.Runs <= 0 && keep.Since.IsZero() {
		return 0, errors.New("remove old runs: expected how many stay, or since when")
	}
	before := keep.Since.UnixMilli()
	if keep.Runs > 0 {
		// The oldest run that stays by number.
		var at int64
		err := db.sql.QueryRowContext(ctx, db.query(`SELECT at FROM runs ORDER BY at DESC, seq DESC LIMIT 1 OFFSET $1`), keep.Runs-1).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil
		}
		if err != nil {
			return 0, db.explain(doing, err)
		}
		before = at
	}
	for {
		n := 0
		err := db.write(ctx, doing, func(tx *sql.Tx) error {
			n, err = db.pruneSome(ctx, tx, before)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += n
		if n == 0 {
			break
		}
	}
	if removed == 0 || db.dialect.shrink == "" {
		return removed, nil
	}
	_, err = db.sql.ExecContext(ctx, db.dialect.shrink)
	return removed, db.explain("give the room of old runs back", err)
}

func (db *DB) pruneSome(ctx context.Context, tx *sql.Tx, before int64) (int, error) {
	rows, err := tx.QueryContext(ctx, db.query(fmt.Sprintf(`SELECT seq, at FROM runs WHERE at < $1 AND id NOT IN (SELECT run FROM notes)
		AND seq <> (SELECT seq FROM runs ORDER BY at DESC, seq DESC LIMIT 1) ORDER BY at, seq LIMIT %d`, pruneBatch)), before)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var seqs []int64
	var last int64
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq, &last); err != nil {
			return 0, err
		}
		seqs = append(seqs, seq)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(seqs) == 0 {
		return 0, err
	}
	var c conditions
	list := c.list(seqs)
	for _, query := range []string{
		fmt.Sprintf(`DELETE FROM points WHERE series IN (SELECT id FROM series) AND at <= %d AND run IN %s`, last, list),
		`DELETE FROM documents WHERE run IN ` + list,
		`DELETE FROM runs WHERE seq IN ` + list,
	} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return 0, err
		}
	}
	return len(seqs), nil
}

// Mark returns what was last remembered under a name; "": nothing was.
func (db *DB) Mark(ctx context.Context, name string) (value string, err error) {
	err = db.sql.QueryRowContext(ctx, db.query(`SELECT value FROM marks WHERE name = $1`), name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, db.explain("read a mark", err)
}

// SetMark remembers a value under a name.
func (db *DB) SetMark(ctx context.Context, name, value string) error {
	return db.write(ctx, "store a mark", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, db.query(`INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`), name, value)
		return err
	})
}
