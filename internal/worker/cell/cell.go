// Package cell is the inside of a cell: the sandboxed child of a worker that
// loads candidate code, fills its arguments and times its launches. It answers
// one request at a time over two private descriptors and trusts nothing it was
// not sent.
package cell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"pawl/internal/native/cuda"
	"pawl/internal/native/dl"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// Descriptors of a cell's private pipes, inherited from the worker.
const (
	RequestFD = 3
	ReplyFD   = 4
)

// ExitMute is the exit status of a cell that could not send its answer: somebody
// closed its reply descriptor.
const ExitMute = 98

// ErrMute means that the reply descriptor was closed, which ends the cell.
var ErrMute = errors.New("the reply descriptor is closed")

// SanitizerVariable names the tool of compute-sanitizer that a cell runs under.
const SanitizerVariable = "PAWL_CELL_SANITIZER"

// ProfilerVariable is set in a cell that runs under Nsight Compute, to the way in which that repeats
// launches.
const ProfilerVariable = "PAWL_CELL_PROFILER"

// executor is the part that differs between kinds of cells.
type executor interface {
	load(*wire.Load) (*wire.Loaded, error)
	prepare(*wire.Prepare) (*wire.Prepared, error)
	sample(*wire.Sample) (*wire.Sampled, error)
	run(*wire.Run) (*wire.Ran, error)
	produce(*wire.Produce) (*wire.Produced, error)
}

// profiler is an executor whose launches a profiler can look at.
type profiler interface {
	profile(*wire.ProfileLaunches) (*wire.Profiled, error)
}

// Kinds are the kinds of cells that this binary can run.
var Kinds = []string{"host", "cuda", "oracle"}

// Serve runs a cell of the given kind: hello, then requests until the worker closes its end.
func Serve(kind string, requests io.Reader, replies io.Writer) error {
	var e executor
	switch kind {
	case "host":
		e = newHost()
	case "cuda":
		// When the cell says hello the worker records what is mapped. The driver must be loaded by
		// then, because a launcher could change it. A missing driver is reported later.
		_ = cuda.Load()
		e = newCUDA()
	case "oracle":
		e = &bench{}
	default:
		return fmt.Errorf("no cell of kind %q in this binary", kind)
	}
	requests, replies, repeats, err := fromRepeat(requests, replies)
	if err != nil {
		return err
	}
	out := wire.NewWriter(replies)
	err = out.Send(0, wire.OpHello, wire.CellHello{
		Protocol: fmt.Sprintf("%d.%d", wire.Major, wire.Minor), Cell: kind, PID: os.Getpid(),
	}, nil)
	if err != nil {
		return err
	}
	incoming := make(chan *wire.Frame)
	ended := make(chan error, 1)
	go func() {
		in := wire.NewReader(requests)
		for {
			frame, err := in.Next()
			if err != nil {
				// The candidate may be in an endless loop on its own thread, so this goroutine must
				// notice the end.
				if repeats {
					close(incoming)
					return
				}
				ended <- err
				return
			}
			incoming <- frame
		}
	}()
	go func() {
		work(e, incoming, out, ended)
		if repeats { // all has been done that was to be repeated
			ended <- io.EOF
		}
		select {} // the thread is the candidate's, and so is what it holds
	}()
	if err := <-ended; !errors.Is(err, io.EOF) {
		return err
	}
	if os.Getenv(SanitizerVariable) != "" || os.Getenv(ProfilerVariable) != "" {
		// The Go runtime exits without notifying the libraries in the process, and a tool's library
		// writes its report at exit.
		callC("exit")
	}
	return nil
}

// work runs candidate code. It keeps its thread, so that pinning and thread-local state stay with
// the candidate, and turns the garbage collector off while it times.
func work(e executor, incoming <-chan *wire.Frame, out *wire.Writer, ended chan<- error) {
	runtime.LockOSThread()
	if _, judges := e.(*bench); !judges {
		debug.SetGCPercent(-1)
	}
	for frame := range incoming {
		body, blob, err := dispatch(e, frame)
		callC("fflush")  // writes the kernel's output to the log: the signal that ends a cell drops C's own buffers
		collectGarbage() // before the answer: after it another cell may be measured on this core
		if err != nil {
			var fault *result.Fault
			if !errors.As(err, &fault) {
				fault = result.Faultf(result.CauseInternal, "%v", err)
			}
			err = out.Send(frame.ID, wire.OpError, fault, nil)
		} else {
			err = out.Send(frame.ID, wire.OpOK, body, blob)
		}
		if err != nil {
			ended <- fmt.Errorf("%w: %w", ErrMute, err)
			return
		}
	}
}

// callC calls a function of the C library with 0.
func callC(name string) {
	if f, err := dl.Loaded(name); err == nil {
		f.Call(0)
	}
}

func dispatch(e executor, frame *wire.Frame) (body any, blob []byte, err error) {
	switch frame.Op {
	case wire.OpPing:
	case wire.OpLoad:
		body, err = perform(frame, e.load)
	case wire.OpPrepare:
		body, err = perform(frame, e.prepare)
	case wire.OpSample:
		var took *wire.Sampled
		if took, err = perform(frame, e.sample); err == nil {
			body, blob = took, took.Pack()
		}
	case wire.OpRun:
		body, err = perform(frame, e.run)
	case wire.OpProduce:
		body, err = perform(frame, e.produce)
	case wire.OpJudge:
		judge, able := e.(*bench)
		if !able {
			return nil, nil, result.Faultf(result.CauseProtocol, "only an oracle cell judges")
		}
		body, err = perform(frame, judge.judge)
	case wire.OpProfile:
		profiled, able := e.(profiler)
		if !able {
			return nil, nil, result.Faultf(result.CauseProtocol, "only a cell with a GPU is profiled")
		}
		body, err = perform(frame, profiled.profile)
	default:
		err = result.Faultf(result.CauseProtocol, "a cell has no operation %q", frame.Op)
	}
	return body, blob, err
}

// perform decodes a request and executes it.
func perform[M, R any](frame *wire.Frame, do func(*M) (*R, error)) (*R, error) {
	m := new(M)
	if err := frame.Decode(m); err != nil {
		return nil, err
	}
	return do(m)
}
