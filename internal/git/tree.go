package git

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
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
)

// Tree is a commit checked out into the cache. Several pawls may use it at once;
// none changes or removes it while another does.
type Tree struct {
	SHA    string
	Root   string   // its top folder
	Folder string   // the folder in it that Checkout was given
	Notes  []string // what it lacks: submodules that are not available

	lock *os.File
}

// Close ends the use of the tree. It stays in the cache.
func (t *Tree) Close() error { return t.lock.Close() }

// The cache has a folder per repository:
//
//	<id>/repository     its git folder, to know when it is gone; a line
//	<id>/<sha>/         a tree
//	<id>/<sha>.made     there when the tree is whole: its mark; used last when it was modified
//	<id>/<sha>.lock     held, shared, by those who use the tree; alone by who makes or removes it
//	<id>/list           held while git's list of worktrees is changed
type cache struct {
	repository string // any folder of the user's working tree
	common     string // its git folder, the one that all its worktrees share
	dir        string
}

// mark distinguishes a complete tree from a half-made one.
type mark struct {
	SHA   string   `json:"sha"`
	ID    string   `json:"id"` // of this making
	Notes []string `json:"notes,omitempty"`
}

// Checkout returns the commit's tree, from the cache or newly made, with the submodules that the
// user's clone has. A commit that is not in the clone is fetched.
func Checkout(ctx context.Context, dir, name string) (tree *Tree, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("check out commit %s: %w", Short(name), err)
		}
	}()
	if err := Ensure(ctx, dir, name); err != nil {
		return nil, err
	}
	sha, err := Resolve(ctx, dir, name)
	if err != nil {
		return nil, err
	}
	prefix, err := run(ctx, dir, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	c, err := openCache(ctx, dir)
	if err != nil {
		return nil, err
	}
	tree = &Tree{SHA: sha, Root: filepath.Join(c.dir, sha)}
	tree.Folder = filepath.Join(tree.Root, strings.TrimSuffix(prefix, "\n"))
	accepted := "" // the ID of the mark that this call takes as it is
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		// Making needs the lock alone, using shares it, and between the two somebody
		// else may get it: the tree is checked again under the shared lock.
		if tree.lock, err = disk.Lock(ctx, c.lockFile(sha), syscall.LOCK_SH); err != nil {
			return nil, err
		}
		m, whole := c.whole(sha)
		usable := whole && (m.ID == accepted || c.unchanged(ctx, sha))
		if usable && (m.ID == accepted || len(m.Notes) == 0) {
			tree.Notes = m.Notes
			now := time.Now()
			_ = os.Chtimes(c.markFile(sha), now, now)
			c.prune(ctx, sha, now)
			return tree, nil
		}
		tree.lock.Close()
		if accepted, err = c.make(ctx, sha); err != nil {
			return nil, err
		}
		switch {
		case accepted != "":
		case usable: // somebody uses it now: what it lacks is fetched another time
			accepted = m.ID
		default:
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(pause):
			}
		}
	}
}

func openCache(ctx context.Context, dir string) (*cache, error) {
	common, err := run(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(common, "--") { // git repeats options that it does not know
		return nil, ErrOldProgram
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return nil, &noCacheError{err}
	}
	c := &cache{repository: dir, common: strings.TrimSuffix(common, "\n")}
	id := sha256.Sum256([]byte(c.common))
	c.dir = filepath.Join(user, "pawl", "worktrees", hex.EncodeToString(id[:8]))
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, &noCacheError{err}
	}
	file := filepath.Join(c.dir, "repository")
	if written, err := os.ReadFile(file); err == nil && string(written) == c.common+"\n" {
		return c, nil
	}
	return c, disk.Write(file, []byte(c.common+"\n"))
}

// noCacheError is a cache that cannot be made: a job's home may be somebody else's, or nowhere.
type noCacheError struct{ cause error }

func (e *noCacheError) Error() string { return e.cause.Error() }

func (e *noCacheError) Unwrap() error { return e.cause }

// Hint says what to do about it.
func (e *noCacheError) Hint() string { return "set XDG_CACHE_HOME to a folder that pawl may write" }

