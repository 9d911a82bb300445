// Package forge plays the workflows that pawl ci init writes. actionlint and zizmor read them, and
// act and gitlab-ci-local run them on this machine without containers: the shipped pawl, a real repository with a C
// kernel, real events. `make forge` installs the tools. Stand-ins play what only a forge has:
// checkouts, artifacts and the API (testdata).
package forge

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const kernel = `void scale(float *y, const float *x, int n) {
	for (int repeat = 0; repeat < REPEAT; repeat++)
		for (int i = 0; i < n; i++) y[i] = 2.0f * x[i] + (float)(repeat - repeat);
}
`

const description = `version: 1
kernels:
  scale:
    source: scale.c
    entry: scale
    args:
      - {name: y, dtype: f32, shape: [N], role: out}
      - {name: x, dtype: f32, shape: [N]}
      - {name: n, dtype: i32, value: N}
    oracle: {elementwise: 2 * x}
configs:
  small: {N: 65536}
`

// stage is a repository with generated workflows, and what the stand-ins need.
type stage struct {
	t                    *testing.T
	dir, repo, artifacts string
	env                  []string
	args                 []string // more of them for act
}

func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func tools(t *testing.T) (folder, pawl string) {
	t.Helper()
	folder, pawl = os.Getenv("PAWL_FORGE"), os.Getenv("PAWL_BIN")
	if folder == "" || pawl == "" {
		t.Fatal("run make forge, or set PAWL_FORGE (tools/forge prints it) and PAWL_BIN")
	}
	return folder, pawl
}

func newStage(t *testing.T, runner string) *stage {
	t.Helper()
	_, pawl := tools(t)
	dir := t.TempDir()
	s := &stage{t: t, dir: dir, repo: filepath.Join(dir, "repo"), artifacts: filepath.Join(dir, "artifacts")}
	// Commands of other rooms are only recorded: what is tried here is how the workflows call them.
	write(t, filepath.Join(dir, "pawl"), fmt.Sprintf("#!/bin/sh\ncase \"$1 $2\" in\n'ci post' | 'ci ratchet' | 'ci propose' | 'ci record') printf '%%s\\n' \"$*\" >> %s/calls; exit ;;\nesac\nexec %s \"$@\"\n", dir, pawl))
	for _, folder := range []string{s.repo, s.artifacts, filepath.Join(dir, "home")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	gh, err := os.ReadFile("testdata/gh")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "bin/gh"), string(gh))
	write(t, filepath.Join(s.repo, "pawl.yaml"), description)
	write(t, filepath.Join(s.repo, "scale.c"), strings.Replace(kernel, "REPEAT", "1", 1))
	write(t, filepath.Join(s.repo, "README.md"), "kernels\n")
	command(t, s.repo, "git", "init", "-q", "-b", "main")
	sum := strings.Fields(command(t, dir, "sha256sum", "pawl"))[0]
	command(t, s.repo, pawl, "ci", "init", "github", "--runner", runner, "--url", "file://"+dir+"/pawl", "--sha256", sum)
	s.commit("begin")
	s.env = append(os.Environ(), "PATH="+dir+"/bin:"+os.Getenv("PATH"), "HOME="+dir+"/home", "PAWL_TEST_STAGE="+dir)
	return s
}

func (s *stage) commit(message string) string {
	s.t.Helper()
	command(s.t, s.repo, "git", "add", "--all")
	command(s.t, s.repo, "git", "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "-m", message)
	return command(s.t, s.repo, "git", "rev-parse", "HEAD")
}

// branch makes a commit on a branch that leaves main, and goes back to main.
func (s *stage) branch(name, file, text string) (sha string) {
	s.t.Helper()
	command(s.t, s.repo, "git", "checkout", "-q", "-b", name)
	write(s.t, filepath.Join(s.repo, file), text)
	sha = s.commit(name)
	command(s.t, s.repo, "git", "checkout", "-q", "main")
	return sha
}

var uses = regexp.MustCompile(`uses: (actions/([\w-]+)@[0-9a-f]{40})`)

// play runs a workflow with an event, and returns act's log and whether it succeeded.
func (s *stage) play(workflow, event string, payload map[string]any) (log string, ok bool) {
	s.t.Helper()
	folder, _ := tools(s.t)
	payload = maps.Clone(payload)
	payload["repository"] = map[string]any{"full_name": "owner/kernels", "name": "kernels", "owner": map[string]any{"login": "owner"}, "default_branch": "main"}
	text, err := json.Marshal(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	write(s.t, filepath.Join(s.dir, "event.json"), string(text))
	file := filepath.Join(".github/workflows", workflow)
	args := []string{
		event, "-W", file, "-e", filepath.Join(s.dir, "event.json"), "--pull=false", "--env", "GITHUB_REPOSITORY=owner/kernels", "-s", "GITHUB_TOKEN=token",
		"-P", "self-hosted=-self-hosted", "-P", "gpu=-self-hosted", "-P", "ubuntu-latest=-self-hosted",
	}
	source, err := os.ReadFile(filepath.Join(s.repo, file))
	if err != nil {
		s.t.Fatal(err)
	}
	standins, err := filepath.Abs("testdata/actions")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, action := range uses.FindAllStringSubmatch(string(source), -1) {
		args = append(args, "--local-repository", action[1]+"="+filepath.Join(standins, action[2]))
	}
	cmd := exec.Command(filepath.Join(folder, "act"), append(args, s.args...)...)
	cmd.Dir, cmd.Env = s.repo, s.env
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func (s *stage) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.dir, name))
	return string(text)
}

