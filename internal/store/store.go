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
	"strings"
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

// names gives every text that many rows have a number. Texts never change: what is known stays true.
type names struct {
	mu sync.RWMutex
	of map[int64]string
	id map[string]int64
}

// querier is what a database and its transactions have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// number returns the number of a text, which it stores if it is new. Others know of new ones only once
// the transaction has ended.
func (in *ingest) number(ctx context.Context, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	text = bounded(text)
	if id, ok := in.db.known(text); ok {
		return id, nil
	}
	if id, ok := in.texts[text]; ok {
		return id, nil
	}
	if err := in.exec(ctx, `INSERT INTO texts (text) VALUES ($1) ON CONFLICT (text) DO NOTHING`, text); err != nil {
		return 0, err
	}
	var id int64
	if err := in.get(ctx, `SELECT id FROM texts WHERE text = $1`, []any{text}, &id); err != nil {
		return 0, err
	}
	in.texts[text] = id
	return id, nil
}

func (db *DB) known(text string) (int64, bool) {
	db.names.mu.RLock()
	defer db.names.mu.RUnlock()
	id, ok := db.names.id[text]
	return id, ok
}

func (db *DB) learn(fresh map[string]int64) {
	db.names.mu.Lock()
	defer db.names.mu.Unlock()
	if db.names.of == nil {
		db.names.of, db.names.id = map[int64]string{}, map[string]int64{}
	}
	for text, id := range fresh {
		db.names.of[id], db.names.id[text] = text, id
	}
}

// texts makes sure that the names of all texts that are committed are known.
func (db *DB) texts(ctx context.Context) error {
	rows, err := db.sql.QueryContext(ctx, `SELECT id, text FROM texts`)
	if err != nil {
		return err
	}
	defer rows.Close()
	fresh := map[string]int64{}
	for rows.Next() {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		fresh[text] = id
	}
	db.learn(fresh)
	return rows.Err()
}

// lookup returns the number of a text; -1: nothing in the history has it.
func (db *DB) lookup(ctx context.Context, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	text = bounded(text)
	if id, ok := db.known(text); ok {
		return id, nil
	}
	var id int64
	err := db.sql.QueryRowContext(ctx, db.query(`SELECT id FROM texts WHERE text = $1`), text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return -1, nil
	}
	return id, err
}

// text returns the text of a number.
func (db *DB) text(ctx context.Context, id int64) (string, error) {
	if id == 0 {
		return "", nil
	}
	for range 2 {
		db.names.mu.RLock()
		text, ok := db.names.of[id]
		db.names.mu.RUnlock()
		if ok {
			return text, nil
		}
		if err := db.texts(ctx); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("it names text %d, which is not there", id)
}

// bounded makes a name fit for any database and any screen: a report may hold what is neither.
func bounded(name string) string {
	name = strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), "\x00", "\u2400")
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName-20], "") + "…" + digestOf([]byte(name))[:16]
	}
	return name
}

const maxName = 500 // bytes: an index of PostgreSQL takes at most 2,700