func (c *cache) markFile(sha string) string { return filepath.Join(c.dir, sha+".made") }

func (c *cache) lockFile(sha string) string { return filepath.Join(c.dir, sha+".lock") }

// whole reads the mark of a tree.
func (c *cache) whole(sha string) (mark, bool) {
	var m mark
	raw, err := os.ReadFile(c.markFile(sha))
	if err != nil || json.Unmarshal(raw, &m) != nil {
		return mark{}, false
	}
	return m, m.SHA == sha
}

// unchanged reports whether the tree is exactly its commit: a file that somebody changed, added or
// removed would be measured in the commit's name.
func (c *cache) unchanged(ctx context.Context, sha string) bool {
	root := filepath.Join(c.dir, sha)
	top, err := Root(ctx, root)
	if err != nil || filepath.Base(top) != sha { // where its .git is gone, the repository around it answers
		return false
	}
	out, err := run(ctx, root, "status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored", "-z")
	if err != nil {
		return false
	}
	lines := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	different := slices.ContainsFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "# ") })
	return !different && slices.Contains(lines, "# branch.oid "+sha)
}

// make checks the commit out again, unless another process just has, and returns the ID of the
// mark. It returns no ID, and does nothing, while somebody makes or uses the tree.
func (c *cache) make(ctx context.Context, sha string) (string, error) {
	lock, err := disk.TryLock(c.lockFile(sha), syscall.LOCK_EX)
	if lock == nil {
		return "", err
	}
	defer lock.Close()
	if m, whole := c.whole(sha); whole && len(m.Notes) == 0 && c.unchanged(ctx, sha) {
		return m.ID, nil
	}
	if ctx.Err() != nil { // it was not checked either
		return "", ctx.Err()
	}
	c.remove(ctx, sha)
	root := filepath.Join(c.dir, sha)
	if err := c.worktree(ctx, "add", "--force", "--force", "--quiet", "--detach", root, sha); err != nil {
		return "", err
	}
	m := mark{SHA: sha, ID: rand.Text()}
	if m.Notes, err = populate(ctx, root, c.common); err != nil {
		return "", err
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	return m.ID, disk.Write(c.markFile(sha), raw)
}

// remove removes a tree, whatever its state, and git's entry for it. (git worktree prune would also
// forget trees of the user's on a disk that is not mounted now.)
func (c *cache) remove(ctx context.Context, sha string) {
	root := filepath.Join(c.dir, sha)
	_ = os.Remove(c.markFile(sha))
	_ = os.RemoveAll(root)
	_ = c.worktree(ctx, "remove", "--force", "--force", root)
}

// worktree changes git's list of worktrees. Two such commands at once would disturb each other's
// half-written entries.
func (c *cache) worktree(ctx context.Context, args ...string) error {
	lock, err := disk.Lock(ctx, filepath.Join(c.dir, "list"), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	_, err = work(ctx, c.repository, append([]string{"worktree"}, args...)...)
	return err
}

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
		raw, _ := os.ReadFile(filepath.Join(dir, "repository"))
		common, complete := strings.CutSuffix(string(raw), "\n") // else nobody knows whose trees these are
		if !complete || dir == c.dir {
			continue
		}
		if _, err := os.Stat(common); errors.Is(err, fs.ErrNotExist) && now.Sub(modified(dir)) > oldest {
			removeUnused(dir)
		}
	}
}

// removeUnused removes the folder of a repository, unless somebody uses a tree in it.
func removeUnused(dir string) {
	locks, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
	for _, path := range append(locks, filepath.Join(dir, "list")) {
		lock, err := disk.TryLock(path, syscall.LOCK_EX)
		if lock == nil || err != nil {
			return
		}
		defer lock.Close()
	}
	_ = os.RemoveAll(dir)
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
	lock, err := disk.TryLock(path, syscall.LOCK_EX)
	if lock == nil || err != nil {
		return
	}
	defer lock.Close()
	c.remove(ctx, sha)
	_ = os.Remove(path)
}
