package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// commit writes files, given as name and text in turn, and commits them.
func commit(t *testing.T, dir, message string, files ...string) string {
	t.Helper()
	for i := 0; i+1 < len(files); i += 2 {
		write(t, filepath.Join(dir, files[i]), files[i+1])
	}
	git(t, dir, "add", "--all")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "-m", message)
	return git(t, dir, "rev-parse", "HEAD")
}

// onMain returns a repository whose branch is called main whatever git's default is.
func onMain(t *testing.T) string {
	t.Helper()
	dir := repository(t)
	git(t, dir, "branch", "--quiet", "-M", "main")
	return dir
}

func clone(t *testing.T, from string, options ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	git(t, t.TempDir(), append(append([]string{"clone", "--quiet"}, options...), "file://"+from, dir)...)
	return dir
}

func TestRootAndResolve(t *testing.T) {
	dir := onMain(t)
	write(t, filepath.Join(dir, "a", "b", "c"), "")
	root, err := Root(t.Context(), filepath.Join(dir, "a", "b"))
	if err != nil || root != dir {
		t.Errorf("Root: %s, %v", root, err)
	}
	want := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "tag", "-a", "-m", "x", "v1")
	for _, ref := range []string{"HEAD", "main", "v1", want, want[:8], "refs/heads/main"} {
		if sha, err := Resolve(t.Context(), dir, ref); err != nil || sha != want {
			t.Errorf("Resolve(%q) = %s, %v", ref, sha, err)
		}
	}
	for _, ref := range []string{"", "none", "HEAD~1", "--all", "^HEAD", "HEAD:kernel.c", "a b", strings.Repeat("1", 40)} {
		if sha, err := Resolve(t.Context(), dir, ref); !errors.Is(err, ErrNoCommit) {
			t.Errorf("Resolve(%q) = %q, %v", ref, sha, err)
		}
	}
	none := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(none))
	for what, ask := range map[string]func() error{
		"Root":        func() error { _, err := Root(t.Context(), none); return err },
		"Resolve":     func() error { _, err := Resolve(t.Context(), none, "HEAD"); return err },
		"DefaultBase": func() error { _, err := DefaultBase(t.Context(), none); return err },
		"Checkout":    func() error { _, err := Checkout(t.Context(), none, want); return err },
		"Log":         func() error { _, err := Log(t.Context(), none, "x"); return err },
		"Show":        func() error { _, err := Show(t.Context(), none, want, "x"); return err },
	} {
		if err := ask(); !errors.Is(err, ErrNoRepository) {
			t.Errorf("%s outside of a repository: %v", what, err)
		}
	}
}

func TestPawlsOwnFilesAreNotDirt(t *testing.T) {
	dir := onMain(t)
	commit(t, dir, "baseline", ".pawl/baseline/x.json", "{}", "sub/.pawl/baseline/x.json", "{}")
	write(t, filepath.Join(dir, ".pawl/baseline/x.json"), "{ }")
	write(t, filepath.Join(dir, "sub/.pawl/baseline/x.json"), "{ }")
	if head(t, dir).Dirty || head(t, filepath.Join(dir, "sub")).Dirty {
		t.Error("a baseline that moved makes the tree dirty")
	}
	write(t, filepath.Join(dir, "kernel.c"), "int changed;\n")
	if !head(t, filepath.Join(dir, "sub")).Dirty {
		t.Error("a changed kernel is not seen from a folder beside it")
	}
}

func TestDefaultBase(t *testing.T) {
	ctx := t.Context()
	dir := onMain(t)
	base := func(want, ref string) {
		t.Helper()
		got, err := DefaultBase(ctx, dir)
		if err != nil || got.SHA != want || got.Ref != ref {
			t.Errorf("base %+v, %v; want %s %s", got, err, ref, want)
		}
	}
	if got, err := DefaultBase(ctx, dir); !errors.Is(err, ErrNoBase) {
		t.Errorf("the first commit has base %+v, %v", got, err)
	}
	first := git(t, dir, "rev-parse", "HEAD")
	write(t, filepath.Join(dir, "kernel.c"), "int changed;\n")
	base(first, "HEAD")
	second := commit(t, dir, "second")
	base(first, "HEAD~1")

	git(t, dir, "switch", "--quiet", "-c", "feature")
	base(first, "HEAD~1") // nothing of its own yet
	commit(t, dir, "own", "kernel.c", "int own;\n")
	commit(t, dir, "own too", "kernel.c", "int too;\n")
	base(second, "main")
	git(t, dir, "switch", "--quiet", "main")
	commit(t, dir, "main goes on", "other.c", "")
	git(t, dir, "switch", "--quiet", "feature")
	base(second, "main")

	upstream := dir
	dir = clone(t, upstream) // its HEAD, and so origin/HEAD, is feature
	base(git(t, dir, "rev-parse", "HEAD~1"), "HEAD~1")
	own := commit(t, dir, "unpushed", "kernel.c", "int unpushed;\n")
	base(git(t, dir, "rev-parse", own+"~1"), "origin/feature")
	git(t, dir, "remote", "set-head", "origin", "--delete")
	base(second, "origin/main")

	empty := t.TempDir()
	git(t, empty, "init", "--quiet")
	if _, err := DefaultBase(ctx, empty); !errors.Is(err, ErrNoBase) {
		t.Errorf("no commit at all: %v", err)
	}
}

