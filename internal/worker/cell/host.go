package cell

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"pawl/internal/dtype"
	"pawl/internal/native/core"
	"pawl/internal/native/dl"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// hostABI is the version of the functions that build's shim exports.
const hostABI = 2

// lineBytes is the largest size of a cache line.
const lineBytes = 128

// spinRounds of the core's chain take a few microseconds: long enough for the clock's resolution,
// and short compared with any kernel worth measuring.
const spinRounds = 64

// host runs C and C++ shared objects on the CPU.
type host struct {
	runEntry, setThreads dl.Func

	flush func(start uintptr, bytes int)
	spin  func(rounds int)

	handlers *handlers // signal handlers, before any candidate code ran
	signals  *signalMask
	own      []int // the cell's threads at that time

	args     []wire.Arg
	scalars  []byte  // storage of the scalar arguments
	overhead float64 // of a call, including the clock's readings
	reading  float64 // of reading the clock twice
	seed     uint64
	threads  int

	copyOfArgs             // the copy that launches work on
	spare      *copyOfArgs // copy in which another batch is prepared; nil: none
	turned     bool        // launches of this request have used both
	touched    byte        // keeps reads from being optimised away

	looks, cached int // checks of outputs after a launch, and how many found them in a cache
}

// copyOfArgs is one copy of the arguments in memory.
type copyOfArgs struct {
	buffers []*buffer
	slots   []uintptr // passed to pawl_run
	batch   int       // of the generated data
}

// spareMost is the largest size of arguments that get a second copy. Larger ones are refilled in
// place: launches can notice that by the time it takes.
const spareMost = 256 << 20

func newHost() *host { return &host{flush: core.Flush, spin: core.Spin} }

func (h *host) load(m *wire.Load) (*wire.Loaded, error) {
	if h.handlers == nil {
		h.handlers, h.signals, h.own = readHandlers(), newSignalMask(), ownThreads()
	}
	lib, err := openObject(m.Path, "pawl_abi", "pawl", hostABI)
	if err != nil {
		return nil, err
	}
	for name, into := range map[string]*dl.Func{"pawl_run": &h.runEntry, "pawl_threads": &h.setThreads} {
		if *into, err = lib.Lookup(name); err != nil {
			return nil, result.Faultf(result.CauseNoEntry, "%v", err).WithHint("the shared object was not built by this version of pawl")
		}
	}
	return &wire.Loaded{Flush: cmp.Or(core.How(), "none")}, nil
}

