package run

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl/internal/result"
)

func TestPastRuns(t *testing.T) {
	root := t.TempDir()
	if runs, err := List(root); err != nil || len(runs) > 0 {
		t.Errorf("there was none: %v, %v", runs, err)
	}
	at := time.Date(2026, 11, 10, 14, 22, 33, 0, time.UTC)
	first, second := New(root, at, nil), New(root, at.Add(time.Hour), nil)
	for _, r := range []*Run{first, second} {
		r.Emit(Event{Kind: Measure, Row: "gemm/a"})
	}
	if _, err := first.Save(first.NewReport(t.Context(), result.Method{})); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".pawl", "runs", "99"), nil, 0o644); err != nil { // not a run
		t.Fatal(err)
	}
	runs, err := List(root)
	if err != nil || len(runs) != 2 || runs[0].ID != second.ID || runs[1].ID != first.ID {
		t.Fatalf("runs %v, %v", runs, err)
	}
	opened, err := Open(root, first.ID)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := opened.Report(); err != nil || report.ID != first.ID {
		t.Errorf("report %+v, %v", report, err)
	}
	if events, err := opened.Events(); err != nil || len(events) != 2 || events[0].Row != "gemm/a" || events[1].Kind != Finished {
		t.Errorf("events %+v, %v", events, err)
	}
	if _, err := Open(root, "nope"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such run: %v", err)
	}
	if _, err := runs[0].Report(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run without a report: %v", err)
	}
}

// A killed process leaves an incomplete line, and the lines before it.
func TestEventsOfAKilledRun(t *testing.T) {
	root := t.TempDir()
	r := New(root, time.Now(), nil)
	r.Emit(Event{Kind: Build, Done: 1})
	_, _ = r.events.WriteString(`{"time":"2026-`)
	if events, err := (Past{Dir: r.Dir}).Events(); err != nil || len(events) != 1 || events[0].Done != 1 {
		t.Errorf("events %+v, %v", events, err)
	}
}

func TestFinish(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	report := &result.Report{Kind: result.KindBench, Rows: []*result.Row{{}}}
	if Finish(ctx, report); report.Interrupted || report.Outcome.Result != result.Passed || report.Finished.IsZero() {
		t.Errorf("finished %+v with %+v", report, report.Outcome)
	}
	cancel()
	if Finish(ctx, report); !report.Interrupted || report.Outcome.Result != result.Interrupted {
		t.Errorf("interrupted %+v with %+v", report, report.Outcome)
	}
}

func TestListeners(t *testing.T) {
	r := Quiet(time.Now(), nil)
	var told [2]int
	for i := range told {
		r.Listen(func(Event) { told[i]++ })
	}
	r.Emit(Event{Kind: Note})
	if told != [2]int{1, 1} {
		t.Errorf("told %v", told)
	}
}
