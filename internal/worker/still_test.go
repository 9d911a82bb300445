package worker

import (
	"testing"
	"time"

	"pawl/internal/worker/wire"
)

// A thread that a kernel has left behind works in the cell's own turns alone.
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
