// Package run handles the life of a run, the same for every service and every face. It prepares
// what was asked for by one set of rules, passes events to every listener and stores them, begins
// the Report, finishes it with its outcome and saves it in the run's folder under .pawl/runs. It
// also lists and opens past runs.
package run

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	Seed       uint64        // of the generated inputs
	Price      *result.Price // nil: none is set
	Fork       bool          // the change is a stranger's
	Database   string        // address of the history, with its password; "": it is a file of the project

	home      string // the .pawl folder
	looked    bool   // for files that git does not have
	loose     []string
	looseErr  error
	mu        sync.Mutex
	opened    bool
	dirErr    error
	events    *os.File
	listeners []func(Event)
	queue     []Event     // that listeners have not heard yet
	handing   bool        // somebody passes the queue to the listeners
	stages    []stage     // that have begun, besides the first
	parts     result.Cost // of the runs that are parts of this one
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
	if r.dirErr = git.MakeHome(r.home); r.dirErr == nil {
		r.dirErr = os.MkdirAll(r.Dir, 0o755)
	}
	if r.dirErr == nil {
		r.events, r.dirErr = os.OpenFile(filepath.Join(r.Dir, eventsFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	}
	return r.dirErr
}

// NewReport begins the run's report with everything that is known at its start.
func (r *Run) NewReport(ctx context.Context, method result.Method) *result.Report {
	report := &result.Report{
		Schema: result.Schema, Kind: r.Kind, ID: r.ID, Tool: r.Tool, Command: r.Command, Started: r.Started.UTC(), Method: method,
	}
	if r.Spec != nil {
		report.Spec = result.SpecRef{File: r.Spec.File, SHA256: r.Spec.SHA256}
		if head, ok, err := git.Head(ctx, r.Spec.Dir); err == nil && ok {
			loose, err := r.Loose(ctx)
			report.Commit = &result.Commit{SHA: head.SHA, Dirty: head.Dirty || len(loose) > 0 || err != nil}
			report.Origin = originOf(os.Getenv, head.Branch, r.Fork)
		}
	}
	return report
}

// Finish completes a report with its outcome and the time that it took. Reports of runs are completed
// by Run.Finish.
func Finish(ctx context.Context, report *result.Report) {
	report.Interrupted = ctx.Err() != nil
	report.Finished = time.Now().UTC()
	report.Outcome = judge.Outcome(report)
	report.Cost = &result.Cost{WallS: report.Finished.Sub(report.Started).Seconds()}
}

// Saved says where a report is.
type Saved struct {
	Path       string
	Unrecorded error // why the history does not have the run; nil: it has it, or need not
}

// Save writes the report into the run's folder, and records the run in the history. If the report
// cannot be written it is saved into the system's temporary folder instead, and the error says why. A
// history that cannot be written is no error: the report is there, and can be imported.
func (r *Run) Save(report *result.Report) (Saved, error) {
	raw, err := report.Encode()
	if err != nil {
		return Saved{}, fmt.Errorf("encode the report: %w", err)
	}
	defer r.Close()
	r.mu.Lock()
	problem := r.open()
	r.mu.Unlock()
	if problem == nil {
		path := filepath.Join(r.Dir, reportFile)
		if problem = disk.Write(path, raw); problem == nil {
			r.Emit(Event{Kind: Finished, Text: path})
			return Saved{path, r.record(report)}, nil
		}
	}
	spare := filepath.Join(os.TempDir(), "pawl-"+r.ID+".json")
	if err := disk.Write(spare, raw); err != nil {
		return Saved{}, fmt.Errorf("save the report: %w; and in the temporary folder: %w", problem, err)
	}
	return Saved{Path: spare}, fmt.Errorf("save the report: %w; it is in %s instead", problem, spare)
}

// Folder returns the run's folder, which exists then.
func (r *Run) Folder() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Dir, r.open()
}

// Keep saves a file beside the report, whole or not at all.
func (r *Run) Keep(name string, data []byte) error {
	r.mu.Lock()
	err := r.open()
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return disk.Write(filepath.Join(r.Dir, filepath.Base(name)), data)
}

// Create makes a file beside the report that is written as the run goes on.
func (r *Run) Create(name string) (*os.File, error) {
	r.mu.Lock()
	err := r.open()
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(r.Dir, filepath.Base(name)))
}

// Close closes the file of events, for a run that ends without Save. Later events reach listeners
// only. A second call does nothing.
func (r *Run) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.events != nil {
		_ = r.events.Close()
		r.events = nil
	}
}

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
	Search    *Search       `json:"search,omitempty"` // of a Tune event
}

