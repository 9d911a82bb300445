package ci

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"pawl/internal/git"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func options(forge, dir string) InitOptions {
	return InitOptions{
		Forge: forge, Dir: dir, Runner: "gpu", Branch: "main", Version: "1.2.3",
		URL: "https://example.org/pawl-linux-amd64", SHA256: strings.Repeat("5a", 32),
	}
}

func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := git.Create(t.Context(), dir, "begin"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestInitGolden(t *testing.T) {
	for _, forge := range Forges {
		files, err := fill(options(forge, ""))
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			golden := filepath.Join("testdata", forge, strings.ReplaceAll(name, "/", "__"))
			if *update {
				_ = os.MkdirAll(filepath.Dir(golden), 0o755)
				_ = os.WriteFile(golden, text, 0o644)
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(want) != string(text) {
				t.Errorf("%s differs from %s, %v (run with -update if that is meant)", name, golden, err)
			}
		}
	}
}

type workflow struct {
	On          any               `yaml:"on"`
	Permissions any               `yaml:"permissions"`
	Concurrency any               `yaml:"concurrency"`
	Env         map[string]string `yaml:"env"`
	Jobs        map[string]struct {
		If          string            `yaml:"if"`
		RunsOn      any               `yaml:"runs-on"`
		Timeout     int               `yaml:"timeout-minutes"`
		Permissions map[string]string `yaml:"permissions"`
		Env         map[string]string `yaml:"env"`
		Steps       []struct {
			Uses string            `yaml:"uses"`
			Run  string            `yaml:"run"`
			With map[string]any    `yaml:"with"`
			Env  map[string]string `yaml:"env"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

var pinned = regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)

// TestWorkflowRules reads the generated files as a machine does and checks what must hold in each.
func TestWorkflowRules(t *testing.T) {
	for _, forge := range []string{"github", "gitea"} {
		for _, runner := range []string{"gpu", "ubuntu-latest"} {
			opts := options(forge, "")
			opts.Runner = runner
			files, err := fill(opts)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				if strings.Contains(name, "/workflows/") {
					t.Run(runner+"/"+name, func(t *testing.T) { checkWorkflow(t, text, forge, runner) })
				}
			}
		}
	}
}

// TestOneArchitecture: jobs on the forge's machines can run the file that an arm64 runner installs.
func TestOneArchitecture(t *testing.T) {
	for url, want := range map[string]string{"https://example.org/pawl-linux-arm64": "ubuntu-24.04-arm", "https://example.org/pawl-linux-amd64": "ubuntu-latest"} {
		opts := options("github", "")
		opts.URL = url
		files, err := fill(opts)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(files[".github/workflows/pawl.yml"], &w); err != nil {
			t.Fatal(err)
		}
		if got := labelsOf(w.Jobs["scope"].RunsOn); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: scope runs on %q, want %s", url, got, want)
		}
	}
}

// TestAnotherDefaultBranch: no file and no instruction names main where the repository has no such branch.
func TestAnotherDefaultBranch(t *testing.T) {
	main := regexp.MustCompile(`(?m)^[^#\n]*\bmain\b.*$`)
	for _, forge := range Forges {
		opts := options(forge, "")
		opts.Branch = "trunk"
		files, err := fill(opts)
		if err != nil {
			t.Fatal(err)
		}
		ratchets := ""
		for name, text := range files {
			if found := main.Find(text); found != nil {
				t.Errorf("%s: %s", name, found)
			}
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, " ci ratchet ") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
					ratchets += line
				}
			}
		}
		if !strings.Contains(ratchets, "--branch 'trunk'") && !strings.Contains(ratchets, `--branch "$CI_DEFAULT_BRANCH"`) {
			t.Errorf("%s moves the baseline of main: %s", forge, ratchets)
		}
		next := strings.Join(Next(opts), "\n")
		if main.MatchString(next) || (forge == "github") != strings.Contains(next, "default_branch: trunk") {
			t.Errorf("%s: %s", forge, next)
		}
	}
}

func checkWorkflow(t *testing.T, text []byte, forge, runner string) {
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	if none, ok := w.Permissions.(map[string]any); !ok || len(none) != 0 {
		t.Errorf("permissions at the top: %v, want {}", w.Permissions)
	}
	if w.Env["PAWL_SHA256"] != strings.Repeat("5a", 32) || w.Env["PAWL_VERSION"] == "" {
		t.Errorf("pawl is not pinned: %v", w.Env)
	}
	for id, job := range w.Jobs {
		labels := labelsOf(job.RunsOn)
		measures := slices.Contains(labels, runner) && id == "measure"
		if on, _ := w.On.(map[string]any); on["workflow_run"] != nil && (!strings.Contains(job.If, "workflow_run.path") || !strings.Contains(job.If, "workflow_run.event")) {
			t.Errorf("%s: any workflow that calls itself pawl starts it", id)
		}
		if job.Permissions == nil || job.Timeout == 0 {
			t.Errorf("%s: expected permissions and a timeout", id)
		}
		for scope, may := range job.Permissions {
			if may != "read" && (measures || slices.Contains(labels, "self-hosted")) {
				t.Errorf("%s: the job on the measuring machine may %s %s", id, may, scope)
			}
		}
		for i, step := range job.Steps {
			if step.Uses != "" && !pinned.MatchString(step.Uses) {
				t.Errorf("%s, step %d: %s is not pinned by commit", id, i, step.Uses)
			}
			if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
				t.Errorf("%s, step %d: the checkout keeps its token", id, i)
			}
			// A check that the branch protection requires from an App counts only if the App writes it.
			if posts := regexp.MustCompile(` ci (post|ratchet|propose) `).MatchString(step.Run); posts && forge == "github" && (step.Env["PAWL_APP_ID"] == "" || step.Env["PAWL_APP_KEY"] == "") {
				t.Errorf("%s, step %d: it cannot write as an App", id, i)
			}
			if strings.Contains(step.Run, "${{") {
				t.Errorf("%s, step %d: an expression inside of a script; pass it by env", id, i)
			}
			for name, value := range step.Env {
				if measures && (strings.Contains(value, "secrets.") || strings.Contains(value, "github.token")) {
					t.Errorf("%s, step %d: %s is a token on the measuring machine", id, i, name)
				}
			}
		}
	}
	for line := range strings.Lines(string(text)) {
		if use := regexp.MustCompile(`uses: (\S+)(.*)`).FindStringSubmatch(line); use != nil && !regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`).MatchString(use[2]) {
			t.Errorf("%q: expected the version in a comment", strings.TrimSpace(line))
		}
	}
}

// TestSamePins: pawl's own workflow and action use actions at the commits that it gives others.
func TestSamePins(t *testing.T) {
	found := 0
	for _, name := range []string{"../../action.yml", "../../.github/workflows/release.yml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range regexp.MustCompile(`uses: ((actions/[\w-]+)@.*)`).FindAllStringSubmatch(string(text), -1) {
			for _, pin := range pins["github"] {
				if strings.HasPrefix(pin, use[2]+"@") {
					if found++; use[1] != pin {
						t.Errorf("%s uses %s, pawl ci init %s", name, use[1], pin)
					}
				}
			}
		}
	}
	if found != 4 {
		t.Errorf("%d uses compared, want 4", found)
	}
}

// TestGitLabRules: commands are text (a colon in one would make it a map), the token is on no machine
// that measures, and only jobs of the default branch have it. GitLab gives a variable to every job of a
// pipeline, whether its text names it or not, unless the job is outside of the variable's environment.
func TestGitLabRules(t *testing.T) {
	files, err := fill(options("gitlab", ""))
	if err != nil {
		t.Fatal(err)
	}
	var jobs map[string]map[string]any
	if err := yaml.Unmarshal(files[".gitlab/pawl.gitlab-ci.yml"], &jobs); err != nil {
		t.Fatal(err)
	}
	for name, job := range jobs {
		text := fmt.Sprint(job)
		for _, key := range []string{"script", "before_script"} {
			commands, _ := job[key].([]any)
			for _, command := range commands {
				if _, ok := command.(string); !ok {
					t.Errorf("%s, %s: %v is not a command", name, key, command)
				}
			}
		}
		if strings.Contains(text, "PAWL_TOKEN") && (job["tags"] != nil || !strings.Contains(text, "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH")) {
			t.Errorf("%s has the token: %s", name, text)
		}
		if needs := strings.Contains(text, "PAWL_TOKEN"); needs != (job["environment"] != nil) {
			t.Errorf("%s: environment %v, needs the token: %t", name, job["environment"], needs)
		}
		if job["tags"] != nil && !strings.Contains(text, "--require-sandbox") {
			t.Errorf("%s measures without a sandbox", name)
		}
	}
	// curl follows GitLab to its object storage with every header that it was given but Authorization.
	if regexp.MustCompile(`--location.*PRIVATE-TOKEN`).Match(files[".gitlab/pawl.gitlab-ci.yml"]) {
		t.Error("a redirect carries the token to another host")
	}
	for runner, want := range map[string]any{"gpu": []any{"gpu"}, "ubuntu-latest": nil} { // GitLab has no runner with that tag: jobs without tags run anywhere
		opts := options("gitlab", "")
		opts.Runner = runner
		files, err := fill(opts)
		if err != nil {
			t.Fatal(err)
		}
		var jobs map[string]map[string]any
		if err := yaml.Unmarshal(files[".gitlab/pawl.gitlab-ci.yml"], &jobs); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"pawl", "pawl-ratchet-measure"} {
			if got := jobs[name]["tags"]; !reflect.DeepEqual(got, want) || jobs[name]["timeout"] != "2h" {
				t.Errorf("%s: %s has the tags %v, want %v", runner, name, got, want)
			}
		}
	}
	if jobs["variables"]["PAWL_SHA256"] != strings.Repeat("5a", 32) {
		t.Errorf("pawl is not pinned: %v", jobs["variables"])
	}
}

func labelsOf(runsOn any) []string {
	switch v := runsOn.(type) {
	case string:
		return []string{v}
	case []any:
		var labels []string
		for _, label := range v {
			labels = append(labels, label.(string))
		}
		return labels
	}
	return nil
}

func TestInitKeepsOthersFiles(t *testing.T) {
	dir := repository(t)
	ctx := context.Background()
	written, err := Init(ctx, options("github", dir))
	if err != nil || len(written) != len(targets["github"]) {
		t.Fatal(written, err)
	}
	again := options("github", dir)
	again.Runner = "h200"
	if _, err := Init(ctx, again); err != nil {
		t.Fatalf("unedited files: %v", err)
	}
	ours := filepath.Join(dir, ".github/workflows/pawl.yml")
	text, _ := os.ReadFile(ours)
	if !strings.Contains(string(text), "runs-on: [self-hosted, h200]") {
		t.Error("the second init changed nothing")
	}
	edited := strings.Replace(string(text), "timeout-minutes: 120", "timeout-minutes: 30", 1)
	if err := os.WriteFile(ours, []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	again.Runner = "other"
	if _, err := Init(ctx, again); err == nil || !strings.Contains(err.Error(), ".github/workflows/pawl.yml: not as pawl ci init wrote it") {
		t.Errorf("an edited file: %v", err)
	}
	if !maps.Equal(before, tree(t, dir)) {
		t.Error("a refused init wrote something")
	}
	again.Force = true
	if _, err := Init(ctx, again); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(ours); strings.Contains(string(text), "timeout-minutes: 30") {
		t.Error("--force kept the edited file")
	}
}

// TestInitDoesNotWriteThroughLinks: a link in place of a workflow is somebody else's file.
func TestInitDoesNotWriteThroughLinks(t *testing.T) {
	dir, outside := repository(t), filepath.Join(t.TempDir(), "precious")
	precious := string(mark("pawl.yml", []byte("precious"))) // as if pawl had written it
	if err := os.WriteFile(outside, []byte(precious), 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, ".github/workflows/pawl.yml")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	opts := options("github", dir)
	if _, err := Init(t.Context(), opts); err == nil {
		t.Error("init replaced a link without --force")
	}
	opts.Force = true
	if _, err := Init(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(outside); string(text) != precious {
		t.Errorf("init wrote through a link: %q", text)
	}
}

func TestInitRefusesInjection(t *testing.T) {
	for field, set := range map[string]func(*InitOptions){
		"runner":  func(o *InitOptions) { o.Runner = "gpu]\n    steps: [" },
		"branch":  func(o *InitOptions) { o.Branch = "main' || true" },
		"url":     func(o *InitOptions) { o.URL = "https://x/$(id)" },
		"sha256":  func(o *InitOptions) { o.SHA256 = "${{ secrets.X }}" },
		"version": func(o *InitOptions) { o.Version = "1\nx: y" },
		"forge":   func(o *InitOptions) { o.Forge = "../github" },
	} {
		opts := options("github", t.TempDir())
		set(&opts)
		if err := opts.check(); err == nil {
			t.Errorf("%s: accepted", field)
		}
	}
}

func tree(t *testing.T, dir string) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !strings.Contains(name, "/.git/") {
			text, _ := os.ReadFile(name)
			files[name] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
