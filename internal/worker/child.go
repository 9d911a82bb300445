package worker

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/worker/wire"
)

// child is the worker's end of one cell: the process, its descriptors, and the rule that it answers
// each request once, in order.
type child struct {
	id      uint64
	kind    string
	proc    *sandbox.Process
	out     *wire.Writer
	log     *boundedLog
	scratch string
	quick   string // folder in memory for its outputs; "": none
	limits  limits
	meter   *machine.Meter
	witness witness
	device  string // UUID of the GPU, or hostDevice

	framework string // of a Python cell
	dirs      []string

	sanitizer string // tool of compute-sanitizer that it runs under; "": none
	profiling *profiling
	requests  io.Closer // the writing end of out: a cell ends when it is closed
	report    string    // the tool's output; valid once exited is closed

	frames  chan *wire.Frame // received from the cell, not yet read
	readErr error            // why frames was closed
	exited  chan struct{}    // closed once the process has ended and its log is complete
	state   *os.ProcessState

	house household // its children

	peak    atomic.Int64 // most memory that it was seen to use, in bytes
	mu      sync.Mutex
	verdict *result.Fault // why the worker ended it, if it did; guarded by mu

	asking    sync.Mutex // held while a request is handled; it guards what follows
	help      help       // computed by children for a request
	code      codeWatch
	pause     pause // until the next request
	buffers   []wire.Range
	problems  map[int]problem // by side
	cores     []int           // cores that it was told to pin to
	threads   int             // threads that compute its last problem
	own       []int           // threads that launch nothing, by what the cell says
	leaves    string          // folder of its last outputs
	alone     bool            // it has loaded only device code: no foreign code runs in its process
	loaded    bool            // it has loaded something
	processor bool            // its code runs on the CPU, with or without a GPU
	seen      *sight          // the last reading of its counters
	stateRead time.Time       // when its device's state was last read
}

// A problem is what a side was last prepared for.
type problem struct {
	args      []wire.Arg
	reference bool // it only gives right answers
}

type limits struct {
	memory  int64
	threads int
}

// helloDeadline is how long a cell may take to start.
const helloDeadline = 20 * time.Second

// hostDevice stands for the machine's CPUs, where a GPU has its UUID.
const hostDevice = "host"

// tooled reports whether the cell's process is that of a tool that runs the cell.
func (c *child) tooled() bool { return c.sanitizer != "" || c.profiling != nil }

// toolEnd returns how long a tool may take to end after its cell.
func (c *child) toolEnd() time.Duration {
	if c.profiling != nil {
		return c.profiling.end()
	}
	return sanitizedEnd
}

// awaitTool waits for the end of a tool whose cell has ended, and reports whether it came.
func (c *child) awaitTool() bool {
	select {
	case <-c.exited:
		return true
	case <-time.After(c.toolEnd()):
		return false
	}
}

// onGPU reports whether the cell's kernels run on a GPU: it has one, and its framework
// uses it.
func (c *child) onGPU() bool { return c.device != hostDevice && !c.processor }

