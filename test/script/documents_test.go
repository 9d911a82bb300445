package script

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// example returns a file as a page shows it.
func example(t *testing.T, page, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	list, err := steps(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.file == name {
			return strings.Join(s.text, "\n") + "\n"
		}
	}
	t.Fatalf("docs/%s shows no %s", page, name)
	return ""
}

const plainKernel = `version: 1
kernels:
  scale:
    source: scale.c
    entry: scale
    args: [{name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i32, value: N}]
    oracle: {elementwise: "1"}
configs: {small: {N: 64}}
`

// TestPlainShell runs the script of docs/ci.md as it stands there, in a clone: a change that alters no code passes,
// a broken one fails with a report, and a pawl with another sum is not run.
func TestPlainShell(t *testing.T) {
	t.Parallel()
	pawl := os.Getenv("PAWL_BIN")
	if pawl == "" {
		t.Fatal("run `make script`, or set PAWL_BIN")
	}
	dir := t.TempDir()
	sh := func(script string, env ...string) (string, int) {
		cmd := exec.Command("bash", "-euc", script)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), append(env, "XDG_CACHE_HOME="+dir+"/cache", "PAWL_LOCK_DIR="+dir)...)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	code := "void scale(float *y, int n) { for (int i = 0; i < n; i++) y[i] = 1.0f; }\n"
	for name, text := range map[string]string{"pawl.yaml": plainKernel, "scale.c": code, "ci/pawl.sh": example(t, "ci.md", "ci/pawl.sh")} {
		name = filepath.Join(dir, "origin", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := sh(`cd origin && git init -q -b main && git add . && git -c user.name=x -c user.email=x@localhost commit -qm begin && cd .. && git clone -q origin clone && sha256sum "$PAWL_BIN" | cut -c1-64 > sum`); code != 0 {
		t.Fatal(out)
	}
	sum, err := os.ReadFile(filepath.Join(dir, "sum"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, change, sum string
		code              int
		report            bool
	}{
		{"words", "echo '/* the same code */' >> scale.c", strings.TrimSpace(string(sum)), 0, true},
		{"broken", "echo 'no C' >> scale.c", strings.TrimSpace(string(sum)), 1, true},
		{"another file", "true", strings.Repeat("0", 64), 1, false},
	} {
		out, code := sh("rm -rf clone/pawl-report && cd clone && git checkout -q -B "+strings.ReplaceAll(test.name, " ", "-")+" origin/main && "+test.change+
			" && git -c user.name=x -c user.email=x@localhost commit -qam change --allow-empty && sh ci/pawl.sh",
			"PAWL_URL=file://"+pawl, "PAWL_SHA256="+test.sum, "TMPDIR="+t.TempDir())
		_, err := os.Stat(filepath.Join(dir, "clone/pawl-report/report.json"))
		if code != test.code || (err == nil) != test.report {
			t.Errorf("%s: exit code %d, want %d; report: %v\n%s", test.name, code, test.code, err, out)
		}
		if !test.report && !strings.Contains(out, "did NOT match") {
			t.Errorf("%s: %s", test.name, out)
		}
	}
}

// TestExamplesName: the examples for Jenkins and Buildkite run the script that the page shows, pinned by sum, and keep its report.
// make forge parses them as their tools do.
func TestExamplesName(t *testing.T) {
	var pipeline struct {
		Steps []struct {
			Command   string            `yaml:"command"`
			Env       map[string]string `yaml:"env"`
			Artifacts string            `yaml:"artifact_paths"`
		} `yaml:"steps"`
	}
	if err := yaml.Unmarshal([]byte(example(t, "ci.md", ".buildkite/pipeline.yml")), &pipeline); err != nil {
		t.Fatal(err)
	}
	if len(pipeline.Steps) != 1 || pipeline.Steps[0].Command != "sh ci/pawl.sh" || pipeline.Steps[0].Artifacts != "pawl-report/*" || len(pipeline.Steps[0].Env["PAWL_SHA256"]) != 64 {
		t.Errorf("Buildkite: %+v", pipeline)
	}
	jenkins := example(t, "ci.md", "Jenkinsfile")
	for _, want := range []string{"sh 'sh ci/pawl.sh'", "archiveArtifacts artifacts: 'pawl-report/*'", "PAWL_URL = '" + pipeline.Steps[0].Env["PAWL_URL"] + "'", "PAWL_SHA256 = '"} {
		if !strings.Contains(jenkins, want) {
			t.Errorf("the Jenkinsfile lacks %s", want)
		}
	}
}

// TestOneVersion: the action installs the version of these sources, and the pages show it.
func TestOneVersion(t *testing.T) {
	source, err := os.ReadFile("../../internal/cli/cli.go")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`\tversion = "(.*)"\n`).FindSubmatch(source)
	if version == nil {
		t.Fatal("internal/cli/cli.go has no version, which release.yml compares with the tag")
	}
	for file, want := range map[string]string{
		"action.yml": "    default: %s\n", "docs/ci.md": "# v%s\n", "README.md": "./pawl_%s_amd64.deb",
	} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if want = fmt.Sprintf(want, version[1]); !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %q", file, want)
		}
	}
}

// TestOwnWorkflows: what holds for generated workflows holds for pawl's own: actions are pinned by
// commit, scripts hold no expressions, and only the job that publishes may write.
func TestOwnWorkflows(t *testing.T) {
	type step struct {
		Uses string `yaml:"uses"`
		Run  string `yaml:"run"`
	}
	var workflow struct {
		Permissions map[string]string `yaml:"permissions"`
		Jobs        map[string]struct {
			Permissions map[string]string `yaml:"permissions"`
			Steps       []step            `yaml:"steps"`
		} `yaml:"jobs"`
	}
	var action struct {
		Runs struct {
			Steps []step `yaml:"steps"`
		} `yaml:"runs"`
	}
	for file, into := range map[string]any{".github/workflows/release.yml": &workflow, "action.yml": &action} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	all := action.Runs.Steps
	for id, job := range workflow.Jobs {
		all = append(all, job.Steps...)
		for scope, may := range job.Permissions {
			if may != "read" && id != "publish" {
				t.Errorf("%s may %s %s", id, may, scope)
			}
		}
		if job.Permissions == nil {
			t.Errorf("%s has the permissions of the settings", id)
		}
	}
	if len(workflow.Permissions) != 0 || len(workflow.Jobs) == 0 || len(action.Runs.Steps) == 0 {
		t.Errorf("%+v %+v", workflow, action)
	}
	for _, s := range all {
		if strings.Contains(s.Run, "${{") || s.Uses != "" && !regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`).MatchString(s.Uses) {
			t.Errorf("%+v: expected a commit, and no expressions in a script", s)
		}
	}
}
