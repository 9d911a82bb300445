package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/store"
)

// Save records runs of the kinds that have a history, each once, and says what keeps one out of it.
func TestRecord(t *testing.T) {
	root := t.TempDir()
	save := func(kind result.Kind, change func(*Run, *result.Report)) Saved {
		t.Helper()
		r := New(root, time.Now(), nil)
		r.Kind = kind
		report := r.NewReport(t.Context(), result.Method{})
		report.Rows = []*result.Row{{Kernel: "k", Config: "c", Verdict: result.New}}
		change(r, report)
		saved, err := r.Save(report)
		if err != nil {
			t.Fatal(err)
		}
		return saved
	}
	nothing := func(*Run, *result.Report) {}
	for _, kind := range []result.Kind{result.KindBench, result.KindCheck, result.KindFuzz, result.KindProfile, result.KindTune, result.KindSelftest, result.KindCompare} {
		if saved := save(kind, nothing); saved.Unrecorded != nil {
			t.Errorf("%s: %v", kind, saved.Unrecorded)
		}
	}
	save(result.KindCheck, func(_ *Run, report *result.Report) { report.Rows[0].Verdict, report.Rows[0].Plan = "", "measure alone" })
	db, err := store.Open(t.Context(), store.In(filepath.Join(root, ".pawl"), ""), store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	recorded := func() int {
		t.Helper()
		runs, err := db.Runs(t.Context(), store.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return len(runs)
	}
	if n := recorded(); n != 5 {
		t.Errorf("%d runs, expected one of each kind that has a history", n)
	}

	const address = "postgres://pawl:s3cret@127.0.0.1:1/none"
	saved := save(result.KindCheck, func(r *Run, _ *result.Report) { r.Database = address })
	if problems := diag.Problems(saved.Unrecorded); problems == nil || problems[0].Hint == "" || strings.Contains(saved.Unrecorded.Error(), "s3cret") {
		t.Errorf("no server: %v", saved.Unrecorded)
	}
	if n := recorded(); n != 5 {
		t.Errorf("%d runs in the file, though there is a database", n)
	}
	saved = save(result.KindCheck, func(r *Run, _ *result.Report) { r.Database, r.Fork = address, true })
	if saved.Unrecorded == nil || !strings.Contains(saved.Unrecorded.Error(), "a stranger's code") || recorded() != 6 {
		t.Errorf("a fork: %v, %d runs", saved.Unrecorded, recorded())
	}
	saved = save(result.KindCheck, func(r *Run, report *result.Report) {
		r.Database, report.Origin = address, &result.Origin{Pull: 3, Fork: true}
	})
	if saved.Unrecorded == nil || !strings.Contains(saved.Unrecorded.Error(), "a stranger's code") || recorded() != 7 {
		t.Errorf("a pull request of a fork: %v, %d runs", saved.Unrecorded, recorded())
	}

	full := t.TempDir()
	r := New(full, time.Now(), nil)
	r.Kind = result.KindBench
	if err := os.MkdirAll(filepath.Join(full, ".pawl", "history.db"), 0o755); err != nil {
		t.Fatal(err)
	}
	if saved, err := r.Save(r.NewReport(t.Context(), result.Method{})); err != nil || saved.Unrecorded == nil {
		t.Errorf("a folder in the place of the file: %v, %v", err, saved.Unrecorded)
	} else if _, err := os.Stat(saved.Path); err != nil {
		t.Error(err)
	}
}
