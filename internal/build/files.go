package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// files hashes files, each once for all the variants of one Build.
type files struct {
	*memory[string]
	there onceMap[bool] // by path
}

// memory keeps what was read from files.
type memory[T any] struct {
	read   func(*os.File) (T, error)
	states onceMap[*fileState[T]] // by path
}

// fileState is what was read from a file at one moment.
type fileState[T any] struct {
	value T
	err   error
	stat  fileStat
	at    time.Time
}

// fileStat changes whenever a file's content does, up to the grain of the
// file system's clock.
type fileStat struct {
	inode, size  int64
	mtime, ctime time.Time
}

func newFiles() *files {
	return &files{memory: newMemory(func(file *os.File) (string, error) {
		hash := sha256.New()
		_, err := io.Copy(hash, file)
		return hex.EncodeToString(hash.Sum(nil)), err
	})}
}

func newMemory[T any](read func(*os.File) (T, error)) *memory[T] { return &memory[T]{read: read} }

// first returns a file as it was at the time of the first call.
func (m *memory[T]) first(path string) *fileState[T] {
	return m.states.get(path, func() *fileState[T] { return m.load(path) })
}

// now returns a file as it is now.
func (m *memory[T]) now(path string) *fileState[T] {
	began := time.Now()
	s := m.first(path)
	if s.at.After(began) || s.current(path) {
		return s
	}
	s = m.load(path)
	m.states.set(path, s)
	return s
}

func (m *memory[T]) load(path string) *fileState[T] {
	s := &fileState[T]{at: time.Now()}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would keep it waiting
	if err != nil {
		s.err = err
		return s
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		s.err = err
	case !info.Mode().IsRegular():
		s.err = fmt.Errorf("%s is not a regular file", path)
	default:
		s.stat = statOf(info)
		s.value, s.err = m.read(file)
	}
	return s
}

// stampTick is more than a tick of the clock that stamps files.
const stampTick = 50 * time.Millisecond

// current reports whether the file certainly has the content that was read. A file that changed
// just before it was read may have changed again within the same tick of the clock that stamps
// files.
func (s *fileState[T]) current(path string) bool {
	info, err := os.Stat(path)
	return err == nil && s.err == nil && statOf(info) == s.stat && s.at.Sub(s.stat.ctime) > stampTick
}

func statOf(info os.FileInfo) fileStat {
	s := fileStat{size: info.Size(), mtime: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode, s.ctime = int64(sys.Ino), time.Unix(sys.Ctim.Unix())
	}
	return s
}

// exists reports whether there was a file at the time of the first call.
func (f *files) exists(path string) bool {
	return f.there.get(path, func() bool { return isFile(path) })
}

// isFile reports whether a compiler could read the file at a path. A file that may not be opened
// went into nothing that compiled.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.R_OK) == nil
}

// dependencies hashes the files that an earlier compilation read; false when one of them is gone,
// or one exists now that did not then.
func (f *files) dependencies(dir string, list []lookup) ([]dependency, bool) {
	if slices.ContainsFunc(list, func(l lookup) bool { return l.absent && f.exists(verbatim(dir, l.path)) }) {
		return nil, false
	}
	deps, err := hashFiles(dir, list, f.first)
	return deps, err == nil
}

// dependenciesNow hashes the files that a compilation has just read, and returns one that changed
// after it began, if there is any.
func (f *files) dependenciesNow(dir string, list []lookup, began time.Time) (deps []dependency, changed string, err error) {
	deps, err = hashFiles(dir, list, func(path string) *fileState[string] {
		state := f.now(path)
		if state.stat.ctime.After(began) {
			changed = nameIn(dir, path)
		}
		return state
	})
	return deps, changed, err
}

// hashFiles returns the files of a list with their hashes.
func hashFiles(dir string, list []lookup, hash func(path string) *fileState[string]) ([]dependency, error) {
	deps := make([]dependency, len(list))
	for i, l := range list {
		deps[i].Path = l.path
		if l.absent {
			continue
		}
		state := hash(verbatim(dir, l.path))
		if state.err != nil {
			return nil, state.err
		}
		deps[i].SHA256 = state.value
	}
	return deps, nil
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// verbatim is within for paths as a compiler opens them: a/../b is not b where a
// is a link, or missing.
func verbatim(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path
}
