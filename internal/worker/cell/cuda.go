package cell

import (
	"errors"
	"fmt"
	"os"
	"time"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/native/dl"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// cudaCell runs cubins through the driver. Candidate code is device code only: it
// cannot reach this process.
type cudaCell struct {
	driver  *cuda.Driver
	device  cuda.Device
	stream  cuda.Stream
	helpers *helpers
	calls   harnessCalls
	module  *cuda.Module

	launcher dl.Func // instead of module: host code that launches by itself

	sms, l2, maxThreads int

	flag          *cuda.HostMemory // words: what the blocker waits for, and the launch it gave up on
	flagAt        cuda.DevicePtr
	released      uint32
	flushed       [2]cuda.DevicePtr // written, then the other read
	sink          cuda.DevicePtr
	stamps        cuda.DevicePtr
	before, after cuda.Event
	pair          float64          // seconds between two events with nothing between them: subtracted
	overhead, gap float64          // of an empty launch, alone and in a graph
	owned         []cuda.DevicePtr // of the problem
	sets          []*argSet
	next          int // set of the next launch
	settled       bool
	several       section // of several launches
	repeat        int     // how many; 0: there is none
	strayed       int     // samples of this request that left work on other streams
}

// harnessCalls are the launches around every sample, prepared once.
type harnessCalls struct{ block, stamp, read, empty *cuda.Call }

// argSet is one copy of a problem's arguments. Launches rotate over several, so
// that none finds its own output or input in a cache.
type argSet struct {
	buffers []*deviceBuffer // nil for scalars
	calls   []*cuda.Call
	slots   []uintptr // of a launcher
	scalars []byte
}

func newCUDA() *cudaCell { return &cudaCell{} }

// start brings up the device.
func (c *cudaCell) start(uuid string) error {
	driver, err := cuda.Open()
	if err != nil {
		return &result.Fault{Cause: result.CauseUnsupported, Message: err.Error(), Hint: "pawl doctor shows what this machine has"}
	}
	c.driver = driver
	if c.device, err = pick(driver, uuid); err != nil {
		return err
	}
	context, err := c.device.RetainPrimary()
	if err != nil {
		return err
	}
	if err := context.SetCurrent(); err != nil {
		return err
	}
	for attribute, into := range map[cuda.Attribute]*int{
		cuda.SMCount: &c.sms, cuda.L2Size: &c.l2, cuda.MaxThreadsPerSM: &c.maxThreads,
	} {
		if *into, err = c.device.Attribute(attribute); err != nil {
			return err
		}
	}
	if c.stream, err = driver.NewStream(); err != nil {
		return err
	}
	if c.helpers, err = loadHelpers(driver, c.sms); err != nil {
		return err
	}
	return c.allocateHarness()
}

// allocateHarness makes what every sample needs besides its arguments.
func (c *cudaCell) allocateHarness() error {
	var err error
	if c.flag, err = c.driver.HostAlloc(4096, cuda.HostMapped); err != nil {
		return err
	}
	if c.flagAt, err = c.flag.DevicePtr(); err != nil {
		return err
	}
	for i := range c.flushed {
		if c.flushed[i], err = c.driver.Alloc(uint64(2 * c.l2)); err != nil {
			return err
		}
		if err := c.driver.MemsetD8(c.flushed[i], 0, uint64(2*c.l2), c.stream); err != nil {
			return err
		}
	}
	if c.sink, err = c.driver.Alloc(256); err != nil {
		return err
	}
	if c.stamps, err = c.driver.Alloc(uint64(maxBatch * c.stampBytes())); err != nil {
		return err
	}
	if c.before, err = c.driver.NewEvent(0); err != nil {
		return err
	}
	if c.after, err = c.driver.NewEvent(0); err != nil {
		return err
	}
	return c.prepareHarness()
}

func (c *cudaCell) prepareHarness() error {
	one := cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}}
	perSM := cuda.LaunchConfig{Grid: [3]uint32{uint32(c.sms)}, Block: [3]uint32{1}}
	var err error
	c.calls.block, err = c.helpers.block.Prepare(one, cuda.Param(c.flagAt), cuda.Param(uint32(0)), cuda.Param(blockerLimit), cuda.Param(c.flagAt+4*expiredWord))
	if err == nil {
		c.calls.stamp, err = c.helpers.stamp.Prepare(perSM, cuda.Param(c.stamps))
	}
	if err == nil {
		c.calls.read, err = c.helpers.read.Prepare(c.helpers.wide(), cuda.Param(c.flushed[1]), cuda.Param(uint64(2*c.l2)/16), cuda.Param(c.sink))
	}
	if err == nil {
		c.calls.empty, err = c.helpers.empty.Prepare(one)
	}
	return err
}

