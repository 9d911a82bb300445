package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync"

	"pawl/internal/diag"
)

// watch holds the connection that Stamp asks on.
type watch struct {
	mu   sync.Mutex
	conn *sql.Conn
	file os.FileInfo // of the history, when it was first looked at
}

// Stamp returns a text that changes whenever the history does, whoever changes it. It is quick: what is
// made of the history can be kept until its stamp is another one.
func (db *DB) Stamp(ctx context.Context) (string, error) {
	stamp, err := db.stamp(ctx)
	return stamp, db.explain("look whether the history has changed", err)
}

func (db *DB) stamp(ctx context.Context) (string, error) {
	if db.dialect.stamp != "" {
		var a, b, c, d int64
		err := db.sql.QueryRowContext(ctx, db.dialect.stamp).Scan(&a, &b, &c, &d)
		return fmt.Sprintf("%d.%d.%d.%d", a, b, c, d), err
	}
	if err := db.replaced(); err != nil {
		return "", err
	}
	if db.frozen != nil {
		return "frozen", db.thawed()
	}
	// SQLite counts the changes that a connection sees others make: one that is asked nothing else
	// sees all of them.
	w := &db.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == nil {
		conn, err := db.sql.Conn(ctx)
		if err != nil {
			return "", err
		}
		w.conn = conn
	}
	var version int64
	if err := w.conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version); err != nil {
		w.conn.Close()
		w.conn = nil
		return "", err
	}
	return fmt.Sprintf("%d", version), nil
}

// replaced reports that the file of the history is not the one that is open: what was moved away or removed is still
// read, and never changes again.
func (db *DB) replaced() error {
	w := &db.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	now, err := os.Stat(db.where)
	if err == nil && w.file == nil {
		w.file = now
	}
	if err != nil || !os.SameFile(now, w.file) {
		return &diag.Problem{Message: fmt.Sprintf("the history %s was removed or replaced while it was open", db.where), Hint: "start this command again: it opens the file that is there now"}
	}
	return nil
}

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		w.conn.Close()
		w.conn = nil
	}
}
