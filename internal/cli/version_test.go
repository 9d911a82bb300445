package cli

import (
	"os"
	"testing"

	"github.com/goccy/go-yaml"
)

// The action of a release installs that release, unless its user says otherwise.
func TestActionInstallsThisVersion(t *testing.T) {
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct {
			Default string `yaml:"default"`
		} `yaml:"inputs"`
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	if got := action.Inputs["version"].Default; got != version {
		t.Errorf("action.yml installs %q, and this is %q", got, version)
	}
}
