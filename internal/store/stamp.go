package store

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// watch holds the connection that Stamp asks on.
type watch struct {
	mu   sync.Mutex
	conn *sql.Conn
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

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		w.conn.Close()
		w.conn = nil
	}
}
