package git

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// forked returns a repository whose branch feature left main, which went on; and where.
func forked(t *testing.T) (upstream, fork string) {
	t.Helper()
	upstream = onMain(t)
	fork = commit(t, upstream, "fork")
	git(t, upstream, "-c", "user.name=a", "-c", "user.email=a@example.com", "tag", "-a", "-m", "x", "v1")
	git(t, upstream, "switch", "--quiet", "-c", "feature")
	for range 3 {
		commit(t, upstream, "on the branch")
	}
	git(t, upstream, "switch", "--quiet", "main")
	commit(t, upstream, "on main")
	return upstream, fork
}

func TestNamedBaseIsFetched(t *testing.T) {
	upstream, fork := forked(t)
	tip := git(t, upstream, "rev-parse", "main")
	for _, test := range []struct {
		options string
		refs    []string
	}{
		{"--single-branch", []string{"main", "origin/main", "refs/heads/main", "v1", tip}},
		{"--depth=1", []string{"main", "origin/main", "refs/heads/main", "v1", tip}},
		{"--single-branch --origin=far", []string{"main", "far/main"}},
		{"--depth=1 --origin=far", []string{"main", "far/main", tip}},
		{"--depth=1 --no-single-branch --origin=far", []string{"far/main"}},
	} {
		for _, ref := range test.refs {
			dir := clone(t, upstream, append(strings.Fields(test.options), "--no-tags", "--branch=feature")...)
			before := git(t, dir, "for-each-ref")
			got, err := NamedBase(t.Context(), dir, ref)
			if err != nil || got != (Base{Ref: ref, SHA: fork}) {
				t.Errorf("%s, %s: %+v, %v", test.options, ref, got, err)
			}
			if after := git(t, dir, "for-each-ref"); after != before {
				t.Errorf("%s, %s: refs\n%s\nbecame\n%s", test.options, ref, before, after)
			}
		}
	}
}

func TestNamedBaseThatIsNot(t *testing.T) {
	upstream, _ := forked(t)
	single := clone(t, upstream, "--single-branch", "--branch=feature")
	shallow := clone(t, upstream, "--depth=1", "--branch=feature")
	cut := clone(t, upstream, "--depth=1", "--branch=feature")
	git(t, cut, "remote", "set-url", "origin", "file:///nowhere/at/all")
	for _, test := range []struct{ dir, ref, says, hint, other string }{
		{upstream, "mian", "mian is not in this clone", "git branch --all", "main"},
		{upstream, "nothing-like-it", "nothing-like-it is not in this clone", "git branch --all", "feature"},
		{upstream, "HEAD~99", "HEAD~99 is not in this clone", "git branch --all", "main"},
		{single, "mian", "mian is not in this clone, and origin has no branch or tag of that name", "git branch --all", "main"},
		{single, "origin/mian", "origin/mian is not in this clone, and origin has no", "git branch --all", "origin/main"},
		{single, "--all", `"--all" is not in this clone`, "git branch --all", "feature"},
		{shallow, "HEAD~2", "HEAD~2 is not in this clone (it is shallow)", "git fetch --unshallow", "feature"},
		{cut, "origin/main", "origin/main is not in this clone (it is shallow) and could not be fetched from origin: ", "git fetch --unshallow", ""},
	} {
		_, err := NamedBase(t.Context(), test.dir, test.ref)
		var missing *NoCommitError
		if !errors.As(err, &missing) || !strings.HasPrefix(err.Error(), test.says) || !strings.Contains(missing.Hint(), test.hint) ||
			test.other != "" && !slices.Contains(missing.Others, test.other) {
			t.Errorf("%s: %v; %+v", test.ref, err, missing)
		}
	}
}