func pullRequest(s *stage, head, headRepo string) map[string]any {
	return map[string]any{"action": "synchronize", "number": 7, "pull_request": map[string]any{
		"number": 7, "head": map[string]any{"sha": head, "ref": "x", "repo": map[string]any{"full_name": headRepo, "fork": headRepo != "owner/kernels"}},
		"base": map[string]any{"sha": command(s.t, s.repo, "git", "rev-parse", "main"), "ref": "main", "repo": map[string]any{"full_name": "owner/kernels"}},
	}}
}

func TestWorkflowsPassLinters(t *testing.T) {
	folder, pawl := tools(t)
	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil { // actionlint leaves the scripts unread, and says nothing
		t.Fatal(err)
	}
	for _, runner := range []string{"gpu", "ubuntu-latest"} {
		dir := t.TempDir()
		command(t, dir, "git", "init", "-q", "-b", "main")
		for _, forge := range []string{"github", "gitea"} {
			command(t, dir, pawl, "ci", "init", forge, "--runner", runner, "--url", "https://example.org/pawl")
		}
		command(t, dir, filepath.Join(folder, "actionlint"), "-shellcheck", shellcheck)
		// Gitea reads the same language; its file names its own label.
		gitea, err := filepath.Glob(filepath.Join(dir, ".gitea/workflows/*.yml"))
		if err != nil || len(gitea) == 0 {
			t.Fatal(gitea, err)
		}
		command(t, dir, filepath.Join(folder, "actionlint"), append([]string{"-shellcheck", shellcheck}, gitea...)...)
		out := command(t, dir, filepath.Join(folder, "zizmor/bin/zizmor"), append([]string{"--offline", "--persona=regular", ".github"}, gitea...)...) // it finds no files in .gitea itself
		if !strings.Contains(out, "No findings") && !strings.Contains(out, "0 high") {
			t.Errorf("zizmor:\n%s", out)
		}
		t.Log(out[strings.LastIndex(out, "\n")+1:])
	}
}

// TestPullRequest: a slower kernel fails, its report is kept, and the report workflow posts it by the
// trust and the commit that the event names.
func TestPullRequest(t *testing.T) {
	s := newStage(t, "gpu")
	slower := s.branch("slower", "scale.c", strings.Replace(kernel, "REPEAT", "20", 1))
	log, ok := s.play("pawl.yml", "pull_request", pullRequest(s, slower, "owner/kernels"))
	if ok || !strings.Contains(log, "Not passed: scope success, measure failure") {
		t.Fatalf("a slower kernel passed:\n%s", log)
	}
	if names := command(t, s.artifacts, "unzip", "-Z1", "pawl-report.zip"); !strings.Contains(names, "report.json") || !strings.Contains(names, "report.html") {
		t.Errorf("the artifact holds %s", names)
	}
	for repo, trust := range map[string]string{"owner/kernels": "own", "stranger/kernels": "claimed"} {
		_ = os.Remove(filepath.Join(s.dir, "calls"))
		if log, ok := s.play("pawl-report.yml", "workflow_run", finished(slower, repo, ".github/workflows/pawl.yml")); !ok {
			t.Fatalf("report:\n%s", log)
		}
		call := s.read("calls")
		if !strings.HasPrefix(call, "ci post --forge github --repo owner/kernels --sha "+slower+" --report ") || !strings.HasSuffix(call, "/report.zip --trust "+trust+" --strict\n") {
			t.Errorf("%s: called %q", repo, call)
		}
	}
	// Another file that calls itself pawl is not posted.
	_ = os.Remove(filepath.Join(s.dir, "calls"))
	if log, _ := s.play("pawl-report.yml", "workflow_run", finished(slower, "stranger/kernels", ".github/workflows/evil.yml")); s.read("calls") != "" {
		t.Errorf("called %q\n%s", s.read("calls"), log)
	}
}

func finished(sha, repo, path string) map[string]any {
	return map[string]any{"action": "completed", "workflow_run": map[string]any{
		"id": 5, "name": "pawl", "path": path, "event": "pull_request", "head_sha": sha, "conclusion": "success",
		"head_repository": map[string]any{"full_name": repo}, "pull_requests": []any{},
	}}
}

