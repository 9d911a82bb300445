package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository makes a real one, with a commit of kernel.c, in a temporary
// folder that no repository holds.
func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	// Neither the user's nor the system's settings may change the outcome.
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	dir := t.TempDir()
	git(t, dir, "init", "--quiet")
	write(t, filepath.Join(dir, "kernel.c"), "int a;\n")
	git(t, dir, "add", "kernel.c")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "first")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func head(t *testing.T, dir string) State {
	t.Helper()
	state, ok, err := Head(t.Context(), dir)
	if err != nil || !ok {
		t.Fatalf("Head(%s) = %+v, %v, %v", dir, state, ok, err)
	}
	return state
}

func TestHead(t *testing.T) {
	dir := repository(t)
	want := git(t, dir, "rev-parse", "HEAD")
	if got := head(t, dir); got.SHA != want || got.Dirty {
		t.Errorf("clean tree: %+v, want %s", got, want)
	}

	sub := filepath.Join(dir, "kernels", "deep")
	write(t, filepath.Join(sub, "untracked.c"), "int b;\n")
	if got := head(t, sub); got.SHA != want || got.Dirty {
		t.Errorf("an untracked file, seen from below: %+v", got)
	}

	write(t, filepath.Join(dir, "kernel.c"), "int c;\n")
	if got := head(t, dir); got.SHA != want || !got.Dirty {
		t.Errorf("a changed file: %+v", got)
	}
	git(t, dir, "add", "kernel.c")
	if got := head(t, dir); !got.Dirty {
		t.Errorf("a staged change: %+v", got)
	}
}

func TestHeadDetachedAndInWorktree(t *testing.T) {
	dir := repository(t)
	want := git(t, dir, "rev-parse", "HEAD")
	tree := filepath.Join(t.TempDir(), "tree")
	git(t, dir, "worktree", "add", "--quiet", "--detach", tree)
	if got := head(t, tree); got.SHA != want || got.Dirty {
		t.Errorf("detached worktree: %+v, want %s", got, want)
	}
}

func TestHeadWhereThereIsNone(t *testing.T) {
	withCommit := repository(t)
	empty := t.TempDir()
	git(t, empty, "init", "--quiet")
	bare := t.TempDir()
	git(t, bare, "init", "--quiet", "--bare")
	none := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(none))
	for name, dir := range map[string]string{"no repository": none, "no commit": empty, "bare": bare} {
		if state, ok, err := Head(t.Context(), dir); ok || err != nil {
			t.Errorf("%s: %+v, %v, %v", name, state, ok, err)
		}
	}
	t.Run("no git", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if state, ok, err := Head(t.Context(), withCommit); ok || err != nil {
			t.Errorf("%+v, %v, %v", state, ok, err)
		}
	})
}

func TestHeadSaysWhatWentWrong(t *testing.T) {
	repository(t)
	missing := filepath.Join(t.TempDir(), "missing")
	_, ok, err := Head(t.Context(), missing)
	if ok || err == nil || !strings.Contains(err.Error(), missing) || strings.Contains(err.Error(), "fatal") {
		t.Errorf("Head of a missing folder: %v, %v", ok, err)
	}
	broken := repository(t)
	write(t, filepath.Join(broken, ".git", "config"), "[core\n")
	if _, ok, err := Head(t.Context(), broken); ok || err == nil || !strings.Contains(err.Error(), "bad config") {
		t.Errorf("Head with a broken configuration: %v, %v", ok, err)
	}
}

// Looking must not run what the repository names, nor write to it.
func TestHeadRunsNothingAndWritesNothing(t *testing.T) {
	dir := repository(t)
	marker := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "script")
	write(t, script, "#!/bin/sh\ntouch "+marker+"\n")
	git(t, dir, "config", "core.fsmonitor", script)
	git(t, dir, "config", "core.pager", script)
	git(t, dir, "config", "core.hooksPath", filepath.Dir(script))
	write(t, filepath.Join(filepath.Dir(script), "post-index-change"), "#!/bin/sh\ntouch "+marker+"\n")

	// Same content, other time: git would like to refresh its index.
	write(t, filepath.Join(dir, "kernel.c"), "int a;\n")
	index := filepath.Join(dir, ".git", "index")
	before, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	if got := head(t, dir); got.Dirty {
		t.Errorf("same content: %+v", got)
	}
	after, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the index was written")
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program that the repository names was run")
	}
}

