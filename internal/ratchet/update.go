package ratchet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"pawl/internal/disk"
)

// Update changes the baseline of a class. No other writer runs meanwhile, and whatever happens each
// file is either the old or the new one. Entries that somebody edited by hand must be removed by
// change: an edit is never overwritten.
func (s *Store) Update(ctx context.Context, class string, change func(*File) error) error {
	if err := checkClass(class); err != nil {
		return err
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	s.sweep(class)
	// Samples that exist but cannot be read are not overwritten.
	if _, err := readFile(s.samplesPath(class)); err != nil {
		return err
	}
	f, err := s.Read(class)
	if err != nil {
		return err
	}
	recovered, err := s.recover(ctx, f)
	if err != nil {
		return err
	}
	before, err := f.encode()
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	after, err := f.encode()
	if err != nil {
		return err
	}
	if bytes.Equal(before, after) && !recovered {
		return nil
	}
	if err := f.writable(after); err != nil {
		return err
	}
	return s.write(f, after)
}

// writable makes sure that the written file can be read again, and that no edit is lost by it.
func (f *File) writable(encoded []byte) error {
	again, err := parse(f.path, f.Class, encoded)
	if err != nil {
		return err
	}
	err = again.Damaged()
	if before := f.Damaged(); err != nil && before != nil {
		return before // with its position in the existing file
	}
	return err
}

// write replaces the two files. It writes the samples first, old and new together, so that at every
// moment the entries on disk have theirs; samples that no entry needs any more are removed last.
func (s *Store) write(f *File, encoded []byte) error {
	path, samples := s.Path(f.Class), s.samplesPath(f.Class)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the baseline: %w", err)
	}
	needed := blocks{}
	for _, e := range f.Entries {
		if text, ok := f.samples[e.Samples.SHA256]; ok {
			needed[e.Samples.SHA256] = text
		}
	}
	if err := f.samples.write(samples); err != nil {
		return err
	}
	if err := disk.Write(path, encoded); err != nil || len(needed) == len(f.samples) {
		return err
	}
	return needed.write(samples)
}

// write writes the file of samples, unless it has these already.
func (b blocks) write(path string) error {
	data, err := b.encode()
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return disk.Write(path, data)
}

// lockPatience is how long another writer may take; a stopped process holds the lock for ever.
const lockPatience = 30 * time.Second

// lock keeps other writers out. The lock file lies in the runs folder, which git ignores.
func (s *Store) lock(ctx context.Context) (*os.File, error) {
	home := filepath.Join(s.dir, ".pawl")
	path := filepath.Join(home, "runs", "baseline.lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock the baseline: %w", err)
	}
	ignore := filepath.Join(home, ".gitignore")
	if _, err := os.Stat(ignore); errors.Is(err, fs.ErrNotExist) {
		_ = disk.Write(ignore, []byte("runs/\nhistory.db*\n"))
	}
	limited, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	file, err := disk.Lock(limited, path, syscall.LOCK_EX)
	switch {
	case err == nil:
		return file, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("lock the baseline: another pawl has held %s for %v", path, lockPatience)
	}
	return nil, fmt.Errorf("lock the baseline: %w", err)
}

// sweep removes the half-written files of killed writers.
func (s *Store) sweep(class string) {
	for _, path := range []string{s.Path(class), s.samplesPath(class)} {
		left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".*"))
		for _, temp := range left {
			_ = os.Remove(temp)
		}
	}
}
