package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// ServeOptions are a worker's settings.
type ServeOptions struct {
	Tool  result.Tool
	Lease time.Duration // the worker ends when it hears nothing for this long; 0 means DefaultLease

	AskDriver bool   // ask for GPUs even where no driver seems to be loaded: for tests
	Cores     int    // how many the machine says it has; 0 means the number it has: for tests
	Proc      string // folder for the time that the machine took from a cell; "" means /proc
	Stat      string // file for the part of it that a hypervisor took; "" means the stat in Proc
}

// DefaultLease is how long a worker lives without hearing from its parent, so that a broken ssh or
// a killed srun leaves nothing running.
const DefaultLease = 30 * time.Second

// ErrLease means that a worker ended because it heard nothing for its lease.
var ErrLease = errors.New("no message from the parent for the whole lease")

// server is a running worker.
type server struct {
	out   *wire.Writer
	store *store

	devices  []result.GPU
	noDevice error // why there are none
	gauges   *gauges

	driverAsked chan struct{} // closed once the child that asked the driver has ended; nil: there was none

	witness witness
	caches  []result.Cache               // of a CPU
	python  func() (*interpreter, error) // evaluated once
	sources sourceFolders
	tools   sync.Map // by path of an ncu, its version

	locking chan struct{}             // held while a device's lock is being taken
	locks   map[string]*deviceLock    // of devices, each taken with its first cell; guarded by locking
	held    atomic.Pointer[time.Time] // when the first of them was taken; nil: none was

	nextCell atomic.Uint64 // number of the last cell
	inFlight sync.Map      // by request, a context.CancelFunc

	mu       sync.Mutex
	clocks   map[string]*clockLock
	cells    map[uint64]*child
	ending   bool           // no request is performed any more
	requests sync.WaitGroup // that are performed
	replies  sync.WaitGroup // that are written
}

