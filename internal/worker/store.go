package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"pawl/internal/worker/cell"
	"pawl/internal/worker/wire"
)

// store holds the blobs that a worker was sent, by hash, in a folder that lives as long as the
// worker. Every cell may read the blobs. No cell may read the rest of that folder, such as the
// scratch folders of other cells and their outputs.
type store struct {
	dir     string
	lock    *os.File
	quick   string // folder in memory, for outputs of GPUs; "": there is no room for it
	held    *os.File
	partial map[string]*upload

	mu   sync.Mutex
	kept []keptOutput // the newest last

	published []string // hashes of files for the parent, the newest last
}

type upload struct {
	file *os.File
	sum  hash.Hash
	next int64
}

const storePattern = "pawl-worker-"

// newStore creates the folder, and removes those of killed workers.
func newStore() (*store, error) {
	dir, lock, err := lockedFolder(os.TempDir())
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir, lock: lock, partial: map[string]*upload{}}
	if roomIn(memoryFolder) >= memoryLeast {
		s.quick, s.held, _ = lockedFolder(memoryFolder) // without it all outputs go to the other folder
	}
	for _, folder := range append(s.outputs(), s.blobs(), s.profiles()) {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, fmt.Errorf("make the worker's folder: %w", err)
		}
	}
	return s, nil
}

// memoryFolder is used if it is a tmpfs with enough room.
const (
	memoryFolder = "/dev/shm"
	memoryLeast  = 1 << 30
)

// roomIn returns how many bytes a tmpfs has left; 0 if the folder is not one.
func roomIn(folder string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil || s.Type != unix.TMPFS_MAGIC {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}

// lockedFolder creates a folder that nobody sweeps until it is unlocked, after sweeping those whose
// worker has ended.
func lockedFolder(parent string) (string, *os.File, error) {
	sweepStores(parent)
	dir, err := os.MkdirTemp(parent, storePattern)
	if err != nil {
		return "", nil, fmt.Errorf("make the worker's folder: %w", err)
	}
	// The lock is held before the file gets its name: another worker that sweeps must not find a
	// lock file that nobody holds yet.
	lock, err := os.Create(filepath.Join(dir, "lock.new"))
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(lock.Name(), filepath.Join(dir, "lock"))
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, fmt.Errorf("lock the worker's folder: %w", err)
	}
	return dir, lock, nil
}

// sweepStores removes the folders whose worker no longer holds their lock.
func sweepStores(parent string) {
	old, _ := filepath.Glob(filepath.Join(parent, storePattern+"*"))
	for _, dir := range old {
		lock, err := os.Open(filepath.Join(dir, "lock"))
		if err != nil {
			continue // another worker is just creating it, or it is not ours
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		lock.Close()
	}
}

// blobs returns the folder that every cell may read.
func (s *store) blobs() string { return filepath.Join(s.dir, "blobs") }

// outputs returns the folders of the cells' outputs; only cells that judge may read them.
func (s *store) outputs() []string {
	folders := []string{filepath.Join(s.dir, "outputs")}
	if s.quick != "" {
		folders = append(folders, filepath.Join(s.quick, "outputs"))
	}
	return folders
}

func (s *store) path(sha string) string { return filepath.Join(s.blobs(), sha+".so") }

func (s *store) have(sha string) bool {
	_, err := os.Stat(s.path(sha))
	return validHash(sha) && err == nil
}

// isDeviceCode reports whether a blob is for a GPU alone: nothing in it runs in the process that
// loads it.
func (s *store) isDeviceCode(sha string) bool {
	file, err := os.Open(s.path(sha))
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 64)
	if _, err := io.ReadFull(file, head); err != nil {
		return false
	}
	return !cell.IsHostObject(head)
}

// validHash reports whether a hash is safe as a file name.
func validHash(sha string) bool {
	raw, err := hex.DecodeString(sha)
	return err == nil && len(raw) == sha256.Size
}

// put adds the next part of a blob; the last one makes it available.
func (s *store) put(m wire.Put, data []byte) error {
	if !validHash(m.SHA256) {
		return wire.Errorf("malformed", "%q is no sha256", m.SHA256)
	}
	u := s.partial[m.SHA256]
	if u == nil {
		file, err := os.CreateTemp(s.dir, "upload-")
		if err != nil {
			return fmt.Errorf("store a blob: %w", err)
		}
		u = &upload{file: file, sum: sha256.New()}
		s.partial[m.SHA256] = u
	}
	if err := s.append(u, m, data); err != nil {
		delete(s.partial, m.SHA256)
		u.file.Close()
		_ = os.Remove(u.file.Name())
		return err
	}
	return nil
}

func (s *store) append(u *upload, m wire.Put, data []byte) error {
	if m.Offset != u.next || m.Offset+int64(len(data)) > m.Total {
		return wire.Errorf("malformed", "part at %d of a blob of %d bytes; expected the one at %d", m.Offset, m.Total, u.next)
	}
	if _, err := u.file.Write(data); err != nil {
		return fmt.Errorf("store a blob: %w", err)
	}
	u.sum.Write(data)
	if u.next += int64(len(data)); u.next < m.Total {
		return nil
	}
	if got := hex.EncodeToString(u.sum.Sum(nil)); got != m.SHA256 {
		return wire.Errorf("corrupt", "a blob does not have the hash it was sent under")
	}
	delete(s.partial, m.SHA256)
	if err := u.file.Close(); err != nil {
		return fmt.Errorf("store a blob: %w", err)
	}
	return os.Rename(u.file.Name(), s.path(m.SHA256))
}

func (s *store) close() {
	_ = os.RemoveAll(s.dir)
	_ = os.RemoveAll(s.quick)
	closeAll(s.lock, s.held)
}
