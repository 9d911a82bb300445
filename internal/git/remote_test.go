package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMainRemote(t *testing.T) {
	for remotes, want := range map[string]string{
		"": "", "origin": "origin", "upstream": "upstream", "fork origin upstream": "origin", "fork upstream": "",
	} {
		if got := mainRemote(strings.Fields(remotes)); got != want {
			t.Errorf("%q: %q, want %q", remotes, got, want)
		}
	}
}

// Whatever the only remote is called, all that a shallow clone lacks comes from there.
func TestFetchesFromTheOnlyRemote(t *testing.T) {
	upstream, fork := forked(t)
	dir := clone(t, upstream, "--depth=1", "--no-single-branch", "--origin=upstream", "--branch=feature")
	got, err := DefaultBase(t.Context(), dir)
	if err != nil || got != (Base{Ref: "upstream/main", SHA: fork}) {
		t.Errorf("%+v, %v; want %s", got, err, fork)
	}
	first := git(t, upstream, "rev-parse", fork+"~1")
	dir = clone(t, upstream, "--depth=1", "--origin=upstream")
	if err := Ensure(t.Context(), dir, first); err != nil {
		t.Error(err)
	}
	gone := strings.Repeat("1", 40)
	var missing *NoCommitError
	if err := Ensure(t.Context(), dir, gone); !errors.As(err, &missing) || missing.Remote != "upstream" || !strings.Contains(err.Error(), "could not be fetched from upstream: ") {
		t.Errorf("%v", err)
	}
	git(t, dir, "remote", "add", "fork", "file:///nowhere/at/all")
	if err := Ensure(t.Context(), dir, gone); !errors.As(err, &missing) || !strings.HasSuffix(err.Error(), "could not be fetched: none of its remotes (fork, upstream) is called origin") {
		t.Errorf("%v", err)
	}
}

// A push that is refused says what the other side says of it, or that somebody was faster.
func TestPushRefused(t *testing.T) {
	upstream, _ := forked(t)
	hub := filepath.Join(t.TempDir(), "hub.git")
	git(t, upstream, "clone", "--quiet", "--bare", ".", hub)
	dir := clone(t, hub)
	tip := git(t, dir, "rev-parse", "HEAD")
	remote := Remote{Dir: dir, Name: "origin"}
	if err := remote.Push(t.Context(), tip+"~1", "main"); err == nil || !strings.Contains(err.Error(), "push to main of origin: [rejected]") {
		t.Errorf("a branch that did not grow: %v", err)
	}
	hook := "#!/bin/sh\nprintf '\\033[31merror: GH006: Protected branch update failed.\\nRequired status check \"pawl\" is expected.\\n' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(hub, "hooks/pre-receive"), []byte(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	err := remote.Push(t.Context(), tip, "other")
	if err == nil || !strings.Contains(err.Error(), `GH006: Protected branch update failed.; Required status check "pawl" is expected.`) || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a protected branch: %v", err)
	}
}
