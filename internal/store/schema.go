package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// migration is what brings a history from one version to the next. Words in braces are types, which
// the dialects have different names for.
type migration string

// migrations begins with what makes version 1 of an empty database. An entry never changes once it
// was released: histories of that version are out there, and testdata has one of each.
var migrations = []migration{`
CREATE TABLE texts (
	id   {serial},
	text TEXT NOT NULL UNIQUE
);
CREATE TABLE series (
	id     {serial},
	kernel BIGINT NOT NULL,
	config BIGINT NOT NULL,
	class  BIGINT NOT NULL,
	UNIQUE (kernel, config, class)
);
CREATE TABLE runs (
	seq      {never again},
	id       TEXT NOT NULL UNIQUE {c},
	kind     BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	took     BIGINT NOT NULL,
	sha      {bytes},
	base     {bytes},
	flags    BIGINT NOT NULL,
	branch   BIGINT NOT NULL,
	pull     BIGINT NOT NULL,
	class    BIGINT NOT NULL,
	machine  BIGINT NOT NULL,
	outcome  BIGINT NOT NULL,
	tool     BIGINT NOT NULL,
	rows     BIGINT NOT NULL
);
CREATE INDEX runs_at ON runs (at);
CREATE TABLE points (
	series    BIGINT NOT NULL,
	at        BIGINT NOT NULL,
	run       BIGINT NOT NULL,
	n         BIGINT NOT NULL,
	kind      BIGINT NOT NULL,
	flags     BIGINT NOT NULL,
	verdict   BIGINT NOT NULL,
	data      {bytes} NOT NULL,
	PRIMARY KEY (series, at, run, n)
) {clustered};
CREATE TABLE dictionaries (
	id   {serial},
	name TEXT NOT NULL,
	data {bytes} NOT NULL
);
CREATE TABLE documents (
	run  {key},
	dict BIGINT NOT NULL,
	data {bytes} NOT NULL
);
CREATE TABLE notes (
	id     {serial},
	run    TEXT NOT NULL {c},
	kernel TEXT NOT NULL,
	config TEXT NOT NULL,
	kind   TEXT NOT NULL,
	at     BIGINT NOT NULL,
	author TEXT NOT NULL,
	text   TEXT NOT NULL
);
CREATE INDEX notes_run ON notes (run);
CREATE TABLE marks (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
);
`, `
CREATE INDEX runs_sha ON runs (substr(sha, 1, 4));
`}

// newerError says that a newer pawl has changed the history.
type newerError struct{ have, want int }

func (e *newerError) Error() string {
	return fmt.Sprintf("a newer pawl has made it: it is of version %d, and this pawl knows %d", e.have, e.want)
}

// foreignError says that a database holds something else than a history.
var errForeign = errors.New("it holds other tables, and no history of pawl")

// migrate brings the history up to date, each version in a transaction of its own. Processes that do
// it at the same time wait for each other.
func (db *DB) migrate(ctx context.Context, steps []migration) error {
	for {
		// Looking takes no lock: nearly always there is nothing to do.
		have, err := db.version(ctx, db.sql)
		if err != nil {
			return err
		}
		if have == len(steps) {
			return nil
		}
		if have > len(steps) {
			return &newerError{have, len(steps)}
		}
		for try := range writeTries {
			if err = db.step(ctx, steps); err == nil || !db.dialect.again(err) {
				break
			}
			if err := pause(ctx, try); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// step does the next migration, if another process has not done it meanwhile.
func (db *DB) step(ctx context.Context, steps []migration) error {
	return db.attempt(ctx, func(tx *sql.Tx) error {
		if err := db.dialect.lockSchema(ctx, tx); err != nil {
			return err
		}
		have, err := db.version(ctx, tx)
		if err != nil || have >= len(steps) {
			return err
		}
		if _, err := tx.ExecContext(ctx, db.dialect.types.Replace(string(steps[have]))); err != nil {
			return fmt.Errorf("bring it to version %d: %w", have+1, err)
		}
		return db.dialect.setVersion(ctx, tx, have+1)
	})
}
