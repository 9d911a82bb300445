package ci

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/claim"
	"pawl/internal/forge"
	"pawl/internal/git"
	"pawl/internal/judge"
	"pawl/internal/result"
	"pawl/internal/spec"
)

const (
	measuredSHA = "0123456789abcdef0123456789abcdef01234567"
	newerSHA    = "fedcba9876543210fedcba9876543210fedcba98"
	postToken   = "ghs_nobodyMaySeeThis"
)

// hub is a GitHub on loopback with the requests that Post makes. internal/forge validates requests
// against GitHub's own description; here it counts what is written.
type hub struct {
	*httptest.Server
	pulls    map[int]string // head repository, by number
	head     string
	files    []string
	source   string
	written  []string // requests that write
	comments map[int]string
	checks   []map[string]any
	opened   map[string]any // pull request
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{pulls: map[int]string{7: "fork/r"}, head: measuredSHA, files: []string{"k.c"}, comments: map[int]string{}, source: source}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	if r.Method != http.MethodGet {
		h.written = append(h.written, r.Method+" "+r.URL.Path)
	}
	pull := func(number int) map[string]any {
		return map[string]any{
			"number": number, "state": "open", "html_url": "https://github.example/o/r/pull/7", "changed_files": len(h.files), "base": map[string]any{"ref": "main"},
			"head": map[string]any{"sha": h.head, "ref": "faster", "repo": map[string]any{"full_name": h.pulls[number]}},
		}
	}
	var number int
	_, _ = fmt.Sscanf(r.URL.Path, "/repos/o/r/pulls/%d", &number)
	var issue int
	_, _ = fmt.Sscanf(r.URL.Path, "/repos/o/r/issues/%d/comments", &issue)
	var reply any
	switch {
	case r.URL.Path == "/user":
		reply = map[string]any{"login": "pawl-bot"}
	case r.URL.Path == "/repos/o/r/pulls" && r.Method == http.MethodPost:
		h.opened, h.pulls[11] = body, "o/r"
		reply = pull(11)
	case r.URL.Path == "/repos/o/r/pulls":
		list := []any{}
		for n := range h.pulls {
			list = append(list, pull(n))
		}
		reply = list
	case strings.HasSuffix(r.URL.Path, "/files"):
		list := []any{}
		for _, f := range h.files {
			list = append(list, map[string]any{"filename": f})
		}
		reply = list
	case number > 0:
		reply = pull(number)
	case issue > 0 && r.Method == http.MethodGet:
		reply = []any{}
		if text, found := h.comments[issue]; found {
			reply = []any{map[string]any{"id": issue, "body": text, "user": map[string]any{"login": "pawl-bot"}}}
		}
	case issue > 0:
		h.comments[issue] = body["body"].(string)
		reply = map[string]any{"id": issue}
	case strings.HasPrefix(r.URL.Path, "/repos/o/r/issues/comments/"):
		_, _ = fmt.Sscanf(r.URL.Path, "/repos/o/r/issues/comments/%d", &issue)
		h.comments[issue] = body["body"].(string)
		reply = map[string]any{"id": issue}
	case strings.HasSuffix(r.URL.Path, "/check-runs") && r.Method == http.MethodGet:
		reply = map[string]any{"check_runs": []any{}}
	case strings.HasPrefix(r.URL.Path, "/repos/o/r/statuses/"): // Gitea's
		h.checks = append(h.checks, body)
		reply = map[string]any{"id": 1}
	case strings.HasSuffix(r.URL.Path, "/check-runs"):
		h.checks = append(h.checks, body)
		reply = map[string]any{"id": 1}
	case r.URL.Path == "/repos/o/r/contents/k.c" && r.URL.Query().Get("ref") == measuredSHA:
		fmt.Fprint(w, h.source)
		return
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(reply)
}

const (
	source   = "/* a kernel */\n#include <stddef.h>\n\nvoid scale(float *x, long n) {\n\tfor (long i = 0; i < n; i++) x[i] *= 2;\n}\n"
	pawlYAML = `version: 1
kernels:
  scale:
    source: k.c
    entry: scale
    args:
      - {name: x, dtype: f32, shape: [N], role: inout}
      - {name: n, dtype: i64, value: N}
configs: {small: {N: 1024}}
`
)

// repository makes a checkout of the base.
func baseCheckout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"pawl.yaml": pawlYAML, "k.c": "void scale(float *x, long n) {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	return filepath.Join(dir, "pawl.yaml")
}