// Serve speaks the worker's side of the protocol until in ends, the lease runs
// out or ctx is cancelled; then it ends its cells.
func Serve(ctx context.Context, in io.Reader, out io.Writer, opts ServeOptions) error {
	opts.Lease = cmp.Or(opts.Lease, DefaultLease)
	blobs, err := newStore()
	if err != nil {
		return err
	}
	s := &server{
		out: wire.NewWriter(out), store: blobs, witness: witness{cmp.Or(opts.Proc, "/proc"), opts.Stat},
		locking: make(chan struct{}, 1), locks: map[string]*deviceLock{}, clocks: map[string]*clockLock{}, cells: map[uint64]*child{},
	}
	noGauges := s.survey(ctx, opts)
	ctx, stop := context.WithCancel(ctx)
	defer s.shutdown(stop)
	s.python = sync.OnceValues(func() (*interpreter, error) { return findPython(s.store.blobs()) })
	var noDevices, noState string
	if s.noDevice != nil {
		noDevices = s.noDevice.Error()
	}
	if noGauges != nil {
		noState = noGauges.Error()
	}
	fingerprint := machine.Fingerprint()
	fingerprint.CPU.Cores = cmp.Or(opts.Cores, fingerprint.CPU.Cores)
	s.caches = fingerprint.CPU.Caches
	err = s.out.Send(0, wire.OpHello, wire.Hello{
		Protocol: fmt.Sprintf("%d.%d", wire.Major, wire.Minor), Tool: opts.Tool, PID: os.Getpid(),
		Cells: s.kinds(), DeviceClass: machine.Class(fingerprint), Machine: fingerprint, Devices: s.devices, NoDevices: noDevices, NoState: noState,
	}, nil)
	if err != nil {
		return err
	}
	heard, ended := make(chan struct{}, 1), make(chan error, 1)
	go s.listen(ctx, wire.NewReader(in), heard, ended) // closes heard when the input has ended
	lease := time.NewTimer(opts.Lease)
	defer lease.Stop()
	for {
		select {
		case _, more := <-heard:
			if lease.Reset(opts.Lease); !more {
				heard = nil
				lease.Stop()
			}
		case err := <-ended:
			return err
		case <-lease.C:
			return ErrLease
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unanswered is how many frames may wait for a parent that does not read its answers.
const unanswered = 1024

// listen accepts frames until the input ends. It hears of the parent even while answers cannot be
// written: a parent that is stopped, or behind a broken connection, reads none, and the lease must
// run out all the same.
func (s *server) listen(ctx context.Context, reader *wire.Reader, heard chan<- struct{}, ended chan<- error) {
	frames := make(chan *wire.Frame, unanswered)
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for frame := range frames {
			s.accept(ctx, frame)
		}
	}()
	var err error
	for err == nil {
		var frame *wire.Frame
		if frame, err = reader.Next(); err != nil {
			break
		}
		select {
		case heard <- struct{}{}:
		default:
		}
		select {
		case frames <- frame:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	close(frames)
	close(heard)
	within(answerTime, func() {
		<-accepted
		if !errors.Is(err, io.EOF) && ctx.Err() == nil {
			_ = s.out.Send(0, wire.OpError, wire.Failure{Fault: result.Fault{Cause: result.CauseProtocol, Message: err.Error()}}, nil)
		}
	})
	if errors.Is(err, io.EOF) {
		err = nil
	}
	ended <- err
}

// answerTime is how long a worker that ends tries to write its last answers.
const answerTime = 2 * time.Second

// within waits for do, but not for longer than that: what do waits for may never come.
func within(limit time.Duration, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// accept answers quick requests at once, in order, and runs the others in goroutines, so that ping
// and cancel are handled at any time.
func (s *server) accept(ctx context.Context, frame *wire.Frame) {
	switch frame.Op {
	case wire.OpPing:
		_ = s.out.Send(frame.ID, wire.OpOK, nil, nil)
	case wire.OpCancel:
		var m wire.Cancel
		if err := frame.Decode(&m); err == nil {
			if cancel, there := s.inFlight.Load(m.ID); there {
				cancel.(context.CancelFunc)()
			}
		}
		_ = s.out.Send(frame.ID, wire.OpOK, nil, nil)
	case wire.OpHave:
		var m wire.Have
		err := frame.Decode(&m)
		s.reply(frame.ID, wire.HaveReply{Have: err == nil && s.store.have(m.SHA256)}, nil, err)
	case wire.OpPut:
		var m wire.Put
		err := frame.Decode(&m)
		if err == nil {
			err = s.store.put(m, frame.Data)
		}
		s.reply(frame.ID, nil, nil, err)
	case wire.OpGet:
		var m wire.Get
		err := frame.Decode(&m)
		var reply *wire.GetReply
		var part []byte
		if err == nil {
			reply, part, err = s.store.get(m)
		}
		s.reply(frame.ID, reply, part, err)
	default:
		own := ctx
		ctx, cancel := context.WithCancel(ctx)
		if !s.admit() {
			cancel()
			return
		}
		s.inFlight.Store(frame.ID, cancel)
		s.replies.Go(func() {
			defer cancel()
			body, blob, err := s.perform(ctx, frame)
			s.inFlight.Delete(frame.ID)
			s.requests.Done()
			if err != nil && fellWith(own, err) {
				err = context.Canceled
			}
			s.reply(frame.ID, body, blob, err)
		})
	}
}

// signalTime is how far apart the processes of a job hear a signal that is sent to all of them.
const signalTime = 200 * time.Millisecond

// fellWith reports whether a request failed because the worker is being ended: a scheduler that cancels
// a job ends the cells as well, and what befell them says nothing of their kernels.
func fellWith(worker context.Context, err error) bool {
	fault, ok := errors.AsType[*result.Fault](err)
	if ok && fault.Cause != result.CauseInternal && !strings.Contains(fault.Message, unix.SIGTERM.String()) {
		return worker.Err() != nil
	}
	select {
	case <-worker.Done():
		return true
	case <-time.After(signalTime):
		return false
	}
}

// admit counts a request that is about to be performed; false: the worker ends.
func (s *server) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		s.requests.Add(1)
	}
	return !s.ending
}

func (s *server) reply(id uint64, body any, blob []byte, err error) {
	if err == nil {
		_ = s.out.Send(id, wire.OpOK, body, blob)
		return
	}
	var ended *Failed
	var fault *result.Fault
	var broken *wire.Error
	failure := wire.Failure{}
	switch {
	case errors.As(err, &ended):
		failure = ended.Failure
	case errors.As(err, &fault):
		failure.Fault = *fault
	case errors.As(err, &broken):
		failure.Fault = result.Fault{Cause: result.CauseProtocol, Message: err.Error()}
	case errors.Is(err, context.Canceled):
		failure.Fault = result.Fault{Cause: result.CauseInterrupted, Message: "cancelled"}
	default:
		failure.Fault = result.Fault{Cause: result.CauseInternal, Message: err.Error()}
	}
	_ = s.out.Send(id, wire.OpError, failure, nil)
}

func (s *server) perform(ctx context.Context, frame *wire.Frame) (body any, blob []byte, err error) {
	switch frame.Op {
	case wire.OpOpen:
		body, err = answer(ctx, frame, func(ctx context.Context, m wire.Open) (*wire.OpenReply, error) { return s.open(ctx, frame.ID, m) })
	case wire.OpClose:
		body, err = answer(ctx, frame, s.closeCell)
	case wire.OpLoad:
		body, err = onCell(ctx, s, frame, func(m *wire.Load) *uint64 { return &m.Cell }, s.load)
	case wire.OpPrepare:
		body, err = onCell(ctx, s, frame, func(m *wire.Prepare) *uint64 { return &m.Cell }, s.prepare)
	case wire.OpSample:
		var took *sampled
		if took, err = onCell(ctx, s, frame, func(m *wire.Sample) *uint64 { return &m.Cell }, s.sample); err == nil {
			body, blob = took.SampleReply, took.blob
		}
	case wire.OpRun:
		body, err = onCell(ctx, s, frame, func(m *wire.Run) *uint64 { return &m.Cell }, s.run)
	case wire.OpProduce:
		body, err = onCell(ctx, s, frame, func(m *wire.Produce) *uint64 { return &m.Cell }, s.produce)
	case wire.OpJudge:
		body, err = onCell(ctx, s, frame, func(m *wire.Judge) *uint64 { return &m.Cell }, s.judge)
	case wire.OpProfile:
		body, err = onCell(ctx, s, frame, func(m *wire.ProfileLaunches) *uint64 { return &m.Cell }, s.profile)
	default:
		err = result.Faultf(result.CauseProtocol, "a worker has no operation %q", frame.Op)
	}
	return body, blob, err
}

// answer decodes a request and executes it.
func answer[M, R any](ctx context.Context, frame *wire.Frame, do func(context.Context, M) (*R, error)) (*R, error) {
	var m M
	if err := frame.Decode(&m); err != nil {
		return nil, err
	}
	return do(ctx, m)
}

// onCell decodes a request to the cell that it names and executes it. The cell itself is not told
// its number.
func onCell[M, R any](ctx context.Context, s *server, frame *wire.Frame, cell func(*M) *uint64, do func(context.Context, *child, M) (*R, error)) (*R, error) {
	return answer(ctx, frame, func(ctx context.Context, m M) (*R, error) {
		c, err := s.claim(*cell(&m))
		if err != nil {
			return nil, err
		}
		defer c.asking.Unlock()
		*cell(&m) = 0
		return do(ctx, c, m)
	})
}

// shutdown ends everything the worker started.
func (s *server) shutdown(stop context.CancelFunc) {
	stop() // running requests end their cells themselves
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.requests.Wait()
	for _, c := range s.cells {
		_ = c.proc.Kill()
		<-c.exited
	}
	within(answerTime, s.replies.Wait)
	for _, clocks := range s.clocks {
		if err := clocks.release(); err != nil {
			within(answerTime, func() { _ = s.out.Send(0, wire.OpNote, wire.Note{Text: err.Error()}, nil) })
		}
	}
	for _, lock := range s.locks {
		lock.Close()
	}
	s.store.close()
}