// openChild starts a cell and waits for its hello.
func (s *server) openChild(ctx context.Context, id uint64, m wire.Open, device string) (*child, error) {
	mode, err := sandbox.ParseMode(m.Sandbox)
	if err != nil {
		return nil, result.Faultf(result.CauseProtocol, "%v", err)
	}
	scratch, err := os.MkdirTemp(s.store.dir, "scratch-")
	if err != nil {
		return nil, fmt.Errorf("make the cell's scratch folder: %w", err)
	}
	quick := s.quickFolder(m)
	clear := func() {
		_ = os.RemoveAll(scratch)
		_ = os.RemoveAll(quick)
	}
	runs, err := s.programOf(m, device, scratch)
	if err != nil {
		clear()
		return nil, err
	}
	if quick != "" {
		runs.policy.Write = append(runs.policy.Write, quick)
	}
	pipes, err := newPipes()
	if err != nil {
		clear()
		return nil, err
	}
	c := &child{
		id: id, kind: m.Cell, out: wire.NewWriter(pipes.requests), log: &boundedLog{}, scratch: scratch, quick: quick,
		limits: limits{memory: m.Memory, threads: m.Threads}, device: device, framework: m.Framework, dirs: importFolders(m.Dirs),
		sanitizer: m.Sanitizer, profiling: runs.profiling, requests: pipes.requests, witness: s.witness,
		frames: make(chan *wire.Frame, 16), exited: make(chan struct{}),
	}
	c.proc, err = sandbox.Start(sandbox.Command{
		Path: runs.path, Args: runs.args, Dir: scratch, Env: runs.env,
		Stdin:      pipes.null,
		Stdout:     pipes.logWrite,
		Stderr:     pipes.logWrite,
		ExtraFiles: []*os.File{pipes.childIn, pipes.childOut},
		Policy:     runs.policy,
		Mode:       mode,
		Watched:    true,
	})
	pipes.closeChildEnds()
	if err != nil {
		pipes.closeOurEnds()
		clear()
		if fault := noNetwork(err); fault != nil {
			return nil, fault
		}
		return nil, result.Faultf(result.CauseInternal, "cannot start a cell: %v", err).WithHint("pawl doctor shows what this Linux kernel supports")
	}
	c.meter = machine.NewMeter(os.Getpid(), os.Getppid(), c.proc.Pid())
	go c.supervise(pipes)
	go c.watch()
	return c, c.greet(ctx)
}

// quickFolder creates a cell's folder in memory; "": it has none. Writing to a disk takes seconds
// for what a GPU computes in a millisecond.
func (s *server) quickFolder(m wire.Open) string {
	if m.Cell != "cuda" || s.store.quick == "" {
		return ""
	}
	folder, _ := os.MkdirTemp(s.store.quick, "cell-")
	return folder
}

// supervise reads the cell's output and reaps the process.
func (c *child) supervise(p *pipes) {
	logDone := make(chan struct{})
	go func() {
		_, _ = io.Copy(c.log, p.logRead)
		close(logDone)
	}()
	readDone := make(chan struct{})
	go func() {
		defer close(readDone)
		defer close(c.frames)
		in := wire.NewReader(p.replies)
		for {
			frame, err := in.Next()
			if err != nil {
				c.readErr = err
				return
			}
			select {
			case c.frames <- frame:
			default:
				c.end(result.Faultf(result.CauseForged, "the cell sent unrequested frames"))
				return
			}
		}
	}()
	c.state, _ = c.proc.Wait()
	// A grandchild cannot exist in the sandbox, but without one it may hold the pipes open; its
	// later output is ignored.
	for _, done := range []chan struct{}{logDone, readDone} {
		select {
		case <-done:
		case <-time.After(time.Second):
		}
	}
	p.closeOurEnds()
	if c.sanitizer != "" {
		c.report = readToolLog(filepath.Join(c.scratch, sanitizerLog))
	}
	if c.profiling != nil {
		endStrays(c.scratch)
		c.profiling.collect(c.scratch)
	}
	_ = os.RemoveAll(c.scratch)
	_ = os.RemoveAll(c.quick)
	close(c.exited)
}

func (c *child) greet(ctx context.Context) error {
	limit := helloDeadline
	if c.sanitizer != "" {
		limit = sanitizedHello
	} else if c.profiling != nil {
		limit = profiledHello
	}
	frame, _, err := c.receive(ctx, 0, time.Now(), limit, false)
	if err != nil {
		return err
	}
	var hello wire.CellHello
	if err := frame.Decode(&hello); err != nil || frame.Op != wire.OpHello || hello.Cell != c.kind {
		return c.fail(result.Faultf(result.CauseProtocol, "the cell did not say hello"))
	}
	c.code.first, _ = c.witness.readCode(c.proc.Pid())
	return nil
}

