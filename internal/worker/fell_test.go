package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"pawl/internal/result"
)

// A scheduler that cancels a job signals its processes one after the other: a cell may have ended
// before its worker knows why.
func TestFellWithItsWorker(t *testing.T) {
	t.Parallel()
	crash := func(how string) error { return result.Faultf(result.CauseCrash, "the kernel crashed: %s", how) }
	for name, c := range map[string]struct {
		err  error
		in   time.Duration // until the worker is told to end; 0: it is not
		want bool
	}{
		"a cell that did not start":    {errors.New("stage 1 ended before the sandbox was up"), 20 * time.Millisecond, true},
		"a cell that was terminated":   {crash("terminated"), 20 * time.Millisecond, true},
		"a cell that crashed before":   {crash("SIGSEGV"), 100 * time.Millisecond, false},
		"a disk that is full":          {errors.New("no space left on device"), 0, false},
		"a kernel that ends itself so": {crash("terminated"), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.in > 0 {
				defer time.AfterFunc(c.in, cancel).Stop()
			}
			if got := fellWith(ctx, c.err); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}