// TestNothingToMeasure: a change of the documentation passes without the GPU, and a fork waits for a
// maintainer. There is no report, and the default branch's workflow lets pawl ci post say why.
func TestNothingToMeasure(t *testing.T) {
	s := newStage(t, "gpu")
	docs := s.branch("docs", "README.md", "better words\n")
	log, ok := s.play("pawl.yml", "pull_request", pullRequest(s, docs, "owner/kernels"))
	if !ok || !strings.Contains(log, "Nothing in this change is measured.") || strings.Contains(log, "Build, verify, measure") {
		t.Errorf("documentation:\n%s", log)
	}
	if log, ok := s.play("pawl-report.yml", "workflow_run", finished(docs, "stranger/kernels", ".github/workflows/pawl.yml")); !ok || s.read("calls") != "ci post --forge github --repo owner/kernels --sha "+docs+" --no-report --trust claimed\n" {
		t.Errorf("called %q\n%s", s.read("calls"), log)
	}
	forks := s.branch("fork", "scale.c", strings.Replace(kernel, "REPEAT", "2", 1))
	log, ok = s.play("pawl.yml", "pull_request", pullRequest(s, forks, "stranger/kernels"))
	if !ok || !strings.Contains(log, "a maintainer reads the change and comments /pawl check "+forks) || strings.Contains(log, "Build, verify, measure") {
		t.Errorf("fork:\n%s", log)
	}
	if log, ok := s.play("pawl-report.yml", "workflow_run", finished(forks, "owner/kernels", ".github/workflows/pawl.yml")); !ok || !strings.HasSuffix(s.read("calls"), "--sha "+forks+" --no-report --trust own\n") {
		t.Errorf("called %q\n%s", s.read("calls"), log)
	}
}

// TestStrangers: the approval is of one commit, by somebody who may write, while it is the head.
func TestStrangers(t *testing.T) {
	s := newStage(t, "gpu")
	sha := s.branch("fork", "scale.c", strings.Replace(kernel, "REPEAT", "1", 1)+"/* the same code */\n")
	comment := func(body, who string) map[string]any {
		return map[string]any{"action": "created", "issue": map[string]any{"number": 7, "pull_request": map[string]any{}}, "comment": map[string]any{"body": body, "author_association": "COLLABORATOR", "user": map[string]any{"login": who}}}
	}
	for name, test := range map[string]struct {
		body, who, head, want string
	}{
		"somebody":     {"/pawl check " + sha, "stranger", sha, "only people who may write"},
		"after a push": {"/pawl check " + sha, "maintainer", strings.Repeat("9", 40), "is another commit by now"},
		"too short":    {"/pawl check " + sha[:12], "maintainer", sha, "all 40 digits"},
		"injection":    {"/pawl check $(touch " + s.dir + "/evil)", "maintainer", sha, "all 40 digits"},
	} {
		write(t, filepath.Join(s.dir, "head"), test.head)
		log, ok := s.play("pawl-strangers.yml", "issue_comment", comment(test.body, test.who))
		if ok || !strings.Contains(log, test.want) || s.read("calls") != "" {
			t.Errorf("%s: calls %q\n%s", name, s.read("calls"), log)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "evil")); err == nil {
		t.Error("a comment was executed")
	}
	write(t, filepath.Join(s.dir, "head"), sha)
	log, ok := s.play("pawl-strangers.yml", "issue_comment", comment("/pawl check "+sha, "maintainer"))
	if call := s.read("calls"); !ok || !strings.Contains(call, "--sha "+sha+" ") || !strings.HasSuffix(call, "--trust approved --strict\n") {
		t.Errorf("called %q\n%s", call, log)
	}
	report := command(t, s.artifacts, "unzip", "-p", "pawl-report.zip", "report.json")
	if !strings.Contains(report, sha) {
		t.Error("the report is not of the approved commit")
	}
}

