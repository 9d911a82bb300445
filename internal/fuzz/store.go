package fuzz

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/disk"
	"pawl/internal/spec"
	"pawl/internal/trial"
)

// Store keeps the failed trials, one file each, in the folder .pawl/failures. git tracks them: they
// are regression tests that wrote themselves. A trial that passes again stays, marked as fixed, and
// is still tried first; to remove it, delete the file.
type Store struct{ dir string }

// OpenStore returns the store below the folder of pawl.yaml. It creates nothing until a failure is
// stored.
func OpenStore(root string) *Store { return &Store{filepath.Join(root, ".pawl", "failures")} }

// largestFile bounds the size of a file that is read: these files have a few hundred bytes.
const largestFile = 1 << 20

// Load reads all failures, in the order of their names. An unreadable file is a separate problem,
// and no reason to skip the others.
func (s *Store) Load() (failures []*Failure, problems []error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("read the failures kept: %w", err)}
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ending || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		path := filepath.Join(s.dir, entry.Name())
		f, err := read(path)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		failures = append(failures, f)
	}
	return failures, problems
}

func read(path string) (*Failure, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read a failure kept: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > largestFile {
		return nil, fmt.Errorf("%s is not a failure that pawl wrote: delete it", disk.Shown(path))
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a failure kept: %w", err)
	}
	f, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore it with git checkout, or delete it", disk.Shown(path), err)
	}
	f.Stored = path
	return f, nil
}

// Replays returns the trials of a kernel that failed before, those that still fail first.
func (s *Store) Replays(k *spec.Kernel) (trials []trial.Trial, problems []error) {
	failures, problems := s.Load()
	failures = slices.DeleteFunc(failures, func(f *Failure) bool { return f.Kernel != k.Name })
	var fixed []trial.Trial
	for _, f := range failures {
		t, err := f.replay(k)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", disk.Shown(f.Stored), err))
		case f.Fixed:
			fixed = append(fixed, t)
		default:
			trials = append(trials, t)
		}
	}
	return append(trials, fixed...), problems
}

// Keep writes a failed trial and returns the path of its file. An existing file keeps its contents;
// if it was marked as fixed, the mark is removed.
func (s *Store) Keep(k *spec.Kernel, t trial.Trial, why, commit string, at time.Time) (string, error) {
	f := &Failure{Trial: t, Kernel: k.Name, Reason: why, Commit: commit, First: at.UTC().Truncate(time.Second)}
	f.Repeats = max(1, t.Repeats)
	path := filepath.Join(s.dir, f.name())
	if t.Stored != "" {
		if before, err := read(t.Stored); err == nil && before.name() == f.name() {
			path = t.Stored // whatever name somebody gave the file
		}
	}
	if before, err := read(path); err == nil && before.name() == f.name() {
		if !before.Fixed {
			return path, nil
		}
		f.First, f.Commit = before.First, before.Commit
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return "", fmt.Errorf("keep the failing case: %w", err)
	}
	return path, s.write(path, f)
}

// Fixed marks a stored trial that passes now. The file changes once, not with every run.
func (s *Store) Fixed(t trial.Trial) error {
	f, err := read(t.Stored)
	if err != nil || f.Fixed {
		return err
	}
	f.Fixed = true
	return s.write(t.Stored, f)
}

func (s *Store) write(path string, f *Failure) error {
	raw, err := f.encode()
	if err != nil {
		return fmt.Errorf("keep the failing case: %w", err)
	}
	if before, err := os.ReadFile(path); err == nil && string(before) == string(raw) {
		return nil
	}
	return disk.Write(path, raw)
}
