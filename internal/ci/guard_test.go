package ci

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	strangersSHA = "1111111111111111111111111111111111111111"
	otherSHA     = "2222222222222222222222222222222222222222"
)

func policyText(dir, strangers string) string {
	return fmt.Sprintf("version: 1\nuser: '54321'\nhome: %[1]s/home\nwork: %[1]s/work\nstate: %[1]s/state\napprovals: %[1]s/approved\ntemp: ['%[1]s/tmp']\nrepositories: [Owner/kernels]\nstrangers: %[2]s\n", dir, strangers)
}

// testPolicy is a policy whose folders are all below one.
func testPolicy(t *testing.T, strangers string) *Policy {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"home", "work", "state", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(dir, "guard.yaml")
	if err := os.WriteFile(name, []byte(policyText(dir, strangers)), 0o644); err != nil {
		t.Fatal(err)
	}
	policy, err := ReadPolicy(name, os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	policy.spools = nil // tests sweep what they made, and nothing of this machine's
	return policy
}

// theJob is a job as GitHub describes it, before a test changes something.
type theJob struct {
	env   map[string]string
	event map[string]any
}

const workflows = "owner/kernels/.github/workflows/"

func pullRequest(headRepo int) theJob {
	return theJob{
		map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_WORKFLOW_REF": workflows + "pawl.yml@refs/pull/7/merge"},
		map[string]any{"action": "synchronize", "number": 7, "pull_request": map[string]any{
			"number": 7, "head": map[string]any{"sha": strangersSHA, "repo": map[string]any{"id": headRepo, "full_name": "x/kernels"}},
			"base": map[string]any{"repo": map[string]any{"id": 1, "full_name": "owner/kernels"}},
		}},
	}
}

func push() theJob {
	return theJob{
		map[string]string{"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/main", "GITHUB_WORKFLOW_REF": workflows + "pawl-ratchet.yml@refs/heads/main"},
		map[string]any{"ref": "refs/heads/main"},
	}
}

var today = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

func comment() theJob {
	return theJob{
		map[string]string{"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_REF": "refs/heads/main", "GITHUB_WORKFLOW_REF": workflows + "pawl-strangers.yml@refs/heads/main"},
		map[string]any{"action": "created", "issue": map[string]any{"number": 7, "pull_request": map[string]any{}}, "comment": map[string]any{
			"id": 99, "body": "/pawl check " + strangersSHA + "\r\n", "author_association": "MEMBER", "created_at": today.Add(-time.Minute),
		}},
	}
}

func (j theJob) read(t *testing.T) *Job {
	t.Helper()
	if j.event["repository"] == nil {
		j.event["repository"] = map[string]any{"id": 1, "full_name": "owner/kernels"}
	}
	text, err := json.Marshal(j.event)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	name := filepath.Join(work, "event.json")
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GITHUB_REPOSITORY": "owner/kernels", "GITHUB_RUN_ID": "5", "GITHUB_EVENT_PATH": name}
	for key, value := range j.env {
		env[key] = value
	}
	job, err := ReadJob(func(key string) string { return env[key] }, work)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func with(job theJob, changes ...any) theJob {
	for i := 0; i < len(changes); i += 2 {
		path := strings.Split(changes[i].(string), ".")
		if len(path) == 1 && strings.HasPrefix(path[0], "GITHUB_") {
			job.env[path[0]] = changes[i+1].(string)
			continue
		}
		at := job.event
		for _, key := range path[:len(path)-1] {
			at = at[key].(map[string]any)
		}
		at[path[len(path)-1]] = changes[i+1]
	}
	return job
}

func TestAdmit(t *testing.T) {
	mergeGroup := func() theJob {
		ref := "refs/heads/gh-readonly-queue/main/pr-7-abc"
		return theJob{
			map[string]string{"GITHUB_EVENT_NAME": "merge_group", "GITHUB_REF": ref, "GITHUB_WORKFLOW_REF": workflows + "pawl.yml@" + ref},
			map[string]any{"action": "checks_requested", "merge_group": map[string]any{"head_ref": ref, "base_ref": "refs/heads/main"}},
		}
	}
	dispatch := func(workflow string) theJob {
		return theJob{
			map[string]string{"GITHUB_EVENT_NAME": "workflow_dispatch", "GITHUB_REF": "refs/heads/main", "GITHUB_WORKFLOW_REF": workflows + workflow + "@refs/heads/main"},
			map[string]any{"inputs": map[string]any{"sha": strangersSHA, "pull": "7"}},
		}
	}
	schedule := func(workflow string) theJob {
		return theJob{
			map[string]string{"GITHUB_EVENT_NAME": "schedule", "GITHUB_REF": "refs/heads/main", "GITHUB_WORKFLOW_REF": workflows + workflow + "@refs/heads/main"},
			map[string]any{"schedule": "23 2 * * 1"},
		}
	}
	fork := 2
	for name, test := range map[string]struct {
		strangers string
		job       theJob
		lane      Lane   // what is admitted
		refused   string // or a part of the refusal
	}{
		"own branch":                         {"refuse", pullRequest(1), OwnLane, ""},
		"push to main":                       {"refuse", push(), OwnLane, ""},
		"merge queue":                        {"refuse", mergeGroup(), OwnLane, ""},
		"dispatch":                           {"refuse", dispatch("pawl.yml"), OwnLane, ""},
		"case of the repository":             {"refuse", with(push(), "GITHUB_REPOSITORY", "OWNER/Kernels"), OwnLane, ""},
		"maintainer's comment":               {"comment", comment(), StrangerLane, ""},
		"dispatch for a stranger":            {"comment", dispatch("pawl-strangers.yml"), StrangerLane, ""},
		"fork":                               {"refuse", pullRequest(fork), "", "comes from a fork"},
		"fork, comments allowed":             {"comment", pullRequest(fork), "", "comments /pawl check " + strangersSHA},
		"fork without approval":              {"file", pullRequest(fork), "", "is not approved on this machine"},
		"deleted fork":                       {"comment", with(pullRequest(fork), "pull_request.head.repo", nil), "", "comes from a fork"},
		"fork that calls itself ours":        {"comment", with(pullRequest(fork), "pull_request.head.repo.full_name", "owner/kernels"), "", "comes from a fork"},
		"pull request into another base":     {"refuse", with(pullRequest(1), "pull_request.base.repo.id", 3), "", "does not say what"},
		"other repository":                   {"refuse", with(push(), "GITHUB_REPOSITORY", "evil/kernels"), "", `repository "evil/kernels" is not in the policy`},
		"event of another repository":        {"refuse", with(push(), "repository", map[string]any{"id": 9, "full_name": "evil/kernels"}), "", `the event is of repository "evil/kernels"`},
		"pull_request_target":                {"comment", with(pullRequest(1), "GITHUB_EVENT_NAME", "pull_request_target"), "", `event "pull_request_target" is not in the policy`},
		"pull_request_review":                {"comment", with(pullRequest(1), "GITHUB_EVENT_NAME", "pull_request_review"), "", "is not in the policy"},
		"another event":                      {"comment", with(push(), "GITHUB_EVENT_NAME", "workflow_run"), "", "is not in the policy"},
		"schedule":                           {"refuse", schedule("pawl-tune.yml"), OwnLane, ""},
		"schedule without a repository":      {"refuse", with(schedule("pawl-tune.yml"), "repository", map[string]any{}), OwnLane, ""},
		"schedule of another repository":     {"refuse", with(schedule("pawl-tune.yml"), "repository", map[string]any{"id": 2, "full_name": "x/y"}), "", "the event is of repository"},
		"schedule of a branch":               {"refuse", with(schedule("pawl-tune.yml"), "GITHUB_WORKFLOW_REF", workflows+"pawl-tune.yml@refs/heads/x"), "", "expected the one of refs/heads/main"},
		"schedule for strangers":             {"comment", schedule("pawl-strangers.yml"), "", "does not start"},
		"workflow that nobody listed":        {"refuse", with(push(), "GITHUB_WORKFLOW_REF", workflows+"miner.yml@refs/heads/main"), "", "is not in the policy"},
		"workflow of another repository":     {"refuse", with(push(), "GITHUB_WORKFLOW_REF", "evil/x/.github/workflows/pawl.yml@refs/heads/main"), "", "is not in the policy"},
		"file name with an @":                {"refuse", with(push(), "GITHUB_WORKFLOW_REF", workflows+"pawl.yml@refs/heads/main.yml@refs/pull/7/merge"), "", "expected the one of refs/heads/main"},
		"push whose event names a branch":    {"refuse", with(push(), "ref", "refs/heads/x"), "", `push to "refs/heads/x": expected refs/heads/main`},
		"push that removes main":             {"refuse", with(push(), "deleted", true), "", `push to "refs/heads/main": expected refs/heads/main`},
		"push to a branch":                   {"refuse", with(push(), "GITHUB_REF", "refs/heads/x", "ref", "refs/heads/x", "GITHUB_WORKFLOW_REF", workflows+"pawl-ratchet.yml@refs/heads/x"), "", "expected the one of refs/heads/main"},
		"workflow of a branch":               {"refuse", with(dispatch("pawl.yml"), "GITHUB_WORKFLOW_REF", workflows+"pawl.yml@refs/heads/x"), "", "expected the one of refs/heads/main"},
		"pull request with main's workflow":  {"refuse", with(pullRequest(1), "GITHUB_WORKFLOW_REF", workflows+"pawl.yml@refs/heads/main"), "", "expected refs/pull/7/merge"},
		"pull request runs strangers":        {"comment", with(pullRequest(1), "GITHUB_WORKFLOW_REF", workflows+"pawl-strangers.yml@refs/pull/7/merge"), "", "expected refs/pull/7/merge"},
		"queue of another branch":            {"refuse", with(mergeGroup(), "merge_group.base_ref", "refs/heads/x"), "", "expected the queue of main"},
		"comment, strangers refused":         {"refuse", comment(), "", "do not run on this machine"},
		"comment of a stranger":              {"comment", with(comment(), "comment.author_association", "CONTRIBUTOR"), "", "not a maintainer"},
		"comment that was edited":            {"comment", with(comment(), "action", "edited"), "", "expected a new comment"},
		"comment on an issue":                {"comment", with(comment(), "issue.pull_request", nil), "", "expected a new comment on a pull request"},
		"comment without a commit":           {"comment", with(comment(), "comment.body", "/pawl check"), "", "names no commit"},
		"comment with a short commit":        {"comment", with(comment(), "comment.body", "/pawl check 1111111"), "", "names no commit"},
		"comment with a quote before":        {"comment", with(comment(), "comment.body", "> x\n/pawl check "+strangersSHA), "", "names no commit"},
		"comment of last week":               {"comment", with(comment(), "comment.created_at", today.Add(-7*24*time.Hour)), "", "is void"},
		"comment of tomorrow":                {"comment", with(comment(), "comment.created_at", today.Add(24*time.Hour)), "", "is void"},
		"comment that starts another file":   {"comment", with(comment(), "GITHUB_WORKFLOW_REF", workflows+"pawl.yml@refs/heads/main"), "", "does not start"},
		"comment, file wanted":               {"file", comment(), "", "is not approved on this machine"},
		"dispatch for a stranger, no commit": {"comment", with(dispatch("pawl-strangers.yml"), "inputs", map[string]any{}), "", "names no commit"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := testPolicy(t, test.strangers).Admit(test.job.read(t), today)
			switch {
			case test.refused == "" && (err != nil || got.Lane != test.lane):
				t.Errorf("%+v, %v; want lane %s", got, err, test.lane)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("%+v, %v; want a refusal with %q", got, err, test.refused)
			case err != nil && strings.Contains(err.Error(), "\n"):
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

// TestEventIsReadFromTheWorkFolder: the hook reads as root, and whoever calls it names the file.
func TestEventIsReadFromTheWorkFolder(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	event := `{"repository": {"id": 1, "full_name": "owner/kernels"}}`
	write(t, dir, "secret.json", event)
	write(t, work, "event.json", event)
	for link, target := range map[string]string{"link.json": filepath.Join(dir, "secret.json"), "loop": ".."} {
		if err := os.Symlink(target, filepath.Join(work, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(work, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		work + "/event.json": true, dir + "/secret.json": false, work + "/../secret.json": false, work + "/link.json": false,
		work + "/loop/secret.json": false, "event.json": false, work: false, work + "/pipe": false, work + "/none": false,
	} {
		_, err := ReadJob(func(key string) string {
			if key == "GITHUB_EVENT_PATH" {
				return name
			}
			return "x"
		}, work)
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestApprovalIsVoidByUseAndAge(t *testing.T) {
	p := testPolicy(t, StrangersByFile)
	if err := p.Approve(strangersSHA, "", today, today.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Admit(pullRequest(2).read(t), today.Add(2*time.Hour)); err == nil || !strings.Contains(err.Error(), "its approval ended") {
		t.Errorf("after its end: %v", err)
	}
	pushed := with(pullRequest(2), "pull_request.head.sha", otherSHA)
	if _, err := p.Admit(pushed.read(t), today); err == nil || !strings.Contains(err.Error(), "is not approved") {
		t.Errorf("after a push: %v", err)
	}
	got, err := p.Admit(pullRequest(2).read(t), today)
	if err != nil || got.Lane != StrangerLane {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := got.use(); err != nil {
		t.Fatal(err)
	}
	if err := got.use(); err == nil {
		t.Error("an approval was used twice")
	}
	if _, err := p.Admit(pullRequest(2).read(t), today); err == nil {
		t.Error("a used approval admits")
	}
	for what, until := range map[string]time.Time{"over": today.Add(-time.Minute), "too long": today.Add(48 * time.Hour)} {
		if p.Approve(strangersSHA, "", today, until) == nil {
			t.Errorf("%s: approved", what)
		}
	}
	if p.Approve("1111", "", today, today.Add(time.Hour)) == nil {
		t.Error("a short commit was approved")
	}
	// A file that somebody else could have written counts for nothing.
	if err := p.Approve(strangersSHA, "", today, today.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.Approvals, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Admit(pullRequest(2).read(t), today); err == nil || !strings.Contains(err.Error(), "could write it") {
		t.Errorf("a folder that everybody writes: %v", err)
	}
}

func TestCommentCountsOnce(t *testing.T) {
	p := testPolicy(t, StrangersByComment)
	for i := range 2 {
		got, err := p.Admit(comment().read(t), today)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.use(); (err == nil) != (i == 0) {
			t.Errorf("use %d: %v", i+1, err)
		}
	}
}

func TestPolicyIsStrict(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "guard.yaml")
	good := policyText(dir, "refuse")
	for what, text := range map[string]string{
		"an unknown key":     good + "stranger: refuse\n",
		"an unknown event":   good + "events: [pull_request_target]\n",
		"another version":    strings.Replace(good, "version: 1", "version: 2", 1),
		"root":               strings.Replace(good, "user: '54321'", "user: root", 1),
		"nobody":             strings.Replace(good, "user: '54321'", "user: nobody-has-this-name", 1),
		"no repository":      strings.Replace(good, "[Owner/kernels]", "[]", 1),
		"all of the machine": strings.Replace(good, "home: "+dir+"/home", "home: /", 1),
		"a relative folder":  strings.Replace(good, "work: "+dir, "work: .", 1),
		"keep outside":       good + "keep: [../other]\n",
		"strangers: yes":     strings.Replace(good, "strangers: refuse", "strangers: yes", 1),
		"a second document":  good + "---\nstrangers: comment\n",
		"a duplicate key":    good + "strangers: comment\n",
		"nothing":            "",
		"not YAML":           "\x00{",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if p, err := ReadPolicy(name, os.Getuid()); err == nil {
			t.Errorf("%s: %+v", what, p)
		}
	}
	if err := os.WriteFile(name, []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadPolicy(name, os.Getuid()); err != nil || p.uid != 54321 { // sweep ends all that this user runs
		t.Fatal(err)
	}
	if _, err := ReadPolicy(name, os.Getuid()+1); err == nil {
		t.Error("a policy of another owner was read")
	}
	if err := os.Chmod(name, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPolicy(name, os.Getuid()); err == nil {
		t.Error("a policy that everybody may write was read")
	}
	link := filepath.Join(dir, "link.yaml")
	_ = os.Chmod(name, 0o644)
	if err := os.Symlink(name, link); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPolicy(link, os.Getuid()); err == nil {
		t.Error("a link was followed to the policy")
	}
}

// FuzzEvent: whatever an event says, a fork's own workflow is never admitted and a comment only with
// a maintainer's whole commit.
func FuzzEvent(f *testing.F) {
	for _, job := range []theJob{pullRequest(1), pullRequest(2), push(), comment()} {
		job.event["repository"] = map[string]any{"id": 1, "full_name": "owner/kernels"}
		text, _ := json.Marshal(job.event)
		for event := range 5 {
			f.Add(text, event)
		}
	}
	policy := defaultPolicy()
	policy.Repositories, policy.Strangers, policy.age = []string{"owner/kernels"}, StrangersByComment, 24*time.Hour
	f.Fuzz(func(t *testing.T, text []byte, event int) {
		p, err := parseEvent(text)
		if err != nil {
			return
		}
		events := []struct{ name, ref, workflow string }{
			{"pull_request", "refs/pull/7/merge", "pawl.yml"},
			{"push", "refs/heads/main", "pawl-ratchet.yml"},
			{"issue_comment", "refs/heads/main", "pawl-strangers.yml"},
			{"workflow_dispatch", "refs/heads/main", "pawl-strangers.yml"},
			{"merge_group", "refs/heads/gh-readonly-queue/main/x", "pawl.yml"},
		}
		e := events[(event%len(events)+len(events))%len(events)]
		job := &Job{Event: e.name, Repository: "owner/kernels", Ref: e.ref, WorkflowRef: workflows + e.workflow + "@" + e.ref, RunID: "1", payload: p}
		got, err := policy.Admit(job, today)
		if err != nil {
			return
		}
		switch e.name {
		case "pull_request":
			if p.PullRequest.Head.Repo.ID != p.Repository.ID || got.Lane != OwnLane {
				t.Fatalf("a fork was admitted: %s", text)
			}
		case "issue_comment":
			if !strings.HasPrefix(p.Comment.Body, "/pawl check "+got.Commit) || len(got.Commit) != 40 || got.Lane != StrangerLane || p.Comment.Association == "NONE" {
				t.Fatalf("a comment approved %q: %s", got.Commit, text)
			}
		case "workflow_dispatch":
			if len(got.Commit) != 40 || got.Lane != StrangerLane {
				t.Fatalf("a dispatch approved %q: %s", got.Commit, text)
			}
		}
	})
}
