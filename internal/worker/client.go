package worker

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// pingEvery keeps the worker's lease alive. The worker itself ends a cell that does not answer in
// time, and says so: it counts as hung only when that answer, too, is long overdue.
const (
	pingEvery = 5 * time.Second
	graceful  = 10 * time.Second              // for the answer to a request that was cancelled
	hungAfter = patienceMost + 20*time.Second // beyond a request's own deadline
	leaveTime = 5 * time.Second               // for a launcher to end after its worker: srun then gives its job back
	termTime  = 3 * time.Second               // to end after SIGTERM: srun then cancels its job
)

// Client is the parent's end of one worker.
type Client struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the command has
	stdin  io.WriteCloser
	out    *wire.Writer
	errors *boundedLog
	hello  wire.Hello
	note   func(string)

	next      atomic.Uint64 // number of the last request
	uploading chan struct{} // held while a blob is uploaded

	mu      sync.Mutex
	pending map[uint64]chan *wire.Frame
	lost    *result.Fault // why the worker has ended
	gone    chan struct{} // closed when it has ended
	held    time.Time     // since when the worker has held a device; zero: it holds none
	left    time.Time     // when it ended
}

// printed adds the worker's output to a fault.
func (c *Client) printed(fault *result.Fault) *result.Fault {
	if text := strings.TrimSpace(c.errors.String()); text != "" {
		fault.Message += ": " + text
	}
	return fault
}

// Hello returns what the worker said of itself and its machine.
func (c *Client) Hello() wire.Hello { return c.hello }

// Minor returns the worker's minor version of the protocol. The worker silently ignores what later
// versions added.
func (c *Client) Minor() int {
	_, minor, _ := strings.Cut(c.hello.Protocol, ".")
	n, _ := strconv.Atoi(minor)
	return n
}

// Held returns how long the worker has held the lock of a device, until now or its end.
func (c *Client) Held() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.held.IsZero():
		return 0
	case c.left.IsZero():
		return time.Since(c.held)
	}
	return c.left.Sub(c.held)
}

// holds records that the worker has held a device for so many seconds.
func (c *Client) holds(seconds float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held.IsZero() && seconds > 0 {
		c.held = time.Now().Add(-time.Duration(seconds * float64(time.Second)))
	}
}

// Gone is closed when the worker has ended.
func (c *Client) Gone() <-chan struct{} { return c.gone }

func (c *Client) receive(reader *wire.Reader) {
	for {
		frame, err := reader.Next()
		if err != nil {
			c.lose(err)
			return
		}
		if frame.Op == wire.OpNote {
			var n wire.Note
			if frame.Decode(&n) == nil {
				c.note(n.Text)
			}
			continue
		}
		c.mu.Lock()
		reply := c.pending[frame.ID]
		delete(c.pending, frame.ID)
		c.mu.Unlock()
		if reply != nil {
			reply <- frame
		}
	}
}

// lose ends the client: the worker closed, broke the protocol or was killed.
func (c *Client) lose(err error) {
	c.dismiss(closed(err))
	fault := result.Faultf(result.CauseKilled, "the worker ended (%s)", c.cmd.ProcessState)
	switch {
	case wire.IsReason(err, "truncated"):
		fault.Message += " in the middle of an answer"
	case protocolError(err):
		fault = result.Faultf(result.CauseProtocol, "the worker %v", err)
	}
	c.mu.Lock()
	c.lost = c.printed(cmp.Or(c.lost, fault))
	c.left = time.Now()
	c.mu.Unlock()
	close(c.gone)
}

// giveUp ends a worker that hangs: all its calls return the reason.
func (c *Client) giveUp(why *result.Fault) error {
	c.mu.Lock()
	c.lost = cmp.Or(c.lost, why.WithHint("check that the worker's machine and the connection to it respond, then run again"))
	c.mu.Unlock()
	c.terminate()
	return c.ended()
}

// Lost is the error of a request whose worker has ended or hangs, which says nothing of the cell.
type Lost struct{ result.Fault }