func TestDefaultBaseIsAGuess(t *testing.T) {
	upstream := onMain(t)
	fork := git(t, upstream, "rev-parse", "HEAD")
	git(t, upstream, "switch", "--quiet", "-c", "feature")
	commit(t, upstream, "own")
	own := git(t, upstream, "rev-parse", "HEAD")
	commit(t, upstream, "own too")
	git(t, upstream, "switch", "--quiet", "main")
	commit(t, upstream, "main goes on")

	for _, options := range [][]string{{"--single-branch"}, {"--depth=1"}} {
		dir := clone(t, upstream, append(options, "--branch=feature")...)
		got, err := DefaultBase(t.Context(), dir)
		if err != nil || got != (Base{Ref: "HEAD~1", SHA: own, Guess: true}) {
			t.Errorf("%v: %+v, %v", options, got, err)
		}
		git(t, dir, "fetch", "--quiet", "origin", "main:refs/remotes/origin/main") // as the hint says
		got, err = DefaultBase(t.Context(), dir)
		if err != nil || got != (Base{Ref: "origin/main", SHA: fork}) {
			t.Errorf("%v, main fetched: %+v, %v", options, got, err)
		}
	}

	// The remote's main branch has another name, as has the remote.
	git(t, upstream, "branch", "--quiet", "-M", "trunk")
	dir := clone(t, upstream, "--origin=elsewhere")
	git(t, dir, "switch", "--quiet", "-c", "feature", "elsewhere/feature")
	if got, err := DefaultBase(t.Context(), dir); err != nil || got != (Base{Ref: "elsewhere/trunk", SHA: fork}) {
		t.Errorf("trunk: %+v, %v", got, err)
	}

	// The merge that a forge makes of a change, alone.
	git(t, upstream, "-c", "user.name=a", "-c", "user.email=a@example.com", "merge", "--quiet", "--no-ff", "-m", "merge", "feature")
	merge := git(t, upstream, "rev-parse", "HEAD")
	dir = t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=unborn")
	git(t, dir, "remote", "add", "origin", "file://"+upstream)
	git(t, dir, "fetch", "--quiet", "--depth=1", "origin", merge+":refs/remotes/pull/1/merge")
	git(t, dir, "checkout", "--quiet", "--detach", merge)
	if got, err := DefaultBase(t.Context(), dir); err != nil || got.Guess || got.SHA != git(t, upstream, "rev-parse", merge+"^1") {
		t.Errorf("a merge: %+v, %v", got, err)
	}

	// The only branch of a repository of its own is its main one.
	dir = repository(t)
	git(t, dir, "branch", "--quiet", "-M", "trunk")
	commit(t, dir, "second")
	if got, err := DefaultBase(t.Context(), dir); err != nil || got.Guess {
		t.Errorf("one branch: %+v, %v", got, err)
	}
	git(t, dir, "switch", "--quiet", "-c", "feature")
	if got, err := DefaultBase(t.Context(), dir); err != nil || !got.Guess {
		t.Errorf("two branches: %+v, %v", got, err)
	}
}

// A workflow's clone of one commit still knows the hash of the one before.
func TestDefaultBaseInShallowClone(t *testing.T) {
	upstream := onMain(t)
	parent := git(t, upstream, "rev-parse", "HEAD")
	commit(t, upstream, "message\n\nparent "+strings.Repeat("1", 40), "kernel.c", "int second;\n")
	dir := clone(t, upstream, "--depth=1")
	got, err := DefaultBase(t.Context(), dir)
	if err != nil || got.SHA != parent {
		t.Fatalf("%+v, %v; want %s", got, err, parent)
	}
	if _, err := Resolve(t.Context(), dir, parent); !errors.Is(err, ErrNoCommit) {
		t.Fatalf("the parent is there already: %v", err)
	}
	if err := Ensure(t.Context(), dir, parent); err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve(t.Context(), dir, parent); err != nil {
		t.Error(err)
	}
	if shallow, err := IsShallow(t.Context(), dir); err != nil || !shallow {
		t.Errorf("shallow: %v, %v", shallow, err)
	}
}

