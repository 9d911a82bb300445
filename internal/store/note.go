package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/diag"
)

// AddNote stores a note about a run of the history, and returns it with its number.
func (db *DB) AddNote(ctx context.Context, n Note) (Note, error) {
	if !slices.Contains(NoteKinds, n.Kind) {
		return n, &diag.Problem{Message: fmt.Sprintf("note: %q is no kind of note", n.Kind), Hint: "expected note, ack or invalid"}
	}
	if len(n.Text) > maxNote {
		return n, &diag.Problem{Message: fmt.Sprintf("note: its text has %d bytes", len(n.Text)), Hint: fmt.Sprintf("expected at most %d", maxNote)}
	}
	n.Text = strings.ReplaceAll(strings.ToValidUTF8(n.Text, "\uFFFD"), "\x00", "\u2400")
	n.Author, n.Kernel, n.Config = bounded(n.Author), bounded(n.Kernel), bounded(n.Config)
	n.At = millis(n.At)
	err := db.write(ctx, "store the note", func(tx *sql.Tx) error {
		var there int
		if err := tx.QueryRowContext(ctx, db.query(`SELECT count(*) FROM runs WHERE id = $1`), n.Run).Scan(&there); err != nil {
			return err
		}
		if there == 0 {
			return &diag.Problem{Message: fmt.Sprintf("note: run %.40s is not in the history (%s)", n.Run, db.where), Hint: "pawl history list shows the runs"}
		}
		return tx.QueryRowContext(ctx, db.query(`INSERT INTO notes (run, kernel, config, kind, at, author, text) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`),
			n.Run, n.Kernel, n.Config, string(n.Kind), n.At.UnixMilli(), n.Author, n.Text).Scan(&n.ID)
	})
	return n, err
}

const maxNote = 10_000

// RemoveNote removes a note, and says whether it was there.
func (db *DB) RemoveNote(ctx context.Context, id int64) (was bool, err error) {
	err = db.write(ctx, "remove the note", func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, db.query(`DELETE FROM notes WHERE id = $1`), id)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		was = n > 0
		return err
	})
	return was, err
}

// Notes lists the notes about some runs, or about all, the oldest first.
func (db *DB) Notes(ctx context.Context, runs ...string) ([]Note, error) {
	var where conditions
	if len(runs) > 0 {
		var slots []string
		for _, id := range runs {
			slots = append(slots, where.slot())
			where.values = append(where.values, id)
		}
		where.terms = []string{`run IN (` + strings.Join(slots, ", ") + `)`}
	}
	rows, err := db.sql.QueryContext(ctx, db.query(`SELECT id, run, kernel, config, kind, at, author, text FROM notes `+where.text()+` ORDER BY id`), where.values...)
	if err != nil {
		return nil, db.explain("read the notes", err)
	}
	defer rows.Close()
	var notes []Note
	for rows.Next() {
		var n Note
		var at int64
		if err := rows.Scan(&n.ID, &n.Run, &n.Kernel, &n.Config, &n.Kind, &at, &n.Author, &n.Text); err != nil {
			return nil, db.explain("read the notes", err)
		}
		n.At = time.UnixMilli(at).UTC()
		notes = append(notes, n)
	}
	return notes, db.explain("read the notes", rows.Err())
}
