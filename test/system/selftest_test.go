package system

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
)

// openCheats are known not to be caught today; docs/integrity.md lists them too. Who
// closes one takes it out, and says in the corpus what must come of it.
var openCheats = []string{
	"python/late_memory", "python/profile_hook", "python/scale_samples", "python/torch_late_memory",
	"launcher/late_memory", "host/helper_in_turns",
}

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
		case "open":
			if !slices.Contains(openCheats, s.Kind+"/"+s.Name) {
				t.Errorf("%s of %s is open, and nobody knows: %s", s.Name, s.Kind, s.By)
			}
			t.Logf("%s of %s is open: %s", s.Name, s.Kind, s.By)
		case "caught", "suspicious", "defused", "killed", "skipped":
		case "passed":
			if played := s.Verdict != ""; !played && !strings.Contains(s.Name, "_mutant-") || s.Verdict == string(result.Unchanged) {
				t.Errorf("control %s of %s did not play: %q", s.Name, s.Kind, s.Verdict)
			}
		default:
			t.Errorf("%s of %s: %s", s.Name, s.Kind, s.Outcome)
		}
	}
	if err != nil {
		t.Errorf("%v", err)
	}
	if found.Caught < 40 || found.ControlsPassed < 25 && found.Skipped < 100 || found.ControlsPassed < 18 || found.Mutants < 20 || found.MutantsKilled != found.Mutants {
		t.Errorf("%+v", found)
	}
	t.Logf("%d caught, %d suspicious, %d defused, %d missed, %d open; %d controls passed; %d of %d mutants killed; %d skipped",
		found.Caught, found.Suspicious, found.Defused, found.Missed, found.Open, found.ControlsPassed, found.MutantsKilled, found.Mutants, found.Skipped)
}
