package cell

import (
	"encoding/binary"
	"reflect"
	"slices"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// problem holds the arguments that launches work on. Sides with equal arguments share them,
// addresses included, so that the location of a buffer favours neither.
type problem struct {
	args  []wire.Arg
	seed  uint64
	most  int  // sets at most; 0: as many as exceed every cache
	spare bool // as many as a turn has samples, so that no sample meets a set twice
	sets  []*argSet
	owned []cuda.DevicePtr
	bytes uint64         // of one set
	sums  cuda.DevicePtr // hashes of the inputs, a word each
	zones cuda.DevicePtr // copies of all red zones, for inspection
	want  []byte         // expected hashes

	shadow cuda.DevicePtr // copy of a symbol, for inspection; 0: there is none

	moved bool // inputs have changed since want was computed
}

// argSet is one copy of a problem's arguments. Launches rotate over several, so that none finds its
// own output or input in a cache. Each set has its own data, so that no launch finds another's
// answer either.
type argSet struct {
	batch   int             // of the data
	steps   int             // steps of oracle.Mutate applied to the inputs
	buffers []*deviceBuffer // by argument, nil for scalars
	present []*deviceBuffer // those that are not nil
	params  [][]byte
	slots   []uintptr // for a launcher
	scalars []byte
}

// spareSets bounds the rotation: enough to exceed the L2 twice, where memory allows.
const spareSets = 8

// batchOf returns the batch whose data a set holds when a request asks for one: the first set has
// the requested batch, the others have batches that nobody else requests.
func batchOf(batch, set int) int { return batch + set<<oracle.BatchBits }

// problemFor finds the requested problem among the existing ones, or makes it.
func (c *cudaCell) problemFor(m *wire.Prepare) (*problem, error) {
	for _, p := range c.problems {
		if p.seed == m.Seed && p.most == m.Copies && p.spare == m.Spare && reflect.DeepEqual(p.args, m.Args) {
			return p, nil
		}
	}
	p := &problem{args: m.Args, seed: m.Seed, most: m.Copies, spare: m.Spare}
	c.problems = append(c.problems, p)
	err := c.allocate(p)
	if err == nil {
		err = c.refresh(p, m.Batch, 0)
	}
	if err != nil {
		c.free(p)
		return nil, err
	}
	return p, nil
}

func (c *cudaCell) allocate(p *problem) error {
	for _, arg := range p.args {
		if !arg.Buffer {
			continue
		}
		if t := dtype.Type(arg.DType); !t.Valid() || arg.Count <= 0 || arg.Count > (1<<46)/int64(t.Size()) {
			return result.Faultf(result.CauseProtocol, "argument %s: %d elements of %q", arg.Name, arg.Count, arg.DType)
		}
		p.bytes += uint64(arg.Count) * uint64(dtype.Type(arg.DType).Size())
	}
	count := 1
	if free, _, err := c.driver.MemInfo(); err == nil && p.bytes > 0 {
		room, cold := free/4/p.bytes, uint64(2*c.l2)/p.bytes+1
		if p.spare {
			cold = spareSets
		}
		count = int(min(spareSets, max(1, min(cold, room))))
	}
	if p.most > 0 {
		count = min(count, p.most)
	}
	if slices.ContainsFunc(p.args, func(a wire.Arg) bool { return a.Symbol != "" && written(a) }) {
		count = 1 // all launches write the same variable
	}
	for range count {
		set, err := c.newSet(p)
		if err != nil {
			return err
		}
		p.sets = append(p.sets, set)
	}
	var err error
	if p.sums, err = c.alloc(p, uint64(8*max(1, len(p.inputs())))); err != nil {
		return err
	}
	if p.zones, err = c.alloc(p, uint64(redZone*max(1, len(p.redZones())))); err != nil {
		return err
	}
	largest := uint64(0)
	for _, b := range p.sets[0].present {
		if b.arg.Symbol != "" {
			largest = max(largest, b.size)
		}
	}
	if largest > 0 {
		p.shadow, err = c.alloc(p, largest)
	}
	return err
}

func (c *cudaCell) newSet(p *problem) (*argSet, error) {
	set := &argSet{batch: -1, buffers: make([]*deviceBuffer, len(p.args)), params: make([][]byte, len(p.args))}
	for i, arg := range p.args {
		switch {
		case arg.TensorMap != nil: // after all buffers
		case !arg.Buffer:
			slot := make([]byte, 8)
			if err := putDeviceScalar(slot, arg); err != nil {
				return nil, err
			}
			set.params[i] = slot[:dtype.Type(arg.DType).Size()]
		default:
			b, err := c.newDeviceBuffer(p, i, arg)
			if err != nil {
				return nil, err
			}
			set.buffers[i], set.params[i] = b, cuda.Param(b.data())
			set.present = append(set.present, b)
		}
	}
	for i, arg := range p.args {
		if arg.TensorMap == nil {
			continue
		}
		var err error
		if set.params[i], err = c.tensorMap(arg, set); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// free releases a problem's memory.
func (c *cudaCell) free(p *problem) {
	for _, address := range p.owned {
		_ = c.driver.Free(address)
	}
	c.problems = slices.DeleteFunc(c.problems, func(other *problem) bool { return other == p })
}

// hashInputs hashes the inputs, which launches must not change.
func (c *cudaCell) hashInputs(p *problem) ([]byte, error) {
	inputs := p.inputs()
	if len(inputs) == 0 {
		return nil, nil
	}
	raw := make([]byte, 8*len(inputs))
	if err := c.driver.MemsetD8(p.sums, 0, uint64(len(raw)), c.stream); err != nil {
		return nil, err
	}
	for i, b := range inputs {
		if err := c.helpers.hash.Launch(c.stream, c.helpers.wide(), cuda.Param(b.data()), cuda.Param(b.size), cuda.Param(p.sums+cuda.DevicePtr(8*i))); err != nil {
			return nil, err
		}
	}
	return raw, c.driver.CopyToHost(raw, p.sums, c.stream)
}

func (p *problem) inputs() []*deviceBuffer {
	var inputs []*deviceBuffer
	for _, set := range p.sets {
		for _, b := range set.present {
			if b.arg.Role == "in" {
				inputs = append(inputs, b)
			}
		}
	}
	return inputs
}

// changedInput finds out whether a launch wrote to memory that it may only read.
func (c *cudaCell) changedInput(p *problem) error {
	got, err := c.hashInputs(p)
	if err == nil && p.moved {
		err = c.replay(p)
	}
	if err != nil {
		return err
	}
	for i, b := range p.inputs() {
		if binary.LittleEndian.Uint64(got[8*i:]) != binary.LittleEndian.Uint64(p.want[8*i:]) {
			return changed(b.arg)
		}
	}
	return nil
}

// putDeviceScalar stores a scalar. It supports the narrow floats: C cannot pass them, but a kernel
// can.
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
