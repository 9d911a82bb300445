package ci

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/git"
	"pawl/internal/measure"
	"pawl/internal/result"
)

// TestRatchetMovesWhatIsProven: a report that a job of the branch wrote may say that a row has moved the
// baseline there. Here it moves only if nothing is suspicious and its answers were verified.
func TestRatchetMovesWhatIsProven(t *testing.T) {
	for name, c := range map[string]struct {
		verification *result.Verification
		moves        bool
		refused      string
	}{
		"proven":   {&result.Verification{Integrity: result.Clean, Passed: 3}, true, ""},
		"unproven": {&result.Verification{Integrity: result.Clean}, false, "its answers were not verified"},
		"nothing":  {nil, false, "its answers were not verified"},
		"suspicious": {&result.Verification{Integrity: result.Suspicious, Passed: 3, Findings: []result.Finding{
			{Exploit: "implausible", Severity: result.Suspicious, Message: "the same samples in the same order are there twice"},
		}}, false, "its result is suspicious: the same samples"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "pawl.yaml", scopeSpec)
			if err := git.Create(t.Context(), dir, "begin"); err != nil {
				t.Fatal(err)
			}
			tip, err := git.Resolve(t.Context(), dir, "HEAD")
			if err != nil {
				t.Fatal(err)
			}
			timing := &result.Timing{Repeat: 1, WallS: 1}
			for i := range 50 {
				timing.Samples.Seconds = append(timing.Samples.Seconds, 1e-4+float64(i)*1e-8)
			}
			timing.Stats = measure.StatsOf(timing.Samples)
			report := &result.Report{
				Schema: result.Schema, Kind: result.KindCheck, ID: "1", Started: time.Now().Add(-time.Minute), Finished: time.Now(),
				Commit: &result.Commit{SHA: tip}, DeviceClass: "test-device",
				Rows: []*result.Row{{
					Kernel: "saxpy", Config: "small", Class: "test-device", Identity: "new", Verdict: result.New, Timing: timing,
					Verification: c.verification, Moved: &result.Moved{Done: true},
				}},
			}
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			var made Ratcheted
			if err := (RatchetOptions{}).commit(t.Context(), dir+string(os.PathSeparator), tip, report, &made, ""); err != nil {
				t.Fatal(err)
			}
			if (len(made.Moved) == 1) != c.moves || (made.Commit != "") != c.moves || !strings.Contains(strings.Join(made.Refused, "; "), c.refused) {
				t.Errorf("%+v", made)
			}
		})
	}
}

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