// Search is how far a search for better params has come.
type Search struct {
	Unit   string         `json:"unit,omitempty"`   // of the best cost: s, which is what none means, or J
	Gain   float64        `json:"gain"`             // of the best so far over today's defaults: 0.05 is 5% less
	Failed map[string]int `json:"failed,omitempty"` // candidates, by the status of their trials
	LeftS  float64        `json:"left_s,omitempty"` // of the budget
	Busy   float64        `json:"busy"`             // share of the time that devices worked for candidates
	Params string         `json:"params,omitempty"` // of the best so far: A=1 B=2
}

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Stage    Kind = "stage"    // a stage begins: Text
	Build    Kind = "build"    // Done of Total are built; Text is the current one
	Verify   Kind = "verify"   // the answers of Row are verified; Done of Total were
	Measure  Kind = "measure"  // Row has Samples
	Tune     Kind = "tune"     // Done of Total candidates are evaluated, 0: nobody knows how many; MedianS is the best cost so far, Search the rest
	Profile  Kind = "profile"  // Row and those after it are profiled; Done of Total were
	RowDone  Kind = "row"      // Row is finished, with its MedianS or Fault
	Note     Kind = "note"     // a remark: Text
	Finished Kind = "finished" // the run is over; Text is the report's path
)

// Listen passes every event from here on to listener, too, which may be nil. Listeners are called
// one at a time, in the events' order. They may call the run's methods: what they emit is passed on
// after the current event.
func (r *Run) Listen(listener func(Event)) {
	if listener == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners = append(r.listeners, listener)
}

// Emit records an event; several lanes may call it at once, and one of them calls the listeners for
// all. Losing an event to a full disk loses no result, so it is not an error.
func (r *Run) Emit(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Time = time.Now()
	if r.open() == nil && r.events != nil {
		if line, err := json.Marshal(e); err == nil {
			_, _ = r.events.Write(append(line, '\n'))
		}
	}
	if r.queue = append(r.queue, e); r.handing {
		return
	}
	r.handing = true
	defer func() { r.handing = false }()
	for len(r.queue) > 0 {
		e, r.queue = r.queue[0], r.queue[1:]
		for _, listener := range r.listeners {
			r.hand(listener, e)
		}
	}
}

// hand calls a listener without the lock, which its caller holds.
func (r *Run) hand(listener func(Event), e Event) {
	r.mu.Unlock()
	defer r.mu.Lock()
	listener(e)
}

const (
	reportFile = "report.json"
	eventsFile = "events.jsonl"
)

// Past is a run that has ended, or is still going on in another process. A run is never continued:
// the decisions of a calibration are in its curve, which the next calibration continues; any other
// interrupted run is prepared again, with the report's seed.
type Past struct {
	ID  string
	Dir string
}

// List returns the runs of the project in root, newest first. Runs of the same second are in any
// order.
func List(root string) ([]Past, error) {
	entries, err := os.ReadDir(runsOf(root))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []Past
	for _, entry := range slices.Backward(entries) {
		if entry.IsDir() {
			out = append(out, Past{ID: entry.Name(), Dir: filepath.Join(runsOf(root), entry.Name())})
		}
	}
	return out, nil
}

// Open finds a run of the project in root by its ID.
func Open(root, id string) (Past, error) {
	runs, err := List(root)
	if err != nil {
		return Past{}, err
	}
	at := slices.IndexFunc(runs, func(p Past) bool { return p.ID == id })
	if at < 0 {
		return Past{}, fmt.Errorf("there is no run %s: %w", id, fs.ErrNotExist)
	}
	return runs[at], nil
}

// Path returns the path of the run's report, which may not exist yet.
func (p Past) Path() string { return filepath.Join(p.Dir, reportFile) }

// Report reads the run's report. A run that has not ended has none: fs.ErrNotExist.
func (p Past) Report() (*result.Report, error) { return ReadReport(p.Path()) }

// ReadReport reads a report that was saved anywhere.
func ReadReport(path string) (*result.Report, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	report, err := result.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return report, nil
}

// Events reads the run's events, up to the first incomplete line.
func (p Past) Events() ([]Event, error) {
	file, err := os.Open(filepath.Join(p.Dir, eventsFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var out []Event
	for lines := json.NewDecoder(file); ; {
		var e Event
		if lines.Decode(&e) != nil {
			return out, nil
		}
		out = append(out, e)
	}
}
