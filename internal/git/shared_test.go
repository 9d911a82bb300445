package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/disk"
)

// A tree that lacks a submodule is made anew when nobody uses it. While somebody does, others use
// it as it is.
func TestTreeWithoutSubmoduleIsShared(t *testing.T) {
	for name, lose := range map[string]func(lib, first string){
		"no repository": func(lib, _ string) { _ = os.RemoveAll(lib) },
		"no commit": func(lib, first string) {
			git(t, lib, "reset", "--quiet", "--hard", first)
			git(t, lib, "reflog", "expire", "--expire=now", "--all")
			git(t, lib, "gc", "--quiet", "--prune=now")
		},
	} {
		t.Run(name, func(t *testing.T) {
			caches(t)
			t.Setenv("GIT_CONFIG_COUNT", "1")
			t.Setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
			t.Setenv("GIT_CONFIG_VALUE_0", "always")
			lib := onMain(t)
			first := git(t, lib, "rev-parse", "HEAD")
			commit(t, lib, "lib", "lib.h", "lib\n")
			dir := onMain(t)
			git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "lib")
			sha := commit(t, dir, "with lib")
			fresh := clone(t, dir)
			git(t, fresh, "config", "submodule.lib.url", lib)
			lose(lib, first)

			held := checked(t, fresh, sha)
			if len(held.Notes) != 1 || !strings.Contains(held.Notes[0], "submodule lib could not be fetched") {
				t.Fatalf("%q", held.Notes)
			}
			made := read(t, held.Root+".made")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			other, err := Checkout(ctx, fresh, sha)
			if err != nil {
				t.Fatal(err)
			}
			if len(other.Notes) != 1 || other.Notes[0] != held.Notes[0] || read(t, held.Root+".made") != made {
				t.Errorf("made anew under its user, or without its note: %q", other.Notes)
			}
			held.Close()
			other.Close()
			checked(t, fresh, sha)
			if read(t, held.Root+".made") == made {
				t.Error("the submodule was not asked for again although nobody used the tree")
			}
		})
	}
}

// Who waits for a tree that another makes uses it when it is made, also while the other does.
func TestCheckoutsAtOnceAreShared(t *testing.T) {
	caches(t)
	dir := onMain(t)
	sha := git(t, dir, "rev-parse", "HEAD")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := openCache(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	busy, err := disk.Lock(ctx, c.lockFile(sha), syscall.LOCK_SH)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { busy.Close() }) // all find no tree and want to make it
	errs := make(chan error)
	for range 4 {
		go func() {
			tree, err := Checkout(ctx, dir, sha)
			if err == nil {
				t.Cleanup(func() { tree.Close() })
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// The trees of another repository are removed only if that one is known to be gone and nobody uses
// them.
func TestPruneKeepsOtherRepositories(t *testing.T) {
	for name, use := range map[string]func(tree *Tree) (keep bool){
		"gone": func(*Tree) bool { return false },
		"used": func(tree *Tree) bool {
			tree.lock, _ = disk.Lock(t.Context(), tree.Root+".lock", syscall.LOCK_SH)
			return true
		},
		"unknown":     func(tree *Tree) bool { return os.WriteFile(repositoryOf(tree), nil, 0o644) == nil },
		"half a name": func(tree *Tree) bool { return os.WriteFile(repositoryOf(tree), []byte("/gon"), 0o644) == nil },
		"no name":     func(tree *Tree) bool { return os.Remove(repositoryOf(tree)) == nil },
		"name is a folder": func(tree *Tree) bool {
			return os.Remove(repositoryOf(tree)) == nil && os.Mkdir(repositoryOf(tree), 0o755) == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			caches(t)
			gone, dir := onMain(t), onMain(t)
			tree := checked(t, gone, git(t, gone, "rev-parse", "HEAD"))
			tree.Close()
			_ = os.RemoveAll(gone)
			keep := use(tree)
			month := time.Now().Add(-2 * oldest)
			_ = os.Chtimes(filepath.Dir(tree.Root), month, month)
			checked(t, dir, git(t, dir, "rev-parse", "HEAD"))
			if _, err := os.Stat(filepath.Join(tree.Root, "kernel.c")); keep != (err == nil) {
				t.Errorf("kept: %t, want %t", err == nil, keep)
			}
		})
	}
}

// A reader never sees the repository's name half-written: a name that is right is not written again.
func TestRepositoryIsWrittenOnce(t *testing.T) {
	caches(t)
	dir := onMain(t)
	sha := git(t, dir, "rev-parse", "HEAD")
	tree := checked(t, dir, sha)
	right := read(t, repositoryOf(tree))
	before, _ := os.Stat(repositoryOf(tree))
	checked(t, dir, sha)
	after, _ := os.Stat(repositoryOf(tree))
	if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Error("written again")
	}
	write(t, repositoryOf(tree), "")
	open, err := os.Open(repositoryOf(tree))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	checked(t, dir, sha)
	if got := read(t, repositoryOf(tree)); got != right || disk.Names(repositoryOf(tree), open) {
		t.Errorf("%q, or written in place", got)
	}
}

func repositoryOf(tree *Tree) string { return filepath.Join(filepath.Dir(tree.Root), "repository") }
