package git

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	mostTrees = 8                   // kept of one repository
	oldest    = 30 * 24 * time.Hour // since a tree was last used
)

// prune removes trees that were not used for long, and those of repositories that are gone. It is
// only cleanup: a tree that cannot be removed now stays.
func (c *cache) prune(ctx context.Context, keep string, now time.Time) {
	c.pruneTrees(ctx, keep, now)
	parent := filepath.Dir(c.dir)
	others, _ := os.ReadDir(parent)
	for _, other := range others {
		dir := filepath.Join(parent, other.Name())
		common, err := os.ReadFile(filepath.Join(dir, "repository"))
		if err != nil || dir == c.dir {
			continue
		}
		if _, err := os.Stat(strings.TrimSpace(string(common))); errors.Is(err, fs.ErrNotExist) && now.Sub(modified(dir)) > oldest {
			_ = os.RemoveAll(dir)
		}
	}
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Now()
	}
	return info.ModTime()
}

func (c *cache) pruneTrees(ctx context.Context, keep string, now time.Time) {
	locks, _ := filepath.Glob(filepath.Join(c.dir, "*.lock"))
	type tree struct {
		sha  string
		used time.Time
	}
	var trees []tree
	for _, lock := range locks {
		sha := strings.TrimSuffix(filepath.Base(lock), ".lock")
		info, err := os.Stat(c.markFile(sha))
		if err != nil { // half-made: as old as its lock
			info, err = os.Stat(lock)
		}
		if err == nil && sha != keep {
			trees = append(trees, tree{sha, info.ModTime()})
		}
	}
	slices.SortFunc(trees, func(a, b tree) int { return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.sha, b.sha)) })
	for i, t := range trees {
		if i >= mostTrees-1 || now.Sub(t.used) > oldest {
			c.pruneOne(ctx, t.sha)
		}
	}
}

// pruneOne removes a tree that nobody uses. Its lock goes with it, held, so that
// somebody who waits for it finds the name gone and asks for the new one.
func (c *cache) pruneOne(ctx context.Context, sha string) {
	path := c.lockFile(sha)
	file, err := os.OpenFile(path, os.O_RDWR, 0o644)
	if err != nil {
		return
	}
	defer file.Close()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !sameFile(file, path) {
		return
	}
	c.remove(ctx, sha)
	_ = os.Remove(path)
}

// sameFile reports whether path still names the open file.
func sameFile(file *os.File, path string) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}
