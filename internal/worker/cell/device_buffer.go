package cell

import (
	"bytes"
	"errors"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// deviceBuffer is one argument in device memory, between red zones. Under compute-sanitizer, which
// watches every byte, it is a separate allocation.
type deviceBuffer struct {
	arg      wire.Arg
	number   int // number of the argument
	dtype    dtype.Type
	base     cuda.DevicePtr
	size     uint64
	zone     uint64         // bytes of a red zone
	key      uint64         // of the contents
	pristine cuda.DevicePtr // contents to restore before a launch; inout only
	poison   *cuda.Call     // poisons what a launch must overwrite; out and scratch only
}

func (b *deviceBuffer) data() cuda.DevicePtr { return b.base + cuda.DevicePtr(b.zone) }

func (b *deviceBuffer) end() cuda.DevicePtr { return b.data() + cuda.DevicePtr(b.size) }

// newDeviceBuffer allocates one argument.
func (c *cudaCell) newDeviceBuffer(p *problem, number int, arg wire.Arg) (*deviceBuffer, error) {
	t := dtype.Type(arg.DType)
	if err := oracle.CheckFill(t, fillOf(arg)); err != nil {
		return nil, result.Faultf(result.CauseProtocol, "argument %s: %v", arg.Name, err)
	}
	b := &deviceBuffer{arg: arg, number: number, dtype: t, size: uint64(arg.Count) * uint64(t.Size()), zone: redZone}
	if c.sanitizer != "" {
		b.zone = 0
	}
	var err error
	if b.base, err = c.alloc(p, b.size+2*b.zone); err != nil {
		return nil, err
	}
	if b.zone > 0 {
		if err := c.driver.MemsetD8(b.base, redByte, redZone, c.stream); err != nil {
			return nil, err
		}
		if err := c.driver.MemsetD8(b.end(), redByte, redZone, c.stream); err != nil {
			return nil, err
		}
	}
	if arg.Role == "out" || arg.Role == "scratch" && arg.Init == "" {
		b.poison, err = c.helpers.pattern.Prepare(c.helpers.wide(), cuda.Param(b.data()), cuda.Param(b.size), cuda.Param(poisonWord(t)))
		if err != nil {
			return nil, err
		}
	}
	if arg.Role == "inout" {
		if b.pristine, err = c.alloc(p, b.size); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// fillBuffer brings a buffer into the state that launches start from.
func (c *cudaCell) fillBuffer(b *deviceBuffer) error {
	if b.poison != nil {
		return c.poison(b)
	}
	if err := c.helpers.fill(c.driver, c.stream, b.data(), b.arg.Count, b.dtype, fillOf(b.arg), b.key); err != nil {
		return err
	}
	if b.pristine == 0 {
		return nil
	}
	return c.driver.Copy(b.pristine, b.data(), b.size, c.stream)
}

// poison overwrites the memory that a launch must write. Under initcheck it does nothing, because
// that would count as initialisation.
func (c *cudaCell) poison(b *deviceBuffer) error {
	if c.sanitizer == "initcheck" {
		return nil
	}
	return b.poison.Launch(c.stream)
}

// alloc allocates device memory for a problem.
func (c *cudaCell) alloc(p *problem, size uint64) (cuda.DevicePtr, error) {
	address, err := c.driver.Alloc(size)
	if err != nil && !errors.Is(err, cuda.OutOfMemory) {
		return 0, err // the error of an earlier launch
	}
	if err != nil {
		free, total, _ := c.driver.MemInfo()
		return 0, result.Faultf(result.CauseMemory, "cannot allocate %d bytes on the device: %v (%d of %d bytes are free)", size, err, free, total).
			WithHint("choose a smaller config, or a device with more memory")
	}
	p.owned = append(p.owned, address)
	return address, nil
}

// trespass looks for writes outside the buffers, and to inputs.
func (c *cudaCell) trespass() error {
	for _, p := range c.problems {
		zones := p.redZones()
		for i, z := range zones {
			if err := c.driver.Copy(p.zones+cuda.DevicePtr(i*redZone), z.at, redZone, c.stream); err != nil {
				return err
			}
		}
		found := make([]byte, len(zones)*redZone)
		if len(found) > 0 {
			if err := c.driver.CopyToHost(found, p.zones, c.stream); err != nil {
				return err
			}
		}
		for i, z := range zones {
			if zone := found[i*redZone : (i+1)*redZone]; !bytes.Equal(zone, untouched) {
				return c.trespassed(z.of, z.at, zone)
			}
		}
		if err := c.changedInput(p); err != nil {
			return err
		}
	}
	for _, side := range c.sides {
		if err := c.changedSymbol(side); err != nil {
			return err
		}
	}
	return nil
}

// zoneOf is the position of a buffer's red zone.
type zoneOf struct {
	of *deviceBuffer
	at cuda.DevicePtr
}

// redZones returns the red zones of all buffers, which are inspected in one copy.
func (p *problem) redZones() []zoneOf {
	var out []zoneOf
	for _, set := range p.sets {
		for _, b := range set.present {
			if b.zone > 0 {
				out = append(out, zoneOf{b, b.base}, zoneOf{b, b.end()})
			}
		}
	}
	return out
}

// trespassed says where the write was, and repairs the red zone.
func (c *cudaCell) trespassed(b *deviceBuffer, side cuda.DevicePtr, zone []byte) error {
	if err := c.driver.MemsetD8(side, redByte, redZone, c.stream); err != nil {
		return err
	}
	return outOfBounds(describeTrespass(b.arg, int(b.size), side == b.base, zone))
}
