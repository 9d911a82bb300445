package worker

import (
	"errors"
	"io"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// serveFor serves a parent that reads nothing after the hello, and returns its end of the input and how
// serving ends.
func serveFor(t *testing.T, lease time.Duration) (*wire.Writer, io.Closer, <-chan error) {
	t.Helper()
	in, parent := io.Pipe()
	answers, out := io.Pipe()
	t.Cleanup(func() { parent.Close(); answers.Close() })
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(t.Context(), in, out, ServeOptions{Tool: result.Tool{Version: "test"}, Lease: lease})
	}()
	if _, err := wire.NewReader(answers).Hello(); err != nil {
		t.Fatal(err)
	}
	return wire.NewWriter(parent), parent, ended
}

// endsWith fails unless serving ends, with an error.
func endsWith(t *testing.T, ended <-chan error, want error) {
	t.Helper()
	select {
	case err := <-ended:
		if !errors.Is(err, want) {
			t.Errorf("it ended with %v, want %v", err, want)
		}
	case <-time.After(20 * time.Second):
		t.Error("the worker lives on")
	}
}

// A parent that is stopped, or gone behind a connection that still stands, reads no answers. The worker
// ends all the same: by its lease, or with its input.
func TestWorkerOfAParentThatReadsNothing(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]time.Duration{"lease": 100 * time.Millisecond, "end of input": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent, closer, ended := serveFor(t, lease)
			for id := range uint64(3) { // an answer that cannot be written, and what waits behind it
				if err := parent.Send(id+1, []string{wire.OpOpen, wire.OpPing, wire.OpHave}[id], nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			if lease == time.Hour {
				closer.Close()
				endsWith(t, ended, nil)
				return
			}
			endsWith(t, ended, ErrLease)
		})
	}
}

// Whatever the parent says extends the lease, also while no answer can be written.
func TestLeaseIsExtendedByWhatIsHeard(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second
	parent, closer, ended := serveFor(t, lease)
	for began, id := time.Now(), uint64(1); time.Since(began) < lease+lease/2; id++ {
		if err := parent.Send(id, wire.OpPing, nil, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lease / 20)
	}
	select {
	case err := <-ended:
		t.Errorf("it ended with %v", err)
	default:
	}
	closer.Close()
	endsWith(t, ended, nil)
}
