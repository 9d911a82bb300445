package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"pawl/internal/diag"
	"pawl/internal/result"
)

// Entry is a report that is to be stored.
type Entry struct {
	Report *result.Report
	Raw    []byte // its JSON, as it was written; nil: as Encode writes it
}

// Add stores reports, all or none, and says how many of them were new. A report that is there
// already changes nothing; a different one of the same ID is an error.
func (db *DB) Add(ctx context.Context, entries ...Entry) (added int, err error) {
	prepared := make([]*prepared, len(entries))
	for i, e := range entries {
		if prepared[i], err = prepare(e); err != nil {
			return 0, err
		}
	}
	var in *ingest
	err = db.write(ctx, "store the run", func(tx *sql.Tx) error {
		added, in = 0, &ingest{db: db, tx: tx, texts: map[string]int64{}, newSeries: map[[3]int64]int64{}, current: map[string]int64{}, encoders: map[int64]*zstd.Encoder{}}
		for _, p := range prepared {
			is, err := in.add(ctx, p)
			if err != nil {
				return err
			}
			if is {
				added++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	db.learn(in.texts)
	for key, id := range in.newSeries {
		db.series.Store(key, id)
	}
	db.codecs.learn(in)
	return added, nil
}

// ingest is a transaction that stores reports, and what it had to make for that.
type ingest struct {
	db        *DB
	tx        *sql.Tx
	texts     map[string]int64
	newSeries map[[3]int64]int64
	current   map[string]int64 // dictionaries, by name
	encoders  map[int64]*zstd.Encoder
}

func (in *ingest) exec(ctx context.Context, query string, values ...any) error {
	stmt, err := in.db.prepared(ctx, query)
	if err == nil {
		_, err = in.tx.StmtContext(ctx, stmt).ExecContext(ctx, values...)
	}
	return err
}

// get reads the only row of an answer.
func (in *ingest) get(ctx context.Context, query string, values []any, into ...any) error {
	stmt, err := in.db.prepared(ctx, query)
	if err == nil {
		err = in.tx.StmtContext(ctx, stmt).QueryRowContext(ctx, values...).Scan(into...)
	}
	return err
}

// prepared is a report with all that is stored of it.
type prepared struct {
	run  *Run
	rows []*Row
	json []byte // compact

	skeleton, numbers []byte // of the JSON
}

func prepare(e Entry) (*prepared, error) {
	if !goodID.MatchString(e.Report.ID) {
		return nil, &diag.Problem{Message: fmt.Sprintf("store the run: its ID is %.40q", e.Report.ID), Hint: "expected at most 128 letters, digits, dots, dashes and underscores: was the report changed by hand?"}
	}
	raw := e.Raw
	if raw == nil {
		var err error
		if raw, err = e.Report.Encode(); err != nil {
			return nil, fmt.Errorf("store the run: encode the report: %w", err)
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, fmt.Errorf("store the run: %w", err)
	}
	p := &prepared{run: runOf(e.Report), rows: rowsOf(e.Report), json: compact.Bytes()}
	p.skeleton, p.numbers = split(p.json)
	if again, err := join(p.skeleton, p.numbers); err != nil || !bytes.Equal(again, p.json) {
		p.skeleton, p.numbers = p.json, nil // larger, and right
	}
	return p, nil
}

// add stores one report, unless it is there.
func (in *ingest) add(ctx context.Context, p *prepared) (bool, error) {
	r := p.run
	numbers := map[string]int64{}
	number := func(text string) int64 {
		return numbers[text]
	}
	texts := []string{string(r.Kind), r.Branch, r.Class, r.Machine, string(r.Outcome), r.Tool}
	for _, row := range p.rows {
		texts = append(texts, row.Kernel, row.Config, row.Class, string(row.Verdict), string(row.Fault), row.Identity)
		if row.Best != nil {
			texts = append(texts, row.Best.Commit)
		}
	}
	for _, text := range texts {
		id, err := in.number(ctx, text)
		if err != nil {
			return false, err
		}
		numbers[text] = id
	}
	flags := flagsOf(r)
	var seq int64
	err := in.get(ctx, `INSERT INTO runs (id, kind, at, took, sha, base, flags, branch, pull, class, machine, outcome, tool, rows)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (id) DO NOTHING RETURNING seq`, []any{
		r.ID, number(string(r.Kind)), r.Started.UnixMilli(), r.Finished.Sub(r.Started).Milliseconds(), shaBytes(r.Commit), shaBytes(r.Base), flags, number(r.Branch), r.Pull,
		number(r.Class), number(r.Machine), number(string(r.Outcome)), number(r.Tool), r.Rows,
	}, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		return false, in.db.same(ctx, in.tx, p)
	}
	if err != nil {
		return false, err
	}
	for _, row := range p.rows {
		series, err := in.series(ctx, number(row.Kernel), number(row.Config), number(row.Class))
		if err != nil {
			return false, err
		}
		values := rowValues{Row: row, fault: number(string(row.Fault)), identity: number(row.Identity)}
		if row.Best != nil {
			values.best = number(row.Best.Commit)
		}
		if err := in.exec(ctx, `INSERT INTO points (series, at, run, n, kind, flags, verdict, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			series, r.Started.UnixMilli(), seq, row.N, number(string(r.Kind)), flags, number(string(row.Verdict)), values.encode()); err != nil {
			return false, err
		}
	}
	return true, in.document(ctx, seq, p)
}

// series returns the number of a series, which it makes if it is new.
func (in *ingest) series(ctx context.Context, kernel, config, class int64) (id int64, err error) {
	key := [3]int64{kernel, config, class}
	if known, ok := in.db.series.Load(key); ok {
		return known.(int64), nil
	}
	if id, ok := in.newSeries[key]; ok {
		return id, nil
	}
	if err := in.exec(ctx, `INSERT INTO series (kernel, config, class) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, kernel, config, class); err != nil {
		return 0, err
	}
	err = in.get(ctx, `SELECT id FROM series WHERE kernel = $1 AND config = $2 AND class = $3`, []any{kernel, config, class}, &id)
	in.newSeries[key] = id
	return id, err
}

// same makes sure that a report that is there is the one that is to be stored.
func (db *DB) same(ctx context.Context, tx *sql.Tx, p *prepared) error {
	stored, err := db.readDocument(ctx, tx, p.run.ID)
	if err != nil || equalJSON(stored, p.json) {
		return err
	}
	if equalJSON(stored, p.json, "origin") {
		return &diag.Problem{
			Message: fmt.Sprintf("store the run: the history (%s) has run %s already, as a run of another branch or pull request", db.where, p.run.ID),
			Hint:    "import it with the --pull that it was imported with; pawl history list shows what it is a run of",
		}
	}
	return &diag.Problem{
		Message: fmt.Sprintf("store the run: the history (%s) has run %s already, with another report", db.where, p.run.ID),
		Hint:    "one of the two was changed after its run; pawl history show " + p.run.ID + " --json prints the one that is stored",
	}
}