func (h *host) prepare(m *wire.Prepare) (*wire.Prepared, error) {
	if h.runEntry == 0 {
		return nil, result.Faultf(result.CauseProtocol, "prepare before load")
	}
	if h.spare != nil {
		_ = h.spare.reveal() // hidden pages would stay where they were
	}
	for _, b := range h.all() {
		b.free()
	}
	h.turned, h.looks, h.cached = false, 0, 0
	h.args, h.seed, h.copyOfArgs, h.spare = m.Args, m.Seed, copyOfArgs{}, nil
	h.scalars = make([]byte, 8*(len(m.Args)+1))
	for i, arg := range m.Args {
		if !arg.Buffer {
			if err := putScalar(h.scalars[8*i:8*i+8], arg); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if h.copyOfArgs, err = h.newCopy(m.Batch); err != nil {
		return nil, err
	}
	if m.Spare && bytesOf(m.Args) <= spareMost {
		spare, err := h.newCopy(m.Batch)
		if h.spare = &spare; err != nil {
			return nil, err
		}
	}
	reply := &wire.Prepared{}
	for _, b := range h.all() {
		reply.Buffers = append(reply.Buffers, wire.Range{Name: b.arg.Name, Start: uint64(b.address()), Bytes: uint64(b.size)})
	}
	if len(m.Cores) > 0 {
		var set unix.CPUSet
		for _, core := range m.Cores {
			set.Set(core)
		}
		if unix.SchedSetaffinity(0, &set) == nil {
			reply.Pinned = m.Cores
			h.keepOff(m.Cores, &set)
		}
	}
	self := unix.Gettid()
	reply.Own = slices.DeleteFunc(slices.Clone(h.own), func(tid int) bool { return tid == self })
	h.threads = max(1, m.Threads)
	h.setThreads.Call(uintptr(h.threads))
	h.measureOverhead()
	return reply, nil
}

// newCopy returns a copy of the arguments with the data of a batch. With an error it returns the
// part that it has so far.
func (h *host) newCopy(batch int) (copyOfArgs, error) {
	c := copyOfArgs{slots: make([]uintptr, len(h.args)+1), batch: batch}
	for i, arg := range h.args {
		if !arg.Buffer {
			c.slots[i] = dl.Address(h.scalars[8*i : 8*i+8])
			continue
		}
		b, err := newBuffer(len(c.buffers), i, arg, keyOf(h.seed, i, arg, batch))
		if err != nil {
			return c, err
		}
		c.buffers = append(c.buffers, b)
		c.slots[i] = b.address()
	}
	return c, nil
}

// all returns the buffers of both copies.
func (h *host) all() []*buffer {
	if h.spare == nil {
		return h.buffers
	}
	return slices.Concat(h.buffers, h.spare.buffers)
}

// used returns the buffers that launches of this request have worked on.
func (h *host) used() []*buffer {
	if h.turned {
		return h.all()
	}
	return h.buffers
}

// turnFresh makes launches work on the data of another batch from now on: at other addresses, if
// there is a spare copy.
func (h *host) turnFresh(batch int, hot bool) error {
	if h.spare == nil {
		if err := h.trespass(); err != nil {
			return err
		}
		h.renew(&h.copyOfArgs, batch)
		return nil
	}
	h.copyOfArgs, *h.spare = *h.spare, h.copyOfArgs
	h.turned = true
	for _, b := range h.buffers {
		if hot { // a cache must hold it, as it holds what launches have worked on
			_ = wordSum(b.data())
		}
	}
	return nil
}

// bytesOf returns the size of all buffers.
func bytesOf(args []wire.Arg) int64 {
	total := int64(0)
	for _, arg := range args {
		total += arg.Count * int64(dtype.Type(arg.DType).Size())
	}
	return total
}

// keepOff moves the cell's own threads to other cores, where there are any, and the threads that
// the candidate has started to the cores it was given. Go's monitor wakes every 20 µs while a call
// begins: on the candidate's core it took a tenth of the time of short kernels, for as long as the
// scheduler left it there.
func (h *host) keepOff(cores []int, theirs *unix.CPUSet) {
	var all, rest unix.CPUSet
	if unix.SchedGetaffinity(os.Getppid(), &all) != nil {
		return
	}
	for core := range 64 * len(all) {
		if all.IsSet(core) && !slices.Contains(cores, core) {
			rest.Set(core)
		}
	}
	self := unix.Gettid()
	for _, tid := range ownThreads() {
		where := theirs
		if slices.Contains(h.own, tid) {
			where = &rest
		}
		if tid != self && where.Count() > 0 {
			_ = unix.SchedSetaffinity(tid, where) // a thread that has ended disturbs nobody
		}
	}
}

// ownThreads lists the threads of this process.
func ownThreads() []int {
	var out []int
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			out = append(out, tid)
		}
	}
	return out
}

