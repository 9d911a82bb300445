package forge

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestTune: a search by hand keeps its suggestions, and the job that may write proposes them; by hand
// without a proposal, and every week without kernels, nothing is proposed.
func TestTune(t *testing.T) {
	s := newStage(t, "gpu")
	write(t, filepath.Join(s.repo, "scale.c"), kernel)
	write(t, filepath.Join(s.repo, "pawl.yaml"), strings.Replace(description, "    args:", "    params: {REPEAT: [40, 1, 200]}\n    args:", 1))
	s.commit("params")
	asked := func(propose bool, config string) map[string]any {
		return map[string]any{"inputs": map[string]any{"kernel": "scale", "config": config, "budget": "16s", "propose": strconv.FormatBool(propose)}}
	}
	log, ok := s.play("pawl-tune.yml", "workflow_dispatch", asked(true, "sm*"))
	if !ok || !strings.Contains(log, "every setting was tried") {
		t.Fatalf("the search failed:\n%s", log)
	}
	names := command(t, s.artifacts, "unzip", "-Z1", "pawl-report.zip")
	for _, name := range []string{"report.json", "suggestions.md", "suggestion.patch", "pawl.patch", "tune.png"} {
		if !strings.Contains(names+"\n", name+"\n") {
			t.Errorf("the artifact has no %s:\n%s", name, names)
		}
	}
	if patch := command(t, s.artifacts, "unzip", "-p", "pawl-report.zip", "pawl.patch"); !strings.Contains(patch, "+    params: {REPEAT: [1, 40, 200]}") {
		t.Errorf("the patch is\n%s", patch)
	}
	call := s.read("calls")
	if !strings.HasPrefix(call, "ci propose --forge github --repo owner/kernels --branch ") || !strings.Contains(call, "/report.zip --url ") {
		t.Errorf("called %q\n%s", call, log)
	}
	if log, ok := s.play("pawl-tune.yml", "workflow_dispatch", asked(false, "")); !ok || s.read("calls") != call {
		t.Errorf("called %q\n%s", s.read("calls"), log)
	}
	if log, _ := s.play("pawl-tune.yml", "schedule", map[string]any{"schedule": "23 2 * * 1"}); strings.Contains(log, "every setting was tried") || s.read("calls") != call {
		t.Errorf("called %q\n%s", s.read("calls"), log)
	}
}
