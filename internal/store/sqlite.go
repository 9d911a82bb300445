package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks a file of SQLite as a history of pawl: "pawl".
const applicationID = 0x7061776c

// openSQLite opens a file. Writers wait up to ten seconds for each other; readers never wait.
func openSQLite(ctx context.Context, file string) (*DB, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("open the history %s: %w", file, err)
	}
	address := url.URL{Scheme: "file", Path: abs, RawQuery: url.Values{
		"_busy_timeout": {"10000"}, // milliseconds
		"_pragma":       {"page_size(16384)", "cache_size(-16384)"},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"NORMAL"},
		"_txlock":       {"immediate"}, // a transaction that reads first could not write after another's write
	}.Encode()}
	handle, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, fmt.Errorf("open the history %s: %w", file, err)
	}
	handle.SetMaxOpenConns(8) // each has a cache of its own
	return open(ctx, &DB{sql: handle, dialect: sqliteDialect, where: file})
}

var sqliteDialect = dialect{
	types:   strings.NewReplacer("{serial}", "INTEGER PRIMARY KEY", "{never again}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{key}", "INTEGER PRIMARY KEY", "{bytes}", "BLOB", "{real}", "REAL", "{c}", "", "{clustered}", "WITHOUT ROWID"),
	rewrite: func(query string) string { return strings.ReplaceAll(query, "$", "?") },
	again: func(err error) bool {
		code := sqliteCode(err)
		return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
	},
	lockSchema: func(context.Context, querier) error { return nil }, // the transaction is the only writer
	version: func(ctx context.Context, q querier) (version int, err error) {
		var id, tables int
		err = q.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),
			(SELECT count(*) FROM sqlite_master)`).Scan(&version, &id, &tables)
		if err == nil && tables > 0 && id != applicationID {
			err = errForeign
		}
		return version, err
	},
	setVersion: func(ctx context.Context, tx querier, version int) error {
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version))
		return err
	},
	shrink: `VACUUM`,
	remedy: func(db *DB, err error) string {
		switch sqliteCode(err) {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return rebuildHint(db.where)
		case sqlite3.SQLITE_FULL:
			return "the disk is full: make room, then pawl history import .pawl/runs adds what is missing"
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			return "it must be a file that this user may write, in a folder that this user may write"
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return "another process holds it for long; pawl history import .pawl/runs adds what is missing"
		case sqlite3.SQLITE_IOERR:
			return "the disk does not take it: make room or mend it, then pawl history import .pawl/runs adds what is missing"
		}
		return ""
	},
}

// sqliteCode returns the primary code of an error of SQLite; 0: it is none.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

func rebuildHint(file string) string {
	return fmt.Sprintf("move %s and its -wal and -shm away; pawl history import .pawl/runs makes it anew from the reports", file)
}
