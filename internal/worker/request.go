package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"pawl/internal/dtype"
	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/unit"
	"pawl/internal/worker/wire"
)

// defaultDeadline is for requests without a deadline.
const defaultDeadline = 60 * time.Second

func deadline(seconds float64) time.Duration {
	if seconds > 0 {
		return time.Duration(seconds * float64(time.Second))
	}
	return defaultDeadline // also for NaN, which cannot be sent
}

func (s *server) open(ctx context.Context, id uint64, m wire.Open) (*wire.OpenReply, error) {
	if !slices.Contains(s.kinds(), m.Cell) {
		fault := result.Faultf(result.CauseUnsupported, "this worker has no %s cells", m.Cell)
		switch m.Cell {
		case "cuda":
			fault.Message = s.noDevice.Error()
			fault.Hint = "pawl doctor shows what is missing"
		case "python":
			fault.Message = "no Python was found on this machine"
			fault.Hint = "install Python 3.9 or newer, or name one with PAWL_PYTHON"
		}
		return nil, fault
	}
	device, trust := hostDevice, "author"
	if m.Cell == "cuda" || m.Cell == "oracle" {
		trust = "harness"
	}
	if m.Cell == "cuda" || m.Cell == "python" && m.Framework != "numpy" && len(s.devices) > 0 {
		if m.Device < 0 || m.Device >= len(s.devices) {
			return nil, result.Faultf(result.CauseUnsupported, "there is no GPU %d; this machine has %d", m.Device, len(s.devices))
		}
		device = s.devices[m.Device].UUID
	}
	for _, needed := range toLock(m, device) {
		if err := s.lockOnce(ctx, id, needed); err != nil {
			return nil, err
		}
	}
	if err := s.lockClocks(m.LockMHz, device); err != nil {
		return nil, err
	}
	number := s.nextCell.Add(1)
	c, err := s.openChild(ctx, number, m, device)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.cells[number] = c
	s.mu.Unlock()
	reply := &wire.OpenReply{Cell: number, PID: c.proc.Pid(), Trust: trust, Sandbox: c.sandboxReport()}
	if since := s.held.Load(); since != nil {
		reply.HeldS = time.Since(*since).Seconds()
	}
	return reply, nil
}

// toLock returns the devices that a cell's run needs exclusively, in the order in which all runs
// take them.
func toLock(m wire.Open, device string) []string {
	switch {
	case device == hostDevice && (m.Untimed || m.Cell == "oracle"):
		return nil
	case device != hostDevice && m.Processor:
		return []string{hostDevice, device}
	}
	return []string{device}
}

// Waiting is in the note that a worker sends while another run has the device.
const Waiting = "; waiting for it"

