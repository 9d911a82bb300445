package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/forge"
)

// change commits a file on a branch that leaves the checkout of a base, goes back to the base, and
// returns the commit.
func change(t *testing.T, spec, file string) string {
	t.Helper()
	dir := filepath.Dir(spec)
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("add", "--all")
	git("commit", "-q", "-m", "base")
	git("checkout", "-q", "-b", "change")
	write(t, dir, file, "changed\n")
	git("add", "--all")
	git("commit", "-q", "-m", "change")
	sha := git("rev-parse", "HEAD")
	git("checkout", "-q", "-")
	return sha
}

// A run without a report has a check all the same, by the diff and by who ran it. No other forge than
// GitHub has a lane that a maintainer's comment starts.
func TestPostAbsent(t *testing.T) {
	for name, c := range map[string]struct {
		file, trust string
		head        string // repository of the pull request
		files       []string
		kind        forge.Kind
		want        forge.Conclusion
		title       string
	}{
		"words":             {"README.md", "claimed", "fork/r", nil, forge.GitHub, forge.Success, "Nothing in this change is measured"},
		"words, own":        {"README.md", "own", "o/r", nil, forge.GitHub, forge.Success, "Nothing in this change is measured"},
		"words and a job":   {"README.md", "claimed", "fork/r", []string{".github/workflows/pawl.yml"}, forge.GitHub, forge.Neutral, "Nothing in this change is measured, and the pull request changes a workflow"},
		"a fork's kernel":   {"k.c", "claimed", "fork/r", nil, forge.GitHub, forge.Waiting, "Not measured: a maintainer reads the change and comments /pawl check SHA"},
		"own, but a fork's": {"k.c", "own", "fork/r", nil, forge.GitHub, forge.Waiting, "Not measured: a maintainer reads the change and comments /pawl check SHA"},
		"own kernel":        {"k.c", "own", "o/r", nil, forge.GitHub, forge.Failure, "The run ended without a report"},
		"approved":          {"k.c", "approved", "fork/r", nil, forge.GitHub, forge.Failure, "The run ended without a report"},
		"a fork, on Gitea":  {"k.c", "own", "fork/r", nil, forge.Gitea, forge.Failure, "The run ended without a report"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			opts := h.options(t)
			h.head, h.pulls[7] = change(t, opts.Spec, c.file), c.head
			h.files = append(h.files, c.files...)
			opts.Head, opts.Trust, opts.Forge.Kind, opts.Summary = forge.Head{SHA: h.head}, c.trust, c.kind, filepath.Join(t.TempDir(), "summary.md")
			posted, err := PostAbsent(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			title := strings.ReplaceAll(c.title, "SHA", h.head)
			if got := posted.Check; got.Conclusion != c.want || got.Title != title || got.SHA != h.head || got.Name != "pawl" || got.Run != 3 || !posted.Decided() {
				t.Errorf("check %+v, want %s: %s", got, c.want, title)
			}
			if len(h.written) != 1 || len(h.comments) != 0 {
				t.Errorf("written: %v", h.written)
			}
			if text, err := os.ReadFile(opts.Summary); err != nil || string(text) != title+".\n" {
				t.Errorf("summary: %s, %v", text, err)
			}
		})
	}
}

func TestPostAbsentWritesNothing(t *testing.T) {
	h := newHub(t)
	opts := h.options(t)
	opts.Head.SHA, opts.Trust = change(t, opts.Spec, "k.c"), "own"
	if posted, err := PostAbsent(t.Context(), opts); err != nil || posted.Decided() || len(h.written) > 0 { // h.head is another commit
		t.Errorf("a newer push: %v, %v", err, h.written)
	}
	opts.Queue = true
	h.pulls = nil
	if posted, err := PostAbsent(t.Context(), opts); err != nil || !posted.Decided() || len(h.checks) != 1 {
		t.Errorf("the merge queue: %v, %v", err, h.written)
	}
	h.written, opts.DryRun, opts.Forge.Token = nil, true, ""
	if posted, err := PostAbsent(t.Context(), opts); err != nil || posted.Check.Conclusion != forge.Failure || len(h.written) > 0 {
		t.Errorf("a dry run: %v, %v", err, h.written)
	}
	opts.Trust = "me"
	if _, err := PostAbsent(t.Context(), opts); err == nil {
		t.Error("an unknown kind of trust")
	}
}
