package run

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Lanes emit events at the same time, and no listener has its own lock.
func TestEventsOfSeveralLanes(t *testing.T) {
	const lanes, events = 8, 50
	var seen []Event
	r := New(t.TempDir(), time.Now(), func(e Event) { seen = append(seen, e) })
	var busy sync.WaitGroup
	for range lanes {
		busy.Go(func() {
			for i := range events {
				r.Emit(Event{Kind: Measure, Done: i})
			}
		})
	}
	busy.Wait()
	file, err := os.Open(filepath.Join(r.Dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	written := 0
	for lines := bufio.NewScanner(file); lines.Scan(); written++ {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || written < len(seen) && e.Done != seen[written].Done {
			t.Errorf("line %d is %s, %v; the listener saw %+v", written, lines.Text(), err, seen[written])
		}
	}
	if len(seen) != lanes*events || written != lanes*events {
		t.Errorf("%d events seen and %d written, want %d", len(seen), written, lanes*events)
	}
}