// checkReport returns a report of one row.
func checkReport(verdict result.Verdict, change float64) *result.Report {
	return &result.Report{
		Schema: result.Schema, Kind: result.KindCheck, ID: "x", Tool: result.Tool{Version: "0.1.0"}, Started: time.Now().Add(-time.Minute), Finished: time.Now(),
		Commit: &result.Commit{SHA: measuredSHA}, Base: &result.BaseRef{Ref: "main", SHA: newerSHA}, DeviceClass: "host-x",
		Machine: result.Fingerprint{CPU: result.CPU{Model: "Example CPU", Cores: 2}}, Gate: &result.Gate{Regression: 0.03, Improvement: 0.05},
		Rows: []*result.Row{{Kernel: "scale", Config: "small", Verdict: verdict, Sides: []*result.Side{
			{Role: result.Base, Commit: newerSHA, Change: &result.Change{Median: change, Low: change - 0.002, High: change + 0.002, Paired: true}},
		}}},
	}
}

func (h *hub) options(t *testing.T) PostOptions {
	t.Helper()
	return PostOptions{
		Forge: forge.Options{Kind: forge.GitHub, URL: h.URL, Repo: "o/r", Token: postToken}, Head: forge.Head{SHA: measuredSHA, Repo: "fork/r"},
		Name: "pawl", Run: 3, Spec: baseCheckout(t),
	}
}

// vouching is a report as claim admits it.
func vouching(r *result.Report, trust claim.Trust) *admitted {
	r.Outcome = judge.Outcome(r)
	return &admitted{Admitted: &claim.Admitted{Report: r, Outcome: r.Outcome, Trust: trust}}
}

func claimed(r *result.Report) *admitted { return vouching(r, claim.Claimed) }

// A pass is a success only where somebody other than the pull request vouches for it.
func TestPostConclusion(t *testing.T) {
	slower, kept, unsure := checkReport(result.Regression, 0.052), checkReport(result.Maintained, 0.001), checkReport(result.Inconclusive, 0.02)
	strict := vouching(checkReport(result.Inconclusive, 0.02), claim.Approved)
	strict.Outcome.Strict = true
	forged := vouching(checkReport(result.Maintained, 0.001), claim.Approved)
	forged.Outcome.Result = result.Failed
	forged.Contradictions = []claim.Contradiction{{Row: "scale/small", What: "the report contradicts its own samples", Claim: "`maintained` @all", Found: "regression"}}
	unused := vouching(checkReport(result.Maintained, 0), claim.Approved)
	unused.Outcome.Result, unused.refused = result.Failed, errors.New("report.zip: <b>the name leaves the folder")
	old := vouching(checkReport(result.Maintained, 0.001), claim.Approved)
	old.doubts = []string{"by rules that the branch has changed since"}
	onPurpose := func(trust claim.Trust) *admitted {
		report := checkReport(result.Maintained, 0.3)
		report.Rows[0].Reasons = append(report.Rows[0].Reasons, result.Accepted)
		return vouching(report, trust)
	}
	for name, c := range map[string]struct {
		report *admitted
		hub    func(*hub)
		want   forge.Conclusion
		title  string
		shows  string
	}{
		"claimed pass":       {claimed(kept), nil, forge.Neutral, "Claimed by the pull request's own job: no config is slower", ""},
		"claimed regression": {claimed(slower), nil, forge.Failure, "Claimed by the pull request's own job: 1 of 1 config is slower", ""},
		"approved pass":      {vouching(kept, claim.Approved), nil, forge.Success, "No config is slower", ""},
		"approved slower":    {vouching(slower, claim.Approved), nil, forge.Failure, "1 of 1 config is slower", ""},
		"approved undecided": {vouching(unsure, claim.Approved), nil, forge.Neutral, "1 of 1 config is undecided", ""},
		"strict undecided":   {strict, nil, forge.Failure, "1 of 1 config is undecided", ""},
		"forged":             {forged, nil, forge.Failure, "The report contradicts itself. By its samples: no config is slower", "`scale/small: the report contradicts its own samples: it claims ˋmaintainedˋ @all, but it is regression`"},
		"not used":           {unused, nil, forge.Failure, "The report is not used.", "`report.zip: <b>the name leaves the folder`"},
		"older rules":        {old, nil, forge.Neutral, "Measured in the approved lane, by rules that the branch has changed since: no config", ""},
		"own":                {vouching(kept, claim.Own), func(h *hub) { h.pulls[7] = "o/r" }, forge.Success, "No config is slower", ""},
		"own, but a fork's":  {vouching(kept, claim.Own), nil, forge.Neutral, "Claimed by the pull request's own job", ""},
		"on purpose":         {onPurpose(claim.Own), func(h *hub) { h.pulls[7] = "o/r" }, forge.Success, "No config is slower", ""},
		"a fork's purpose":   {onPurpose(claim.Approved), nil, forge.Neutral, "Measured in the approved lane, and a slowdown is accepted by the pull request alone", ""},
		"changed workflow":   {vouching(kept, claim.Approved), func(h *hub) { h.files = append(h.files, ".github/workflows/pawl.yml") }, forge.Neutral, "Measured in the approved lane, and the pull request changes a workflow", ""},
		"changed action":     {vouching(kept, claim.Approved), func(h *hub) { h.files = append(h.files, "tools/gpu/action.yml") }, forge.Neutral, "Measured in the approved lane, and the pull request changes a workflow", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			opts := h.options(t)
			if c.hub != nil {
				c.hub(h)
				opts.Head.Repo = h.pulls[7]
			}
			posted, err := post(t.Context(), opts, c.report)
			if err != nil {
				t.Fatal(err)
			}
			if len(h.checks) != 1 || h.checks[0]["conclusion"] != string(c.want) || h.checks[0]["head_sha"] != measuredSHA {
				t.Errorf("checks: %v, want %s", h.checks, c.want)
			}
			title := h.checks[0]["output"].(map[string]any)["title"].(string)
			if !strings.HasPrefix(title, c.title) {
				t.Errorf("title %q", title)
			}
			if len(h.comments) != 1 || !strings.HasSuffix(h.comments[7], posted.Comment) {
				t.Errorf("comments: %v", h.comments)
			}
			if !strings.Contains(h.comments[7], c.shows) {
				t.Errorf("the comment does not show %s:\n%s", c.shows, h.comments[7])
			}
			vouched := c.report.Trust != claim.Claimed
			if id := h.checks[0]["external_id"].(string); strings.HasSuffix(id, " vouched") != vouched || strings.Contains(h.comments[7], " run=3 vouched -->\n") != vouched {
				t.Errorf("vouched %t: the check is %s, the comment\n%s", vouched, id, h.comments[7])
			}
			if c.want != forge.Success && strings.Contains(h.comments[7], "✅") {
				t.Errorf("the comment looks like a success:\n%s", h.comments[7])
			}
		})
	}
}

