package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// instance is a real Gitea with a real runner, on this machine alone.
type instance struct {
	t        *testing.T
	dir, url string
	bin      string // folder of gitea and runner
	tokens   map[string]string
	began    time.Time
	over     map[string]int64 // the last run of each file whose end was waited for
}

const giteaConfig = `APP_NAME = forge
RUN_MODE = prod
RUN_USER = %[1]s
WORK_PATH = %[2]s
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[3]d
ROOT_URL = http://127.0.0.1:%[3]d/
STATIC_ROOT_PATH = %[4]s
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = %[2]s/gitea.db
[security]
INSTALL_LOCK = true
[actions]
ENABLED = true
DEFAULT_ACTIONS_URL = self
[log]
LEVEL = Warn
[cron.update_checker]
ENABLED = false
`

const runnerConfig = `log: {level: info}
runner: {capacity: 1, fetch_interval: 1s, fetch_interval_max: 1s, log_report_interval: 1s, log_report_max_latency: 500ms, state_report_interval: 1s}
cache: {enabled: false}
host: {workdir_parent: %s/work}
`

// newInstance starts Gitea with people and a runner for the labels.
func newInstance(t *testing.T, people ...string) *instance {
	t.Helper()
	g := &instance{t: t, dir: t.TempDir(), bin: os.Getenv("PAWL_GITEA"), tokens: map[string]string{}, began: time.Now(), over: map[string]int64{}}
	if g.bin == "" {
		t.Skip("needs PAWL_GITEA (tools/gitea prints it): make forge sets it")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	g.url = fmt.Sprintf("http://127.0.0.1:%d", port)
	source, err := filepath.EvalSymlinks(filepath.Join(g.bin, "source"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(g.dir, "app.ini"), fmt.Sprintf(giteaConfig, command(t, g.dir, "id", "-un"), g.dir, port, source))
	g.gitea("migrate")
	for _, name := range people {
		args := []string{"admin", "user", "create", "--username", name, "--password", name + "-passw0rd", "--email", name + "@localhost.localdomain", "--must-change-password=false"}
		g.gitea(append(args, map[bool][]string{true: {"--admin"}}[name == people[0]]...)...)
		g.tokens[name] = g.gitea("admin", "user", "generate-access-token", "--username", name, "--scopes", "all", "--raw")
	}
	g.start("gitea", "--config", filepath.Join(g.dir, "app.ini"), "web")
	g.wait("Gitea", time.Minute, func() bool {
		answer, err := http.Get(g.url + "/api/healthz")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	write(t, filepath.Join(g.dir, "runner.yaml"), fmt.Sprintf(runnerConfig, g.dir))
	register := []string{"register", "--config", filepath.Join(g.dir, "runner.yaml"), "--no-interactive", "--instance", g.url, "--name", "machine", "--labels", "ubuntu-latest:host,gpu:host"}
	command(t, g.dir, filepath.Join(g.bin, "runner"), append(register, "--token", g.gitea("actions", "generate-runner-token"))...)
	g.start("runner", "--config", filepath.Join(g.dir, "runner.yaml"), "daemon")
	return g
}

// gitea runs a command of Gitea and returns its last line.
func (g *instance) gitea(args ...string) string {
	g.t.Helper()
	out := command(g.t, g.dir, filepath.Join(g.bin, "gitea"), append([]string{"--config", filepath.Join(g.dir, "app.ini")}, args...)...)
	return out[strings.LastIndex(out, "\n")+1:]
}

// start starts a process that ends with the test. Its log is a file of the stage.
func (g *instance) start(name string, args ...string) {
	g.t.Helper()
	log, err := os.Create(filepath.Join(g.dir, name+".log"))
	if err != nil {
		g.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(g.bin, name), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = g.dir, log, log
	cmd.Env = append(os.Environ(), "HOME="+g.dir, "GITEA_WORK_DIR="+g.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done
		}
		log.Close()
		if g.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			g.t.Logf("%s:\n%s", log.Name(), text[max(0, len(text)-6000):])
		}
	})
}

// say writes a line of the story, with the seconds since its beginning.
func (g *instance) say(format string, args ...any) {
	g.t.Logf("%5.1f s  %s", time.Since(g.began).Seconds(), fmt.Sprintf(format, args...))
}

func (g *instance) wait(what string, most time.Duration, done func() bool) {
	g.t.Helper()
	for end := time.Now().Add(most); !done(); time.Sleep(300 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("waited %v for %s", most, what)
		}
	}
}

// api calls Gitea's API in somebody's name, and reads the answer into a value.
func (g *instance) api(who, method, path string, body, into any) int {
	g.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		g.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, g.url+"/api/v1"+path, bytes.NewReader(raw))
	if err != nil {
		g.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "token "+g.tokens[who])
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		g.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil || answer.StatusCode >= 300 {
			g.t.Fatalf("%s %s: %s %.500s", method, path, answer.Status, text)
		}
	}
	return answer.StatusCode
}

