package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func caches(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	return filepath.Join(dir, "pawl", "worktrees")
}

func checked(t *testing.T, dir, sha string) *Tree {
	t.Helper()
	tree, err := Checkout(t.Context(), dir, sha)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestCheckout(t *testing.T) {
	caches(t)
	dir := onMain(t)
	old := commit(t, dir, "old", "sub/k.c", "old\n")
	commit(t, dir, "new", "sub/k.c", "new\n")
	tree := checked(t, filepath.Join(dir, "sub"), old)
	if got := read(t, filepath.Join(tree.Folder, "k.c")); got != "old\n" || filepath.Base(tree.Folder) != "sub" || tree.SHA != old {
		t.Errorf("%q in %+v", got, tree)
	}
	// A second user shares it, file for file.
	before, err := os.Stat(filepath.Join(tree.Folder, "k.c"))
	if err != nil {
		t.Fatal(err)
	}
	again := checked(t, filepath.Join(dir, "sub"), old[:10])
	after, err := os.Stat(filepath.Join(again.Folder, "k.c"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("made anew although nothing had changed: %v", err)
	}
	if state := head(t, dir); state.Dirty {
		t.Error("the user's own tree was touched")
	}
	if _, err := Checkout(t.Context(), dir, strings.Repeat("2", 40)); !errors.Is(err, ErrNoCommit) {
		t.Errorf("a commit that is not there: %v", err)
	}
}

// Whatever befell the tree, the next user gets the commit.
func TestCheckoutIsMadeAnew(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, repo string, tree *Tree){
		"edited": func(t *testing.T, _ string, tree *Tree) {
			write(t, filepath.Join(tree.Root, "kernel.c"), "int evil;\n")
		},
		"added": func(t *testing.T, _ string, tree *Tree) {
			write(t, filepath.Join(tree.Root, "kernel.h"), "int evil;\n")
		},
		"ignored": func(t *testing.T, _ string, tree *Tree) {
			write(t, filepath.Join(tree.Root, "generated.h"), "int evil;\n")
		},
		"removed":     func(_ *testing.T, _ string, tree *Tree) { _ = os.Remove(filepath.Join(tree.Root, "kernel.c")) },
		"other HEAD":  func(t *testing.T, _ string, tree *Tree) { git(t, tree.Root, "checkout", "--quiet", "--detach", "main") },
		"no folder":   func(_ *testing.T, _ string, tree *Tree) { _ = os.RemoveAll(tree.Root) },
		"no .git":     func(_ *testing.T, _ string, tree *Tree) { _ = os.Remove(filepath.Join(tree.Root, ".git")) },
		"half-made":   func(_ *testing.T, _ string, tree *Tree) { _ = os.Remove(tree.Root + ".made") },
		"broken mark": func(t *testing.T, _ string, tree *Tree) { write(t, tree.Root+".made", "{") },
		"pruned": func(t *testing.T, repo string, tree *Tree) {
			_ = os.RemoveAll(tree.Root)
			git(t, repo, "worktree", "prune")
		},
		"git's note gone": func(_ *testing.T, repo string, tree *Tree) {
			_ = os.RemoveAll(filepath.Join(repo, ".git", "worktrees"))
		},
		"locked": func(t *testing.T, repo string, tree *Tree) {
			git(t, repo, "worktree", "lock", tree.Root)
			_ = os.RemoveAll(tree.Root)
		},
	} {
		t.Run(name, func(t *testing.T) {
			caches(t)
			dir := onMain(t)
			want := commit(t, dir, "base", "kernel.c", "int a;\n", ".gitignore", "generated.h\n")
			commit(t, dir, "newer", "kernel.c", "int b;\n")
			tree := checked(t, dir, want)
			tree.Close()
			harm(t, dir, tree)
			again := checked(t, dir, want)
			if got := read(t, filepath.Join(again.Root, "kernel.c")); got != "int a;\n" {
				t.Errorf("kernel.c is %q", got)
			}
			for _, extra := range []string{"kernel.h", "generated.h"} {
				if _, err := os.Stat(filepath.Join(again.Root, extra)); err == nil {
					t.Errorf("%s is still there", extra)
				}
			}
		})
	}
}

// A tree in use is not taken away: who wants it put right waits.
func TestCheckoutWaitsForUsers(t *testing.T) {
	caches(t)
	dir := onMain(t)
	sha := git(t, dir, "rev-parse", "HEAD")
	tree := checked(t, dir, sha)
	write(t, filepath.Join(tree.Root, "kernel.c"), "int evil;\n")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Checkout(ctx, dir, sha); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if got := read(t, filepath.Join(tree.Root, "kernel.c")); got != "int evil;\n" {
		t.Error("changed under its user")
	}
	tree.Close()
	checked(t, dir, sha)
}

func TestCheckoutsAtOnce(t *testing.T) {
	caches(t)
	dir := onMain(t)
	var shas []string
	for i := range 3 {
		shas = append(shas, commit(t, dir, "c", "kernel.c", fmt.Sprintf("int v%d;\n", i)))
	}
	var wait sync.WaitGroup
	for i := range 12 {
		wait.Go(func() {
			tree, err := Checkout(t.Context(), dir, shas[i%3])
			if err != nil {
				t.Error(err)
				return
			}
			defer tree.Close()
			raw, err := os.ReadFile(filepath.Join(tree.Root, "kernel.c"))
			if want := fmt.Sprintf("int v%d;\n", i%3); err != nil || string(raw) != want {
				t.Errorf("%q, %v; want %q", raw, err, want)
			}
		})
	}
	wait.Wait()
}

func TestCheckoutFromShallowClone(t *testing.T) {
	caches(t)
	upstream := onMain(t)
	old := commit(t, upstream, "old", "kernel.c", "old\n")
	commit(t, upstream, "new", "kernel.c", "new\n")
	commit(t, upstream, "newer", "kernel.c", "newer\n")
	dir := clone(t, upstream, "--depth=1")
	if got := read(t, filepath.Join(checked(t, dir, old).Root, "kernel.c")); got != "old\n" {
		t.Errorf("%q", got)
	}
}

func TestOldTreesArePruned(t *testing.T) {
	root := caches(t)
	dir := onMain(t)
	var shas []string
	for i := range mostTrees + 3 {
		shas = append(shas, commit(t, dir, "c", "kernel.c", fmt.Sprintf("int v%d;\n", i)))
	}
	held := checked(t, dir, shas[0]) // in use, and so not pruned
	for _, sha := range shas[1:] {
		checked(t, dir, sha).Close()
	}
	trees, err := filepath.Glob(filepath.Join(root, "*", "*.made"))
	if err != nil || len(trees) != mostTrees+1 {
		t.Errorf("%d trees: %v, %v", len(trees), trees, err)
	}
	if got := read(t, filepath.Join(held.Root, "kernel.c")); got != "int v0;\n" {
		t.Errorf("%q", got)
	}
	if listed := strings.Count(git(t, dir, "worktree", "list"), "\n"); listed != mostTrees+1 {
		t.Errorf("git still lists %d trees", listed)
	}
	checked(t, dir, shas[1]) // pruned, and had again

	// Old ones go, also when they are few.
	month := time.Now().Add(-2 * oldest)
	for _, tree := range trees {
		_ = os.Chtimes(tree, month, month)
	}
	held.Close()
	checked(t, dir, shas[len(shas)-1]).Close()
	if trees, _ := filepath.Glob(filepath.Join(root, "*", "*.made")); len(trees) != 2 {
		t.Errorf("left: %v", trees)
	}

	// So does everything of a repository that is gone.
	gone := onMain(t)
	tree := checked(t, gone, git(t, gone, "rev-parse", "HEAD"))
	tree.Close()
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	_ = os.Chtimes(filepath.Dir(tree.Root), month, month)
	checked(t, dir, shas[2])
	if _, err := os.Stat(tree.Root); err == nil {
		t.Error("the tree of a repository that is gone is still there")
	}
}

func TestSubmodules(t *testing.T) {
	caches(t)
	file := []string{"-c", "protocol.file.allow=always", "submodule", "--quiet"}
	inner := onMain(t)
	commit(t, inner, "inner", "inner.h", "inner 1\n")
	lib := onMain(t)
	git(t, lib, append(file, "add", inner, "nested")...)
	commit(t, lib, "lib", "lib.h", "lib 1\n")
	dir := onMain(t)
	git(t, dir, append(file, "add", lib, "third/lib")...)
	git(t, dir, append(file, "update", "--init", "--recursive")...)
	old := commit(t, dir, "with lib 1")
	commit(t, lib, "lib 2", "lib.h", "lib 2\n")
	git(t, filepath.Join(dir, "third/lib"), "pull", "--quiet", "origin", "main")
	commit(t, dir, "with lib 2")
	config := read(t, filepath.Join(dir, ".git", "config"))

	// Where the clone has the submodule's commit, nobody else is asked.
	if err := os.RemoveAll(inner); err != nil {
		t.Fatal(err)
	}
	moved := lib + ".moved"
	if err := os.Rename(lib, moved); err != nil {
		t.Fatal(err)
	}
	tree := checked(t, dir, old)
	if len(tree.Notes) > 0 {
		t.Fatal(tree.Notes)
	}
	for path, want := range map[string]string{"lib.h": "lib 1\n", "nested/inner.h": "inner 1\n"} {
		if got := read(t, filepath.Join(tree.Root, "third/lib", path)); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if read(t, filepath.Join(dir, ".git", "config")) != config {
		t.Error("the user's configuration was changed")
	}
	// Changed inside, it is made anew.
	write(t, filepath.Join(tree.Root, "third/lib/lib.h"), "evil\n")
	tree.Close()
	if got := read(t, filepath.Join(checked(t, dir, old).Root, "third/lib/lib.h")); got != "lib 1\n" {
		t.Errorf("%q", got)
	}

	// What can be had from nowhere is said; the rest is there.
	fresh := clone(t, dir)
	git(t, fresh, "config", "submodule.third/lib.url", lib)
	tree = checked(t, fresh, old)
	if len(tree.Notes) != 1 || !strings.Contains(tree.Notes[0], "submodule third/lib could not be fetched") {
		t.Errorf("%q", tree.Notes)
	}
	if _, err := os.Stat(filepath.Join(tree.Root, "kernel.c")); err != nil {
		t.Error(err)
	}
	tree.Close()
	// When it can be had again, the next checkout has it.
	if err := os.Rename(moved, lib); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
	t.Setenv("GIT_CONFIG_VALUE_0", "always")
	tree = checked(t, fresh, old)
	if got := read(t, filepath.Join(tree.Root, "third/lib/lib.h")); got != "lib 1\n" || len(tree.Notes) > 0 {
		t.Errorf("%q, %q", got, tree.Notes)
	}
	// What the user's clone does without, so does the tree.
	without := clone(t, dir)
	if tree := checked(t, without, old); len(tree.Notes) > 0 {
		t.Errorf("%q", tree.Notes)
	}
}

// A checkout must not run the repository's hooks.
func TestCheckoutRunsNoHooks(t *testing.T) {
	caches(t)
	dir := onMain(t)
	marker := filepath.Join(t.TempDir(), "ran")
	write(t, filepath.Join(dir, ".git", "hooks", "post-checkout"), "#!/bin/sh\ntouch "+marker+"\n")
	checked(t, dir, git(t, dir, "rev-parse", "HEAD"))
	if _, err := os.Stat(marker); err == nil {
		t.Error("a hook was run")
	}
}

// An old git repeats an option that it does not know, as if it were a path.
func TestOldGit(t *testing.T) {
	dir := onMain(t)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	old := t.TempDir()
	script := "#!/bin/sh\nfor arg; do\n\tcase $arg in --path-format=*) echo \"$arg\"; echo .git; exit ;; esac\ndone\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(old, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", old+":"+os.Getenv("PATH"))
	if _, err := Checkout(t.Context(), dir, git(t, dir, "rev-parse", "HEAD")); !errors.Is(err, ErrOldProgram) {
		t.Errorf("checked out with an old git: %v", err)
	}
}

// A job may have no home, or one that it cannot write.
func TestNoCache(t *testing.T) {
	dir := onMain(t)
	sha := git(t, dir, "rev-parse", "HEAD")
	file := filepath.Join(dir, "kernel.c") // a file, where a folder is needed: also for root
	for _, home := range []string{"", file} {
		t.Setenv("XDG_CACHE_HOME", "")
		t.Setenv("HOME", home)
		_, err := Checkout(t.Context(), dir, sha)
		if hint, ok := errors.AsType[interface {
			error
			Hint() string
		}](err); !ok || !strings.Contains(hint.Hint(), "XDG_CACHE_HOME") {
			t.Errorf("HOME=%q: %v", home, err)
		}
	}
}
