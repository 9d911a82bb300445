package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// files hashes files, each once for all the variants of one Build.
type files struct {
	mu    sync.Mutex
	seen  map[string]*fileState
	there map[string]bool
}

// fileState is a file's content at one moment.
type fileState struct {
	done   sync.Once
	sum    string
	err    error
	stat   fileStat
	hashed time.Time
}

// fileStat changes whenever a file's content does, up to the grain of the
// file system's clock.
type fileStat struct {
	inode, size  int64
	mtime, ctime time.Time
}

func newFiles() *files { return &files{seen: map[string]*fileState{}, there: map[string]bool{}} }

// sum returns the hash of a file at the time of the first call.
func (f *files) sum(path string) (string, error) {
	s := f.state(path, nil)
	return s.sum, s.err
}

// sumNow returns the hash of a file as it is now, and when it last changed.
func (f *files) sumNow(path string) (string, time.Time, error) {
	s := f.state(path, func(old *fileState) bool { return !old.current(path) })
	return s.sum, s.stat.ctime, s.err
}

func (f *files) state(path string, stale func(*fileState) bool) *fileState {
	f.mu.Lock()
	s := f.seen[path]
	if s == nil {
		s = &fileState{}
		f.seen[path] = s
	}
	f.mu.Unlock()
	fresh := false
	s.done.Do(func() { s.read(path); fresh = true })
	if fresh || stale == nil || !stale(s) {
		return s
	}
	s = &fileState{}
	s.done.Do(func() { s.read(path) })
	f.mu.Lock()
	f.seen[path] = s
	f.mu.Unlock()
	return s
}

func (s *fileState) read(path string) {
	s.hashed = time.Now()
	file, err := os.Open(path)
	if err != nil {
		s.err = err
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		s.err = err
		return
	}
	if !info.Mode().IsRegular() {
		s.err = fmt.Errorf("%s is not a regular file", path)
		return
	}
	s.stat = statOf(info)
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		s.err = err
		return
	}
	s.sum = hex.EncodeToString(hash.Sum(nil))
}

// stampTick is more than a tick of the clock that stamps files.
const stampTick = 50 * time.Millisecond

// current reports whether the file certainly has the content that was hashed. A file that changed
// just before it was hashed may have changed again within the same tick of the clock that stamps
// files.
func (s *fileState) current(path string) bool {
	info, err := os.Stat(path)
	return err == nil && s.err == nil && statOf(info) == s.stat && s.hashed.Sub(s.stat.ctime) > stampTick
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
	f.mu.Lock()
	there, known := f.there[path]
	f.mu.Unlock()
	if !known {
		there = isFile(path)
		f.mu.Lock()
		f.there[path] = there
		f.mu.Unlock()
	}
	return there
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
	deps := make([]dependency, len(list))
	for i, l := range list {
		deps[i].Path = l.path
		path := verbatim(dir, l.path)
		if l.absent {
			if f.exists(path) {
				return nil, false
			}
			continue
		}
		var err error
		if deps[i].SHA256, err = f.sum(path); err != nil {
			return nil, false
		}
	}
	return deps, true
}

// dependenciesNow hashes the files that a compilation has just read, and returns one that changed
// after it began, if there is any.
func (f *files) dependenciesNow(dir string, list []lookup, began time.Time) (deps []dependency, changed string, err error) {
	deps = make([]dependency, len(list))
	for i, l := range list {
		deps[i].Path = l.path
		if l.absent {
			continue
		}
		sum, at, err := f.sumNow(verbatim(dir, l.path))
		if err != nil {
			return nil, "", err
		}
		if at.After(began) {
			changed = l.path
		}
		deps[i].SHA256 = sum
	}
	return deps, changed, nil
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