// A stale run writes nothing.
func TestPostStale(t *testing.T) {
	for name, change := range map[string]func(*hub, *PostOptions){
		"a newer push":       func(h *hub, _ *PostOptions) { h.head = newerSHA },
		"another repository": func(_ *hub, o *PostOptions) { o.Head.Repo = "someone/else" },
		"a newer run": func(h *hub, _ *PostOptions) {
			h.comments[7] = "<!-- pawl:pawl sha=" + measuredSHA + " run=4 -->\nnewer\n"
		},
		"a claim after a measurement": func(h *hub, _ *PostOptions) {
			h.comments[7] = "<!-- pawl:pawl sha=" + measuredSHA + " run=2 vouched -->\nslower\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			opts := h.options(t)
			change(h, &opts)
			posted, err := post(t.Context(), opts, claimed(checkReport(result.Maintained, 0)))
			if err != nil || len(h.written) > 0 || posted.Decided() {
				t.Errorf("%v, written: %v", err, h.written)
			}
		})
	}
}

// Several pull requests may share a head: each has a comment, the commit has one check. The commit of a
// merge queue is no pull request's head: it has a check.
func TestPostSharedHead(t *testing.T) {
	h := newHub(t)
	h.pulls[8] = "fork/r"
	h.pulls[9] = "another/r"
	if _, err := post(t.Context(), h.options(t), claimed(checkReport(result.Maintained, 0))); err != nil {
		t.Fatal(err)
	}
	if len(h.comments) != 2 || h.comments[9] != "" || len(h.checks) != 1 {
		t.Errorf("%d comments, %d checks", len(h.comments), len(h.checks))
	}
	h = newHub(t)
	h.pulls = nil
	opts := h.options(t)
	opts.Queue = true
	if _, err := post(t.Context(), opts, claimed(checkReport(result.Maintained, 0))); err != nil || len(h.checks) != 1 || len(h.comments) != 0 {
		t.Errorf("queue: %v, %d checks", err, len(h.checks))
	}
}

