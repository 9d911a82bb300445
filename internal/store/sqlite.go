package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"pawl/internal/diag"
)

// applicationID marks a file of SQLite as a history of pawl: "pawl".
const applicationID = 0x7061776c

// openSQLite opens a file. Writers wait up to ten seconds for each other; readers never wait. Where nothing can be
// written, on a full disk or in somebody else's folder, what is there is read as it is, if the file has it whole.
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
	db, err := openFile(ctx, file, address)
	if err == nil {
		return db, nil
	}
	explained := db.explain("open the history", err)
	before := stillOf(file)
	if before == nil || !slices.Contains(cannotWrite, sqliteCode(err)) {
		return nil, explained
	}
	address.RawQuery = url.Values{"immutable": {"1"}, "_pragma": {"cache_size(-16384)"}}.Encode()
	if db, err = openFile(ctx, file, address); err != nil {
		return nil, explained
	}
	db.frozen, db.still = explained, before
	return db, nil
}

// cannotWrite are the errors of a place that takes nothing: even a reader of SQLite makes files beside the history.
var cannotWrite = []int{sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}

// openFile returns the history in a file. With an error it has a DB, too, to explain it.
func openFile(ctx context.Context, file string, address url.URL) (*DB, error) {
	db := &DB{dialect: sqliteDialect, where: file}
	var err error
	if db.sql, err = sql.Open("sqlite", address.String()); err != nil {
		return db, err
	}
	db.sql.SetMaxOpenConns(8) // each has a cache of its own
	if err := db.migrate(ctx, migrations); err != nil {
		_ = db.sql.Close()
		return db, err
	}
	return db, nil
}

// stillOf returns the state of a history that the file alone has whole; nil: some of it is in a file beside it, which
// somebody writes or was interrupted at.
func stillOf(file string) os.FileInfo {
	for _, ending := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(file + ending); !errors.Is(err, fs.ErrNotExist) && (err != nil || info.Size() > 0) {
			return nil
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	return info
}

// thawed reports that a history that was opened as it was has been written since: what is read of it may be of two
// states.
func (db *DB) thawed() error {
	if now := stillOf(db.where); now != nil && now.Size() == db.still.Size() && now.ModTime().Equal(db.still.ModTime()) {
		return nil
	}
	return &diag.Problem{
		Message: fmt.Sprintf("the history %s was written, and is open as it was when it could not be", db.where), Hint: "start this command again: it opens the history as it is now",
	}
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
