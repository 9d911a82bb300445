package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/klauspost/compress/zstd"

	"pawl/internal/result"
)

// codecs compress and decompress skeletons with dictionaries. The report of a run is mostly that of the
// run before: with that as a dictionary it takes a tenth. A dictionary is the skeleton of an earlier
// report of the same kind on the same class of devices. Number 0 is none.
type codecs struct {
	mu       sync.Mutex
	current  map[string]int64 // by kind and class: the one for new reports
	encoders map[int64]*zstd.Encoder
	decoders map[int64]*zstd.Decoder
}

const (
	maxSkeleton   = 1 << 30 // decompressed
	maxDictionary = 256 << 10
	minDictionary = 256
	keptCodecs    = 16 // each takes megabytes

	// A skeleton that its dictionary does not help to make smaller than this is the next dictionary:
	// the machine, the project or pawl has changed. There is a bound for each kind and class.
	worthNew        = 6
	maxDictionaries = 32
)

// encoder returns the encoder of a dictionary. A dictionary of a transaction that has not ended is
// known to that alone: if it does not come about, another one gets its number.
func (in *ingest) encoder(ctx context.Context, dict int64) (*zstd.Encoder, error) {
	c := &in.db.codecs
	c.mu.Lock()
	made := c.encoders[dict]
	c.mu.Unlock()
	if made == nil {
		made = in.encoders[dict]
	}
	if made != nil {
		return made, nil
	}
	// This level saves a thirtieth of the room over the fastest. Before each skeleton an encoder copies its tables of the
	// dictionary, and those of the level have megabytes: that is a third of the work of storing a run.
	options := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithLowerEncoderMem(true)}
	if dict != 0 {
		data, err := in.db.dictionary(ctx, in.tx, dict)
		if err != nil {
			return nil, err
		}
		options = append(options, zstd.WithEncoderDictRaw(uint32(dict), data))
	}
	made, err := zstd.NewWriter(nil, options...)
	if err == nil {
		in.encoders[dict] = made
	}
	return made, err
}

// learn keeps what a transaction that has ended had to make.
func (c *codecs) learn(in *ingest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil || len(c.encoders)+len(in.encoders) > keptCodecs {
		c.current, c.encoders = map[string]int64{}, map[int64]*zstd.Encoder{}
	}
	maps.Copy(c.current, in.current)
	maps.Copy(c.encoders, in.encoders)
}

func (db *DB) decoder(ctx context.Context, q querier, dict int64) (*zstd.Decoder, error) {
	c := &db.codecs
	c.mu.Lock()
	made := c.decoders[dict]
	c.mu.Unlock()
	if made != nil {
		return made, nil
	}
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSkeleton)}
	if dict != 0 {
		data, err := db.dictionary(ctx, q, dict)
		if err != nil {
			return nil, err
		}
		options = append(options, zstd.WithDecoderDictRaw(uint32(dict), data))
	}
	made, err := zstd.NewReader(nil, options...)
	if err != nil {
		return nil, err
	}
	if _, inside := q.(*sql.Tx); inside { // the dictionary may be as young as the transaction
		return made, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.decoders == nil || len(c.decoders) >= keptCodecs {
		c.decoders = map[int64]*zstd.Decoder{}
	}
	c.decoders[dict] = made
	return made, nil
}

func (db *DB) dictionary(ctx context.Context, q querier, dict int64) (data []byte, err error) {
	err = q.QueryRowContext(ctx, db.query(`SELECT data FROM dictionaries WHERE id = $1`), dict).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("its dictionary %d is missing", dict)
	}
	return data, err
}

// document stores the JSON of a run.
func (in *ingest) document(ctx context.Context, seq int64, p *prepared) error {
	name := bounded(string(p.run.Kind) + " " + p.run.Class)
	dict, err := in.dictionaryFor(ctx, name)
	if err != nil {
		return err
	}
	packed, err := in.compress(ctx, dict, p.skeleton)
	if err != nil {
		return err
	}
	if len(packed) > len(p.skeleton)/worthNew && len(p.skeleton) >= minDictionary && len(p.skeleton) <= maxDictionary {
		next, err := in.addDictionary(ctx, name, p.skeleton)
		if err != nil {
			return err
		}
		if next != 0 {
			dict = next
			if packed, err = in.compress(ctx, dict, p.skeleton); err != nil {
				return err
			}
		}
	}
	return in.exec(ctx, `INSERT INTO documents (run, dict, data) VALUES ($1, $2, $3)`, seq, dict, joinParts(packed, p.numbers))
}

func (in *ingest) compress(ctx context.Context, dict int64, skeleton []byte) ([]byte, error) {
	encoder, err := in.encoder(ctx, dict)
	if err != nil {
		return nil, err
	}
	return encoder.EncodeAll(skeleton, nil), nil
}

// dictionaryFor returns the newest dictionary of a name; 0: there is none.
func (in *ingest) dictionaryFor(ctx context.Context, name string) (int64, error) {
	if dict, ok := in.current[name]; ok {
		return dict, nil
	}
	c := &in.db.codecs
	c.mu.Lock()
	dict, ok := c.current[name]
	c.mu.Unlock()
	if ok {
		return dict, nil
	}
	err := in.tx.QueryRowContext(ctx, in.db.query(`SELECT coalesce(max(id), 0) FROM dictionaries WHERE name = $1`), name).Scan(&dict)
	in.current[name] = dict
	return dict, err
}

// addDictionary makes a skeleton the newest dictionary of a name; 0: there are enough.
func (in *ingest) addDictionary(ctx context.Context, name string, skeleton []byte) (id int64, err error) {
	var count int
	if err := in.tx.QueryRowContext(ctx, in.db.query(`SELECT count(*) FROM dictionaries WHERE name = $1`), name).Scan(&count); err != nil || count >= maxDictionaries {
		return 0, err
	}
	err = in.tx.QueryRowContext(ctx, in.db.query(`INSERT INTO dictionaries (name, data) VALUES ($1, $2) RETURNING id`), name, skeleton).Scan(&id)
	in.current[name] = id
	return id, err
}

// readDocument returns the JSON of a report.
func (db *DB) readDocument(ctx context.Context, q querier, id string) ([]byte, error) {
	var dict int64
	var data []byte
	err := q.QueryRowContext(ctx, db.query(`SELECT dict, data FROM documents WHERE run = (SELECT seq FROM runs WHERE id = $1)`), id).Scan(&dict, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, db.noRun(id)
	}
	if err != nil {
		return nil, err
	}
	decoder, err := db.decoder(ctx, q, dict)
	if err != nil {
		return nil, fmt.Errorf("the report of run %s is damaged: %w", id, err)
	}
	packed, numbers, err := cutParts(data)
	if err == nil {
		var skeleton []byte
		if skeleton, err = decoder.DecodeAll(packed, nil); err == nil {
			skeleton, err = join(skeleton, numbers)
		}
		if err == nil {
			return skeleton, nil
		}
	}
	return nil, fmt.Errorf("the report of run %s is damaged: %w", id, err)
}

// ErrNoRun means that the history has no such run.
var ErrNoRun = errors.New("no such run")

func (db *DB) noRun(id string) error {
	return fmt.Errorf("run %.40s: %w in the history (%s)", id, ErrNoRun, db.where)
}

// Document returns the report of a run as JSON, in one line.
func (db *DB) Document(ctx context.Context, id string) ([]byte, error) {
	json, err := db.readDocument(ctx, db.sql, id)
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
