// Package run is one run of pawl on disk: its folder under .pawl/runs, the events
// that every face follows while it goes on, and the Report it ends with.
package run

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pawl/internal/disk"
	"pawl/internal/result"
)

// Event is one step of a run, a line of events.jsonl.
type Event struct {
	Time      time.Time     `json:"time"`
	Kind      Kind          `json:"kind"`
	Row       string        `json:"row,omitempty"` // kernel/config
	Text      string        `json:"text,omitempty"`
	Done      int           `json:"done,omitempty"`
	Total     int           `json:"total,omitempty"`
	Samples   int           `json:"samples,omitempty"`
	MedianS   float64       `json:"median_s,omitempty"`
	HalfWidth float64       `json:"half_width,omitempty"`
	Fault     *result.Fault `json:"fault,omitempty"`
}

// Kind says what an event tells.
type Kind string

// The kinds of events.
const (
	Stage    Kind = "stage"    // a stage begins: Text
	Build    Kind = "build"    // Done of Total are built; Text is the current one
	Verify   Kind = "verify"   // the answers of Row are looked at; Done of Total were
	Measure  Kind = "measure"  // Row has Samples
	RowDone  Kind = "row"      // Row is finished, with its MedianS or Fault
	Note     Kind = "note"     // a remark: Text
	Finished Kind = "finished" // the run is over; Text is the report's path
)

// Run is a run under way.
type Run struct {
	ID      string
	Started time.Time
	Dir     string // its folder, which the first event makes; empty: it has none

	home   string // the .pawl folder
	opened sync.Once
	dirErr error
	follow func(Event)
	mu     sync.Mutex
	events *os.File
}

// New starts a run in the .pawl folder below root. A run that ends before anything
// happened, as on a mistyped name, leaves no folder. One that cannot be made does not
// stop the run: Save then says so and saves elsewhere. follow sees every event as it
// happens; it may be nil.
func New(root string, started time.Time, follow func(Event)) *Run {
	r := &Run{ID: newID(started), Started: started, home: filepath.Join(root, ".pawl"), follow: follow}
	r.Dir = filepath.Join(r.home, "runs", r.ID)
	return r
}

// open makes the folder, once there is something to keep.
func (r *Run) open() error {
	r.opened.Do(func() {
		if r.Dir == "" {
			r.dirErr = errors.New("this run keeps nothing")
			return
		}
		if r.dirErr = makeHome(r.home); r.dirErr == nil {
			r.dirErr = os.MkdirAll(r.Dir, 0o755)
		}
		if r.dirErr == nil {
			r.events, r.dirErr = os.OpenFile(filepath.Join(r.Dir, "events.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		}
	})
	return r.dirErr
}

// Quiet is a run that leaves no folder behind.
func Quiet(started time.Time, follow func(Event)) *Run {
	return &Run{ID: newID(started), Started: started, follow: follow}
}

// newID is the UTC time and 48 random bits: sortable, and never the same twice.
func newID(at time.Time) string {
	var raw [6]byte
	_, _ = rand.Read(raw[:])
	return at.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(raw[:])
}

// ignored is what of .pawl does not belong into git.
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

// Emit records an event. Losing one to a full disk loses no result, so it is not
// an error.
func (r *Run) Emit(e Event) {
	e.Time = time.Now()
	if r.open() == nil {
		if line, err := json.Marshal(e); err == nil {
			r.mu.Lock()
			_, _ = r.events.Write(append(line, '\n'))
			r.mu.Unlock()
		}
	}
	if r.follow != nil {
		r.follow(e)
	}
}

// Save writes the report into the run's folder and returns its path. When that
// fails it saves into the system's temporary folder instead, returns that path,
// and an error that says why.
func (r *Run) Save(report *result.Report) (string, error) {
	raw, err := report.Encode()
	if err != nil {
		return "", fmt.Errorf("encode the report: %w", err)
	}
	problem := r.open()
	if problem == nil {
		path := filepath.Join(r.Dir, "report.json")
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
