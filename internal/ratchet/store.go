package ratchet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/git"
)

// Store is the baseline of a project.
type Store struct{ dir string }

// Open returns the baseline of the project in dir. It need not exist yet.
func Open(dir string) *Store { return &Store{dir: dir} }

// folder is the path of the files in the project.
const folder = ".pawl/baseline"

const samplesEnding = ".samples.zst"

// Path returns the path of a class's file.
func (s *Store) Path(class string) string {
	return filepath.Join(s.dir, filepath.FromSlash(folder), class+".json")
}

func (s *Store) samplesPath(class string) string {
	return filepath.Join(s.dir, filepath.FromSlash(folder), class+samplesEnding)
}

// Classes lists the device classes that have a file, sorted.
func (s *Store) Classes() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, filepath.FromSlash(folder)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for baselines: %w", err)
	}
	var classes []string
	for _, entry := range entries {
		if class, ok := strings.CutSuffix(entry.Name(), ".json"); ok && classSlug.MatchString(class) && entry.Type().IsRegular() {
			classes = append(classes, class)
		}
	}
	slices.Sort(classes)
	return classes, nil
}

// Load reads the baseline of a class, which is empty if there is no file. A file that was edited by
// hand is an error that says where, and so is a file that is not a baseline.
func (s *Store) Load(class string) (*File, error) {
	f, err := s.Read(class)
	if err != nil {
		return nil, err
	}
	if err := f.Damaged(); err != nil {
		return nil, err
	}
	return f, nil
}

// Read is Load for callers that show a file or repair it: edited entries are only noted in Damaged.
func (s *Store) Read(class string) (*File, error) {
	if err := checkClass(class); err != nil {
		return nil, err
	}
	raw, err := readFile(s.Path(class))
	if err != nil {
		return nil, err
	}
	for {
		packed, packedErr := readFile(s.samplesPath(class))
		f, err := s.assemble(class, raw, packed, packedErr)
		if err != nil || f.complete() {
			return f, err
		}
		// A writer may have replaced one of the two files in between.
		again, err := readFile(s.Path(class))
		if err != nil {
			return nil, err
		}
		if bytes.Equal(raw, again) {
			return f, nil
		}
		raw = again
	}
}

// LoadAt is Load of the files in a commit.
func (s *Store) LoadAt(ctx context.Context, sha, class string) (*File, error) {
	if err := checkClass(class); err != nil {
		return nil, err
	}
	var files [2][]byte
	for i, name := range []string{class + ".json", class + samplesEnding} {
		raw, err := git.Show(ctx, s.dir, sha, folder+"/"+name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the baseline of commit %s: %w", git.Short(sha), err)
		}
		files[i] = raw
	}
	f, err := s.assemble(class, files[0], files[1], nil)
	if err == nil {
		err = f.Damaged()
	}
	if err != nil {
		return nil, fmt.Errorf("in commit %s: %w", git.Short(sha), err)
	}
	return f, nil
}

// readFile returns nothing for a missing file.
func readFile(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the baseline: %w", err)
	}
	return raw, nil
}

// assemble makes a File of the two files on disk; nil stands for a missing one.
func (s *Store) assemble(class string, raw, packed []byte, packedErr error) (*File, error) {
	path := disk.Shown(s.Path(class))
	f := newFile(class, path)
	if raw != nil {
		var err error
		if f, err = parse(path, class, raw); err != nil {
			return nil, err
		}
	}
	name := disk.Shown(s.samplesPath(class))
	switch {
	case packedErr != nil:
		f.samplesErr = packedErr
	case packed == nil:
		f.samplesErr = fmt.Errorf("%s is missing", name)
	default:
		b, err := decodeBlocks(packed)
		if err != nil {
			f.samplesErr = fmt.Errorf("%s is damaged: %w", name, err)
			break
		}
		f.samples = b
	}
	return f, nil
}
