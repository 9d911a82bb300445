package tune

import (
	"context"
	"testing"
	"time"

	"pawl/internal/result"
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

// The time that is kept for the finals is searched, too, as long as nothing could play them; then it is
// not.
func TestSearchUsesTimeOfEmptyFinals(t *testing.T) {
	h := bare(t, 1)
	h.Budget, h.defaultsWork, h.defaults.identity = time.Minute, true, "x"
	h.asked, h.inFlight = 1, 1
	h.record(h.defaults, h.ratios(result.TrialOK, 1))
	spend := func(seconds float64) {
		h.began = time.Now().Add(-time.Duration(seconds * float64(time.Second)))
		h.startClock(func() {})
	}
	spend(50) // 12 are for the finals
	if h.over(t.Context()) {
		t.Fatal("it ends, and nobody plays the finals")
	}
	if left := time.Until(h.until).Seconds(); left < 4 || left > 5 {
		t.Errorf("it goes on for %.1f s of 10", left)
	}
	spend(57)
	if !h.over(t.Context()) {
		t.Error("it goes on in the last three seconds")
	}
	h.record(h.askedFor(1, 0, "y"), h.ratios(result.TrialOK, 0.9))
	spend(50)
	if !h.over(t.Context()) {
		t.Error("a setting that is faster has no time to play")
	}
	h.stopClock()
}
