package worker

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A thread that a kernel has left behind works only in the cell's own turns.
func TestStillBetweenRequests(t *testing.T) {
	c := connect(t)
	cell := openLying(t, c, "restless")
	for range 3 {
		if _, err := cell.Sample(t.Context(), wire.Sample{Count: 1, Repeat: 1}); err != nil {
			t.Fatal(err)
		}
		before, known := processTime(cell.Info.PID)
		time.Sleep(100 * time.Millisecond)
		after, stillKnown := processTime(cell.Info.PID)
		if worked := after - before; !known || !stillKnown || worked > 30*time.Millisecond {
			t.Errorf("%v of work in 100 ms between two requests", worked)
		}
	}
	if _, err := cell.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Threads that a module starts when it is loaded wait for the first request.
func TestStoppedAfterLoad(t *testing.T) {
	c := connect(t)
	cell := openLying(t, c, "honest")
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cell.Info.PID))
	if err != nil {
		t.Fatal(err)
	}
	if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
		t.Errorf("between load and the next request the cell is %.1s", state)
	}
}

// A busy machine charges a stopped thread with a moment, once in thousands of pauses.
func TestRestless(t *testing.T) {
	for _, tc := range []struct {
		restless, all int
		want          bool
	}{{2, 2, false}, {3, 3, true}, {3, 60, true}, {3, 61, false}, {50, 1000, true}, {49, 1000, false}} {
		if got := (&pause{restless: tc.restless, all: tc.all}).isRestless(); got != tc.want {
			t.Errorf("%d of %d: %v", tc.restless, tc.all, got)
		}
	}
}

// A cell that is woken by a timer is found by its CPU time, however often.
func TestWokenBetweenRequests(t *testing.T) {
	for _, what := range []string{"wakes itself", "hardly stops"} {
		t.Run(what, func(t *testing.T) {
			c := connect(t)
			cell := openLying(t, c, what)
			for pause := range 10 {
				_, err := cell.Sample(t.Context(), wire.Sample{Count: 1, Repeat: 1})
				switch {
				case err == nil:
					time.Sleep(50 * time.Millisecond)
					continue
				case pause < restless || causeOf(err) != result.CauseForged || !strings.Contains(err.Error(), "while it was stopped"):
					t.Errorf("after %d pauses: %v", pause, err)
				}
				return
			}
			t.Error("it was never noticed")
		})
	}
}
