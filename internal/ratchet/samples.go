package ratchet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"pawl/internal/git"
)

// MaxSamples is the number of samples of an entry that are kept.
const MaxSamples = 256

// The file is compressed text, which zstd -dc shows: a header line, then one line per block with
// its SHA-256 and its samples in milliseconds.
const samplesHeader = "pawl samples 1"

const maxSamplesBytes = 64 << 20 // decompressed

// blocks are samples as text, by their hash.
type blocks map[string]string

// add stores samples, given in seconds and in the order they were taken.
func (b blocks) add(seconds []float64) Samples {
	chosen := spread(seconds, MaxSamples)
	words := make([]string, len(chosen))
	for i, s := range chosen {
		words[i] = strconv.FormatFloat(s*1e3, 'g', 6, 64)
	}
	text := strings.Join(words, " ")
	sha := blockHash(text)
	b[sha] = text
	return Samples{Count: len(chosen), Of: len(seconds), SHA256: sha}
}

func blockHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// spread chooses at most n values, evenly over the list, including both ends.
func spread(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = values[i*(len(values)-1)/(n-1)]
	}
	return out
}

// get returns the samples of a block in seconds.
func (b blocks) get(s Samples) ([]float64, error) {
	text, ok := b[s.SHA256]
	if !ok {
		return nil, errors.New("its samples are missing")
	}
	words := strings.Fields(text)
	if len(words) != s.Count {
		return nil, fmt.Errorf("it has %d samples and should have %d", len(words), s.Count)
	}
	out := make([]float64, len(words))
	for i, word := range words {
		ms, err := strconv.ParseFloat(word, 64)
		if err != nil || !(ms > 0) || math.IsInf(ms, 0) {
			return nil, fmt.Errorf("%q is not a time", word)
		}
		out[i] = ms / 1e3
	}
	return out, nil
}

// encode returns the same bytes for the same blocks.
func (b blocks) encode() ([]byte, error) {
	var text bytes.Buffer
	text.WriteString(samplesHeader + "\n")
	for _, sha := range slices.Sorted(maps.Keys(b)) {
		fmt.Fprintf(&text, "%s %s\n", sha, b[sha])
	}
	encoder, err := newEncoder()
	if err != nil {
		return nil, fmt.Errorf("encode samples: %w", err)
	}
	return encoder.EncodeAll(text.Bytes(), nil), nil
}

// Both take megabytes to create, and serve any number of callers.
var (
	newEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(256<<10))
	})
	newDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSamplesBytes))
	})
)

// decodeBlocks reads what encode wrote, and leaves out blocks that do not match their hash.
func decodeBlocks(raw []byte) (blocks, error) {
	decoder, err := newDecoder()
	if err != nil {
		return nil, err
	}
	text, err := decoder.DecodeAll(raw, nil)
	if err != nil {
		return nil, fmt.Errorf("not compressed as expected: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0] != samplesHeader {
		return nil, fmt.Errorf("expected %q in its first line", samplesHeader)
	}
	b := blocks{}
	for _, line := range lines[1:] {
		if sha, values, ok := strings.Cut(line, " "); ok && blockHash(values) == sha {
			b[sha] = values
		}
	}
	return b, nil
}

// Recover restores samples that the samples file lacks and git's history has: where two branches
// moved different entries, git cannot merge that file, and whoever merges takes one side's. It
// returns the names whose samples are nowhere.
func (s *Store) Recover(ctx context.Context, class string) ([]string, error) {
	f, err := s.Read(class)
	if err != nil || f.complete() {
		return nil, err
	}
	var lost []string
	err = s.Update(ctx, class, func(f *File) error {
		lost = f.Bare()
		return nil
	})
	return lost, err
}

// Bare returns the names of entries without samples, sorted.
func (f *File) Bare() []string {
	var names []string
	for _, name := range f.Names() {
		if _, ok := f.samples[f.Entries[name].Samples.SHA256]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// complete reports whether every entry has its samples.
func (f *File) complete() bool { return len(f.Bare()) == 0 }

// recover looks for a file's missing samples in all versions that git has, and reports whether it
// found any.
func (s *Store) recover(ctx context.Context, f *File) (bool, error) {
	if f.complete() {
		return false, nil
	}
	path := Folder + "/" + f.Class + samplesEnding
	commits, err := git.Log(ctx, s.dir, path)
	if errors.Is(err, git.ErrNoRepository) || len(commits) == 0 && err == nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	shas := make([]string, len(commits))
	for i, c := range commits {
		shas[i] = c.SHA
	}
	found, enough := false, errors.New("all are found")
	err = git.Versions(ctx, s.dir, path, shas, func(_ int, raw []byte, _ bool) error {
		b, _ := decodeBlocks(raw) // a damaged or missing version has no samples to restore
		for _, name := range f.Bare() {
			sha := f.Entries[name].Samples.SHA256
			if text, ok := b[sha]; ok {
				f.samples[sha], found = text, true
			}
		}
		if f.complete() {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		return found, fmt.Errorf("look for samples in git: %w", err)
	}
	return found, nil
}