// A hook that runs pawl has git's variables set to its own repository.
func TestHeadIgnoresTheCallersRepository(t *testing.T) {
	caller, dir := repository(t), repository(t)
	write(t, filepath.Join(dir, "second.c"), "int d;\n")
	git(t, dir, "add", "second.c")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "second")
	want := git(t, dir, "rev-parse", "HEAD")
	t.Setenv("GIT_DIR", filepath.Join(caller, ".git"))
	t.Setenv("GIT_WORK_TREE", caller)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(caller, ".git", "index"))
	if got := head(t, dir); got.SHA != want || got.Dirty {
		t.Errorf("%+v, want %s", got, want)
	}
}

func TestLoose(t *testing.T) {
	dir := repository(t)
	endings := []string{".c", ".h", ".py"}
	for name, text := range map[string]string{
		".gitignore":      "ignored.h\n",
		"sub/kernel.c":    "#include \"used.h\"\n#include \"ignored.h\"\n",
		"sub/oracle.py":   "from helper import right\n",
		"sub/inner/has.h": "",
		"pawl.yaml":       "source: new.c\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	commit(t, dir, "tracked")
	if loose, err := Loose(t.Context(), dir, endings); err != nil || loose != nil {
		t.Errorf("nothing untracked: %q, %v", loose, err)
	}
	for name, text := range map[string]string{
		"sub/used.h":         "#include \"deeper.h\"\n",
		"sub/inner/with é.h": "",
		"sub/inner/deeper.h": "",
		"sub/ignored.h":      "",
		"sub/scratch.c":      "int nobody_asks;\n",
		"sub/helper.py":      "",
		"sub/.pawl/used.h":   "",
		"sub/notes.txt":      "",
		"new.c":              "",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	for folder, want := range map[string][]string{
		"":    {"new.c", "sub/helper.py", "sub/inner/deeper.h", "sub/used.h"},
		"sub": {"helper.py", "inner/deeper.h", "used.h"},
	} {
		loose, err := Loose(t.Context(), filepath.Join(dir, folder), endings)
		slices.Sort(loose)
		if err != nil || !slices.Equal(loose, want) {
			t.Errorf("in %q: %q, %v; want %q", folder, loose, err, want)
		}
	}
	missing, err := Missing(t.Context(), filepath.Join(dir, "sub"), []string{"ignored.h", "./kernel.c", "inner/has.h", "used.h", "none.c"})
	if want := []string{"ignored.h", "used.h", "none.c"}; err != nil || !slices.Equal(missing, want) {
		t.Errorf("missing: %q, %v; want %q", missing, err, want)
	}
}

// A submodule has its own files: they are not missing.
func TestMissingOfSubmodule(t *testing.T) {
	lib, dir := repository(t), repository(t)
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "third/lib")
	missing, err := Missing(t.Context(), dir, []string{"kernel.c", "third/lib/kernel.c", "third/lib/none.c"})
	if want := []string{"third/lib/none.c"}; err != nil || !slices.Equal(missing, want) {
		t.Errorf("missing: %q, %v; want %q", missing, err, want)
	}
}

// A repository that git refuses is not "no repository": it says what to do.
func TestRefusedRepository(t *testing.T) {
	dir := repository(t)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	_, ok, err := Head(t.Context(), dir)
	if err == nil || ok || errors.Is(err, ErrNoRepository) || !strings.Contains(err.Error(), "dubious ownership") {
		t.Fatalf("%v, %v", ok, err)
	}
	var hinted interface{ Hint() string }
	if !errors.As(err, &hinted) || hinted.Hint() != "git config --global --add safe.directory "+dir {
		t.Errorf("%#v", err)
	}

	broken := t.TempDir()
	write(t, filepath.Join(broken, ".git"), "gitdir: /nowhere/at/all\n")
	if _, ok, err := Head(t.Context(), broken); err == nil || ok || errors.Is(err, ErrNoRepository) {
		t.Errorf("a .git that leads nowhere: %v, %v", ok, err)
	}
}

func TestNoProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Root(t.Context(), t.TempDir()); !errors.Is(err, ErrNoProgram) || !errors.Is(err, ErrNoRepository) {
		t.Errorf("%v", err)
	}
}
