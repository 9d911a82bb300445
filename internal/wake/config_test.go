package wake

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const fine = `version: 1
repository: o/r
machines:
  - name: gpu
    labels: [self-hosted, gpu]
    start: [sh, -c, "exit 0"]
    stop: [sh]
`

func readConfig(t *testing.T, text string, mode os.FileMode) (*Config, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "wake.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return ReadConfig(name)
}

func TestConfig(t *testing.T) {
	c, err := readConfig(t, fine, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	k := c.Machines[0]
	if c.State != "/var/lib/pawl/wake" || c.Poll.Duration != 2*time.Minute || k.Count != 1 || k.Idle.Duration != 10*time.Minute || k.Register.Duration != 10*time.Minute {
		t.Errorf("%+v %+v", c, k)
	}
	if c, err = readConfig(t, fine+"    idle: 0s\n    register: 90s\n    price_per_hour: 2.5\n    count: 3\n", 0o644); err != nil {
		t.Fatal(err)
	}
	if k := c.Machines[0]; k.Idle.Duration != 0 || k.Register.Duration != 90*time.Second || k.Price != 2.5 || k.Count != 3 {
		t.Errorf("%+v", k)
	}
}

// What is wrong in the file is said with its place, or its key, and a remedy.
func TestConfigErrors(t *testing.T) {
	replace := func(old, with string) string {
		if !strings.Contains(fine, old) {
			t.Fatalf("%q is not there", old)
		}
		return strings.Replace(fine, old, with, 1)
	}
	second := "  - name: other\n    labels: [GPU, self-hosted]\n    start: [sh]\n    stop: [sh]\n"
	for _, c := range []struct{ text, want string }{
		{fine + "    idel: 5m\n", "wake.yaml:8:5: unknown key idel"},
		{fine + "    idel: 5m\n", "did you mean idle?"},
		{fine + "dialy: {jobs: 3}\n", "did you mean daily?"},
		{fine + "    idle: soon\n", "wake.yaml:8:11: \"soon\": expected a time such as 10m"},
		{fine + "    price_per_hour: much\n", "wake.yaml:8:"},
		{fine + "    price_per_hour: -1\n", "price_per_hour: -1: expected a price"},
		{fine + "    price_per_hour: .nan\n", "price_per_hour: NaN: expected a price"},
		{fine + "    price_per_hour: .inf\n", "price_per_hour: +Inf: expected a price"},
		{fine + "    idle: -5m\n", "idle, register: expected times"},
		{fine + "    count: 1000\n", "count: 1000: expected 1 to 100"},
		{fine + "---\n{}\n", "expected one document"},
		{fine + "poll: 1s\n", "poll: 1s: expected at least 10s"},
		{fine + "daily: {jobs: -1}\n", "not negative"},
		{fine + "pass: [PAWL_FORGE_TOKEN]\n", "keeps its secrets from the commands"},
		{fine + "state: here\n", "expected the absolute path"},
		{fine + second, "has the name or the labels of another"},
		{fine + strings.Replace(second, "other", "gpu", 1), "has the name or the labels of another"},
		{fine + "  -\n", "machines[1]: expected a machine"},
		{replace("version: 1", "version: 2"), "version: 2: expected 1"},
		{replace("o/r", "r"), `repository: "r": expected OWNER/NAME`},
		{replace("name: gpu", "name: GPU 1"), "expected lower-case letters"},
		{replace("[self-hosted, gpu]", "[]"), "labels: expected those that a job's runs-on names"},
		{replace("start: [sh, -c, \"exit 0\"]", "start: []"), "start: expected a list with the program"},
		{replace("stop: [sh]", "stop: [/no/such/program]"), "stop: exec: \"/no/such/program\""},
		{"version: 1\nrepository: o/r\n", "machines: expected at least one"},
		{"", "EOF"},
		{"[", "wake.yaml:1:"},
	} {
		if _, err := readConfig(t, c.text, 0o644); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\nexpected %q, got %v", c.text, c.want, err)
		}
	}
	if _, err := readConfig(t, fine, 0o664); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("others may write it: %v", err)
	}
	if os.Geteuid() == 0 {
		name := filepath.Join(t.TempDir(), "wake.yaml")
		if err := errors.Join(os.WriteFile(name, []byte(fine), 0o600), os.Chown(name, 12345, 0)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadConfig(name); err == nil || !strings.Contains(err.Error(), "others could write it") {
			t.Errorf("it is somebody else's: %v", err)
		}
	}
	if _, err := readConfig(t, strings.Repeat("#", mostConfig+1), 0o600); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("it is large: %v", err)
	}
}

// GitHub gives a runner those jobs whose labels it has, in any case.
func TestKinds(t *testing.T) {
	c := &Config{Machines: []*Kind{{Name: "gpu", Labels: []string{"self-hosted", "gpu"}}, {Name: "gpu-2", Labels: []string{"self-hosted", "gpu", "big"}}}}
	for labels, want := range map[string]string{"gpu": "gpu", "GPU Self-Hosted": "gpu", "gpu big": "gpu-2", "gpu arm64": "", "": ""} {
		got := ""
		if kind := c.kindFor(strings.Fields(labels)); kind != nil {
			got = kind.Name
		}
		if got != want {
			t.Errorf("%q runs on %q, expected %q", labels, got, want)
		}
	}
	for runner, want := range map[string]string{"pawl-gpu-1-0123abcd": "gpu", "pawl-gpu-2-1-0123abcd": "gpu-2", "pawl-gpu-2-0123abcd": "gpu", "gpu-1": "", "pawl-gpu-x-0123abcd": "", "": ""} {
		got := ""
		if kind := c.kindOf(runner); kind != nil {
			got = kind.Name
		}
		if got != want {
			t.Errorf("runner %q is of %q, expected %q", runner, got, want)
		}
	}
}
