// Package run handles the life of a run, the same for every service and every face. It prepares
// what was asked for by one set of rules, passes events to every listener and stores them, begins
// the Report, finishes it with its outcome and saves it in the run's folder under .pawl/runs. It
// also lists past runs.
package run

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pawl/internal/disk"
	"pawl/internal/git"
	"pawl/internal/judge"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// Run is a run in progress. Services that measure or judge take one that Prepare made.
type Run struct {
	ID      string
	Kind    result.Kind
	Tool    result.Tool
	Command []string
	Started time.Time
	Dir     string // its folder, which the first event creates; empty: it has none

	Spec       *spec.Spec // nil: the run has no project
	Patterns   []string   // the patterns that selected the rows
	Selections []spec.Selection
	Seed       uint64 // of the generated inputs

	home      string // the .pawl folder
	mu        sync.Mutex
	opened    bool
	dirErr    error
	listeners []func(Event)
	events    *os.File
}

// New starts a run in the .pawl folder below root, without Prepare. A run that ends before anything
// happened, for example on a mistyped name, leaves no folder. A folder that cannot be created does
// not stop the run: Save then says so and saves elsewhere. follow receives every event as it
// happens; it may be nil.
func New(root string, started time.Time, follow func(Event)) *Run {
	r := Quiet(started, follow)
	r.home = filepath.Join(root, ".pawl")
	r.Dir = filepath.Join(runsOf(root), r.ID)
	return r
}

// Quiet returns a run that leaves no folder behind.
func Quiet(started time.Time, follow func(Event)) *Run {
	r := &Run{ID: newID(started), Started: started}
	r.Listen(follow)
	return r
}

func runsOf(root string) string { return filepath.Join(root, ".pawl", "runs") }

// newID returns the UTC time and 48 random bits: sortable, and never the same twice.
func newID(at time.Time) string {
	var raw [6]byte
	_, _ = rand.Read(raw[:])
	return at.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(raw[:])
}

// open creates the folder, once there is something to store. Its caller holds the lock.
func (r *Run) open() error {
	if r.opened {
		return r.dirErr
	}
	r.opened = true
	if r.Dir == "" {
		r.dirErr = errors.New("this run keeps nothing")
		return r.dirErr
	}
	if r.dirErr = makeHome(r.home); r.dirErr == nil {
		r.dirErr = os.MkdirAll(r.Dir, 0o755)
	}
	if r.dirErr == nil {
		r.events, r.dirErr = os.OpenFile(filepath.Join(r.Dir, eventsFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	}
	return r.dirErr
}

// ignored lists the parts of .pawl that do not belong into git.
const ignored = "runs/\nhistory.db*\n"

func makeHome(home string) error {
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	file := filepath.Join(home, ".gitignore")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return disk.Write(file, []byte(ignored))
	}
	return nil
}

// NewReport begins the run's report with everything that is known at its start.
func (r *Run) NewReport(ctx context.Context, method result.Method) *result.Report {
	report := &result.Report{
		Schema: result.Schema, Kind: r.Kind, ID: r.ID, Tool: r.Tool, Command: r.Command, Started: r.Started.UTC(), Method: method,
	}
	if r.Spec != nil {
		report.Spec = result.SpecRef{File: r.Spec.File, SHA256: r.Spec.SHA256}
		if head, ok, err := git.Head(ctx, r.Spec.Dir); err == nil && ok {
			report.Commit = &result.Commit{SHA: head.SHA, Dirty: head.Dirty}
		}
	}
	return report
}

// Finish completes a report with the run's outcome.
func Finish(ctx context.Context, report *result.Report) {
	report.Interrupted = ctx.Err() != nil
	report.Finished = time.Now().UTC()
	report.Outcome = judge.Outcome(report)
}

// Save writes the report into the run's folder and returns its path. If that fails it saves into
// the system's temporary folder instead, and returns that path with an error that says why.
func (r *Run) Save(report *result.Report) (string, error) {
	raw, err := report.Encode()
	if err != nil {
		return "", fmt.Errorf("encode the report: %w", err)
	}
	r.mu.Lock()
	problem := r.open()
	r.mu.Unlock()
	if problem == nil {
		path := filepath.Join(r.Dir, reportFile)
		if problem = disk.Write(path, raw); problem == nil {
			r.Emit(Event{Kind: Finished, Text: path})
			_ = r.events.Close()
			return path, nil
		}
	}
	spare := filepath.Join(os.TempDir(), "pawl-"+r.ID+".json")
	if err := disk.Write(spare, raw); err != nil {
		return "", fmt.Errorf("save the report: %w; and in the temporary folder: %w", problem, err)
	}
	return spare, fmt.Errorf("save the report: %w; it is in %s instead", problem, spare)
}
