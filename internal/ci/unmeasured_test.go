package ci

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/forge"
)

// TestPostUnmeasured: the check of a commit without a report ends in every case, by the diff that is
// read here, and no comment is written.
func TestPostUnmeasured(t *testing.T) {
	spec := baseCheckout(t)
	dir := filepath.Dir(spec)
	git := func(script string) string {
		t.Helper()
		out, err := exec.Command("sh", "-euc", "cd \"$1\" && git config user.name x && git config user.email x@localhost && "+script, "sh", dir).CombinedOutput()
		if err != nil {
			t.Fatal(err, string(out))
		}
		return strings.TrimSpace(string(out))
	}
	git("git add . && git commit -qm base && git branch -M main")
	words := git("git checkout -qb words && echo better > README && git add . && git commit -qm words && git rev-parse HEAD")
	code := git("git checkout -qb code main && echo >> k.c && git commit -qam code && git rev-parse HEAD")
	git("git checkout -q main")
	for name, c := range map[string]struct {
		sha, from, trust string
		change           func(*hub, *PostOptions)
		want, title      string
	}{
		"words of a fork":         {words, "fork/r", "claimed", nil, "success", "Nothing in this change is measured"},
		"words":                   {words, "o/r", "own", nil, "success", "Nothing in this change is measured"},
		"code of a fork":          {code, "fork/r", "claimed", nil, "action_required", "comments /pawl check " + code},
		"a fork that says own":    {code, "fork/r", "own", nil, "action_required", "comments /pawl check " + code},
		"code":                    {code, "o/r", "own", nil, "failure", "The run ended without a report"},
		"code in the queue":       {code, "", "own", func(h *hub, o *PostOptions) { h.pulls, o.Queue = nil, true }, "failure", "The run ended without a report"},
		"a newer commit":          {code, "o/r", "own", func(h *hub, _ *PostOptions) { h.head = newerSHA }, "", ""},
		"not sent":                {code, "o/r", "own", func(_ *hub, o *PostOptions) { o.DryRun = true }, "", "The run ended without a report"},
		"not sent, of a fork":     {code, "fork/r", "claimed", func(_ *hub, o *PostOptions) { o.DryRun, o.Forge.Kind = true, "" }, "", "comments /pawl check " + code},
		"no lane for fork's code": {code, "fork/r", "claimed", func(_ *hub, o *PostOptions) { o.DryRun, o.Forge.Kind = true, forge.Gitea }, "", "The run ended without a report"},
	} {
		h := newHub(t)
		h.head, h.pulls = c.sha, map[int]string{7: c.from}
		opts := h.options(t)
		opts.Spec, opts.Head.SHA, opts.Head.Repo, opts.Trust = spec, c.sha, c.from, c.trust
		if c.change != nil {
			c.change(h, &opts)
		}
		posted, err := PostUnmeasured(t.Context(), opts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sent := ""
		if len(h.checks) == 1 {
			sent, _ = h.checks[0]["conclusion"].(string)
		}
		if sent != c.want || len(h.comments) > 0 || !strings.Contains(posted.Check.Title, c.title) || c.want == "" && len(h.written) > 0 {
			t.Errorf("%s: check %q (%v), wrote %q, comments %v", name, posted.Check.Title, h.checks, h.written, h.comments)
		}
	}
	short := newHub(t).options(t)
	short.Head.SHA = "0123456"
	if _, err := PostUnmeasured(t.Context(), short); err == nil || !strings.Contains(err.Error(), "expected a whole hash") {
		t.Errorf("a short hash: %v", err)
	}
}