// putScalar stores a scalar argument as the C type of its dtype.
func putScalar(slot []byte, arg wire.Arg) error {
	t := dtype.Type(arg.DType)
	var float float64
	var signed int64
	var bits uint64
	var err error
	switch t {
	case dtype.F32:
		float, err = strconv.ParseFloat(arg.Value, 64)
		bits = uint64(math.Float32bits(float32(float)))
	case dtype.F64:
		float, err = strconv.ParseFloat(arg.Value, 64)
		bits = math.Float64bits(float)
	case dtype.I8, dtype.I16, dtype.I32, dtype.I64:
		signed, err = strconv.ParseInt(arg.Value, 10, 8*t.Size())
		bits = uint64(signed)
	case dtype.U8, dtype.U16, dtype.U32, dtype.U64:
		bits, err = strconv.ParseUint(arg.Value, 10, 8*t.Size())
	default:
		err = errors.New("host kernels take no scalar of this type")
	}
	if err != nil {
		return result.Faultf(result.CauseProtocol, "argument %s: %s value %q: %v", arg.Name, arg.DType, arg.Value, err)
	}
	switch t.Size() {
	case 1:
		slot[0] = byte(bits)
	case 2:
		binary.NativeEndian.PutUint16(slot, uint16(bits))
	case 4:
		binary.NativeEndian.PutUint32(slot, uint32(bits))
	default:
		binary.NativeEndian.PutUint64(slot, bits)
	}
	return nil
}

func (h *host) launch(repeat int64) {
	h.runEntry.Call(dl.Address(h.slots), uintptr(repeat))
}

// measureOverhead times calls that launch nothing, and the clock alone.
func (h *host) measureOverhead() {
	h.overhead, h.reading = math.Inf(1), math.Inf(1)
	for range 50 {
		h.reading = min(h.reading, core.Since(core.Now()).Seconds())
		start := core.Now()
		h.launch(0)
		h.overhead = min(h.overhead, core.Since(start).Seconds())
	}
}

func (h *host) ready() error {
	if h.slots == nil {
		return result.Faultf(result.CauseProtocol, "launch before prepare")
	}
	return nil
}

func (h *host) sample(m *wire.Sample) (*wire.Sampled, error) {
	if err := h.ready(); err != nil {
		return nil, err
	}
	if m.Count < 1 || m.Count > wire.MaxBlob/16 || m.Repeat < 1 {
		return nil, result.Faultf(result.CauseProtocol, "%d samples of %d launches", m.Count, m.Repeat)
	}
	h.renew(&h.copyOfArgs, m.Batch)
	if m.FreshBatch > 0 && h.spare != nil {
		h.spare.hide()
		if !m.Dry { // otherwise it stays hidden until its turn
			defer func() { _ = h.spare.reveal() }() // if no sample reached it
		}
		h.renew(h.spare, m.FreshBatch)
		for _, b := range h.spare.buffers {
			if m.Cache == "cold" { // now, because recently written-back data is faster to read
				h.flush(b.address(), b.size)
			}
		}
	}
	reply := &wire.Sampled{Samples: wire.Samples{
		OverheadS: h.overhead, Forgot: m.ForgetBytes > 0,
		Seconds: make([]float64, 0, m.Count), GHz: make([]float64, 0, m.Count),
	}}
	step := m.Step
	h.turned = false
	var kept snapshot
	begin := core.Now()
	for i := range m.Count {
		if i+1 == m.Fresh {
			if err := h.turnFresh(m.FreshBatch, m.Cache == "hot"); err != nil {
				return nil, err
			}
			step, reply.Fresh = 1, m.Fresh
		}
		if m.Step > 0 {
			for _, b := range h.buffers {
				b.advance(step - 1)
			}
		}
		h.poison()
		reply.Forgot = reply.Forgot && forget(m.ForgetBytes, h.threads)
		h.settle(m.Cache == "cold")
		if i+1 == m.Probe && m.Cache == "cold" {
			reply.FlushedS, reply.ColdS = h.probe()
			h.settle(true)
		}
		if err := h.reveal(); err != nil {
			return nil, err
		}
		if m.Step > 0 {
			h.step(step, m.Cache == "cold")
			step++
		}
		keep := i+1 == m.Keep
		start := core.Now()
		switch {
		case !m.Dry:
			h.launch(int64(m.Repeat))
		case !m.Counted: // touching would be counted, too
			h.touch()
		}
		if keep {
			h.signals.hold()
		}
		reply.Seconds = append(reply.Seconds, core.Since(start).Seconds()/float64(m.Repeat))
		var err error
		if keep {
			kept, err = h.sealed(h.snapshot)
			h.signals.release()
		} else {
			err = h.handlers.check()
		}
		if err != nil {
			return nil, err
		}
		switch {
		case m.Cache != "cold":
		case m.Counted:
			h.evict() // what follows finds the caches as it does where nothing was launched
		case !m.Dry && h.looks < cacheLooks:
			h.lookAtCaches()
		}
		reply.GHz = append(reply.GHz, h.clock())
		if i%garbageEvery == garbageEvery-1 {
			collectGarbage()
		}
		if m.MaxS > 0 && core.Since(begin).Seconds() > m.MaxS {
			break
		}
	}
	if err := h.reachable(); err != nil {
		return nil, err
	}
	reply.Count = len(reply.Seconds)
	var err error
	if reply.Kept, err = kept.leave(m.Outputs, h.args); err != nil {
		return nil, err
	}
	return reply, h.trespass()
}

