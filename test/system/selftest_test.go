package system

import (
	"bytes"
	"encoding/json"
	"testing"

	"pawl/internal/result"
)

// No cheat is missed, no honest kernel refused, and every planted mistake found, in
// every kind of cell that this machine has.
func TestSelftest(t *testing.T) {
	p := newProject(t)
	cmd := p.command("selftest", "--json")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var found result.Selftest
	if decodeErr := json.Unmarshal(stdout.Bytes(), &found); decodeErr != nil {
		t.Fatalf("%v; %v\n%s", err, decodeErr, stderr.String())
	}
	for _, s := range found.Subjects {
		switch s.Outcome {
		case "missed", "failed", "survived":
			t.Errorf("%s %s of %s: %s (found: %s)", s.Role, s.Name, s.Kind, s.Outcome, s.By)
		}
	}
	if err != nil {
		t.Errorf("%v", err)
	}
	if found.Caught < 30 || found.ControlsPassed < 10 || found.Mutants < 20 || found.MutantsKilled != found.Mutants {
		t.Errorf("%+v", found)
	}
	t.Logf("%d caught, %d suspicious, %d defused, %d missed; %d controls passed; %d of %d mutants killed; %d skipped",
		found.Caught, found.Suspicious, found.Defused, found.Missed, found.ControlsPassed, found.MutantsKilled, found.Mutants, found.Skipped)
}
