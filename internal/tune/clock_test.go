package tune

import (
	"context"
	"testing"
	"time"
)

// While another run has the device the clock of a search stands still, and afterwards the whole budget is
// left.
func TestClockStandsStillWhileAnotherRunHasTheDevice(t *testing.T) {
	s := &tune{Options: Options{Budget: 200 * time.Millisecond}, began: time.Now()}
	s.wake.L = &s.mu
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.startClock(cancel)
	defer s.stopClock()
	s.waits()
	time.Sleep(300 * time.Millisecond)
	if waited := s.goOn(); waited < 300*time.Millisecond || s.over(ctx) || time.Until(s.began.Add(s.Budget)) < 50*time.Millisecond {
		t.Errorf("after a wait of %s nothing of the budget is left", waited)
	}
	s.waits() // for another device
	if waited := s.goOn(); waited != 0 {
		t.Errorf("the clock stood still for %s although the search has a device", waited)
	}
}
