package cell

import (
	"fmt"
	"os"
	"time"

	"pawl/internal/native/cuda"
	"pawl/internal/native/dl"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// cudaSide is one of the versions of a kernel that a cell compares.
type cudaSide struct {
	cudaCode

	problem  *problem
	launches []wire.Launch
	symbols  []symbol
	calls    [][]*cuda.Call // for each set of the problem's arguments
	next     int            // set of the next launch
	hot      bool           // launches stay on one set, which the caches then hold

	settled  bool
	strays   bool    // it works on its own streams, not on the one it is given
	several  section // graph of several launches
	repeat   int     // launches in that graph; 0: there is none
	gap      float64 // seconds between two empty launches in such a graph
	strayed  int     // samples of this request after which the device went on working
	lingered int     // consecutive requests in which most samples are of that kind
	setAside bool    // it set a part of the L2 aside in this request
	extra    uint64  // bytes of device memory it took besides its arguments
}

func (c *cudaCell) load(m *wire.Load) (*wire.Loaded, error) {
	if c.driver == nil {
		if err := c.start(m.Device); err != nil {
			return nil, faultOf(err)
		}
	}
	image, err := os.ReadFile(m.Path)
	if err != nil {
		return nil, fmt.Errorf("read the artifact: %w", err)
	}
	c.unload(m.Side)
	side := &cudaSide{}
	if IsHostObject(image) {
		side.launcher, err = openLauncher(m.Path)
	} else {
		side.image = image
		if side.module, err = c.driver.LoadModule(image); err == nil {
			err = c.keepGlobals(&side.cudaCode)
		}
	}
	if err != nil {
		c.discard(&side.cudaCode)
		return nil, faultOf(err)
	}
	c.sides[m.Side] = side
	return &wire.Loaded{Flush: "write 2×L2, read 2×L2", OnDevice: true, Limits: side.limits()}, nil
}

// unload removes a side. A launcher's shared object stays loaded, because nobody knows what it left
// behind.
func (c *cudaCell) unload(number int) {
	old := c.sides[number]
	if old == nil {
		return
	}
	c.release(old)
	c.discard(&old.cudaCode)
	delete(c.sides, number)
}

func (c *cudaCell) discard(code *cudaCode) {
	c.forgetGlobals(code)
	if code.module != nil {
		_ = code.module.Unload()
	}
}

// side finds the side that a request names.
func (c *cudaCell) side(number int, prepared bool) (*cudaSide, error) {
	side := c.sides[number]
	switch {
	case side == nil:
		return nil, result.Faultf(result.CauseProtocol, "side %d: prepare before load", number)
	case prepared && side.problem == nil:
		return nil, result.Faultf(result.CauseProtocol, "side %d: launch before prepare", number)
	}
	return side, nil
}

func (c *cudaCell) prepare(m *wire.Prepare) (*wire.Prepared, error) {
	side, err := c.side(m.Side, false)
	if err != nil {
		return nil, err
	}
	if m.Side == 0 { // the first of a new problem: the others still hold the last one
		for _, other := range c.sides {
			c.release(other)
		}
	} else {
		c.release(side)
	}
	reply, err := c.equip(side, m)
	if err != nil {
		c.release(side)
	}
	return reply, faultOf(err)
}

// equip gives a side its arguments and launches.
func (c *cudaCell) equip(side *cudaSide, m *wire.Prepare) (*wire.Prepared, error) {
	var err error
	if side.problem, err = c.problemFor(m); err != nil {
		return nil, err
	}
	side.launches = m.Launches
	if side.launcher == 0 && len(side.launches) == 0 {
		return nil, result.Faultf(result.CauseProtocol, "a problem without launches")
	}
	if err := c.findSymbols(side); err != nil {
		return nil, err
	}
	reply := &wire.Prepared{Sets: len(side.problem.sets)}
	for _, set := range side.problem.sets {
		if side.launcher != 0 {
			err = set.fillSlots()
		} else {
			reply.Resources, err = c.addCalls(side, set)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, b := range side.problem.sets[0].present {
		reply.Buffers = append(reply.Buffers, wire.Range{Name: b.arg.Name, Start: uint64(b.data()), Bytes: b.size})
	}
	return reply, c.stream.Synchronize()
}

// release takes a side's problem away, and frees what no other side uses.
func (c *cudaCell) release(side *cudaSide) {
	side.several.drop()
	old := side.problem
	*side = cudaSide{cudaCode: side.cudaCode}
	if old == nil {
		return
	}
	for _, other := range c.sides {
		if other.problem == old {
			return
		}
	}
	c.free(old)
}

func (c *cudaCell) newCall(module *cuda.Module, l wire.Launch, params [][]byte) (*cuda.Call, result.Resources, error) {
	var none result.Resources
	f, err := module.Function(l.Entry)
	if err != nil {
		return nil, none, result.Faultf(result.CauseNoEntry, "no kernel %s in the artifact: %v", l.Entry, err)
	}
	config := cuda.LaunchConfig{
		Grid: l.Grid, Block: l.Block, Cluster: l.Cluster, Shared: l.Shared,
		Cooperative: l.Cooperative, ProgrammaticDependent: l.ProgrammaticDependent,
	}
	if l.Shared > 48<<10 {
		if err := f.SetAttribute(cuda.FuncMaxDynamicShared, int(l.Shared)); err != nil {
			limit, _ := c.device.Attribute(cuda.MaxSharedOptin)
			return nil, none, result.Faultf(result.CauseLaunch, "%s wants %d bytes of dynamic shared memory; a block has at most %d on this device, static included: %v",
				l.Entry, l.Shared, limit, err)
		}
	}
	if l.Cluster[0]*max(1, l.Cluster[1])*max(1, l.Cluster[2]) > 8 {
		if err := f.SetAttribute(cuda.FuncNonPortableCluster, 1); err != nil {
			return nil, none, err
		}
	}
	var args [][]byte
	for _, i := range l.Args {
		if i < 0 || i >= len(params) {
			return nil, none, result.Faultf(result.CauseProtocol, "launch of %s passes argument %d of %d", l.Entry, i, len(params))
		}
		args = append(args, params[i])
	}
	call, err := f.Prepare(config, args...)
	if err != nil {
		return nil, none, result.Faultf(result.CauseLaunch, "%s: %v", l.Entry, err).
			WithHint("the args in pawl.yaml must be the kernel's parameters, in order and with their types")
	}
	return call, c.resources(f, l), nil
}

// resources returns the driver's data about a kernel and how many of its blocks fit.
func (c *cudaCell) resources(f cuda.Function, l wire.Launch) result.Resources {
	r := result.Resources{Entry: l.Entry, Dynamic: int64(l.Shared)}
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

func (c *cudaCell) run(m *wire.Run) (*wire.Ran, error) {
	side, err := c.side(m.Side, true)
	if err != nil {
		return nil, err
	}
	if err := c.restore(side, 1); err != nil {
		return nil, faultOf(err)
	}
	if err := c.stampRun(0); err != nil {
		return nil, faultOf(err)
	}
	start := time.Now()
	for range m.Launches {
		if err := c.launch(side); err != nil {
			return nil, faultOf(err)
		}
	}
	if side.launcher != 0 {
		err = c.driver.Synchronize() // also for work that it left on other streams
	} else {
		err = c.stream.Synchronize()
	}
	if err != nil {
		return nil, faultOf(err)
	}
	elapsed := time.Since(start).Seconds()
	if err := c.stampRun(1); err != nil {
		return nil, faultOf(err)
	}
	ghz, _, err := c.clocks(1)
	if err != nil {
		return nil, faultOf(err)
	}
	return &wire.Ran{CellS: elapsed, GHz: ghz[0]}, faultOf(c.trespass())
}

// stampRun records the beginning or the end of launches back to back.
func (c *cudaCell) stampRun(which int) error {
	if which == 0 {
		if err := c.driver.MemsetD8(c.stamps, 0, uint64(c.stampBytes()), c.stream); err != nil {
			return err
		}
	}
	if err := c.stamp(0, which); err != nil {
		return err
	}
	return c.stream.Synchronize()
}

// launch queues a side's launches on its next set of arguments.
func (c *cudaCell) launch(side *cudaSide) error {
	at := side.next
	if !side.hot {
		side.next = (at + 1) % len(side.problem.sets)
	}
	if side.launcher != 0 {
		side.launcher.Call(dl.Address(side.problem.sets[at].slots), c.stream.Handle())
		return nil
	}
	for _, call := range side.calls[at] {
		if err := call.Launch(c.stream); err != nil {
			return err
		}
	}
	return nil
}
