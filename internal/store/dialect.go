package store

import (
	"context"
	"strings"
	"time"
)

// dialect is what differs between the databases.
type dialect struct {
	types      *strings.Replacer // of migrations
	rewrite    func(query string) string
	again      func(err error) bool // another writer got in the way
	lockSchema func(ctx context.Context, tx querier) error
	version    func(ctx context.Context, q querier) (int, error)
	setVersion func(ctx context.Context, tx querier, version int) error
	shrink     string                         // gives room back to the disk; "": the database does that itself
	remedy     func(db *DB, err error) string // what to do about an error; "": nothing is known
	stamp      string                         // a query for four numbers, which change when the history does; "": ask Stamp's connection
}

const writeTries = 8

// pause waits before a transaction begins again.
func pause(ctx context.Context, try int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(10<<try) * time.Millisecond):
		return nil
	}
}

func (db *DB) version(ctx context.Context, q querier) (int, error) { return db.dialect.version(ctx, q) }
