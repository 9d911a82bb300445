package build

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// recently used entries stay, whatever the size: somebody is working with them.
	recently = time.Minute
	// abandoned is the age from which a file in tmp belongs to a killed process.
	abandoned = time.Hour
)

// item is something that can be evicted.
type item struct {
	path  string
	bytes int64
	used  time.Time
}

// evict removes the least recently used entries until a tenth of the allowed size is free, so that
// not every write has to inspect everything, and returns the bytes that remain. The caller holds
// the lock.
func (c *cache) evict(now time.Time) int64 {
	items := c.items()
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	var total int64
	for _, it := range items {
		total += it.bytes
	}
	if total <= c.max {
		return total
	}
	for _, it := range items {
		if total <= c.max-c.max/10 || now.Sub(it.used) < recently {
			break
		}
		c.discard(it.path)
		total -= it.bytes
	}
	return total
}

// items lists artifacts and lists of files read, with the time of last use.
func (c *cache) items() []item {
	var items []item
	root := os.DirFS(c.dir)
	for _, pattern := range []string{"[0-9a-f][0-9a-f]/*", readsFolder + "/*/*"} {
		names, _ := fs.Glob(root, pattern)
		for _, name := range names {
			path := filepath.Join(c.dir, name)
			info, err := os.Lstat(path)
			if err != nil {
				continue
			}
			it := item{path: path, bytes: info.Size(), used: info.ModTime()}
			if info.IsDir() {
				contents, _ := os.ReadDir(path)
				for _, file := range contents {
					if info, err := file.Info(); err == nil {
						it.bytes += info.Size()
					}
				}
			}
			items = append(items, it)
		}
	}
	return items
}

// sweep removes what killed processes left behind.
func (c *cache) sweep(now time.Time) {
	parent := filepath.Join(c.dir, "tmp")
	left, _ := os.ReadDir(parent)
	for _, entry := range left {
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(parent, entry.Name()))
		}
	}
}