// renew puts other data at the same addresses.
func (h *host) renew(c *copyOfArgs, batch int) {
	if batch == c.batch {
		return
	}
	for _, b := range c.buffers {
		b.fill(keyOf(h.seed, b.number, b.arg, batch))
	}
	c.batch = batch
}

// poison overwrites the outputs, so that anything found there was written since, and nothing useful
// is there before.
func (h *host) poison() {
	for _, b := range h.buffers {
		if b.arg.Role == "out" {
			oracle.Poison(b.data(), b.dtype)
		}
	}
}

// snapshot copies the outputs of a launch.
func (h *host) snapshot() snapshot {
	out := snapshot{}
	for _, b := range h.buffers {
		if written(b.arg) {
			out[b.number] = bytes.Clone(b.data())
		}
	}
	return out
}

// produce launches once on the data of a batch and leaves the outputs.
func (h *host) produce(m *wire.Produce) (*wire.Produced, error) {
	if err := h.ready(); err != nil {
		return nil, err
	}
	for _, b := range h.buffers {
		if m.Batch != h.batch || b.steps != m.Steps { // the same addresses with other contents
			b.fill(keyOf(h.seed, b.number, b.arg, m.Batch))
			b.advance(m.Steps)
		}
	}
	h.batch = m.Batch
	h.poison()
	h.settle(false)
	h.turned = false
	h.launch(1)
	if err := h.intact(); err != nil {
		return nil, err
	}
	h.signals.hold()
	got, err := h.sealed(h.snapshot)
	h.signals.release()
	if err == nil {
		err = h.trespass()
	}
	if err != nil {
		return nil, err
	}
	outputs, err := got.leave(m.Outputs, h.args)
	return &wire.Produced{Outputs: outputs}, err
}

// settle brings memory into the state every sample starts from.
func (h *host) settle(cold bool) {
	for _, b := range h.buffers {
		b.restore()
	}
	if cold {
		h.evict()
	}
}

// evict flushes the arguments from the caches.
func (h *host) evict() {
	for _, b := range h.buffers {
		h.flush(b.address(), b.size)
		if len(b.pristine) > 0 { // nobody's time may depend on whether launches leave it in a cache
			h.flush(dl.Address(b.pristine), len(b.pristine))
		}
	}
}

// clock measures the core's frequency: a chain of dependent multiplications takes a known number of
// cycles, whatever else the core executes in parallel.
func (h *host) clock() float64 {
	start := core.Now()
	h.spin(spinRounds)
	elapsed := core.Since(start).Seconds() - h.reading
	if elapsed <= 0 {
		return 0
	}
	return core.SpinCycles * spinRounds / elapsed / 1e9
}

func (h *host) run(m *wire.Run) (*wire.Ran, error) {
	if err := h.ready(); err != nil {
		return nil, err
	}
	h.settle(false)
	h.turned = false
	start := core.Now()
	h.launch(m.Launches)
	elapsed := core.Since(start).Seconds()
	if err := h.intact(); err != nil {
		return nil, err
	}
	return &wire.Ran{CellS: elapsed}, h.zones() // inputs are hashed with the next request, because the worker times this one
}