// Annotations are on the kernel's line in the commit that was measured. The report has no say in where.
func TestPostAnnotations(t *testing.T) {
	h := newHub(t)
	r := checkReport(result.Regression, 0.052)
	invented := *r.Rows[0]
	invented.Kernel = "../../etc/passwd"
	r.Rows = append(r.Rows, &invented)
	opts := h.options(t)
	dir := t.TempDir()
	opts.Summary, opts.CodeQuality = filepath.Join(dir, "summary.md"), filepath.Join(dir, "quality.json")
	posted, err := post(t.Context(), opts, claimed(r))
	if err != nil {
		t.Fatal(err)
	}
	want := forge.Annotation{Path: "k.c", Line: 4, Level: forge.Fail, Title: "scale: 1 slower", Message: "small slower +5.2% [+5.0 … +5.4]"}
	if got := posted.Check.Annotations; len(got) != 1 || got[0] != want {
		t.Errorf("annotations: %+v", got)
	}
	if text, err := os.ReadFile(opts.Summary); err != nil || string(text) != posted.Comment+"\n" {
		t.Errorf("summary: %s, %v", text, err)
	}
	var quality []struct {
		Severity string `json:"severity"`
		Location struct {
			Path  string `json:"path"`
			Lines struct {
				Begin int `json:"begin"`
			} `json:"lines"`
		} `json:"location"`
	}
	text, err := os.ReadFile(opts.CodeQuality)
	if err != nil || json.Unmarshal(text, &quality) != nil || len(quality) != 1 || quality[0].Location.Path != "k.c" || quality[0].Location.Lines.Begin != 4 || quality[0].Severity != "critical" {
		t.Errorf("code quality: %s, %v", text, err)
	}
}

// Without the places of kernels there are no annotations, but the result is posted.
func TestPostWithoutSpec(t *testing.T) {
	h := newHub(t)
	opts := h.options(t)
	if err := os.WriteFile(opts.Spec, []byte("kernels: ["), 0o644); err != nil {
		t.Fatal(err)
	}
	posted, err := post(t.Context(), opts, claimed(checkReport(result.Regression, 0.052)))
	if err != nil || posted.Unannotated == nil || len(h.checks) != 1 || h.checks[0]["conclusion"] != "failure" {
		t.Errorf("%v, %+v", err, posted)
	}
}

func TestPostDryRun(t *testing.T) {
	h := newHub(t)
	opts := h.options(t)
	dir := t.TempDir()
	opts.DryRun, opts.Forge.Token, opts.Summary, opts.CodeQuality = true, "", filepath.Join(dir, "summary.md"), filepath.Join(dir, "quality.json")
	posted, err := post(t.Context(), opts, claimed(checkReport(result.Regression, 0.052)))
	if err != nil || len(h.written) > 0 {
		t.Fatal(err, h.written)
	}
	if len(posted.Check.Annotations) != 1 || posted.Check.Annotations[0].Line != 1 || posted.Check.Conclusion != forge.Failure {
		t.Errorf("%+v", posted.Check)
	}
	if _, err := os.Stat(opts.Summary); err == nil {
		t.Error("a summary was written")
	}
	if text, err := os.ReadFile(opts.CodeQuality); err != nil || !strings.Contains(string(text), `"path": "k.c"`) {
		t.Errorf("code quality: %s, %v", text, err)
	}
}