// pick finds the device with a UUID; without one it is the first.
func pick(d *cuda.Driver, uuid string) (cuda.Device, error) {
	count, err := d.DeviceCount()
	if err != nil {
		return cuda.Device{}, err
	}
	for i := range count {
		device, err := d.Device(i)
		if err != nil {
			return device, err
		}
		if got, err := device.UUID(); uuid == "" || err == nil && got == uuid {
			return device, nil
		}
	}
	return cuda.Device{}, &result.Fault{Cause: result.CauseUnsupported, Message: fmt.Sprintf("there is no GPU %s here", uuid)}
}

func (c *cudaCell) load(m *wire.Load) (*wire.LoadReply, error) {
	if c.driver == nil {
		if err := c.start(m.Device); err != nil {
			return nil, faultOf(err)
		}
	}
	image, err := os.ReadFile(m.Path)
	if err != nil {
		return nil, fmt.Errorf("read the artifact: %w", err)
	}
	if isHostObject(image) {
		c.launcher, err = openLauncher(m.Path)
	} else {
		c.module, err = c.driver.LoadModule(image)
	}
	if err != nil {
		return nil, faultOf(err)
	}
	return &wire.LoadReply{Flush: "write 2×L2, read 2×L2"}, nil
}

// spareSets bounds the rotation: enough to exceed the L2 twice, where memory
// allows.
const spareSets = 8

func (c *cudaCell) prepare(m *wire.Prepare) (*wire.PrepareReply, error) {
	if c.module == nil && c.launcher == 0 {
		return nil, &result.Fault{Cause: result.CauseProtocol, Message: "prepare before load"}
	}
	reply, err := c.problem(m)
	return reply, faultOf(err)
}

func (c *cudaCell) problem(m *wire.Prepare) (*wire.PrepareReply, error) {
	c.clear()
	var footprint uint64
	for _, arg := range m.Args {
		if arg.Buffer && arg.Count > 0 {
			footprint += uint64(arg.Count) * uint64(dtype.Type(arg.DType).Size())
		}
	}
	count := 1
	if free, _, err := c.driver.MemInfo(); err == nil && footprint > 0 {
		count = int(min(spareSets, max(1, min(uint64(2*c.l2)/footprint+1, free/4/footprint))))
	}
	reply := &wire.PrepareReply{}
	for i := range count {
		set, resources, err := c.newSet(m)
		if err != nil {
			return nil, err
		}
		c.sets = append(c.sets, set)
		if i == 0 {
			reply.Resources = resources
			for _, b := range set.buffers {
				if b != nil {
					reply.Buffers = append(reply.Buffers, wire.Range{Name: b.arg.Name, Start: uint64(b.data()), Bytes: b.size})
				}
			}
		}
	}
	if err := c.stream.Synchronize(); err != nil {
		return nil, err
	}
	c.overhead, c.gap = 0, 0
	reply.Sets = len(c.sets)
	return reply, nil
}

// clear frees the last problem.
func (c *cudaCell) clear() {
	c.several.drop()
	c.several, c.repeat = section{}, 0
	for _, address := range c.owned {
		_ = c.driver.Free(address)
	}
	c.owned, c.sets, c.next, c.settled = nil, nil, 0, false
}

