package ci

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/git"
	"pawl/internal/result"
)

// Where the branch refuses the push, the baseline is on a branch of its own and in a pull request; without
// a forge the error says what to do. Called again, there is still one pull request.
func TestRatchetProposes(t *testing.T) {
	h := newHub(t)
	h.pulls = map[int]string{}
	opts := RatchetOptions{Branch: "main", Forge: h.options(t).Forge}
	clone := filepath.Dir(h.options(t).Spec)
	origin := filepath.Join(t.TempDir(), "origin.git")
	run := func(args ...string) string {
		out, err := exec.Command("git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q", "--bare", origin)
	run("-C", clone, "add", "--all")
	run("-C", clone, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "the baseline")
	h.head = run("-C", clone, "rev-parse", "HEAD")
	remote := git.Remote{Dir: clone, Name: origin}
	report := &result.Report{Commit: &result.Commit{SHA: measuredSHA}}
	refused := errors.New("protected branch")
	for range 2 {
		made := &Ratcheted{Commit: h.head, Moved: []string{"scale/small 0.1 ms `x`"}}
		if err := opts.propose(t.Context(), remote, report, made, refused); err != nil {
			t.Fatal(err)
		}
		if made.Branch != "pawl/ratchet-0123456" || made.Pull == nil || made.Pull.Number != 11 {
			t.Errorf("%+v", made)
		}
	}
	if tip := run("-C", origin, "rev-parse", "refs/heads/pawl/ratchet-0123456"); tip != h.head {
		t.Errorf("the branch is at %s, want %s", tip, h.head)
	}
	text, _ := h.opened["body"].(string)
	if h.opened["head"] != "pawl/ratchet-0123456" || h.opened["base"] != "main" || !strings.Contains(text, "\nscale/small 0.1 ms 'x'\n") || len(h.written) != 1 {
		t.Errorf("opened %v, written %v", h.opened, h.written)
	}
	opts.Forge.Kind = ""
	if err := opts.propose(t.Context(), remote, report, &Ratcheted{Commit: h.head}, refused); err == nil || !strings.Contains(err.Error(), "protected branch") {
		t.Errorf("without a forge: %v", err)
	}
}
