package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"pawl/internal/result"
)

// codecs compress and decompress documents.
type codecs struct {
	once    sync.Once
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	err     error
}

const maxDocument = 1 << 30 // decompressed

func (c *codecs) open() error {
	c.once.Do(func() {
		if c.encoder, c.err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); c.err == nil {
			c.decoder, c.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDocument))
		}
	})
	return c.err
}

func (c *codecs) close() {
	if c.decoder != nil {
		c.decoder.Close()
	}
}

func (db *DB) putDocument(ctx context.Context, tx *sql.Tx, seq int64, _ *Run, json []byte) error {
	if err := db.codecs.open(); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, db.query(`INSERT INTO documents (run, dict, data) VALUES ($1, $2, $3)`), seq, 0, db.codecs.encoder.EncodeAll(json, nil))
	return err
}

// document returns the JSON of a report.
func (db *DB) document(ctx context.Context, q querier, id string) ([]byte, error) {
	var dict int64
	var data []byte
	err := q.QueryRowContext(ctx, db.query(`SELECT dict, data FROM documents WHERE run = (SELECT seq FROM runs WHERE id = $1)`), id).Scan(&dict, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, db.noRun(id)
	}
	if err != nil {
		return nil, err
	}
	if err := db.codecs.open(); err != nil {
		return nil, err
	}
	json, err := db.codecs.decoder.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("the report of run %s is damaged: %w", id, err)
	}
	return json, nil
}

// ErrNoRun means that the history has no such run.
var ErrNoRun = errors.New("no such run")

func (db *DB) noRun(id string) error {
	return fmt.Errorf("run %s: %w in the history (%s)", id, ErrNoRun, db.where)
}

// Document returns the report of a run as JSON, in one line.
func (db *DB) Document(ctx context.Context, id string) ([]byte, error) {
	json, err := db.document(ctx, db.sql, id)
	if err != nil && !errors.Is(err, ErrNoRun) {
		err = db.explain("read run "+id, err)
	}
	return json, err
}

// Report returns the report of a run.
func (db *DB) Report(ctx context.Context, id string) (*result.Report, error) {
	json, err := db.Document(ctx, id)
	if err != nil {
		return nil, err
	}
	return result.Decode(json)
}
