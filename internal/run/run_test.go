package run

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
)

func TestRunFolder(t *testing.T) {
	root := t.TempDir()
	var seen []Event
	r := New(root, time.Date(2026, 11, 10, 14, 22, 33, 0, time.UTC), func(e Event) { seen = append(seen, e) })
	if !regexp.MustCompile(`^20261110T142233Z-[0-9a-f]{12}$`).MatchString(r.ID) {
		t.Errorf("id %s", r.ID)
	}
	r.Emit(Event{Kind: Build, Done: 1, Total: 2, Text: "gemm"})
	r.Emit(Event{Kind: RowDone, Row: "gemm/a", Fault: &result.Fault{Cause: result.CauseCrash}})
	saved, err := r.Save(&result.Report{Schema: result.Schema, ID: r.ID})
	path := saved.Path
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := result.Decode(raw); err != nil || back.ID != r.ID {
		t.Errorf("saved %+v, %v", back, err)
	}
	file, err := os.Open(filepath.Join(r.Dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var kinds []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Time.IsZero() {
			t.Errorf("%s: %v", lines.Text(), err)
		}
		kinds = append(kinds, string(e.Kind))
	}
	if got := strings.Join(kinds, " "); got != "build row finished" || len(seen) != 3 {
		t.Errorf("events %s, followed %d", got, len(seen))
	}
	ignore, err := os.ReadFile(filepath.Join(root, ".pawl", ".gitignore"))
	if err != nil || !strings.Contains(string(ignore), "runs/") {
		t.Errorf(".gitignore %q, %v", ignore, err)
	}
}

func TestOwnGitignoreIsKept(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".pawl"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, ".pawl", ".gitignore")
	if err := os.WriteFile(path, []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	New(root, time.Now(), nil).Emit(Event{Kind: Note})
	if got, _ := os.ReadFile(path); string(got) != "mine\n" {
		t.Errorf("became %q", got)
	}
}

// A run that ended before anything happened leaves nothing behind.
func TestNothingToKeep(t *testing.T) {
	root := t.TempDir()
	r := New(root, time.Now(), nil)
	left, err := os.ReadDir(root)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	r.Emit(Event{Kind: Note, Text: "something"})
	if _, err := os.Stat(filepath.Join(r.Dir, "events.jsonl")); err != nil {
		t.Error(err)
	}
}

// A run whose folder cannot be made goes on, and its report is saved elsewhere.
func TestNoFolder(t *testing.T) {
	root, spare := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", spare)
	if err := os.WriteFile(filepath.Join(root, ".pawl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := New(root, time.Now(), nil)
	r.Emit(Event{Kind: Note, Text: "still here"})
	saved, err := r.Save(&result.Report{Schema: result.Schema})
	path := saved.Path
	if err == nil || !strings.Contains(err.Error(), spare) {
		t.Errorf("the error does not say where the report is: %v", err)
	}
	if filepath.Dir(path) != spare {
		t.Errorf("saved to %s", path)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestIDsDiffer(t *testing.T) {
	seen := map[string]bool{}
	now := time.Now()
	for range 1000 {
		id := newID(now)
		if seen[id] {
			t.Fatalf("%s came twice", id)
		}
		seen[id] = true
	}
}
