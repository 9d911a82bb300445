package run

import (
	"encoding/json"
	"time"

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

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Stage    Kind = "stage"    // a stage begins: Text
	Build    Kind = "build"    // Done of Total are built; Text is the current one
	Verify   Kind = "verify"   // the answers of Row are verified; Done of Total were
	Measure  Kind = "measure"  // Row has Samples
	RowDone  Kind = "row"      // Row is finished, with its MedianS or Fault
	Note     Kind = "note"     // a remark: Text
	Finished Kind = "finished" // the run is over; Text is the report's path
)

// Listen passes every event from here on to listener, too, which may be nil. Listeners are called
// one at a time, in the events' order, and must not call Emit.
func (r *Run) Listen(listener func(Event)) {
	if listener == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners = append(r.listeners, listener)
}

// Emit records an event; several lanes may call it at once. Losing an event to a full disk loses no
// result, so it is not an error.
func (r *Run) Emit(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Time = time.Now()
	if r.open() == nil {
		if line, err := json.Marshal(e); err == nil {
			_, _ = r.events.Write(append(line, '\n'))
		}
	}
	for _, listener := range r.listeners {
		listener(e)
	}
}