// lockOnce locks a device with its first cell and keeps it: a run is not interleaved with another.
func (s *server) lockOnce(ctx context.Context, id uint64, device string) error {
	// Cells may be opened side by side; the first one's lock would keep the
	// others of this very worker waiting.
	select {
	case s.locking <- struct{}{}:
		defer func() { <-s.locking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.locks[device] != nil {
		return nil
	}
	lock, err := lockDevice(ctx, device, func(other holder) {
		text := "another pawl is measuring on " + s.nameOf(device) + Waiting
		if who := other.String(); who != "" {
			text += " (" + who + ")"
		}
		within(answerTime, func() { _ = s.out.Send(id, wire.OpNote, wire.Note{Text: text}, nil) })
	})
	if err != nil {
		return err
	}
	s.locks[device] = lock
	now := time.Now()
	s.held.CompareAndSwap(nil, &now)
	return nil
}

// nameOf names a device for people.
func (s *server) nameOf(device string) string {
	if i := slices.IndexFunc(s.devices, func(gpu result.GPU) bool { return gpu.UUID == device }); i >= 0 {
		return fmt.Sprintf("GPU %d", i)
	}
	return "this processor"
}

// lockClocks locks a GPU's clocks, once, when asked to.
func (s *server) lockClocks(mhz int, device string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if mhz == 0 || device == hostDevice || s.clocks[device] != nil {
		return nil
	}
	lock, err := s.gauges.lockClocks(device, mhz)
	if err == nil {
		s.clocks[device] = lock
	}
	return err
}

// claim finds a cell for a request and locks it: a cell handles one at a time.
func (s *server) claim(id uint64) (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cells[id]
	if c == nil {
		return nil, result.Faultf(result.CauseProtocol, "there is no cell %d", id)
	}
	if !c.asking.TryLock() {
		return nil, result.Faultf(result.CauseProtocol, "the cell is busy: one request at a time")
	}
	return c, nil
}

func (s *server) closeCell(ctx context.Context, m wire.Close) (*wire.CloseReply, error) {
	c, err := s.claim(m.Cell)
	if err != nil {
		return nil, err
	}
	defer c.asking.Unlock()
	reply, err := c.close(ctx)
	s.dropEnded(c)
	if err == nil && c.profiling != nil {
		err = s.profileOf(ctx, c, reply)
	}
	return reply, err
}

// profile launches where Nsight Compute looks.
func (s *server) profile(ctx context.Context, c *child, m wire.ProfileLaunches) (*wire.Profiled, error) {
	if c.profiling == nil {
		return nil, result.Faultf(result.CauseProtocol, "the cell was not opened with a profiler")
	}
	said := &wire.Profiled{}
	_, _, err := s.ask(ctx, c, wire.OpProfile, m, m.DeadlineS, said)
	return said, err
}

// dropEnded removes a cell that has ended; one that was too busy to be ended stays.
func (s *server) dropEnded(c *child) {
	select {
	case <-c.exited:
		s.mu.Lock()
		delete(s.cells, c.id)
		s.mu.Unlock()
	default:
	}
}

// ask sends a request to a cell and decodes the reply; a cell that has ended is dropped.
func (s *server) ask(ctx context.Context, c *child, op string, body any, seconds float64, reply any) (*wire.Frame, time.Duration, error) {
	frame, took, err := c.ask(ctx, op, body, deadline(seconds))
	if err == nil {
		if err = frame.Decode(reply); err != nil {
			err = c.fail(c.forged(err.Error()))
		}
	}
	if err != nil {
		s.dropEnded(c)
	}
	return frame, took, err
}

func (s *server) load(ctx context.Context, c *child, m wire.Load) (*wire.LoadReply, error) {
	if !s.store.have(m.SHA256) {
		return nil, result.Faultf(result.CauseProtocol, "the worker does not have the artifact %s", m.SHA256)
	}
	m.Path = s.store.path(m.SHA256)
	m.Framework, m.Dirs = c.framework, c.dirs
	for _, gpu := range s.devices {
		if gpu.UUID == c.device {
			m.Device, m.L2Bytes = gpu.UUID, gpu.L2Bytes
		}
	}
	deviceCode := c.kind == "cuda" && s.store.isDeviceCode(m.SHA256)
	c.alone, c.loaded = deviceCode && (c.alone || !c.loaded), true // set whether or not loading works: the code runs from the first moment
	var said wire.Loaded
	_, _, err := s.ask(ctx, c, wire.OpLoad, m, m.DeadlineS, &said)
	reply := wire.LoadReply(said)
	reply.OnDevice = said.OnDevice && c.device != hostDevice // a cell cannot run on a device that it was not given
	c.processor = err == nil && c.kind == "python" && !reply.OnDevice
	return &reply, err
}

func (s *server) prepare(ctx context.Context, c *child, m wire.Prepare) (*wire.PrepareReply, error) {
	if s.driverAsked != nil {
		<-s.driverAsked // nothing is measured while the driver is busy with another process
	}
	if !c.onGPU() {
		if err := fits(m.Args); err != nil {
			return nil, err
		}
	}
	if c.problems == nil || m.Side == 0 {
		c.problems = map[int]problem{}
	}
	c.problems[m.Side] = problem{m.Args, m.Reference}
	switch {
	case !m.Pin:
		m.Cores = nil
	case len(m.Cores) == 0:
		m.Cores = machine.QuietCores(cmp.Or(m.CoresFor, m.Threads))
	}
	m.CoresFor = 0 // cells are told nothing about the other versions
	var before *result.State
	if c.buffers == nil { // first problem of this cell
		before = s.state(c, "before")
	}
	var said wire.Prepared
	if _, _, err := s.ask(ctx, c, wire.OpPrepare, m, m.DeadlineS, &said); err != nil {
		return nil, err
	}
	c.buffers, c.cores, c.threads, c.own = said.Buffers, m.Cores, m.Threads, said.Own
	said.Own = nil // nothing of the parent's
	return &wire.PrepareReply{Prepared: said, State: before}, nil
}

// fits refuses a problem that does not fit into this machine's memory, before a cell makes the
// machine swap.
func fits(args []wire.Arg) error {
	var total int64
	for _, arg := range args {
		size := arg.Count * int64(dtype.Type(arg.DType).Size())
		if arg.Role == string(spec.RoleInOut) {
			size *= 2 // its pristine contents are kept beside it
		}
		total += size
	}
	if available, known := machine.MemoryAvailable(); known && total > available {
		return result.Faultf(result.CauseMemory, "the arguments need %s of memory; this machine has %s free", unit.Bytes(total), unit.Bytes(available)).
			WithHint("choose a smaller config, or run it on a machine with more memory")
	}
	return nil
}

// clockSlack is how far a cell's clock may be ahead of the worker's before it is a contradiction.
// Both read the same clock, so it is almost nothing.
const clockSlack = 100 * time.Microsecond

// sampled is the answer to a sample request; the samples themselves are in the frame's blob.
type sampled struct {
	*wire.SampleReply

	blob []byte
}

func (s *server) sample(ctx context.Context, c *child, m wire.Sample) (*sampled, error) {
	var kept problem
	if m.Keep > 0 {
		var err error
		kept = c.problems[m.KeptSide()]
		if m.Outputs, err = c.outputFolder(kept); err != nil {
			return nil, err
		}
	}
	if m.ForgetBytes = 0; m.Forget {
		m.ForgetBytes = s.forgetBytes(c)
	}
	counters, err := c.count(&m)
	if err != nil {
		return nil, err
	}
	defer counters.Close()
	var said wire.Sampled
	before := s.look(c)
	busyBefore, clocked := processTime(c.proc.Pid())
	frame, took, err := s.ask(ctx, c, wire.OpSample, m, m.DeadlineS, &said)
	if err != nil {
		return nil, err
	}
	reply := &wire.SampleReply{WorkerS: took.Seconds(), Counters: counters.read()}
	if busy, ok := processTime(c.proc.Pid()); clocked && ok {
		reply.BusyS = (busy - busyBefore).Seconds()
	}
	reply.Toll = s.tollSince(c, before)
	err = said.Unpack(frame.Data)
	if err == nil && (said.Count < 1 || said.Count > m.Count) {
		err = fmt.Errorf("%d samples were requested, but %d came", m.Count, said.Count)
	}
	if err != nil {
		return nil, c.fail(c.forged("sent impossible samples: " + err.Error()))
	}
	claimed := 0.0
	for _, v := range said.Seconds {
		claimed += v * float64(m.Repeat)
	}
	if claimed > (took + clockSlack).Seconds() {
		return nil, c.fail(c.forged(fmt.Sprintf("claims %.6f s of launches in a request that took %.6f s by the worker's clock", claimed, took.Seconds())))
	}
	reply.Samples = said.Samples
	if m.Keep > 0 && said.Count >= m.Keep {
		if reply.Kept, err = s.collect(c, kept, said.Kept); err != nil {
			return nil, err
		}
	}
	reply.PeakBytes = c.peak.Load()
	if c.dueForState() {
		reply.State = s.state(c, "during")
	}
	return &sampled{reply, frame.Data}, nil
}

// stateEvery bounds how often a cell's device is read while it is measured: asking NVML takes
// milliseconds, as long as a turn of a duet.
const stateEvery = 100 * time.Millisecond

// dueForState reports whether the device's state was last read long enough ago.
func (c *child) dueForState() bool {
	if time.Since(c.stateRead) < stateEvery {
		return false
	}
	c.stateRead = time.Now()
	return true
}

func (s *server) run(ctx context.Context, c *child, m wire.Run) (*wire.RunReply, error) {
	look := m.State
	m.State = false
	var said wire.Ran
	energyBefore, metered := s.energy(c)
	before := s.look(c)
	cpuBefore, clocked := processTime(c.proc.Pid())
	_, took, err := s.ask(ctx, c, wire.OpRun, m, m.DeadlineS, &said)
	if err != nil {
		return nil, err
	}
	// A cell that had to wait for its core was not slow: the smaller of the two clocks is the least
	// time its launches took. A cell that can reach a GPU may let it work while it sleeps, whatever
	// it reported when it was loaded.
	reply := &wire.RunReply{Ran: said, Toll: s.tollSince(c, before)}
	if cpu, ok := processTime(c.proc.Pid()); c.device == hostDevice && clocked && ok && cpu-cpuBefore < took {
		reply.Toll = reply.OfProcessor(took.Seconds(), (cpu - cpuBefore).Seconds())
		took = cpu - cpuBefore
	}
	reply.WorkerS = took.Seconds()
	if energy, ok := s.energy(c); metered && ok && energy > energyBefore {
		reply.EnergyJ = new(energy - energyBefore)
	}
	if look && c.dueForState() {
		reply.State = s.state(c, "during")
	}
	return reply, nil
}

// look reads a cell's counters of lost time. It returns nil for a cell that has loaded only device
// code, which runs on no core.
func (s *server) look(c *child) *sight {
	if c.alone {
		return nil
	}
	seen := s.witness.look(c.proc.Pid(), c.cores, c.seen)
	seen.busy, _ = processTime(c.proc.Pid())
	c.seen = &seen
	return &seen
}

// tollSince returns the time that the machine has taken from a cell since an earlier reading.
func (s *server) tollSince(c *child, before *sight) wire.Toll {
	now := s.look(c)
	if before == nil || now == nil {
		return wire.Toll{}
	}
	paid := before.until(*now, c.threads)
	return wire.Toll{Preempted: paid.switches, WaitedS: paid.waited.Seconds(), StolenS: paid.stolen.Seconds()}
}

// state reads the state of the machine, or of the GPU that a cell runs on.
func (s *server) state(c *child, when string) *result.State {
	if !c.onGPU() {
		return new(c.meter.Read(when))
	}
	own := 0
	s.mu.Lock()
	for _, other := range s.cells {
		if other.device == c.device {
			own++
		}
	}
	s.mu.Unlock()
	return new(s.gauges.state(c.device, when, own))
}

// energy returns the energy that the machine, or a cell's GPU, has used so far.
func (s *server) energy(c *child) (float64, bool) {
	if !c.onGPU() {
		return machine.EnergyJoules()
	}
	return s.gauges.energy(c.device)
}