// remote returns the address of a repository for somebody's git.
func (g *instance) remote(who, repo string) string {
	return strings.Replace(g.url, "://", "://"+who+":"+g.tokens[who]+"@", 1) + "/" + repo + ".git"
}

// publish makes a repository of a folder's files, and returns its commit.
func (g *instance) publish(who, owner, repo, dir string) string {
	g.t.Helper()
	path := "/user/repos"
	if owner != who {
		path = "/orgs/" + owner + "/repos"
	}
	if code := g.api(who, http.MethodPost, path, map[string]any{"name": repo, "default_branch": "main"}, nil); code != http.StatusCreated {
		g.t.Fatalf("create %s/%s: %d", owner, repo, code)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		command(g.t, dir, "git", "init", "-q", "-b", "main")
	}
	commitAll(g.t, dir, "measure pull requests")
	command(g.t, dir, "git", "push", "-q", g.remote(who, owner+"/"+repo), "main")
	return command(g.t, dir, "git", "rev-parse", "HEAD")
}

func commitAll(t *testing.T, dir, message string) {
	t.Helper()
	command(t, dir, "git", "add", "--all")
	command(t, dir, "git", "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "-m", message)
}

type giteaRun struct {
	ID         int64  `json:"id"`
	Event      string `json:"event"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	HeadSHA    string `json:"head_sha"`
	Path       string `json:"path"`
}

// run returns the newest run of a workflow file for an event, if nobody has waited for its end yet.
func (g *instance) run(repo, file, event string) *giteaRun {
	g.t.Helper()
	var all struct {
		Runs []giteaRun `json:"workflow_runs"`
	}
	g.api("maintainer", http.MethodGet, "/repos/"+repo+"/actions/runs?limit=50", nil, &all)
	for _, one := range all.Runs {
		if one.Event == event && strings.Contains(one.Path, file) && one.ID > g.over[file] {
			return &one
		}
	}
	return nil
}

// ended waits for the end of a run, and says how its jobs ended.
func (g *instance) ended(repo, file, event string) *giteaRun {
	g.t.Helper()
	var last *giteaRun
	g.wait("the end of "+file, 5*time.Minute, func() bool {
		last = g.run(repo, file, event)
		return last != nil && last.Status == "completed"
	})
	g.over[file] = last.ID
	var all struct {
		Jobs []struct {
			Name, Conclusion string
		}
	}
	g.api("maintainer", http.MethodGet, fmt.Sprintf("/repos/%s/actions/runs/%d/jobs", repo, last.ID), nil, &all)
	var jobs []string
	for _, job := range all.Jobs {
		jobs = append(jobs, job.Name+": "+job.Conclusion)
	}
	g.say("%s (%s) ended: %s", file, event, strings.Join(jobs, ", "))
	return last
}

// approve approves a run as a maintainer does on the page of the run: the API has no way to.
func (g *instance) approve(who, repo string, run int64) {
	g.t.Helper()
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	for path, form := range map[string]url.Values{"/user/login": {"user_name": {who}, "password": {who + "-passw0rd"}}} {
		answer, err := browser.PostForm(g.url+path, form)
		if err != nil {
			g.t.Fatal(err)
		}
		answer.Body.Close()
	}
	answer, err := browser.PostForm(fmt.Sprintf("%s/%s/actions/runs/%d/approve", g.url, repo, run), nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		g.t.Fatalf("approve: %v %v", answer, err)
	}
	answer.Body.Close()
}

// logs returns the logs of a run's jobs.
func (g *instance) logs(repo string, run int64) string {
	var all struct{ Jobs []struct{ ID int64 } }
	g.api("maintainer", http.MethodGet, fmt.Sprintf("/repos/%s/actions/runs/%d/jobs", repo, run), nil, &all)
	text := ""
	for _, job := range all.Jobs {
		request, _ := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/api/v1/repos/%s/actions/jobs/%d/logs", g.url, repo, job.ID), nil)
		request.Header.Set("Authorization", "token "+g.tokens["maintainer"])
		if answer, err := http.DefaultClient.Do(request); err == nil {
			raw, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			text += string(raw)
		}
	}
	return text
}

// kernels makes the repository of a maintainer, with pawl's workflows, and returns its folder.
func (g *instance) kernels() string {
	t := g.t
	pawl := os.Getenv("PAWL_BIN")
	dir := filepath.Join(g.dir, "kernels")
	write(t, filepath.Join(dir, "pawl.yaml"), description+"ci: {price_per_hour: 36}\n")
	write(t, filepath.Join(dir, "scale.c"), strings.Replace(kernel, "REPEAT", "2", 1))
	command(t, dir, "git", "init", "-q", "-b", "main")
	commitAll(t, dir, "kernels")
	command(t, dir, pawl, "ci", "init", "gitea", "--runner", "gpu", "--url", "file://"+pawl)
	// Actions come from the instance itself: a stand-in of checkout, in a repository like any other.
	g.api("maintainer", http.MethodPost, "/orgs", map[string]any{"username": "actions"}, nil)
	action := filepath.Join(g.dir, "checkout")
	text, err := os.ReadFile("testdata/gitea/checkout/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(action, "action.yml"), string(text))
	sha := g.publish("maintainer", "actions", "checkout", action)
	files, err := filepath.Glob(filepath.Join(dir, ".gitea/workflows/*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, file, uses.ReplaceAllString(string(text), "uses: actions/$2@"+sha))
	}
	return dir
}

// comments returns the comments of a pull request, which must all be pawl's.
func (g *instance) comments(repo string, pull int) []string {
	g.t.Helper()
	var all []struct {
		Body string
		User struct{ Login string }
	}
	g.api("maintainer", http.MethodGet, fmt.Sprintf("/repos/%s/issues/%d/comments", repo, pull), nil, &all)
	var out []string
	for _, one := range all {
		if one.User.Login != "pawl-bot" {
			g.t.Errorf("%s comments", one.User.Login)
		}
		out = append(out, strings.ReplaceAll(one.Body, "\u00a0", " "))
	}
	return out
}

// posted waits until pawl has said of a commit what is expected, in the one comment and in the status.
// Gitea may start the report workflow twice for one run.
func (g *instance) posted(repo string, pull int, sha, status string) (comment string) {
	g.t.Helper()
	var all []struct{ Context, Status, Description string }
	g.wait("the comment and the status "+status, 2*time.Minute, func() bool {
		made := g.comments(repo, pull)
		if len(made) != 1 || !strings.Contains(made[0], "sha="+sha) {
			return false
		}
		comment = made[0]
		g.api("maintainer", http.MethodGet, "/repos/"+repo+"/commits/"+sha+"/statuses", nil, &all)
		for _, one := range all {
			if one.Context == "pawl" && one.Status == status {
				g.say("commit status pawl: %s, %s", one.Status, one.Description)
				return true
			}
		}
		return false
	})
	return comment
}

// change commits a file on a branch of a clone, and pushes it.
func (g *instance) change(dir, to, branch, file, text string) (sha string) {
	g.t.Helper()
	write(g.t, filepath.Join(dir, file), text)
	commitAll(g.t, dir, branch)
	command(g.t, dir, "git", "push", "-q", to, "HEAD:refs/heads/"+branch)
	return command(g.t, dir, "git", "rev-parse", "HEAD")
}

// open opens a pull request for main.
func (g *instance) open(who, repo, head string) int {
	g.t.Helper()
	var pull struct{ Number int }
	g.api(who, http.MethodPost, "/repos/"+repo+"/pulls", map[string]any{"title": "a clever idea", "head": head, "base": "main"}, &pull)
	g.say("pull request %d: %s", pull.Number, head)
	return pull.Number
}

// TestGitea plays the whole story on a real Gitea with a real runner: main measures its first baseline;
// a stranger's pull request waits for approval, is measured, and the default branch's workflow posts
// what it found; a faster kernel is merged into a protected main, and the baseline follows by a pull
// request.
func TestGitea(t *testing.T) {
	g := newInstance(t, "maintainer", "stranger", "pawl-bot")
	const repo = "maintainer/kernels"
	dir := g.kernels()
	g.publish("maintainer", "maintainer", "kernels", dir)
	g.api("maintainer", http.MethodPut, "/repos/"+repo+"/collaborators/pawl-bot", map[string]any{"permission": "write"}, nil)
	g.api("maintainer", http.MethodPut, "/repos/"+repo+"/actions/secrets/PAWL_TOKEN", map[string]any{"data": g.tokens["pawl-bot"]}, nil)
	g.say("main is pushed: pawl.yaml, scale.c, .gitea/workflows")
	ended := func(file, event, conclusion string) *giteaRun {
		t.Helper()
		run := g.ended(repo, file, event)
		if run.Conclusion != conclusion {
			t.Fatalf("%s: %+v\n%s", file, run, g.logs(repo, run.ID))
		}
		return run
	}
	ended("pawl-ratchet.yml", "push", "success")
	own := g.remote("maintainer", repo)
	command(t, dir, "git", "pull", "-q", own, "main")
	g.say("main: %s", command(t, dir, "git", "log", "-1", "--format=%s"))
	for name := range strings.FieldsSeq(command(t, dir, "git", "show", "--name-only", "--format=", "HEAD")) {
		if !strings.HasPrefix(name, ".pawl/baseline/") {
			t.Errorf("the ratchet's commit has %q", name)
		}
	}

	// A stranger's first pull request waits.
	g.api("stranger", http.MethodPost, "/repos/"+repo+"/forks", map[string]any{}, nil)
	fork := filepath.Join(g.dir, "fork")
	g.wait("the fork", time.Minute, func() bool {
		return exec.Command("git", "clone", "-q", g.remote("stranger", "stranger/kernels"), fork).Run() == nil
	})
	head := g.change(fork, "origin", "idea", "scale.c", strings.Replace(kernel, "REPEAT", "40", 1))
	pull := g.open("stranger", repo, "stranger:idea")
	var first *giteaRun
	g.wait("the run of the pull request", time.Minute, func() bool {
		first = g.run(repo, "pawl.yml", "pull_request")
		return first != nil
	})
	time.Sleep(5 * time.Second) // the runner asks for jobs every second
	if first = g.run(repo, "pawl.yml", "pull_request"); first == nil || first.Status == "completed" || first.Status == "in_progress" {
		t.Fatalf("a stranger's run did not wait: %+v", first)
	}
	g.say("pawl.yml (pull_request) is %s for approval", first.Status)
	g.approve("maintainer", repo, first.ID)
	g.say("maintainer approves the run")
	ended("pawl.yml", "pull_request", "failure")
	ended("pawl-report.yml", "workflow_run", "success")
	made := g.posted(repo, pull, head, "failure")
	g.say("pawl-bot comments:\n%s", made)
	for _, want := range []string{"❌ **1 of 1 config is slower than the gate of +3% allows**", "`scale/small`", "Claimed by the pull request's own job", "the processor held for", " USD"} {
		if !strings.Contains(made, want) {
			t.Errorf("the comment does not say %q", want)
		}
	}

	// The stranger's next push is not held back, which docs/ci.md says; the comment is updated.
	head = g.change(fork, "origin", "idea", "scale.c", strings.Replace(kernel, "REPEAT", "30", 1))
	g.say("stranger pushes again, and nobody approves")
	ended("pawl.yml", "pull_request", "failure")
	ended("pawl-report.yml", "workflow_run", "success")
	g.posted(repo, pull, head, "failure")
	g.say("the comment is about %.7s now", head)

	// A faster kernel of the repository's own passes; main is protected, so the baseline follows by a pull request.
	g.api("maintainer", http.MethodPost, "/repos/"+repo+"/branch_protections", map[string]any{"rule_name": "main", "enable_push": false}, nil)
	head = g.change(dir, own, "faster", "scale.c", strings.Replace(kernel, "REPEAT", "1", 1))
	pull = g.open("maintainer", repo, "faster")
	ended("pawl.yml", "pull_request", "success")
	ended("pawl-report.yml", "workflow_run", "success")
	g.posted(repo, pull, head, "success")

	if code := g.api("maintainer", http.MethodPost, fmt.Sprintf("/repos/%s/pulls/%d/merge", repo, pull), map[string]any{"Do": "merge"}, nil); code != http.StatusOK {
		t.Fatalf("merge: %d", code)
	}
	g.say("maintainer merges it into main, which takes no push")
	ended("pawl-ratchet.yml", "push", "success")
	var open []struct {
		Number int
		User   struct{ Login string }
		Head   struct{ Ref, SHA string }
	}
	g.api("maintainer", http.MethodGet, "/repos/"+repo+"/pulls?state=open&sort=newest", nil, &open)
	if len(open) != 2 || open[0].User.Login != "pawl-bot" || !strings.HasPrefix(open[0].Head.Ref, "pawl/ratchet-") {
		t.Fatalf("open pull requests: %+v", open)
	}
	command(t, dir, "git", "fetch", "-q", own, open[0].Head.Ref)
	subject := command(t, dir, "git", "log", "-1", "--format=%s", "FETCH_HEAD")
	g.say("pawl-bot opens pull request %d: %s", open[0].Number, subject)
	if subject != "perf: ratchet baseline forward" {
		t.Errorf("its commit says %q", subject)
	}
	ended("pawl.yml", "pull_request", "success")

	// Another file that calls itself pawl starts the report workflow, too, whose job then does nothing.
	if err := os.Remove(filepath.Join(dir, ".gitea/workflows/pawl.yml")); err != nil {
		t.Fatal(err)
	}
	g.change(dir, own, "other", ".gitea/workflows/other.yml", "name: pawl\non: pull_request\njobs:\n  other:\n    runs-on: ubuntu-latest\n    steps:\n      - run: 'true'\n")
	pull = g.open("maintainer", repo, "other")
	ended("other.yml", "pull_request", "success")
	g.wait("a report workflow that does nothing", time.Minute, func() bool {
		last := g.run(repo, "pawl-report.yml", "workflow_run")
		return last != nil && last.Conclusion == "skipped"
	})
	g.say("pawl-report.yml (workflow_run) is skipped for other.yml, which calls itself pawl")
	if made := g.comments(repo, pull); len(made) > 0 {
		t.Errorf("comments about other.yml: %s", made)
	}
}

// probe is a job that writes a label of its own name with the permissions that it asks for.
const probe = `
  NAME:
    permissions: PERMISSIONS
    runs-on: ubuntu-latest
    steps:
      - env:
          TOKEN: ${{ github.token }}
        run: |
          curl --silent --show-error --request POST --header "Authorization: token $TOKEN" --header 'Content-Type: application/json' \
            --data '{"name": "NAME", "color": "#000000"}' "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/labels"
`

// TestGiteaPermissions says what docs/ci.md says of permissions: on pull requests of the repository itself.
func TestGiteaPermissions(t *testing.T) {
	g := newInstance(t, "maintainer")
	const repo = "maintainer/plain"
	dir := filepath.Join(g.dir, "plain")
	write(t, filepath.Join(dir, "README.md"), "plain\n")
	g.publish("maintainer", "maintainer", "plain", dir)
	text := "on: pull_request\njobs:"
	for name, permissions := range map[string]string{"none": "{}", "read": "{contents: read}", "write": "{issues: write}"} {
		text += strings.NewReplacer("NAME", name, "PERMISSIONS", permissions).Replace(probe)
	}
	g.change(dir, g.remote("maintainer", repo), "probe", ".gitea/workflows/probe.yml", text)
	g.wait("the branch", time.Minute, func() bool {
		return g.api("maintainer", http.MethodGet, "/repos/"+repo+"/branches/probe", nil, nil) == http.StatusOK
	})
	g.open("maintainer", repo, "probe")
	g.ended(repo, "probe.yml", "pull_request")
	var labels []struct{ Name string }
	g.api("maintainer", http.MethodGet, "/repos/"+repo+"/labels", nil, &labels)
	g.say("labels: %v", labels)
	if len(labels) != 1 || labels[0].Name != "write" {
		t.Errorf("jobs that wrote: %v\n%s", labels, g.logs(repo, 1))
	}
}
