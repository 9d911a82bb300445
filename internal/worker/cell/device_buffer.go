package cell

import (
	"bytes"
	"fmt"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// deviceBuffer is one argument in device memory, between red zones.
type deviceBuffer struct {
	arg      wire.Arg
	dtype    dtype.Type
	base     cuda.DevicePtr
	size     uint64
	pristine cuda.DevicePtr // contents to restore before a launch; inout only
	poison   *cuda.Call     // what a launch must overwrite; out and scratch only
}

func (b *deviceBuffer) data() cuda.DevicePtr { return b.base + redZone }

func (b *deviceBuffer) end() cuda.DevicePtr { return b.data() + cuda.DevicePtr(b.size) }

// newDeviceBuffer allocates and fills one argument.
func (c *cudaCell) newDeviceBuffer(arg wire.Arg, key uint64) (*deviceBuffer, error) {
	t := dtype.Type(arg.DType)
	if !t.Valid() || arg.Count <= 0 || arg.Count > (1<<46)/int64(t.Size()) {
		return nil, &result.Fault{Cause: result.CauseProtocol, Message: fmt.Sprintf("argument %s: %d elements of %q", arg.Name, arg.Count, arg.DType)}
	}
	if err := oracle.CheckFill(t, fillOf(arg)); err != nil {
		return nil, &result.Fault{Cause: result.CauseProtocol, Message: fmt.Sprintf("argument %s: %v", arg.Name, err)}
	}
	b := &deviceBuffer{arg: arg, dtype: t, size: uint64(arg.Count) * uint64(t.Size())}
	var err error
	if b.base, err = c.alloc(b.size + 2*redZone); err != nil {
		return nil, err
	}
	if err := c.driver.MemsetD8(b.base, redByte, redZone, c.stream); err != nil {
		return nil, err
	}
	if err := c.driver.MemsetD8(b.end(), redByte, redZone, c.stream); err != nil {
		return nil, err
	}
	if arg.Role == "out" || arg.Role == "scratch" && arg.Init == "" {
		b.poison, err = c.helpers.pattern.Prepare(c.helpers.wide(), cuda.Param(b.data()), cuda.Param(b.size), cuda.Param(poisonWord(t)))
		if err != nil {
			return nil, err
		}
		return b, b.poison.Launch(c.stream)
	}
	if err := c.helpers.fill(c.driver, c.stream, b.data(), arg.Count, t, fillOf(arg), key); err != nil {
		return nil, err
	}
	if arg.Role != "inout" {
		return b, nil
	}
	if b.pristine, err = c.alloc(b.size); err != nil {
		return nil, err
	}
	return b, c.driver.Copy(b.pristine, b.data(), b.size, c.stream)
}

// alloc takes device memory that free gives back.
func (c *cudaCell) alloc(size uint64) (cuda.DevicePtr, error) {
	address, err := c.driver.Alloc(size)
	if err != nil {
		free, total, _ := c.driver.MemInfo()
		return 0, &result.Fault{
			Cause:   result.CauseMemory,
			Message: fmt.Sprintf("cannot allocate %d bytes on the device: %v (%d of %d bytes are free)", size, err, free, total),
			Hint:    "choose a smaller config, or a device with more memory",
		}
	}
	c.owned = append(c.owned, address)
	return address, nil
}

// trespass looks for writes outside the buffers.
func (c *cudaCell) trespass() error {
	zone := make([]byte, redZone)
	for _, set := range c.sets {
		for _, b := range set.buffers {
			if b == nil {
				continue
			}
			for _, side := range []cuda.DevicePtr{b.base, b.end()} {
				if err := c.driver.CopyToHost(zone, side, c.stream); err != nil {
					return err
				}
				if bytes.Equal(zone, untouched) {
					continue
				}
				where := fmt.Sprintf("past the end of argument %s (byte %d of %d)", b.arg.Name, int(b.size)+firstTouched(zone), b.size)
				if side == b.base {
					where = fmt.Sprintf("before the start of argument %s (%d bytes before it)", b.arg.Name, redZone-firstTouched(zone))
				}
				if err := c.driver.MemsetD8(side, redByte, redZone, c.stream); err != nil {
					return err
				}
				return &result.Fault{
					Cause: result.CauseOutOfBounds, Message: "the kernel wrote " + where,
					Hint: "check the kernel's index arithmetic, or the argument's shape in pawl.yaml",
				}
			}
		}
	}
	return nil
}
