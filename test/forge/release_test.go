package forge

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// root is the repository of pawl, whose action and release workflow are played.
func root(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestOwnWorkflowsPassLinters(t *testing.T) {
	folder, _ := tools(t)
	dir := root(t)
	command(t, dir, filepath.Join(folder, "actionlint"), ".github/workflows/release.yml")
	if out := command(t, dir, filepath.Join(folder, "zizmor/bin/zizmor"), "--offline", "--persona=regular", ".github/workflows/release.yml", "action.yml"); !strings.Contains(out, "No findings") {
		t.Errorf("zizmor:\n%s", out)
	}
	command(t, dir, filepath.Join(folder, "schemas/bin/check-jsonschema"), "--builtin-schema", "vendor.github-actions", "action.yml")
}

// shown returns a file as docs/ci.md shows it.
func shown(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n```\\w+ file=" + regexp.QuoteMeta(name) + "\n(.*?\n)```\n").FindSubmatch(page)
	if found == nil {
		t.Fatalf("docs/ci.md shows no %s", name)
	}
	return string(found[1])
}

// TestExamplesParse: Buildkite's schema takes the pipeline of the page, and Groovy's grammar the Jenkinsfile; neither takes a mistake.
func TestExamplesParse(t *testing.T) {
	folder, _ := tools(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "pipeline.yml"), shown(t, ".buildkite/pipeline.yml"))
	command(t, dir, filepath.Join(folder, "schemas/bin/check-jsonschema"), "--builtin-schema", "vendor.buildkite", "pipeline.yml")
	const parse = `import sys, tree_sitter, tree_sitter_groovy
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_groovy.language()))
print("wrong" if parser.parse(open(sys.argv[1], "rb").read()).root_node.has_error else "right")`
	jenkins := shown(t, "Jenkinsfile")
	for text, want := range map[string]string{jenkins: "right", strings.Replace(jenkins, "stage('pawl')", "stage('pawl'", 1): "wrong"} {
		write(t, filepath.Join(dir, "Jenkinsfile"), text)
		if got := command(t, dir, filepath.Join(folder, "schemas/bin/python"), "-c", parse, "Jenkinsfile"); got != want {
			t.Errorf("%s: %s", got, text)
		}
	}
}