func (c *cudaCell) newSet(m *wire.Prepare) (*argSet, []result.Resources, error) {
	set := &argSet{}
	params := make([][]byte, len(m.Args))
	for i, arg := range m.Args {
		if arg.TensorMap != nil { // after all buffers
			set.buffers = append(set.buffers, nil)
			continue
		}
		if !arg.Buffer {
			slot := make([]byte, 8)
			if err := putDeviceScalar(slot, arg); err != nil {
				return nil, nil, err
			}
			params[i] = slot[:dtype.Type(arg.DType).Size()]
			set.buffers = append(set.buffers, nil)
			continue
		}
		b, err := c.newDeviceBuffer(arg, oracle.Key(m.Seed, i, m.Batch))
		if err != nil {
			return nil, nil, err
		}
		set.buffers = append(set.buffers, b)
		params[i] = cuda.Param(b.data())
	}
	for i, arg := range m.Args {
		if arg.TensorMap == nil {
			continue
		}
		if c.launcher != 0 {
			return nil, nil, &result.Fault{Cause: result.CauseProtocol, Message: "a launcher is given no tensor maps: " + arg.Name}
		}
		var err error
		if params[i], err = c.tensorMap(arg, set); err != nil {
			return nil, nil, err
		}
	}
	if c.launcher != 0 {
		set.fillSlots(params)
		return set, nil, nil
	}
	var all []result.Resources
	for _, l := range m.Launches {
		call, resources, err := c.newCall(l, params)
		if err != nil {
			return nil, nil, err
		}
		set.calls = append(set.calls, call)
		all = append(all, *resources)
	}
	if len(set.calls) == 0 {
		return nil, nil, &result.Fault{Cause: result.CauseProtocol, Message: "a problem without launches"}
	}
	return set, all, nil
}

// putDeviceScalar stores a scalar; the narrow floats, which C cannot pass, a
// kernel can.
func putDeviceScalar(slot []byte, arg wire.Arg) error {
	switch t := dtype.Type(arg.DType); t {
	case dtype.F16, dtype.BF16, dtype.E4M3, dtype.E5M2:
		wide := make([]byte, 8)
		if err := putScalar(wide, wire.Arg{Name: arg.Name, DType: string(dtype.F32), Value: arg.Value}); err != nil {
			return err
		}
		t.Put(slot, 0, dtype.F32.Get(wide, 0))
		return nil
	}
	return putScalar(slot, arg)
}

func (c *cudaCell) newCall(l wire.Launch, params [][]byte) (*cuda.Call, *result.Resources, error) {
	f, err := c.module.Function(l.Entry)
	if err != nil {
		return nil, nil, &result.Fault{Cause: result.CauseNoEntry, Message: fmt.Sprintf("no kernel %s in the artifact: %v", l.Entry, err)}
	}
	config := cuda.LaunchConfig{
		Grid: l.Grid, Block: l.Block, Cluster: l.Cluster, Shared: l.Shared,
		Cooperative: l.Cooperative, ProgrammaticDependent: l.ProgrammaticDependent,
	}
	if l.Shared > 48<<10 {
		if err := f.SetAttribute(cuda.FuncMaxDynamicShared, int(l.Shared)); err != nil {
			limit, _ := c.device.Attribute(cuda.MaxSharedOptin)
			return nil, nil, &result.Fault{
				Cause:   result.CauseLaunch,
				Message: fmt.Sprintf("%s wants %d bytes of dynamic shared memory; a block has at most %d on this device, static included: %v", l.Entry, l.Shared, limit, err),
			}
		}
	}
	if l.Cluster[0]*max(1, l.Cluster[1])*max(1, l.Cluster[2]) > 8 {
		if err := f.SetAttribute(cuda.FuncNonPortableCluster, 1); err != nil {
			return nil, nil, err
		}
	}
	var args [][]byte
	for _, i := range l.Args {
		if i < 0 || i >= len(params) {
			return nil, nil, &result.Fault{Cause: result.CauseProtocol, Message: fmt.Sprintf("launch of %s passes argument %d of %d", l.Entry, i, len(params))}
		}
		args = append(args, params[i])
	}
	call, err := f.Prepare(config, args...)
	if err != nil {
		return nil, nil, &result.Fault{
			Cause: result.CauseLaunch, Message: fmt.Sprintf("%s: %v", l.Entry, err),
			Hint: "the args in pawl.yaml must be the kernel's parameters, in order and with their types",
		}
	}
	return call, c.resources(f, l), nil
}