func TestMergeBaseFetchesBehindTheEdge(t *testing.T) {
	upstream := onMain(t)
	fork := commit(t, upstream, "fork")
	git(t, upstream, "switch", "--quiet", "-c", "feature")
	for range 3 {
		commit(t, upstream, "on the branch")
	}
	git(t, upstream, "switch", "--quiet", "main")
	for range 80 { // more than the first step
		commit(t, upstream, "on main")
	}
	dir := clone(t, upstream, "--depth=1", "--no-single-branch")
	got, err := MergeBase(t.Context(), dir, "origin/feature", "HEAD")
	if err != nil || got != fork {
		t.Errorf("%s, %v; want %s", got, err, fork)
	}

	cut := clone(t, upstream, "--depth=1", "--no-single-branch")
	git(t, cut, "remote", "remove", "origin")
	feature := git(t, upstream, "rev-parse", "feature")
	git(t, cut, "fetch", "--quiet", "--depth=1", "file://"+upstream, feature)
	_, err = MergeBase(t.Context(), cut, feature, "HEAD")
	var missing *NoCommitError
	if !errors.As(err, &missing) || !missing.Shallow || !strings.Contains(missing.Hint(), "fetch-depth: 0") || !strings.HasSuffix(err.Error(), "could not be fetched: it has no remote") {
		t.Errorf("without a remote: %v", err)
	}

	other := t.TempDir()
	git(t, other, "init", "--quiet", "--initial-branch=main")
	unrelated := commit(t, other, "unrelated", "other.c", "")
	git(t, upstream, "fetch", "--quiet", other, "main")
	if _, err := MergeBase(t.Context(), upstream, unrelated, "main"); err == nil || !strings.Contains(err.Error(), "no common history") {
		t.Errorf("unrelated: %v", err)
	}
}

func TestFetchSaysWhatIsMissing(t *testing.T) {
	upstream := onMain(t)
	commit(t, upstream, "second")
	shallow := clone(t, upstream, "--depth=1")
	gone := strings.Repeat("1", 40)
	err := Ensure(t.Context(), shallow, gone)
	for _, part := range []string{"commit 1111111 is not in this clone (it is shallow) and could not be fetched from origin: ", gone} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v\nshould contain %s", err, part)
		}
	}
	if err := Ensure(t.Context(), upstream, gone); !errors.Is(err, ErrNoCommit) ||
		err.Error() != "commit 1111111 is not in this clone and could not be fetched: it has no remote" {
		t.Errorf("%v", err)
	}

	// A whole clone gets the commit and stays whole.
	whole := clone(t, upstream)
	newer := commit(t, upstream, "third")
	commit(t, upstream, "fourth")
	if err := Ensure(t.Context(), whole, newer); err != nil {
		t.Fatal(err)
	}
	if is, err := IsShallow(t.Context(), whole); err != nil || is {
		t.Errorf("a whole clone became shallow: %v, %v", is, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Ensure(ctx, shallow, gone); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestLogAndShow(t *testing.T) {
	dir := onMain(t)
	sub := filepath.Join(dir, "sub")
	write(t, filepath.Join(sub, "x"), "") // so that the folder exists
	first := commit(t, dir, "A", "sub/f", "A")
	git(t, dir, "switch", "--quiet", "-c", "side")
	commit(t, dir, "elsewhere", "other", "1")
	git(t, dir, "switch", "--quiet", "main")
	second := commit(t, dir, "B", "sub/f", "B")
	commit(t, dir, "elsewhere too", "third", "1")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "merge", "--quiet", "--no-commit", "side")
	// The merge goes back to A, which git's own simplification takes for "nothing
	// happened here".
	merge := commit(t, dir, "merge", "sub/f", "A")
	commit(t, dir, "after", "third", "2")

	commits, err := Log(t.Context(), sub, "f")
	if err != nil {
		t.Fatal(err)
	}
	var shas []string
	for _, c := range commits {
		shas = append(shas, c.SHA)
	}
	if !slices.Equal(shas, []string{merge, second, first}) {
		t.Fatalf("%+v", commits)
	}
	if got := commits[0]; !slices.Equal(got.Parents, []string{second, first}) || got.Subject != "merge" || got.Author != "a" || got.Time.IsZero() {
		t.Errorf("%+v", got)
	}
	if none, err := Log(t.Context(), sub, "none"); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}

	for sha, want := range map[string]string{first: "A", second: "B", merge: "A"} {
		if raw, err := Show(t.Context(), sub, sha, "f"); err != nil || string(raw) != want {
			t.Errorf("%q, %v", raw, err)
		}
	}
	if _, err := Show(t.Context(), sub, first, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	stop := errors.New("stop")
	if err := Versions(t.Context(), sub, "f", shas, func(int, []byte, bool) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func TestUserName(t *testing.T) {
	dir := onMain(t)
	git(t, dir, "config", "user.name", "Grace H")
	git(t, dir, "config", "user.email", "g@example.com")
	if got := UserName(t.Context(), dir); got != "Grace H" {
		t.Errorf("%q", got)
	}
	t.Setenv("PATH", os.DevNull)
	if got := UserName(t.Context(), dir); got != "" {
		t.Errorf("without git: %q", got)
	}
}