// ask sends one request and waits for its reply; took is measured by the worker's clock.
func (c *child) ask(ctx context.Context, op string, body any, deadline time.Duration) (reply *wire.Frame, took time.Duration, err error) {
	if len(c.frames) > 0 {
		return nil, 0, c.fail(c.forged("answered before it was asked"))
	}
	id := unguessable()
	if err := c.wake(); err != nil {
		return nil, 0, err
	}
	defer func() {
		c.still()
		if err == nil {
			err = c.examineCode(op == wire.OpPing)
		}
	}()
	c.watchHelp(op)
	start := time.Now()
	// The end of a cell that does not read its request unblocks the pipe.
	late, cancelled := time.AfterFunc(deadline, func() { c.end(overdue(deadline)) }), context.AfterFunc(ctx, func() { c.end(interrupted()) })
	err = c.out.Send(id, op, body, nil)
	late.Stop()
	cancelled()
	if err != nil {
		return nil, 0, c.fail(nil)
	}
	reply, took, err = c.receive(ctx, id, start, deadline, op == wire.OpPing)
	if err == nil {
		err = c.judgeHelp(took)
	}
	return reply, took, err
}

// receive waits for the answer to a request. A cell owes the answer to a ping at once, unless the
// machine does not let it run.
func (c *child) receive(ctx context.Context, id uint64, start time.Time, deadline time.Duration, patient bool) (*wire.Frame, time.Duration, error) {
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	for given := c.grace(); ; {
		select {
		case frame, open := <-c.frames:
			return c.accept(frame, open, id, time.Since(start))
		case <-timer.C:
			if patient {
				if given.unexplained() {
					return nil, 0, c.fail(c.forged("is still busy with a request that it has answered"))
				}
				if given.left() {
					timer.Reset(patienceStep)
					continue
				}
			}
			late := overdue(deadline)
			if patient {
				late.Message, late.Hint = fmt.Sprintf("the cell had not answered a ping after %v", patienceMost), "the machine is overloaded: measure on a less busy one"
			}
			return nil, 0, c.fail(late)
		case <-ctx.Done():
			return nil, 0, c.fail(interrupted())
		}
	}
}

func overdue(deadline time.Duration) *result.Fault {
	return result.Faultf(result.CauseTimeout, "no answer after %v: the cell was ended", deadline.Round(time.Millisecond)).
		WithHint("if the kernel is meant to run that long, raise --timeout")
}

func interrupted() *result.Fault { return result.Faultf(result.CauseInterrupted, "cancelled") }

// accept checks what arrived for a request; open is false where nothing will arrive.
func (c *child) accept(frame *wire.Frame, open bool, id uint64, took time.Duration) (*wire.Frame, time.Duration, error) {
	switch {
	case !open && protocolError(c.readErr) && !closed(c.readErr):
		return nil, 0, c.fail(c.forged("wrote something other than a frame to its result descriptor: " + c.readErr.Error()))
	case !open:
		return nil, 0, c.fail(nil)
	case frame.ID != id:
		return nil, 0, c.fail(c.forged("answered a request that was not asked"))
	}
	if frame.Op == wire.OpError {
		fault := &result.Fault{}
		if err := frame.Decode(fault); err != nil {
			return nil, took, c.fail(c.forged(err.Error()))
		}
		return nil, took, fault
	}
	return frame, took, nil
}

func protocolError(err error) bool {
	var broken *wire.Error
	return errors.As(err, &broken)
}

func (c *child) forged(what string) *result.Fault {
	return result.Faultf(result.CauseForged, "the cell %s", what).
		WithHint("candidate code, which shares the cell's address space, has written to its descriptor or corrupted its memory")
}

// unguessable returns a random id, which keeps a candidate from preparing answers beforehand. Ids
// stay below 2^53, so that every JSON reader holds them exactly.
func unguessable() uint64 {
	var raw [8]byte
	_, _ = rand.Read(raw[:])
	return binary.LittleEndian.Uint64(raw[:])>>11 | 1
}

// end kills the cell for a reason, if it is known; the first reason stands.
func (c *child) end(why *result.Fault) {
	c.mu.Lock()
	if c.verdict == nil {
		c.verdict = why
	}
	c.mu.Unlock()
	_ = c.proc.Kill()
}