// resources are what the driver says of a kernel and how many of its blocks fit.
func (c *cudaCell) resources(f cuda.Function, l wire.Launch) *result.Resources {
	r := &result.Resources{Entry: l.Entry, Dynamic: int64(l.Shared)}
	get := func(a cuda.FunctionAttribute) int64 {
		v, _ := f.Attribute(a)
		return int64(v)
	}
	r.Registers, r.Shared = int(get(cuda.FuncNumRegs)), get(cuda.FuncSharedSize)
	r.Constant, r.Stack = get(cuda.FuncConstSize), get(cuda.FuncLocalSize)
	threads := int(l.Block[0] * max(1, l.Block[1]) * max(1, l.Block[2]))
	if blocks, err := f.MaxActiveBlocks(threads, l.Shared); err == nil && c.maxThreads > 0 {
		r.Occupancy = float64(blocks*threads) / float64(c.maxThreads)
	}
	return r
}

func (c *cudaCell) run(m *wire.Run) (*wire.RunReply, error) {
	if len(c.sets) == 0 {
		return nil, &result.Fault{Cause: result.CauseProtocol, Message: "launch before prepare"}
	}
	start := time.Now()
	for range m.Launches {
		if err := c.launch(); err != nil {
			return nil, faultOf(err)
		}
	}
	if err := c.stream.Synchronize(); err != nil {
		return nil, faultOf(err)
	}
	elapsed := time.Since(start).Seconds()
	return &wire.RunReply{CellS: elapsed}, faultOf(c.trespass())
}

// launch queues the problem's launches on the next set of arguments.
func (c *cudaCell) launch() error {
	set := c.sets[c.next]
	c.next = (c.next + 1) % len(c.sets)
	if c.launcher != 0 {
		c.launcher.Call(dl.PointerTable(set.slots), c.stream.Handle())
		return nil
	}
	for _, call := range set.calls {
		if err := call.Launch(c.stream); err != nil {
			return err
		}
	}
	return nil
}

// faultOf names what the driver reports. nil stays nil.
func faultOf(err error) error {
	if err == nil {
		return nil
	}
	var fault *result.Fault
	if errors.As(err, &fault) {
		return fault
	}
	var failed *cuda.Error
	if !errors.As(err, &failed) {
		return err
	}
	fault = &result.Fault{Cause: result.CauseCrash, Message: "the kernel crashed: " + err.Error()}
	switch failed.Code {
	case cuda.OutOfMemory:
		fault.Cause, fault.Message = result.CauseMemory, err.Error()
	case cuda.IllegalAddress:
		fault.Hint = "it read or wrote memory that is not its own; compute-sanitizer names the line"
	case cuda.Assert:
		fault.Hint = "a device assertion failed"
	case cuda.LaunchOutOfResources:
		fault.Cause = result.CauseLaunch
		fault.Message = "the device refuses the launch: " + err.Error()
		fault.Hint = "too many registers for so many threads in a block: __launch_bounds__, or a smaller block"
	case cuda.InvalidValue, cuda.InvalidImage, cuda.NoBinaryForGPU, cuda.CooperativeTooLarge, cuda.InvalidPTX, cuda.InvalidClusterSize:
		fault.Cause, fault.Message = result.CauseLaunch, err.Error()
	}
	return fault
}
