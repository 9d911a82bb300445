package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// names gives every text that many rows have a number. Texts never change: what is known stays true.
type names struct {
	mu sync.RWMutex
	of map[int64]string
	id map[string]int64
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

// know makes sure that the texts of these numbers are known, as far as they are there. Only those are read that are
// not: a long history has many, and a page needs few of them.
func (db *DB) know(ctx context.Context, ids []int64) error {
	var missing []int64
	db.names.mu.RLock()
	for _, id := range ids {
		if _, ok := db.names.of[id]; !ok && id != 0 {
			missing = append(missing, id)
		}
	}
	db.names.mu.RUnlock()
	slices.Sort(missing)
	for chunk := range slices.Chunk(slices.Compact(missing), mostNumbers) {
		if err := db.readTexts(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) readTexts(ctx context.Context, ids []int64) error {
	var where conditions
	where.add(`id IN ` + where.list(ids))
	rows, err := db.sql.QueryContext(ctx, db.query(`SELECT id, text FROM texts `+where.text()))
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

// named is the number of a text, and where the text goes.
type named struct {
	id int64
	to *string
}

// name puts the texts of numbers where they go.
func (db *DB) name(ctx context.Context, list []named) error {
	ids := make([]int64, len(list))
	for i, one := range list {
		ids[i] = one.id
	}
	if err := db.know(ctx, ids); err != nil {
		return err
	}
	db.names.mu.RLock()
	defer db.names.mu.RUnlock()
	for _, one := range list {
		text, ok := db.names.of[one.id]
		if !ok && one.id != 0 {
			return fmt.Errorf("it names text %d, which is not there", one.id)
		}
		*one.to = text
	}
	return nil
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
