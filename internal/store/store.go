// Package store keeps the history of runs in SQLite or PostgreSQL. It is given Reports, and it is
// the only room that knows SQL.
//
// Of every run it has a Run and a Row for each kernel and config, which are what lists and pictures
// are made of, and the whole Report, compressed, which Document gives back with every number that
// it had. A run is stored whole or not at all, and once: Add of the same report changes nothing.
//
// Several processes may use one history at the same time, for reading and for writing.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// ErrNone means that there is no history yet. Only Open without Create returns it.
var ErrNone = errors.New("there is no history yet")

// Place says where a history lies.
type Place struct {
	File string // of SQLite
	URL  string // of PostgreSQL, with its password; then File is not used
}

// In says where the history of the project lies whose .pawl folder is home. address is that of a
// database for several projects or machines; "": none is set.
func In(home, address string) Place {
	if address != "" {
		return Place{URL: address}
	}
	return Place{File: filepath.Join(home, "history.db")}
}

// DB is an open history.
type DB struct {
	sql     *sql.DB
	dialect dialect
	where   string // for messages: never with a password
	secrets []string
	names   names
	runs    runs
	codecs  codecs
	watch   watch
	stmts   sync.Map // prepared, by their text
	series  sync.Map // numbers of series, by those of their names
	listed  listed

	frozen error       // why nothing can be written; nil: it can
	still  os.FileInfo // of a frozen history, when it was opened
}

// Mode says what is done where there is no history.
type Mode int

// The modes.
const (
	Read   Mode = iota // it must be there
	Create             // it is made
)

// Open opens a history, and brings an older one up to date.
func Open(ctx context.Context, place Place, mode Mode) (*DB, error) {
	if place.URL != "" {
		return openPostgres(ctx, place.URL)
	}
	if _, err := os.Stat(place.File); errors.Is(err, fs.ErrNotExist) && mode == Read {
		return nil, fmt.Errorf("open %s: %w", place.File, ErrNone)
	}
	return openSQLite(ctx, place.File)
}

// Close closes the history.
func (db *DB) Close() {
	db.watch.close()
	_ = db.sql.Close()
}

// Frozen returns why the history takes nothing: it was opened where nothing can be written, and is read as it is; nil:
// it can be written.
func (db *DB) Frozen() error { return db.frozen }

// Where says where the history lies: a file, or the host and the name of a database.
func (db *DB) Where() string { return db.where }

// query writes the SQL of this dialect.
func (db *DB) query(text string) string { return db.dialect.rewrite(text) }

// prepared returns a statement that is parsed once for each connection: what stores runs is short, and
// parsing takes as long as doing it.
func (db *DB) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	if made, ok := db.stmts.Load(text); ok {
		return made.(*sql.Stmt), nil
	}
	made, err := db.sql.PrepareContext(ctx, db.query(text))
	if err != nil {
		return nil, err
	}
	if other, there := db.stmts.LoadOrStore(text, made); there {
		_ = made.Close()
		return other.(*sql.Stmt), nil
	}
	return made, nil
}

// write runs a transaction. One that another writer has got in the way of begins again.
func (db *DB) write(ctx context.Context, doing string, do func(*sql.Tx) error) error {
	if db.frozen != nil {
		return db.frozen
	}
	var err error
	for try := range writeTries {
		if err = db.attempt(ctx, do); err == nil || !db.dialect.again(err) {
			break
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
	return db.explain(doing, err)
}

func (db *DB) attempt(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// runs are those that points were read of, by their numbers. Nobody may change them.
type runs struct {
	mu sync.Mutex
	of map[int64]*Run
}

// querier is what a database and its transactions have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}
