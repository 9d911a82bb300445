package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

func connect(t *testing.T) *Client {
	t.Helper()
	t.Setenv("PAWL_LOCK_DIR", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	c, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func openLying(t *testing.T, c *Client, what string) *Cell {
	t.Helper()
	sha, err := c.Upload(t.Context(), []byte(what))
	if err != nil {
		t.Fatal(err)
	}
	cell, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cell.Load(t.Context(), wire.Load{SHA256: sha}); err != nil {
		t.Fatal(err)
	}
	return cell
}

func causeOf(err error) result.Cause {
	var fault *result.Fault
	if errors.As(err, &fault) {
		return fault.Cause
	}
	return ""
}

// A cell that does not read a request in time is ended as one that does not answer it, also where
// the request does not fit into the pipe.
func TestCellThatDoesNotRead(t *testing.T) {
	c := connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	interrupted, interrupt := context.WithTimeout(t.Context(), time.Second)
	defer interrupt()
	for want, test := range map[result.Cause]struct {
		ctx   context.Context
		limit float64
	}{result.CauseTimeout: {ctx, 0.5}, result.CauseInterrupted: {interrupted, 60}} {
		cell := openLying(t, c, "deaf")
		_, err := cell.Prepare(test.ctx, wire.Prepare{Args: make([]wire.Arg, 10000), DeadlineS: test.limit})
		if causeOf(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestLyingCellsAreEnded(t *testing.T) {
	c := connect(t)
	for _, what := range []string{"too long", "negative", "too many", "none", "short blob", "no body", "flood"} {
		t.Run(what, func(t *testing.T) {
			cell := openLying(t, c, what)
			_, err := cell.Sample(t.Context(), wire.Sample{Count: 3, Repeat: 1})
			if causeOf(err) != result.CauseForged && what != "flood" {
				t.Errorf("got %v", err)
			}
			if what == "flood" { // may be noticed with the answer or at the next request
				_, next := cell.Sample(t.Context(), wire.Sample{Count: 3, Repeat: 1})
				if causeOf(err) != result.CauseForged && causeOf(next) != result.CauseForged {
					t.Errorf("got %v, then %v", err, next)
				}
			}
		})
	}
	t.Run("honest", func(t *testing.T) {
		cell := openLying(t, c, "honest")
		batch, err := cell.Sample(t.Context(), wire.Sample{Count: 3, Repeat: 1})
		if err != nil || batch.Count != 1 {
			t.Errorf("got %+v, %v", batch, err)
		}
		if _, err := cell.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An answer that somebody else gave first shows when the second one arrives.
func TestSecondAnswerIsNoticed(t *testing.T) {
	c := connect(t)
	t.Run("at the next request", func(t *testing.T) {
		cell := openLying(t, c, "twice")
		if _, err := cell.Sample(t.Context(), wire.Sample{Count: 1, Repeat: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		if _, err := cell.Sample(t.Context(), wire.Sample{Count: 1, Repeat: 1}); causeOf(err) != result.CauseForged {
			t.Errorf("got %v", err)
		}
	})
	t.Run("at the end", func(t *testing.T) {
		cell := openLying(t, c, "twice")
		if _, err := cell.Sample(t.Context(), wire.Sample{Count: 1, Repeat: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := cell.Close(t.Context()); causeOf(err) != result.CauseForged {
			t.Errorf("got %v", err)
		}
	})
}

// A cell that is too busy to be closed can be closed later.
func TestClosingABusyCell(t *testing.T) {
	c, _ := sleeping(t)
	c.id = 3
	s := &server{cells: map[uint64]*child{3: c}}
	c.asking.Lock()
	if _, err := s.closeCell(t.Context(), wire.Close{Cell: 3}); causeOf(err) != result.CauseProtocol {
		t.Errorf("busy: %v", err)
	}
	c.asking.Unlock()
	if s.cells[3] != c {
		t.Fatal("it is forgotten")
	}
	_ = c.proc.Kill()
	<-c.exited
	if s.dropEnded(c); len(s.cells) > 0 {
		t.Error("one that has ended is kept")
	}
}

// Several cells may be opened at once; they share the device's lock.
func TestOpeningSideBySide(t *testing.T) {
	c := connect(t)
	var opening sync.WaitGroup
	for range 8 {
		opening.Go(func() {
			if _, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "off"}); err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()
}

func TestUploadTwiceSendsOnce(t *testing.T) {
	c := connect(t)
	data := []byte(strings.Repeat("x", 3*wire.MaxBlob+5))
	for range 2 {
		if _, err := c.Upload(t.Context(), data); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCancelledRequestTellsItsStory(t *testing.T) {
	c := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Open(ctx, wire.Open{Cell: "host", Sandbox: "off"})
	if cause := causeOf(err); cause != result.CauseInterrupted && err != nil {
		t.Errorf("got %v (%s)", err, cause)
	}
}

func TestStartFailures(t *testing.T) {
	_, err := Start(t.Context(), Options{Command: []string{filepath.Join(t.TempDir(), "nothing")}})
	if causeOf(err) != result.CauseUnsupported {
		t.Errorf("a command that is not there: %v", err)
	}
}

func TestBoundedLog(t *testing.T) {
	var l boundedLog
	head, middle, tail := strings.Repeat("a", logHalf), strings.Repeat("b", 10*logHalf), strings.Repeat("c", logHalf)
	for _, part := range []string{head, middle, tail} {
		for chunk := part; chunk != ""; {
			n := min(1000, len(chunk))
			if _, err := l.Write([]byte(chunk[:n])); err != nil {
				t.Fatal(err)
			}
			chunk = chunk[n:]
		}
	}
	got := l.String()
	if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) || !strings.Contains(got, "[… 327680 bytes left out …]") {
		t.Errorf("%d bytes: %.60q … %q", len(got), got, got[len(got)-60:])
	}
	if len(l.tail) > 2*logHalf {
		t.Errorf("keeps %d bytes", len(l.tail))
	}
}

func TestUsage(t *testing.T) {
	const status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t7\nSigQ:\t0/96\nodd line\n"
	if diff := cmp.Diff(usage{resident: 1 << 20, peak: 2 << 20, threads: 7}, parseUsage([]byte(status)), cmp.AllowUnexported(usage{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNearBuffer(t *testing.T) {
	buffers := []wire.Range{{Name: "a", Start: 0x10000, Bytes: 0x100}, {Name: "b", Start: 0x20000, Bytes: 0x100}}
	const indices = ": compare the kernel's indices with its shape in pawl.yaml"
	const remedy = indices + findLine
	for address, want := range map[uint64]string{
		0x8:        "a null pointer was used",
		0x10110:    "16 bytes past the end of argument a" + remedy,
		0x1fff0:    "16 bytes before the start of argument b" + remedy,
		0x20000:    "inside of argument b",
		0x20100:    "0 bytes past the end of argument b" + remedy,
		0x220ff:    "8191 bytes past the end of argument b" + remedy,
		0x22100:    "8192 bytes past the end of argument b" + indices + onTheStack + findLine,
		0xffff0000: "",
	} {
		if got := nearBuffer(address, buffers); got != want {
			t.Errorf("%#x: %q, want %q", address, got, want)
		}
	}
}

func TestDeadStoresAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	live, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	defer live.close()
	dead, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	dead.lock.Close() // as the kernel does for a killed worker
	next, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	defer next.close()
	if _, err := os.Stat(dead.dir); err == nil {
		t.Error("the folder of a killed worker is still there")
	}
	if _, err := os.Stat(live.dir); err != nil {
		t.Error("the folder of a living worker is gone")
	}
}

// Workers that start at once must not sweep each other's folders.
func TestStoresThatStartTogether(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				s, err := newStore()
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(s.dir); err != nil {
					t.Errorf("the folder of a living worker is gone: %v", err)
				}
				s.close()
			}
		})
	}
	wait.Wait()
}

// A run that needs two devices takes them in the same order as all others.
func TestWhatACellLocks(t *testing.T) {
	const gpu = "GPU-1"
	for name, test := range map[string]struct {
		open   wire.Open
		device string
		want   []string
	}{
		"host":                         {wire.Open{Cell: "host"}, hostDevice, []string{hostDevice}},
		"host, for answers":            {wire.Open{Cell: "host", Untimed: true}, hostDevice, nil},
		"judge":                        {wire.Open{Cell: "oracle"}, hostDevice, nil},
		"cuda":                         {wire.Open{Cell: "cuda"}, gpu, []string{gpu}},
		"cuda, for answers":            {wire.Open{Cell: "cuda", Untimed: true}, gpu, []string{gpu}},
		"cuda, host kernels to come":   {wire.Open{Cell: "cuda", Processor: true}, gpu, []string{hostDevice, gpu}},
		"python, host kernels to come": {wire.Open{Cell: "python", Processor: true, Untimed: true}, gpu, []string{hostDevice, gpu}},
		"python without a GPU":         {wire.Open{Cell: "python", Processor: true}, hostDevice, []string{hostDevice}},
	} {
		if got := toLock(test.open, test.device); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A worker holds a device from its first cell there until it ends.
func TestHeld(t *testing.T) {
	c := connect(t)
	open := func(m wire.Open) {
		t.Helper()
		if _, err := c.Open(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	open(wire.Open{Cell: "host", Sandbox: "off", Untimed: true})
	if held := c.Held(); held != 0 {
		t.Errorf("a cell that only gives answers holds the processor: %v", held)
	}
	before := time.Now()
	open(wire.Open{Cell: "host", Sandbox: "off"})
	time.Sleep(20 * time.Millisecond)
	open(wire.Open{Cell: "host", Sandbox: "off"})
	if held, most := c.Held(), time.Since(before); held < 20*time.Millisecond || held > most {
		t.Errorf("held for %v of %v", held, most)
	}
	c.Close()
	held := c.Held()
	time.Sleep(5 * time.Millisecond)
	if held == 0 || c.Held() != held {
		t.Errorf("a worker that has ended still holds the processor: %v, then %v", held, c.Held())
	}
}

func TestDeviceLock(t *testing.T) {
	t.Setenv("PAWL_LOCK_DIR", t.TempDir())
	first, err := lockDevice(t.Context(), "host", func(holder) { t.Error("waited for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan struct{})
	got := make(chan error, 1)
	go func() {
		second, err := lockDevice(t.Context(), "host", func(other holder) {
			if other.PID != os.Getpid() || time.Since(other.Since) > time.Minute || !strings.Contains(other.Command, filepath.Base(os.Args[0])) {
				t.Errorf("waits for %s", other)
			}
			close(waited)
		})
		if err == nil {
			second.Close()
		}
		got <- err
	}()
	<-waited
	select {
	case err := <-got:
		t.Fatalf("two hold the lock: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	first.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
	raw, err := os.ReadFile(filepath.Join(os.Getenv("PAWL_LOCK_DIR"), ".pawl-host.lock"))
	if err != nil || len(raw) > 0 {
		t.Errorf("a free lock says %q, %v", raw, err)
	}
}

// Any user can write to a lock file.
func TestHolder(t *testing.T) {
	since := time.Now().Add(-time.Minute)
	at := since.Format("15:04:05")
	for _, test := range []struct{ file, want string }{
		{fmt.Sprintf(`{"pid": %d, "since": %q, "command": "pawl check gemm"}`, os.Getpid(), since.Format(time.RFC3339Nano)), fmt.Sprintf("process %d, since %s: pawl check gemm", os.Getpid(), at)},
		{fmt.Sprintf(`{"pid": %d, "since": %q, "command": "a\u001b[2J\nb"}`, os.Getpid(), since.Format(time.RFC3339Nano)), fmt.Sprintf("process %d, since %s: a?[2J?b", os.Getpid(), at)},
		{fmt.Sprintf(`{"pid": %d, "since": "2026-01-02T03:04:05Z", "command": "%s"}`, os.Getpid(), strings.Repeat("x", 200)), fmt.Sprintf("process %d, since %s: %s…", os.Getpid(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Local().Format("2006-01-02 15:04"), strings.Repeat("x", 99))},
		{`{"pid": 2147483646, "command": "has ended"}`, ""},
		{`{"pid": -1, "command": "everybody"}`, ""},
		{"", ""},
		{"not JSON", ""},
		{strings.Repeat(" ", 5000) + "{}", ""},
	} {
		file, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(test.file); err != nil {
			t.Fatal(err)
		}
		if got := read(file).String(); got != test.want {
			t.Errorf("%.80s: %q, want %q", test.file, got, test.want)
		}
	}
}