// TestGitLab: gitlab-ci-local checks the file against GitLab's schema, and runs the jobs of a merge
// request.
func TestGitLab(t *testing.T) {
	folder, pawl := tools(t)
	s := newStage(t, "gpu")
	sum := strings.Fields(command(t, s.dir, "sha256sum", "pawl"))[0]
	command(t, s.repo, pawl, "ci", "init", "gitlab", "--url", "file://"+s.dir+"/pawl", "--sha256", sum)
	write(t, filepath.Join(s.repo, ".gitlab-ci.yml"), "include: {local: .gitlab/pawl.gitlab-ci.yml}\n")
	base := s.commit("gitlab")
	command(t, s.repo, "git", "remote", "add", "origin", "git@gitlab.com:owner/kernels.git")
	for name, test := range map[string]struct {
		file, text string
		want       string
		passes     bool
	}{
		"words":  {"README.md", "better words\n", "Nothing in this change is measured.", true},
		"slower": {"scale.c", strings.Replace(kernel, "REPEAT", "20", 1), "gate failed: 1 regression", false},
	} {
		command(t, s.repo, "git", "clean", "-qffdx") // of what the last pipeline left: it would be part of this change
		command(t, s.repo, "git", "worktree", "prune")
		command(t, s.repo, "git", "checkout", "-q", "-B", name, base)
		write(t, filepath.Join(s.repo, test.file), test.text)
		sha := s.commit(name)
		cmd := exec.Command(filepath.Join(folder, "gitlab/node_modules/.bin/gitlab-ci-local"), "pawl-scope", "pawl", "--needs",
			"--variable", "CI_PIPELINE_SOURCE=merge_request_event", "--variable", "CI_MERGE_REQUEST_DIFF_BASE_SHA="+base, "--variable", "CI_COMMIT_SHA="+sha)
		cmd.Dir, cmd.Env = s.repo, s.env
		out, err := cmd.CombinedOutput()
		if (err == nil) != test.passes || !strings.Contains(string(out), "json schema validated") || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestGitLabToken: a token in a variable of the environment pawl reaches the three jobs that write, in
// pipelines of main, and no job that measures. Pipelines of merge requests have no job with it. (That
// GitLab gives protected variables to pipelines of protected branches alone, no tool here plays.)
func TestGitLabToken(t *testing.T) {
	folder, pawl := tools(t)
	dir := t.TempDir()
	repo, home := filepath.Join(dir, "repo"), filepath.Join(dir, "home")
	write(t, filepath.Join(dir, "pawl"), fmt.Sprintf("#!/bin/sh\nprintf '%%s %%s: %%s\\n' \"$1\" \"$2\" \"${PAWL_TOKEN:-none}\" >> %s/calls\ncase $1 in check) echo '{}' > pawl-report/report.json ;; esac\n", dir))
	write(t, filepath.Join(home, ".gitlab-ci-local/variables.yml"), "global:\n  PAWL_TOKEN: {values: {pawl: secret}}\n")
	write(t, filepath.Join(home, ".gitconfig"), fmt.Sprintf("[url %q]\n\tinsteadOf = git@gitlab.com:owner/kernels.git\n", "file://"+repo))
	write(t, filepath.Join(dir, "api/projects/7/jobs/5/artifacts/pawl-report/report.json"), "{}")
	write(t, filepath.Join(repo, ".gitlab-ci.yml"), "include: {local: .gitlab/pawl.gitlab-ci.yml}\n")
	command(t, repo, "git", "init", "-q", "-b", "main")
	sum := strings.Fields(command(t, dir, "sha256sum", "pawl"))[0]
	command(t, repo, pawl, "ci", "init", "gitlab", "--runner", "gpu", "--url", "file://"+dir+"/pawl", "--sha256", sum)
	commitAll(t, repo, "begin")
	head := command(t, repo, "git", "rev-parse", "HEAD")
	command(t, repo, "git", "remote", "add", "origin", "git@gitlab.com:owner/kernels.git")
	for name, test := range map[string]struct {
		variables []string
		want      string
	}{
		"merge request": {[]string{"CI_PIPELINE_SOURCE=merge_request_event", "CI_MERGE_REQUEST_DIFF_BASE_SHA=" + head}, "ci scope: none\ncheck --fork: none\nci post: none\n"},
		"push to main":  {[]string{"CI_PIPELINE_SOURCE=push"}, "check --require-sandbox: none\nci ratchet: secret\nci record: secret\n"},
		"by hand":       {[]string{"CI_PIPELINE_SOURCE=web", "PAWL_JOB=5", "PAWL_SHA=" + head, "CI_API_V4_URL=file://" + dir + "/api", "CI_PROJECT_ID=7"}, "ci post: secret\n"},
	} {
		var args []string
		for _, variable := range append(test.variables, "CI_DEFAULT_BRANCH=main", "CI_COMMIT_BRANCH=main") {
			args = append(args, "--variable", variable)
		}
		_ = os.Remove(filepath.Join(dir, "calls"))
		cmd := exec.Command(filepath.Join(folder, "gitlab/node_modules/.bin/gitlab-ci-local"), args...)
		cmd.Dir, cmd.Env = repo, append(os.Environ(), "HOME="+home)
		out, err := cmd.CombinedOutput()
		calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
		ordered := slices.Sorted(strings.Lines(string(calls))) // jobs of a stage run beside each other
		if err != nil || !slices.Equal(ordered, slices.Sorted(strings.Lines(test.want))) {
			t.Errorf("%s: %v, called:\n%s\nwant:\n%s\n%s", name, err, calls, test.want, out)
		}
	}
}
