package ratchet

import (
	"context"
	"errors"
	"fmt"

	"pawl/internal/git"
)

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
	path := folder + "/" + f.Class + samplesEnding
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
		b, err := decodeBlocks(raw)
		if err != nil {
			return nil // a damaged or missing version has no samples to restore
		}
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
