package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A request that does not fit into a frame is a separate error, and costs nothing else.
func TestRequestsThatCannotBeSent(t *testing.T) {
	c := connect(t)
	cell := openLying(t, c, "honest")
	if _, err := cell.Run(t.Context(), wire.Run{Launches: 1, DeadlineS: math.NaN()}); err == nil || !strings.Contains(err.Error(), "encode run") {
		t.Errorf("a deadline that is no number: %v", err)
	}
	long := wire.Load{SHA256: strings.Repeat("0", 64), Entry: strings.Repeat("x", wire.MaxLine)}
	if _, err := cell.Load(t.Context(), long); err == nil || !strings.Contains(err.Error(), "over the limit") {
		t.Errorf("a line that is too long: %v", err)
	}
	if len(c.pending) != 0 {
		t.Errorf("%d answers are still awaited", len(c.pending))
	}
	if _, err := cell.Run(t.Context(), wire.Run{Launches: 1}); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// A worker that no longer listens, but lives on, does not block a caller that wants to leave.
func TestWorkerThatDoesNotListen(t *testing.T) {
	const script = `exec <&-; echo '{"v":1,"id":0,"op":"hello","body":{"protocol":"1.2"}}'; exec sleep 60`
	c, err := Start(t.Context(), Options{Command: []string{"sh", "-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		c.kill()
		<-c.gone
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Upload(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// startScript starts a worker that says hello and then does what a shell script says.
func startScript(t *testing.T, script string) *Client {
	t.Helper()
	const hello = `echo '{"v":1,"id":0,"op":"hello","body":{"protocol":"1.2"}}'; `
	c, err := Start(t.Context(), Options{Command: []string{"sh", "-c", hello + script}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.kill()
		<-c.gone
	})
	return c
}

// A blob that several callers need is uploaded once.
func TestUploadsOfOneBlob(t *testing.T) {
	c := connect(t)
	for round := range 3 {
		data := bytes.Repeat([]byte{byte(round), 1, 2, 3}, wire.MaxBlob)
		sum := sha256.Sum256(data)
		var reads atomic.Int64
		var uploads sync.WaitGroup
		for range 4 {
			uploads.Go(func() {
				err := c.Provide(t.Context(), hex.EncodeToString(sum[:]), func() ([]byte, error) {
					reads.Add(1)
					return data, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		uploads.Wait()
		if reads.Load() != 1 {
			t.Errorf("it was uploaded %d times", reads.Load())
		}
	}
}

// A caller that waits for another's upload may leave.
func TestUploadThatWaits(t *testing.T) {
	c := startScript(t, "exec sleep 60")
	uploading := make(chan error, 1)
	go func() {
		_, err := c.Upload(t.Context(), []byte("x"))
		uploading <- err
	}()
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		waiting = len(c.pending)
		c.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.Upload(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > graceful/2 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	c.kill()
	if err := <-uploading; causeOf(err) != result.CauseKilled {
		t.Errorf("the other: %v", err)
	}
}

// A worker that hangs says nothing of the kernel. Whatever the client was sending or waiting for
// ends with the deadline, and with the context.
func TestWorkerThatHangs(t *testing.T) {
	t.Parallel()
	const soon = 200*time.Millisecond - hungAfter
	interrupted, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for name, test := range map[string]struct {
		ctx   context.Context
		data  []byte
		limit time.Duration
	}{
		"it does not answer":                 {t.Context(), nil, soon},
		"it does not read":                   {t.Context(), make([]byte, wire.MaxBlob), soon},
		"it does not read, and the run ends": {interrupted, make([]byte, wire.MaxBlob), time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startScript(t, "exec sleep 100")
			beside := make(chan error, 1)
			go func() {
				_, err := c.call(context.Background(), wire.OpHave, wire.Have{}, nil, time.Hour, nil)
				beside <- err
			}()
			began := time.Now()
			_, err := c.call(test.ctx, wire.OpPut, wire.Put{}, test.data, test.limit, nil)
			if took := time.Since(began); took > graceful+5*time.Second {
				t.Errorf("it took %v", took)
			}
			for _, err := range []error{err, <-beside} {
				var lost *Lost
				if !errors.As(err, &lost) || causeOf(err) != result.CauseKilled || !strings.Contains(err.Error(), "did not answer a put request for") || lost.Hint == "" {
					t.Errorf("%#v", err)
				}
			}
		})
	}
}

// Calls that end with their worker do not share their faults: callers write to them.
func TestLostCallsHaveTheirOwnFaults(t *testing.T) {
	c := startScript(t, "exec sleep 60")
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			_, err := c.call(t.Context(), wire.OpHave, wire.Have{}, nil, time.Hour, nil)
			var fault *result.Fault
			if !errors.As(err, &fault) {
				t.Errorf("%v", err)
				return
			}
			fault.Stage = "load"
		})
	}
	c.kill()
	calls.Wait()
}

// A worker that is killed breaks no protocol, wherever in a frame it was.
func TestWorkerKilledWhileWriting(t *testing.T) {
	const hello = `echo '{"v":1,"id":0,"op":"hello","body":{"protocol":"1.2"}}'; `
	for name, script := range map[string]string{
		"in the hello":  `printf '{"v":1,'; kill -9 $$`,
		"between two":   hello + `kill -9 $$`,
		"in a line":     hello + `printf '{"v":1,"id":1,'; kill -9 $$`,
		"before a blob": hello + `echo '{"v":1,"id":1,"op":"ok","blob":{"len":128,"sha256":""}}'; kill -9 $$`,
		"in a blob":     hello + `echo '{"v":1,"id":1,"op":"ok","blob":{"len":128,"sha256":""}}'; printf some; kill -9 $$`,
	} {
		c, err := Start(t.Context(), Options{Command: []string{"sh", "-c", script}})
		if err == nil {
			<-c.gone
			err = c.ended()
		}
		if inside := strings.Contains(name, " a "); causeOf(err) != result.CauseKilled || inside != strings.Contains(err.Error(), "in the middle of an answer") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The worker's readings in a reply are the worker's, whatever the cell wrote there.
func TestReadingsAreTheWorkers(t *testing.T) {
	c := connect(t)
	cell := openLying(t, c, "honest")
	if cell.OnDevice {
		t.Error("a cell without a GPU runs on one")
	}
	run := func(look bool) string {
		reply, err := cell.Run(t.Context(), wire.Run{Launches: 1, State: look})
		if err != nil {
			t.Fatal(err)
		}
		if reply.EnergyJ != nil && *reply.EnergyJ < 0 {
			t.Errorf("used %g J", *reply.EnergyJ)
		}
		if reply.State == nil {
			return ""
		}
		return reply.State.When
	}
	if got := run(false); got != "" {
		t.Errorf("nobody asked, and a reading is %q", got)
	}
	if got := run(true); got != "during" {
		t.Errorf("the first reading is %q", got)
	}
	if got := run(true); got != "" && got != "during" { // soon after the first
		t.Errorf("the second reading is %q", got)
	}
	batch, err := cell.Sample(t.Context(), wire.Sample{Count: 1, Repeat: 1})
	if err != nil || batch.State != nil && batch.State.When != "during" {
		t.Errorf("%+v, %v", batch, err)
	}
}

func TestOnGPU(t *testing.T) {
	for _, test := range []struct {
		device    string
		processor bool
		want      bool
	}{{hostDevice, false, false}, {"GPU-1", false, true}, {"GPU-1", true, false}} {
		if got := (&child{device: test.device, processor: test.processor}).onGPU(); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

// A parent without requests pings well before the worker's lease is over, and goes on doing so.
func TestParentPings(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 100)
	c, err := Start(t.Context(), Options{Command: []string{self, "listener"}, OnNote: func(op string) { heard <- op }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		select {
		case op := <-heard:
			if op != wire.OpPing {
				t.Errorf("it heard %q", op)
			}
		case <-time.After(DefaultLease):
			t.Fatal("it heard nothing for the whole lease")
		}
	}
}

// A scheduler that ends a worker interrupts its requests. They are lost with the worker, and nobody
// here has interrupted them.
func TestWorkerThatIsEnded(t *testing.T) {
	const interrupted = `{"v":1,"id":1,"op":"error","body":{"stage":"","cause":"interrupted","message":"cancelled"}}`
	c := startScript(t, `read request; echo '`+interrupted+`'; sleep 0.1; exit 130`)
	_, err := c.call(t.Context(), wire.OpHave, wire.Have{}, nil, time.Hour, nil)
	if lost := (*Lost)(nil); !errors.As(err, &lost) || causeOf(err) != result.CauseKilled {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c = startScript(t, `read request; read cancel; echo '`+interrupted+`'; exec sleep 60`)
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := c.call(ctx, wire.OpHave, wire.Have{}, nil, time.Hour, nil); causeOf(err) != result.CauseInterrupted {
		t.Errorf("%v", err)
	}
}