// fail ends the cell and returns a fault with the cell's story. The cause is the worker's if it has
// one, else the one that the end of the process shows.
func (c *child) fail(why *result.Fault) error {
	if why == nil {
		// The pipe closed: give the process time to exit by itself, so that its own exit status is
		// seen.
		if !c.tooled() {
			why = c.leaving()
		} else if !c.awaitTool() {
			why = result.Faultf(result.CauseTimeout, "the tool had not ended %v after the cell closed its result descriptor: the cell was ended", c.toolEnd())
		}
	}
	c.end(why)
	<-c.exited
	return c.story()
}

// story returns everything known of a cell that has ended.
func (c *child) story() error {
	c.mu.Lock()
	fault := c.verdict
	c.mu.Unlock()
	died, printed := causeOfDeath(c.state, c.log.String(), c.buffers)
	var profile *wire.Profile
	if c.profiling != nil {
		fault = c.profiling.ended(fault, c.state, printed)
		profile = c.profiling.said(c.state.String())
	}
	if fault == nil {
		fault = died
	}
	box := c.sandboxReport()
	return &Failed{wire.Failure{Fault: *fault, Log: printed, Sandbox: &box, PeakMemory: c.peak.Load(), CellEnded: true, Sanitizer: c.report, Profile: profile}}
}

// farewell is how long an idle cell may take to answer a last ping.
const farewell = 5 * time.Second

// close ends a healthy cell. It pings once more first: a cell answers in order, so if the candidate
// forged an earlier answer, the cell's own answer arrives before this one.
func (c *child) close(ctx context.Context) (*wire.CloseReply, error) {
	if _, _, err := c.ask(ctx, wire.OpPing, nil, farewell); err != nil {
		return nil, err
	}
	if c.tooled() {
		c.requests.Close() // the cell ends by itself: the tool writes its summary then
		cancelled := context.AfterFunc(ctx, func() { c.end(interrupted()) })
		inTime := c.awaitTool()
		cancelled()
		switch {
		case ctx.Err() != nil:
			return nil, c.fail(interrupted())
		case !inTime && c.profiling != nil:
			return nil, c.fail(result.Faultf(result.CauseTimeout, "no end after %v: the cell was ended", c.toolEnd()))
		}
	}
	_ = c.proc.Kill()
	<-c.exited
	for range c.frames {
		c.end(c.forged("sent more answers than it was asked for"))
		return nil, c.story()
	}
	return &wire.CloseReply{Log: c.log.String(), Sandbox: c.sandboxReport(), PeakMemory: c.peak.Load(), Sanitizer: c.report}, nil
}

func (c *child) sandboxReport() result.Sandbox {
	level := c.proc.Level()
	report := result.Sandbox{Level: level.Name(), Missing: level.Missing}
	for _, attempt := range c.proc.Attempts() {
		report.Attempts = append(report.Attempts, attempt.What)
	}
	return report
}

// pipes are the descriptors between a worker and a cell.
type pipes struct {
	requests, replies, logRead        *os.File // the worker's
	childIn, childOut, logWrite, null *os.File // the cell's
}

func newPipes() (*pipes, error) {
	p := &pipes{}
	var err error
	open := func(r, w **os.File) {
		if err == nil {
			*r, *w, err = os.Pipe()
		}
	}
	open(&p.childIn, &p.requests)
	open(&p.replies, &p.childOut)
	open(&p.logRead, &p.logWrite)
	if err == nil {
		p.null, err = os.Open(os.DevNull)
	}
	if err != nil {
		p.closeChildEnds()
		p.closeOurEnds()
		return nil, fmt.Errorf("open pipes for a cell: %w", err)
	}
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pipes) closeChildEnds() { closeAll(p.childIn, p.childOut, p.logWrite, p.null) }

func (p *pipes) closeOurEnds() { closeAll(p.requests, p.replies, p.logRead) }
