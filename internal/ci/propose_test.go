package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/forge"
	"pawl/internal/git"
	"pawl/internal/patch"
	"pawl/internal/spec"
)

const tunedSpec = `version: 1
kernels:
  scale: # the only one
    source: k.c
    entry: scale
    flags: [-O2]
    params: {BLOCK: [16, 32, 64], WAYS: [1, 2]}
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}]
    oracle: {elementwise: "x * 2"}
configs:
  small: {N: 64}
`

// proposal is a repository, its clone, and the artifact of a search.
type proposal struct {
	*hub
	origin string
	opts   ProposeOptions
}

func runGit(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %s", args, out)
	}
	return strings.TrimSpace(string(out))
}

// newProposal makes a repository whose pawl.yaml is in a subfolder.
func newProposal(t *testing.T, diff string) *proposal {
	t.Helper()
	dir := t.TempDir()
	origin, clone, report := filepath.Join(dir, "origin.git"), filepath.Join(dir, "clone"), filepath.Join(dir, "report")
	write(t, clone, "kernels/pawl.yaml", tunedSpec)
	write(t, clone, "kernels/k.c", "void scale() {}\n")
	write(t, report, "report.json", "{}")
	write(t, report, SuggestionsName, "# Better params\n\n@everybody, ```fixes #1```\n")
	if diff != "" {
		write(t, report, PatchName, diff)
	}
	if err := git.Create(t.Context(), clone, "begin"); err != nil {
		t.Fatal(err)
	}
	runGit(t, "-C", clone, "branch", "-M", "main")
	runGit(t, "clone", "-q", "--bare", clone, origin)
	runGit(t, "-C", clone, "remote", "add", "origin", origin)
	h := newHub(t)
	h.pulls = map[int]string{}
	return &proposal{h, origin, ProposeOptions{
		Report: report, Spec: filepath.Join(clone, "kernels/pawl.yaml"), Branch: "main", Remote: "origin", URL: "https://github.example/o/r/actions/runs/5",
		Forge: forge.Options{Kind: forge.GitHub, URL: h.URL, Repo: "o/r", Token: postToken},
	}}
}

// tunedPatch is the patch that pawl tune writes.
func tunedPatch(t *testing.T, params map[string]string) string {
	t.Helper()
	after, err := spec.Apply([]byte(tunedSpec), "pawl.yaml", "scale", params)
	if err != nil {
		t.Fatal(err)
	}
	return patch.Unified("kernels/pawl.yaml", tunedSpec, string(after))
}

