package worker

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/native/dl"
	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/worker/cell"
	"pawl/internal/worker/wire"
)

// The test binary stands in for pawl: as a worker, and as a cell that lies in the
// way its artifact's text names. Both are started as the real ones are.
func TestMain(m *testing.M) {
	if sandbox.EnterIfAsked(os.Args) {
		return
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "worker":
			if err := Serve(context.Background(), os.Stdin, os.Stdout, ServeOptions{Tool: result.Tool{Version: "test"}}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		case "listener":
			listen()
			return
		case "lock-clocks":
			if err := lockForTest(os.Args[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		case "cell":
			if os.Args[2] == "unlock" {
				if err := Unlock(os.Stdin, os.Args[3]); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				return
			}
			lie(os.NewFile(cell.RequestFD, "requests"), os.NewFile(cell.ReplyFD, "replies"))
			return
		}
	}
	os.Exit(m.Run())
}

func asFault(err error, into **result.Fault) bool { return errors.As(err, into) }

func notifyInterrupt(c chan os.Signal) { signal.Notify(c, os.Interrupt) }

// listen acts as a worker that only prints its requests.
func listen() {
	in, out := wire.NewReader(os.Stdin), wire.NewWriter(os.Stdout)
	_ = out.Send(0, wire.OpHello, wire.Hello{Protocol: "1.0"}, nil)
	for {
		frame, err := in.Next()
		if err != nil {
			return
		}
		_ = out.Send(0, wire.OpNote, wire.Note{Text: frame.Op}, nil)
	}
}

// lie acts as a cell that answers as its artifact says.
func lie(requests, replies *os.File) {
	runtime.LockOSThread() // as a cell's own code does
	in, out := wire.NewReader(requests), wire.NewWriter(replies)
	_ = out.Send(0, wire.OpHello, wire.CellHello{Protocol: "1.0", Cell: "host", PID: os.Getpid()}, nil)
	what := ""
	for {
		frame, err := in.Next()
		if err != nil {
			return
		}
		var body any
		var blob []byte
		switch frame.Op {
		case wire.OpLoad:
			var m wire.Load
			_ = frame.Decode(&m)
			text, err := os.ReadFile(m.Path)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(9)
			}
			what = strings.TrimSpace(string(text))
			body = wire.Loaded{Flush: "none", OnDevice: true}
		case wire.OpPrepare:
			body = wire.Prepared{}
		case wire.OpRun:
			body = wire.RunReply{Ran: wire.Ran{CellS: 1e-9}, EnergyJ: new(-1.0), State: &result.State{When: "made up"}}
		case wire.OpSample:
			body, blob = lyingSample(frame, what, out)
		case wire.OpProduce:
			body = wire.Produced{}
		}
		answer, body := claiming(what, frame.Op, body)
		_ = out.Send(frame.ID, answer, body, blob)
		if what == "deaf" {
			select {}
		}
		if frame.Op == wire.OpSample && strings.HasPrefix(what, "answers and ") {
			for {
				if what == "answers and sleeps" {
					time.Sleep(time.Hour)
				}
			}
		}
	}
}

// wakeEvery makes the kernel send SIGCONT to this process again and again.
func wakeEvery(span time.Duration) {
	event, timer, every := make([]byte, 64), make([]byte, 4), make([]byte, 32)
	binary.NativeEndian.PutUint32(event[8:], uint32(unix.SIGCONT)) // sigev_signo; sigev_notify 0 is SIGEV_SIGNAL
	for _, nanoseconds := range [][]byte{every[8:], every[24:]} {
		binary.NativeEndian.PutUint64(nanoseconds, uint64(span))
	}
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, dl.Address(event), dl.Address(timer))
	if errno == 0 {
		number := binary.NativeEndian.Uint32(timer)
		_, _, errno = unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(number), 0, dl.Address(every), 0, 0, 0)
	}
	if errno != 0 && errno != unix.EAGAIN { // all programs of a user share the limit; some timers are there
		fmt.Fprintln(os.Stderr, errno)
		os.Exit(9)
	}
}

func processorTime() time.Duration {
	used, _ := processTime(os.Getpid())
	return used
}

func lyingSample(frame *wire.Frame, what string, out *wire.Writer) (any, []byte) {
	var m wire.Sample
	_ = frame.Decode(&m)
	took := &wire.Sampled{Samples: wire.Samples{Count: 1, Seconds: []float64{1e-9}, GHz: []float64{0}}}
	switch what {
	case "honest":
	case "too long":
		took.Seconds[0] = 3600
	case "negative":
		took.Seconds[0] = -1
	case "too many":
		took.Count, took.Seconds, took.GHz = m.Count+1, slices.Repeat(took.Seconds, m.Count+1), slices.Repeat(took.GHz, m.Count+1)
	case "none":
		took.Count, took.Seconds = 0, nil
	case "short blob":
		took.Count = 2
	case "preempted":
		return wire.SampleReply{Samples: took.Samples, Toll: wire.Toll{Preempted: 1e6, WaitedS: 1e6, StolenS: 1e6}}, took.Pack()
	case "works":
		runtime.LockOSThread() // a goroutine that moves leaves no thread that lost most
		for began := processorTime(); processorTime()-began < 300*time.Millisecond; {
			continue
		}
	case "patched":
		patch(unix.PROT_READ | unix.PROT_EXEC)
	case "patched and left open":
		patch(unix.PROT_READ | unix.PROT_WRITE | unix.PROT_EXEC)
	case "restless":
		go func() {
			for {
				continue
			}
		}()
	case "wakes itself", "hardly stops":
		signal.Notify(make(chan os.Signal, 1), unix.SIGCONT) // a timer whose signal is ignored is not set again
		wakeEvery(5 * time.Millisecond)
		for range 15 { // a signal that a stop comes before is dropped, and its timer is not set again
			if what == "hardly stops" {
				wakeEvery(time.Millisecond)
			}
		}
		go func() {
			for {
				continue
			}
		}()
	case "no body":
		return json.RawMessage(`"surprise"`), nil
	case "twice":
		_ = out.Send(frame.ID, wire.OpOK, took, took.Pack())
	case "flood":
		for range 100 {
			_ = out.Send(frame.ID+1, wire.OpOK, nil, nil)
		}
	}
	return wire.SampleReply{Samples: took.Samples, State: &result.State{When: "made up"}}, took.Pack()
}

// patch writes to the program, where nobody runs it, and gives the page these rights.
func patch(rights int) {
	here := reflect.ValueOf(nobody).Pointer()
	allow := func(rights int) {
		if _, _, failed := unix.Syscall(unix.SYS_MPROTECT, here&^4095, 4096, uintptr(rights)); failed != 0 {
			panic(failed)
		}
	}
	fill, err := dl.Loaded("memset")
	if err != nil {
		panic(err)
	}
	allow(unix.PROT_READ | unix.PROT_WRITE | unix.PROT_EXEC)
	fill.Call(here, 0xcc, 1)
	allow(rights)
}

//go:noinline
func nobody() { panic("runs this") }