func TestPostEnvironment(t *testing.T) {
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	actions := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": "https://api.github.com", "GITHUB_SHA": newerSHA, "GITHUB_RUN_ID": "12",
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_TOKEN": postToken, "GITHUB_STEP_SUMMARY": "/tmp/summary",
	}
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"workflow_run": {
			map[string]string{"GITHUB_EVENT_PATH": write(`{"workflow_run":{"id":9,"event":"pull_request","head_sha":"` + measuredSHA + `","head_branch":"faster","head_repository":{"full_name":"fork/r"},"pull_requests":[]}}`)},
			"github https://api.github.com o/r {fork/r " + measuredSHA + " faster} false 9 https://github.com/o/r/actions/runs/9 /tmp/summary",
		},
		"pull_request": {
			map[string]string{"GITHUB_EVENT_PATH": write(`{"pull_request":{"head":{"sha":"` + measuredSHA + `","ref":"faster","repo":{"full_name":"fork/r"}}}}`)},
			"github https://api.github.com o/r {fork/r " + measuredSHA + " faster} false 12 https://github.com/o/r/actions/runs/12 /tmp/summary",
		},
		"merge queue": {
			map[string]string{"GITHUB_EVENT_PATH": write(`{"merge_group":{"head_sha":"` + measuredSHA + `"}}`)},
			"github https://api.github.com o/r { " + measuredSHA + " } true 12 https://github.com/o/r/actions/runs/12 /tmp/summary",
		},
		"gitea": {
			map[string]string{"GITEA_ACTIONS": "true", "GITHUB_API_URL": "https://gitea.example/api/v1", "GITHUB_SERVER_URL": "https://gitea.example"},
			"gitea https://gitea.example/api/v1 o/r { " + newerSHA + " } false 12 https://gitea.example/o/r/actions/runs/12 /tmp/summary",
		},
		"gitlab": {
			map[string]string{
				"GITHUB_ACTIONS": "", "GITLAB_CI": "true", "CI_API_V4_URL": "https://gitlab.example/api/v4", "CI_PROJECT_PATH": "fork/r", "CI_MERGE_REQUEST_PROJECT_PATH": "group/sub/r",
				"CI_COMMIT_SHA": newerSHA, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": measuredSHA, "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "fork/r",
				"CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "faster", "CI_PIPELINE_ID": "77", "CI_PIPELINE_URL": "https://gitlab.example/p/77", "GITLAB_TOKEN": postToken,
			},
			"gitlab https://gitlab.example/api/v4 group/sub/r {fork/r " + measuredSHA + " faster} false 77 https://gitlab.example/p/77 ",
		},
	} {
		o, err := PostEnvironment("", func(name string) string {
			if value, found := c.env[name]; found {
				return value
			}
			return actions[name]
		})
		got := fmt.Sprint(o.Forge.Kind, " ", o.Forge.URL, " ", o.Forge.Repo, " ", o.Head, " ", o.Queue, " ", o.Run, " ", o.URL, " ", o.Summary)
		if err != nil || got != c.want || o.Forge.Token != postToken {
			t.Errorf("%s: %v\n%s\n%s", name, err, got, c.want)
		}
	}
}

// A source that takes long to read costs the line of an annotation, and not the comment.
func TestLineOfLargeSource(t *testing.T) {
	kernel := &spec.Kernel{Launches: []*spec.Launch{{Entry: "scale"}}}
	for size, want := range map[int]int{0: 4, maxAnnotated: 1} {
		if got := lineOf(kernel, []byte(source+strings.Repeat(" ", size))); got != want {
			t.Errorf("with %d bytes more: line %d, want %d", size, got, want)
		}
	}
}

// TestQueueWithAWorkflow: a merge queue runs the workflows of what is merged, a stranger's too.
func TestQueueWithAWorkflow(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, want := range map[string]int{"k.c": 0, ".github/workflows/pawl.yml": 1} {
		file := baseCheckout(t)
		dir := filepath.Dir(file)
		commit(t, dir)
		write(t, dir, name, "changed\n")
		commit(t, dir)
		head, err := git.Resolve(t.Context(), dir, "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("git", "-C", dir, "checkout", "-q", "HEAD~1").CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
		report := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(report, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := PostOptions{Head: forge.Head{SHA: head}, Queue: true, Report: report, Trust: "own", Spec: file}.admit(t.Context())
		if err != nil || len(a.doubts) != want {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// A job of one forge that posts to another takes nothing of its own along: its token would reach a
// stranger, and its address, repository and commit are not meant.
func TestPostToAnotherForge(t *testing.T) {
	env := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_API_URL": "https://api.github.com", "GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": newerSHA, "GITHUB_TOKEN": postToken,
		"PAWL_APP_ID": "1", "PAWL_APP_KEY": "key", "GITLAB_TOKEN": "glpat",
	}
	getenv := func(name string) string { return env[name] }
	o, err := PostEnvironment(forge.GitLab, getenv)
	if f := o.Forge; err != nil || f.Token != "glpat" || f.App != nil || f.URL != "" || f.Repo != "" || o.Head.SHA != "" {
		t.Errorf("GitLab: %+v, %v", o, err)
	}
	o, err = PostEnvironment(forge.GitHub, getenv)
	if f := o.Forge; err != nil || f.Token != postToken || f.App == nil || f.Repo != "o/r" || o.Head.SHA != newerSHA {
		t.Errorf("GitHub: %+v, %v", o, err)
	}
	env["GITHUB_ACTIONS"] = ""
	if o, err = PostEnvironment("", getenv); err != nil || o.Forge.Kind != "" || o.Forge.Token != "" {
		t.Errorf("no job: %+v, %v", o, err)
	}
}
