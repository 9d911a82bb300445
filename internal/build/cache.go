package build

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// cache is a folder that any number of pawls share:
//
//	<key[:2]>/<key>/artifact.so meta.json deps    an artifact
//	reads/<recipe[:2]>/<recipe>                   lists of the files that compilations of a recipe looked for
//	compilers/<id>                                what a compiler said about itself
//	size                                          bytes in all, roughly
//	lock                                          held by whoever changes the above
//	tmp/                                          what is being written or removed
//
// Things appear and disappear by renaming, so that readers need no lock.
type cache struct {
	dir string
	max int64
	err error // why there is none

	mu sync.Mutex // flock does not keep goroutines waiting cheaply
}

const (
	artifactFile = "artifact.so"
	metaFile     = "meta.json"
	depsFile     = "deps"
)

// open finds and makes the cache's folder.
func (c *cache) open() {
	if c.dir = cmp.Or(c.dir, os.Getenv("PAWL_CACHE")); c.dir == "" {
		var user string
		if user, c.err = os.UserCacheDir(); c.err != nil {
			return
		}
		c.dir = filepath.Join(user, "pawl", "artifacts")
	}
	if c.dir, c.err = filepath.Abs(c.dir); c.err == nil {
		c.err = os.MkdirAll(c.dir, 0o755)
	}
}

// sealed is JSON with a checksum, which reveals damage.
type sealed struct {
	SHA256 string          `json:"sha256"` // of body, byte for byte
	Body   json.RawMessage `json:"body"`
}

func seal(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed{SHA256: sha256Hex(body), Body: body})
}

func unseal(data []byte, v any) error {
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if sha256Hex(s.Body) != s.SHA256 {
		return errors.New("its hash does not match")
	}
	return json.Unmarshal(s.Body, v)
}

// errMissing means that the cache has no such entry.
var errMissing = errors.New("not in the cache")

func (c *cache) entry(key string) string { return filepath.Join(c.dir, key[:2], key) }

// load reads an artifact and checks it. An error other than errMissing means that the entry was
// damaged; it has then been removed.
func (c *cache) load(key string) (*Artifact, []byte, error) {
	if c.err != nil {
		return nil, nil, errMissing
	}
	a, so, err := c.read(key)
	switch {
	case err == nil:
		now := time.Now()
		_ = os.Chtimes(c.entry(key), now, now) // a read-only cache can still be used
	case !errors.Is(err, errMissing):
		c.discard(c.entry(key))
	}
	return a, so, err
}

func (c *cache) read(key string) (*Artifact, []byte, error) {
	dir := c.entry(key)
	data, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err != nil {
		if _, gone := os.Stat(dir); errors.Is(gone, fs.ErrNotExist) || errors.Is(gone, syscall.ENOTDIR) {
			return nil, nil, errMissing
		}
		return nil, nil, err
	}
	a := &Artifact{Cached: true, cache: c}
	if err := unseal(data, a); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", metaFile, err)
	}
	so, err := os.ReadFile(filepath.Join(dir, artifactFile))
	if err != nil {
		if _, gone := os.Stat(filepath.Join(dir, metaFile)); errors.Is(gone, fs.ErrNotExist) {
			return nil, nil, errMissing // evicted between the two reads
		}
		return nil, nil, err
	}
	if a.Key != key || sha256Hex(so) != a.SHA256 {
		return nil, nil, fmt.Errorf("%s: its hash does not match", artifactFile)
	}
	return a, so, nil
}

// store adds an artifact made by a recipe from these files, and reports whether it did. If another
// process has added it meanwhile, that one stays.
func (c *cache) store(recipe string, deps []dependency, a *Artifact, so []byte) (stored bool, err error) {
	if c.err != nil {
		return false, c.err
	}
	temp, err := c.write(deps, a, so)
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(temp)
	err = c.locked(func() error {
		added, err := c.addReads(recipe, deps)
		if err != nil {
			return err
		}
		entry := c.entry(a.Key)
		if err := os.MkdirAll(filepath.Dir(entry), 0o755); err != nil {
			return err
		}
		switch err := os.Rename(temp, entry); {
		case err == nil:
			added += int64(len(so)) + 4096
			stored = true
		case !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY):
			return err
		}
		return c.grow(added)
	})
	return stored && err == nil, err
}

// write puts an entry's files into a folder that can be renamed into place.
func (c *cache) write(deps []dependency, a *Artifact, so []byte) (string, error) {
	data, err := seal(a)
	if err != nil {
		return "", err
	}
	temp, err := c.tempDir()
	if err != nil {
		return "", err
	}
	var list strings.Builder // as sha256sum -c reads it
	for _, dep := range deps {
		if dep.SHA256 == "" {
			fmt.Fprintf(&list, "# absent: %s\n", dep.Path)
			continue
		}
		fmt.Fprintf(&list, "%s  %s\n", dep.SHA256, dep.Path)
	}
	for name, content := range map[string][]byte{artifactFile: so, metaFile: data, depsFile: []byte(list.String())} {
		if err := os.WriteFile(filepath.Join(temp, name), content, 0o644); err != nil {
			_ = os.RemoveAll(temp)
			return "", err
		}
	}
	return temp, nil
}

// readNote reads a small sealed record; false when there is none.
func (c *cache) readNote(folder, id string, v any) bool {
	if c.err != nil {
		return false
	}
	data, err := os.ReadFile(filepath.Join(c.dir, folder, id))
	return err == nil && unseal(data, v) == nil
}

// writeNote stores a small record. A failure is no loss: the record can be computed again.
func (c *cache) writeNote(folder, id string, v any) {
	if c.err != nil {
		return
	}
	if data, err := seal(v); err == nil {
		_ = c.replace(filepath.Join(c.dir, folder, id), data)
	}
}

// replace writes a file atomically.
func (c *cache) replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := c.tempDir()
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	name := filepath.Join(temp, "new")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return err
	}
	return os.Rename(name, path)
}

func (c *cache) tempDir() (string, error) {
	parent := filepath.Join(c.dir, "tmp")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(parent, "")
	if err != nil {
		return "", err
	}
	return temp, os.Chmod(temp, 0o755)
}

// discard removes an entry atomically.
func (c *cache) discard(path string) {
	temp, err := c.tempDir()
	if err != nil {
		_ = os.RemoveAll(path)
		return
	}
	_ = os.Rename(path, filepath.Join(temp, "gone"))
	_ = os.RemoveAll(temp)
}

// locked runs work while no other process changes the cache.
func (c *cache) locked(work func() error) error {
	const patience = 10 * time.Second // a stopped pawl may hold the lock for ever
	c.mu.Lock()
	defer c.mu.Unlock()
	file, err := os.OpenFile(filepath.Join(c.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Since(began) > patience {
			return fmt.Errorf("lock %s: %w", file.Name(), err)
		}
	}
	return work()
}

// grow counts what was added and evicts when the cache has become too large.
func (c *cache) grow(added int64) error {
	c.sweep(time.Now())
	path := filepath.Join(c.dir, "size")
	text, _ := os.ReadFile(path)
	total, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if total += added; err != nil || total > c.max {
		total = c.evict(time.Now())
	}
	return c.replace(path, strconv.AppendInt(nil, total, 10))
}