// TestPropose: the change is on a branch of its own and in a draft; the branch that it is for has moved on meanwhile.
func TestPropose(t *testing.T) {
	p := newProposal(t, tunedPatch(t, map[string]string{"BLOCK": "64", "WAYS": "2"}))
	clone := filepath.Dir(filepath.Dir(p.opts.Spec))
	write(t, clone, "kernels/k.c", "void scale() { }\n")
	runGit(t, "-C", clone, "commit", "-qam", "meanwhile")
	runGit(t, "-C", clone, "push", "-q", "origin", "main")
	tip := runGit(t, "-C", clone, "rev-parse", "HEAD")
	runGit(t, "-C", clone, "reset", "-q", "--hard", "HEAD~1")
	dry := p.opts
	dry.DryRun = true
	if made, err := Propose(t.Context(), dry); err != nil || len(made.Changes) != 2 || made.Pull != nil || len(p.written) > 0 {
		t.Fatalf("%+v, %v", made, err)
	}
	first, err := (p.opts).commit(t.Context(), filepath.Dir(p.opts.Spec)+"/", "pawl.yaml", tip, []byte(tunedPatch(t, map[string]string{"BLOCK": "64", "WAYS": "2"})))
	if err != nil {
		t.Fatal(err)
	}
	runGit(t, "-C", clone, "push", "-q", "origin", first.Commit+":refs/heads/"+first.Branch)
	p.head = first.Commit
	made, err := Propose(t.Context(), p.opts)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(made.Changes, "; "); got != "scale: BLOCK 64, was 16; scale: WAYS 2, was 1" {
		t.Error(got)
	}
	if made.Commit != first.Commit || made.Branch != first.Branch || made.Pull == nil || !strings.HasPrefix(made.Branch, "pawl/tune-") {
		t.Errorf("%+v, want %+v", made, first)
	}
	if parent := runGit(t, "-C", p.origin, "rev-parse", made.Branch+"^"); parent != tip {
		t.Errorf("the commit stands on %s, want %s", parent, tip)
	}
	if files := runGit(t, "-C", p.origin, "diff", "--name-only", "main", made.Branch); files != "kernels/pawl.yaml" {
		t.Errorf("changes %s", files)
	}
	if text := runGit(t, "-C", p.origin, "show", made.Branch+":kernels/pawl.yaml"); !strings.Contains(text, "params: {BLOCK: [64, 16, 32], WAYS: [2, 1]}") || !strings.Contains(text, "# the only one") {
		t.Error(text)
	}
	text, _ := p.opened["body"].(string)
	if p.opened["draft"] != true || p.opened["head"] != made.Branch || p.opened["base"] != "main" || p.opened["title"] != "perf: better default params of scale" {
		t.Errorf("opened %v", p.opened)
	}
	for _, want := range []string{"```\nscale: BLOCK 64, was 16\n", "actions/runs/5 has the report", "```\n# Better params\n\n@everybody, '''fixes #1'''\n```"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestProposePushes: a suggestion that nobody has proposed before gets its branch.
func TestProposePushes(t *testing.T) {
	p := newProposal(t, tunedPatch(t, map[string]string{"BLOCK": "32"}))
	p.opts.Forge.URL = "http://127.0.0.1:1" // nobody answers: the branch is there all the same
	_, err := Propose(t.Context(), p.opts)
	if err == nil || !strings.Contains(err.Error(), "has the change, but no pull request could be opened") {
		t.Fatal(err)
	}
	if out := runGit(t, "-C", p.origin, "branch", "--list", "pawl/tune-*"); out == "" {
		t.Error("no branch was pushed")
	}
}

func TestProposeNothing(t *testing.T) {
	for _, diff := range []string{"", "\n"} {
		p := newProposal(t, diff)
		if made, err := Propose(t.Context(), p.opts); err != nil || made.Changes != nil || len(p.written) > 0 {
			t.Errorf("%+v, %v", made, err)
		}
	}
}

// TestProposeRefuses: the patch of another job may say anything; only changes of defaults get through.
func TestProposeRefuses(t *testing.T) {
	good := tunedPatch(t, map[string]string{"BLOCK": "64"})
	edit := func(old, now string) string {
		return patch.Unified("kernels/pawl.yaml", tunedSpec, strings.Replace(tunedSpec, old, now, 1))
	}
	for name, c := range map[string]struct{ diff, want string }{
		"flags":         {edit("-O2", "-fplugin=evil.so"), "expected changes of defaults only, and kernel scale differs"},
		"source":        {edit("k.c", "../k.c"), "expected changes of defaults only"},
		"a value":       {edit("[16, 32, 64]", "[128, 16, 32, 64]"), "the values of BLOCK in kernel scale differ"},
		"a param":       {edit("BLOCK: [16, 32, 64], ", ""), "the params of scale differ"},
		"a config":      {edit("N: 64", "N: 32"), "and configs differs"},
		"a comment":     {edit("the only one", "TODO"), "and comments differs"},
		"no YAML":       {edit("version: 1", "version: ["), "not readable as YAML"},
		"another file":  {good + patch.Unified("kernels/k.c", "void scale() {}\n", "void scale() { evil(); }\n"), "expected changes of kernels/pawl.yaml alone, got kernels/k.c, kernels/pawl.yaml"},
		"only another":  {patch.Unified("kernels/k.c", "void scale() {}\n", "evil\n"), "expected changes of kernels/pawl.yaml alone, got kernels/k.c"},
		"a new file":    {"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n", "x is made, removed or of another kind"},
		"no file":       {"--- a/kernels/k.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-void scale() {}\n", "kernels/k.c is made, removed or of another kind"},
		"a mode":        {"diff --git a/kernels/pawl.yaml b/kernels/pawl.yaml\nold mode 100644\nnew mode 100755\n", "is made, removed or of another kind"},
		"outside":       {"--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "apply the patch"},
		"no patch":      {"hello\n", "apply the patch"},
		"another state": {strings.ReplaceAll(good, "WAYS", "WEYS"), "apply the patch"},
		"too long":      {good + strings.Repeat("\n", maxPatch), "more than the 1048576 allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProposal(t, c.diff)
			made, err := Propose(t.Context(), p.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; want %q", made, err, c.want)
			}
			if out := runGit(t, "-C", p.origin, "branch", "--list"); out != "* main" || len(p.written) > 0 {
				t.Errorf("branches %s, written %v", out, p.written)
			}
		})
	}
}
