package ratchet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl/internal/disk"
	"pawl/internal/git"
)

// Store is the baseline of a project.
type Store struct{ dir string }

// Open returns the baseline of the project in dir. It need not exist yet.
func Open(dir string) *Store { return &Store{dir: dir} }

// Folder is the path of the files in the project.
const Folder = ".pawl/baseline"

const samplesEnding = ".samples.zst"

// Path returns the path of a class's file.
func (s *Store) Path(class string) string {
	return filepath.Join(s.dir, filepath.FromSlash(Folder), class+".json")
}

func (s *Store) samplesPath(class string) string {
	return filepath.Join(s.dir, filepath.FromSlash(Folder), class+samplesEnding)
}

// Classes lists the device classes that have a file, sorted.
func (s *Store) Classes() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, filepath.FromSlash(Folder)))
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

// bareMost is the longest file that LoadBare reads: far longer than the baseline of any project.
const bareMost = 32 << 20

// LoadBare is Load without the samples, for a project that somebody else wrote: it does not leave the
// project's folder, unpacks nothing, and reads no more than a bound.
func (s *Store) LoadBare(class string) (*File, error) {
	if err := checkClass(class); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("read the baseline: %w", err)
	}
	defer root.Close()
	name := Folder + "/" + class + ".json"
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newFile(class, name), nil
	case err != nil:
		return nil, fmt.Errorf("read the baseline: %w", err)
	case !info.Mode().IsRegular() || info.Size() > bareMost:
		return nil, fmt.Errorf("read the baseline: %s is not a regular file of at most %d bytes", name, bareMost)
	}
	raw, err := root.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the baseline: %w", err)
	}
	f, err := parse(name, class, raw)
	if err == nil {
		err = f.Damaged()
	}
	return f, err
}

// LoadAt is Load of the files in a commit.
func (s *Store) LoadAt(ctx context.Context, sha, class string) (*File, error) {
	if err := checkClass(class); err != nil {
		return nil, err
	}
	var files [2][]byte
	for i, name := range []string{class + ".json", class + samplesEnding} {
		raw, err := git.Show(ctx, s.dir, sha, Folder+"/"+name)
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

// Interval is the 95% interval of a median, in milliseconds.
type Interval struct{ LowMS, HighMS float64 }

// Intervals returns the intervals with which entries of a class were stored, by the Sum of the move
// that stored them: a Move itself has only its median. It reads at most this many versions of the
// file, the newest first, and only versions that this clone has. With an error it returns what it
// read before.
func (s *Store) Intervals(ctx context.Context, class string, versions int) (map[string]Interval, error) {
	found := map[string]Interval{}
	if err := checkClass(class); err != nil {
		return found, err
	}
	path := Folder + "/" + class + ".json"
	commits, err := git.Recent(ctx, s.dir, path, versions)
	if err != nil || len(commits) == 0 {
		return found, err
	}
	err = git.Versions(ctx, s.dir, path, commits, func(_ int, raw []byte, _ bool) error {
		// Checksums are left to those who judge by an entry.
		var file document
		if json.Unmarshal(raw, &file) != nil {
			return ctx.Err() // an unreadable version has no intervals
		}
		for _, e := range file.Entries {
			if e != nil && len(e.Moves) > 0 {
				found[e.Moved().Sum] = Interval{e.LowMS, e.HighMS}
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return found, fmt.Errorf("read the history of %s: %w", path, err)
	}
	return found, nil
}

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
		return fmt.Errorf("make the Folder of the baseline: %w", err)
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

// lock keeps other writers out. The lock file lies in the runs Folder, which git ignores.
func (s *Store) lock(ctx context.Context) (*os.File, error) {
	home := filepath.Join(s.dir, ".pawl")
	path := filepath.Join(home, "runs", "baseline.lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock the baseline: %w", err)
	}
	_ = git.MakeHome(home)
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