// Unwrap returns the fault.
func (l *Lost) Unwrap() error { return &l.Fault }

// ended waits for the worker's end and returns the reason. Every caller gets its own copy.
func (c *Client) ended() error {
	<-c.gone
	return &Lost{*c.lost}
}

// Lost returns why the worker has ended, a *Lost; nil while it runs.
func (c *Client) Lost() error {
	select {
	case <-c.gone:
		return c.ended()
	default:
		return nil
	}
}

// closed reports whether the peer closed the connection, even in the middle of a frame: a process
// that is killed while writing breaks no protocol.
func closed(err error) bool { return errors.Is(err, io.EOF) || wire.IsReason(err, "truncated") }

func (c *Client) keepAlive() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.gone:
			return
		case <-tick.C:
			_ = c.out.Send(c.next.Add(1), wire.OpPing, nil, nil)
		}
	}
}

// call sends a request and waits for its reply, until the worker counts as hung. When ctx ends
// first, the request is cancelled and the worker's answer still awaited, so that cell and log are
// not lost.
func (c *Client) call(ctx context.Context, op string, body any, data []byte, limit time.Duration, reply any) (*wire.Frame, error) {
	answer, sent, over := make(chan *wire.Frame, 1), make(chan error, 1), make(chan struct{})
	defer close(over)
	id, began := c.next.Add(1), time.Now()
	c.mu.Lock()
	c.pending[id] = answer
	c.mu.Unlock()
	go func() { // a worker that does not read blocks it
		sent <- c.out.Send(id, op, body, data)
		select {
		case <-ctx.Done():
			_ = c.out.Send(0, wire.OpCancel, wire.Cancel{ID: id}, nil)
		case <-over:
		}
	}()
	done := ctx.Done()
	timer := time.NewTimer(limit + hungAfter)
	defer timer.Stop()
	for {
		select {
		case err := <-sent:
			if err != nil {
				c.mu.Lock()
				delete(c.pending, id)
				c.mu.Unlock()
				return nil, c.unsent(ctx, err)
			}
		case frame := <-answer:
			err := decodeReply(frame, reply)
			if c.endsWith(ctx, err) {
				return nil, c.ended()
			}
			return frame, err
		case <-c.gone:
			return nil, c.ended()
		case <-done:
			done = nil
			timer.Reset(graceful)
		case <-timer.C:
			waited := time.Since(began).Round(100 * time.Millisecond)
			return nil, c.giveUp(result.Faultf(result.CauseKilled, "the worker did not answer a %s request for %v", op, waited))
		}
	}
}

// endsWith reports whether a request was answered as interrupted though nobody here has interrupted it,
// and the worker has ended soon after: somebody else ended it, such as a scheduler.
func (c *Client) endsWith(ctx context.Context, err error) bool {
	if failed, ok := errors.AsType[*Failed](err); !ok || failed.Cause != result.CauseInterrupted || ctx.Err() != nil {
		return false
	}
	select {
	case <-c.gone:
		return true
	case <-ctx.Done():
	case <-time.After(graceful):
	}
	return false
}

// unsent says why a request could not be sent: it does not fit into a frame, or the worker no
// longer reads, which soon proves to be its end.
func (c *Client) unsent(ctx context.Context, err error) error {
	if broken := (*fs.PathError)(nil); !errors.As(err, &broken) {
		return err
	}
	select {
	case <-c.gone:
		return c.ended()
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(graceful):
		return c.giveUp(result.Faultf(result.CauseKilled, "the worker runs, but has closed its input"))
	}
}

func decodeReply(frame *wire.Frame, reply any) error {
	if frame.Op == wire.OpError {
		var failure wire.Failure
		if err := frame.Decode(&failure); err != nil {
			return err
		}
		return &Failed{failure}
	}
	if reply == nil {
		return nil
	}
	return frame.Decode(reply)
}

// Failed is a request that failed: the worker answered it with a fault, or its cell has ended.
type Failed struct{ wire.Failure }

func (f *Failed) Error() string { return f.Fault.Message }

func (f *Failed) Unwrap() error { return &f.Fault }
