package tune

import "time"

// clock ends the search, and stands still while another run has the device: the budget is of this
// search's own work.
type clock struct {
	cancel, wake *time.Timer
	waitsSince   time.Time // zero: it does not wait
	ended        bool      // the search has
	over         bool      // the device was got once: it is kept, and other devices are no reason to stand still
}

// startClock lets the search end when its part of the budget is spent. A trial that is under way then
// is cancelled after graceTime.
func (t *tune) startClock(cancel func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = t.began.Add(t.Budget - t.finalsTime())
	t.clock.wake = time.AfterFunc(time.Until(t.until), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.isUp()
		t.wake.Broadcast()
	})
	t.clock.cancel = time.AfterFunc(time.Until(t.until.Add(graceTime)), cancel)
}

// isUp reports whether the search's part of the budget is spent; the rest is for the finals. Where
// nothing could play them yet, the search has half of that rest, too. Its caller holds the lock.
func (t *tune) isUp() bool {
	verifying := min(t.verifyTime(), t.Budget/4) // the winner again, after its duets
	if time.Now().Before(t.until.Add(-verifying)) {
		return false
	}
	left := time.Until(t.began.Add(t.Budget))
	if t.clock.ended || left <= 2*graceTime || !t.defaultsWork || len(t.contenders()) > 0 {
		return true
	}
	t.until = time.Now().Add(left / 2)
	t.clock.wake.Reset(left / 2)
	t.clock.cancel.Reset(left/2 + graceTime)
	return false
}

// stopClock ends the clock's timers.
func (t *tune) stopClock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock.wake.Stop()
	t.clock.cancel.Stop()
}

// waits stops the clock: another run has the device.
func (t *tune) waits() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clock.cancel == nil || t.clock.over || !t.clock.waitsSince.IsZero() {
		return
	}
	t.clock.waitsSince = time.Now()
	t.clock.wake.Stop()
	t.clock.cancel.Stop()
}

// goOn lets the clock go on, when the device was got. It returns how long that took.
func (t *tune) goOn() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock.over = true
	if t.clock.waitsSince.IsZero() {
		return 0
	}
	waited := time.Since(t.clock.waitsSince)
	t.clock.waitsSince = time.Time{}
	t.began, t.until = t.began.Add(waited), t.until.Add(waited)
	t.clock.wake.Reset(time.Until(t.until))
	t.clock.cancel.Reset(time.Until(t.until.Add(graceTime)))
	return waited
}