// TestAction plays the workflow of docs/ci.md with the action of this tree. The release is on a server of this machine, under the
// address that GitHub gives it.
func TestAction(t *testing.T) {
	s := newStage(t, "ubuntu-latest")
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		http.ServeFile(w, r, filepath.Join(s.dir, "pawl"))
	}))
	t.Cleanup(server.Close)
	example := shown(t, ".github/workflows/kernels.yml")
	action := regexp.MustCompile(`uses: (OWNER/pawl@[0-9a-f]{40}) # v(\S+)`).FindStringSubmatch(example)
	if action == nil {
		t.Fatalf("no action in\n%s", example)
	}
	sum := strings.Fields(command(t, s.dir, "sha256sum", "pawl"))[0]
	write(t, filepath.Join(s.repo, ".github/workflows/kernels.yml"), regexp.MustCompile(`sha256: \w{64}`).ReplaceAllString(example, "sha256: "+strings.Repeat("0", 64)+" "+sum))
	write(t, filepath.Join(s.repo, ".github/workflows/wrong.yml"), example)
	s.commit("three lines")
	text, err := os.ReadFile(filepath.Join(root(t), "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.dir, "action/action.yml"), string(text))
	s.args = []string{"--env", "GITHUB_SERVER_URL=" + server.URL, "--local-repository", action[1] + "=" + filepath.Join(s.dir, "action")}
	standins, err := filepath.Abs("testdata/actions")
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range uses.FindAllStringSubmatch(string(text), -1) {
		s.args = append(s.args, "--local-repository", use[1]+"="+filepath.Join(standins, use[2]))
	}
	same := s.branch("same", "scale.c", strings.Replace(kernel, "REPEAT", "1", 1)+"/* the same code */\n")
	slower := s.branch("slower", "scale.c", strings.Replace(kernel, "REPEAT", "20", 1))

	artifact := filepath.Join(s.artifacts, "pawl-report.zip")
	log, ok := s.play("wrong.yml", "pull_request", pullRequest(s, same, "owner/kernels"))
	if ok || !strings.Contains(log, "which is not the expected one") || strings.Contains(log, "gate") {
		t.Errorf("a pawl with another sum:\n%s", log)
	}
	log, ok = s.play("kernels.yml", "pull_request", pullRequest(s, same, "owner/kernels"))
	if !ok || !strings.Contains(log, "gate passed: 1 unchanged") {
		t.Errorf("the same code:\n%s", log)
	}
	if want := fmt.Sprintf("/OWNER/pawl/releases/download/v%s/pawl-linux-%s", action[2], runtime.GOARCH); <-asked != want {
		t.Errorf("fetched something else than %s", want)
	}
	if err := os.Remove(artifact); err != nil {
		t.Errorf("no report: %v", err)
	}
	log, ok = s.play("kernels.yml", "pull_request", pullRequest(s, slower, "owner/kernels"))
	if ok || !strings.Contains(log, "gate failed: 1 regression") {
		t.Errorf("slower code:\n%s", log)
	}
	if report := command(t, s.artifacts, "unzip", "-p", artifact, "report.json"); !strings.Contains(report, slower) {
		t.Error("the report is not of the change")
	}
}

// TestHostedRunner: a repository without a GPU and without a runner of its own measures on the forge's.
func TestHostedRunner(t *testing.T) {
	s := newStage(t, "ubuntu-latest")
	if text := read(t, filepath.Join(s.repo, ".github/workflows/pawl.yml")); strings.Contains(text, "self-hosted") {
		t.Errorf("the workflow wants a runner of its own:\n%s", text)
	}
	same := s.branch("same", "scale.c", strings.Replace(kernel, "REPEAT", "1", 1)+"/* the same code */\n")
	log, ok := s.play("pawl.yml", "pull_request", pullRequest(s, same, "owner/kernels"))
	if !ok || !strings.Contains(log, "Measured, and nothing became slower or wrong.") {
		t.Errorf("the same code:\n%s", log)
	}
	write(t, filepath.Join(s.dir, "pawl"), "#!/bin/sh\necho another pawl\n")
	if log, ok := s.play("pawl.yml", "pull_request", pullRequest(s, same, "owner/kernels")); ok || strings.Contains(log, "another pawl") {
		t.Errorf("a pawl with another sum:\n%s", log)
	}
}

// TestRelease plays the release workflow on the last commit of this tree: both builds are real, and what is
// published is what they agree on.
func TestRelease(t *testing.T) {
	s := newStage(t, "ubuntu-latest")
	if err := os.RemoveAll(s.repo); err != nil {
		t.Fatal(err)
	}
	command(t, s.dir, "git", "clone", "-q", root(t), s.repo)
	command(t, s.repo, "git", "checkout", "-q", "-B", "main")
	s.env = append(s.env, "GOCACHE="+command(t, s.dir, "go", "env", "GOCACHE"), "GOMODCACHE="+command(t, s.dir, "go", "env", "GOMODCACHE"))
	play := func(tag string) (string, bool) {
		s.args = []string{"--env", "GITHUB_REF_NAME=" + tag, "--env", "GITHUB_REF=refs/tags/" + tag, "-P", "ubuntu-24.04=-self-hosted", "-P", "ubuntu-22.04=-self-hosted"}
		return s.play("release.yml", "push", map[string]any{"ref": "refs/tags/" + tag})
	}
	if log, ok := play("v99.0.0"); ok || !strings.Contains(log, "make them the same") || s.read("published") != "" {
		t.Errorf("a tag that is not the version:\n%s", log)
	}
	version := regexp.MustCompile(`(?m)^\tversion = "(.*)"$`).FindStringSubmatch(read(t, filepath.Join(s.repo, "internal/cli/cli.go")))[1]
	log, ok := play("v" + version)
	if !ok {
		t.Fatalf("release:\n%s", log)
	}
	published := s.read("published")
	for _, want := range []string{"create\nv" + version + "\n", "--verify-tag\n", "dist/SHA256SUMS\n", "dist/pawl_" + version + "_arm64.deb\n", "dist/pawl-linux-amd64\n"} {
		if !strings.Contains(published, want) {
			t.Errorf("not published: %q in\n%s", want, published)
		}
	}
	if n := strings.Count(s.read("attested"), "  dist/"); n != 11 {
		t.Errorf("%d files are attested, want 11:\n%s", n, s.read("attested"))
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
