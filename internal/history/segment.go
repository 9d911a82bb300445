package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/store"
)

// Runs travel as lines of JSON: each a report, or {"note": …}. A segment is such lines, compressed.

const (
	segmentEnding = ".jsonl.zst"
	maxSegment    = 512 << 20 // unpacked
	maxLine       = 128 << 20
)

// noteLine is a line that is a note.
type noteLine struct {
	Note *store.Note `json:"note"`
}

// parsed are the runs and notes of lines.
type parsed struct {
	entries []store.Entry
	notes   []store.Note
}

// parseLines reads lines of JSON. file is what errors name.
func parseLines(file string, text []byte) (*parsed, error) {
	got := &parsed{}
	for n := 1; len(text) > 0; n++ {
		raw, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		if raw = bytes.TrimSpace(raw); len(raw) == 0 {
			continue
		}
		fail := func(err error) error {
			return &diag.Problem{Pos: diag.Pos{File: file, Line: n}, Message: err.Error(), Hint: "expected lines of JSON as pawl history export writes them, each with a report or a note"}
		}
		if len(raw) > maxLine {
			return nil, fail(fmt.Errorf("the line has %d bytes; expected at most %d", len(raw), maxLine))
		}
		if bytes.HasPrefix(raw, []byte(`{"note":`)) {
			var line noteLine
			if err := json.Unmarshal(raw, &line); err != nil || line.Note == nil {
				return nil, fail(errors.Join(errors.New("this is no note"), err))
			}
			got.notes = append(got.notes, *line.Note)
			continue
		}
		report, err := result.Decode(raw)
		if err != nil {
			return nil, fail(err)
		}
		got.entries = append(got.entries, store.Entry{Report: report, Raw: raw})
	}
	return got, nil
}

// The codec of segments takes megabytes to make, and serves any number of callers.
var segmentCodec = sync.OnceValues(func() (codec struct {
	*zstd.Encoder
	*zstd.Decoder
}, err error,
) {
	// A window over the whole segment: runs of a project differ little.
	codec.Encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithWindowSize(8<<20))
	if err == nil {
		codec.Decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSegment))
	}
	return codec, err
})

func packLines(lines []byte) ([]byte, error) {
	codec, err := segmentCodec()
	if err != nil {
		return nil, err
	}
	return codec.EncodeAll(lines, nil), nil
}

func unpackLines(file string, packed []byte) ([]byte, error) {
	codec, err := segmentCodec()
	if err != nil {
		return nil, err
	}
	lines, err := codec.DecodeAll(packed, nil)
	if err != nil {
		return nil, &diag.Problem{Pos: diag.Pos{File: file}, Message: "this is no whole segment of a history: " + err.Error(), Hint: "it was damaged on its way, or pawl did not write it: fetch it again, or leave it out"}
	}
	return lines, nil
}
