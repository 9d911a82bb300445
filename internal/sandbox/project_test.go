package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeTree writes empty files, but for those that have a text.
func writeTree(t *testing.T, root string, files ...string) {
	t.Helper()
	for _, file := range files {
		name, text, _ := strings.Cut(file, "=")
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func names(root string, paths []string) []string {
	var out []string
	for _, path := range paths {
		name, err := filepath.Rel(root, path)
		if err != nil {
			name = path
		}
		out = append(out, name)
	}
	return out
}

func realTemp(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// The whole repository is the project, but for what holds no sources.
func TestSources(t *testing.T) {
	root := realTemp(t)
	writeTree(t, root, "a/b/k.c", "a/.pawl/x", "lib/y/.git/config", "lib/y/y.h", "lib/z/z.h", "top.h", ".hidden/h")
	if err := os.Symlink("/etc", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "a", "b")
	if got := ProjectRoot(dir); got != dir {
		t.Errorf("without a repository the project is %s", got)
	}
	if got := SourcesOf(filepath.Join(root, "lib", "z")); !got.Whole || !slices.Equal(got.Read, []string{filepath.Join(root, "lib", "z")}) {
		t.Errorf("sources of a plain folder %+v", got)
	}
	writeTree(t, root, ".git=gitdir: elsewhere\n") // as in a worktree
	if got := ProjectRoot(dir); got != root {
		t.Errorf("in a worktree the project is %s", got)
	}
	got := SourcesOf(root)
	if want := []string{".hidden", "a/b", "lib/y/y.h", "lib/z", "top.h"}; got.Whole || !slices.Equal(names(root, got.Read), want) {
		t.Errorf("sources %+v, want %v", got, want)
	}
	t.Setenv("HOME", filepath.Join(root, "a"))
	if got := ProjectRoot(dir); got != dir {
		t.Errorf("in a home folder that is a repository the project is %s", got)
	}
	t.Setenv("HOME", root)
	writeTree(t, root, ".netrc")
	if got := SourcesOf(root); !slices.Equal(names(root, got.Read), []string{"top.h"}) {
		t.Errorf("sources of a home folder %+v", got)
	}
}

// What is withheld is so by each of its names; other hard links are files like others.
func TestHardLinks(t *testing.T) {
	outside, root := realTemp(t), realTemp(t)
	writeTree(t, outside, ".git/config", ".git/worktrees/w/HEAD", ".git/worktrees/w/commondir=../..\n")
	writeTree(t, root, ".git=gitdir: "+outside+"/.git/worktrees/w\n", ".pawl/x", "lib/a.h", "lib/b.h", "lib/deep/c.h")
	for name, target := range map[string]string{
		"config.h": outside + "/.git/config", "lib/head.h": outside + "/.git/worktrees/w/HEAD", "lib/x.h": root + "/.pawl/x", "lib/same.h": root + "/lib/a.h",
	} {
		if err := os.Link(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	got := SourcesOf(root)
	if want := []string{"lib/a.h", "lib/b.h", "lib/deep", "lib/same.h"}; !slices.Equal(names(root, got.Read), want) {
		t.Errorf("sources %v, want %v", names(root, got.Read), want)
	}
	if want := []string{"config.h", "lib/head.h", "lib/x.h"}; !slices.Equal(names(root, got.Links), want) {
		t.Errorf("links %v, want %v", names(root, got.Links), want)
	}
}

func TestWithout(t *testing.T) {
	root := realTemp(t)
	writeTree(t, root, "a/x", "b/c/d/x", "b/c/e/x", "b/f", "g")
	if err := os.Symlink(filepath.Join(root, "b"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	got := Without(filepath.Join(root, "b/c/d"), []string{root, filepath.Join(root, "b/c/d/x"), filepath.Join(root, "link"), filepath.Join(root, "nowhere")})
	if want := []string{"a", "b/c/e", "b/f", "g", "b/c/e", "b/f", "nowhere"}; !slices.Equal(names(root, got), want) {
		t.Errorf("%v, want %v", names(root, got), want)
	}
}

// A folder may be named from where the caller is.
func TestProjectRootOfARelativeFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, name := range []string{".", "", "nowhere/.."} {
		if got := ProjectRoot(name); got != dir {
			t.Errorf("%q: %s, want %s", name, got, dir)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := ProjectRoot("sub"); got != dir {
		t.Errorf("below it: %s, want %s", got, dir)
	}
}
