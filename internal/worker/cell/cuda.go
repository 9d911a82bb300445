package cell

import (
	"os"

	"pawl/internal/native/cuda"
	"pawl/internal/result"
)

// cudaCell runs cubins through the driver. Candidate code is device code only: it
// cannot reach this process.
type cudaCell struct {
	driver  *cuda.Driver
	device  cuda.Device
	stream  cuda.Stream
	helpers *helpers
	calls   harnessCalls

	sms, l2, maxThreads int

	flag          *cuda.HostMemory // words: the one that the blocker waits for, and the launch it gave up on
	flagAt        cuda.DevicePtr
	released      uint32
	flushed       [2]cuda.DevicePtr // one is written, then the other read
	sink          cuda.DevicePtr
	stamps        cuda.DevicePtr
	before, after cuda.Event
	pair          float64 // seconds between two adjacent events: subtracted
	overhead      float64 // of an empty launch
	sides         map[int]*cudaSide
	problems      []*problem
	aside         uint64 // bytes of the L2 that were set aside before anything was launched
	staging       []byte // buffer for outputs on their way to a file
	sanitizer     string // tool of compute-sanitizer that the cell runs under; "": none
}

// harnessCalls are the launches around every sample, prepared once.
type harnessCalls struct{ block, stamp, read, empty *cuda.Call }

func newCUDA() *cudaCell {
	return &cudaCell{sides: map[int]*cudaSide{}, sanitizer: os.Getenv(SanitizerVariable)}
}

// start brings up the device.
func (c *cudaCell) start(uuid string) error {
	driver, err := cuda.Open()
	if err != nil {
		return result.Faultf(result.CauseUnsupported, "%v", err).WithHint("pawl doctor shows what this machine has")
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
	c.aside, _ = driver.Limit(cuda.LimitPersistingL2) // 0 where the device has none
	if c.helpers, err = loadHelpers(driver, c.device); err != nil {
		return err
	}
	return c.allocateHarness()
}

// allocateHarness allocates what every sample needs besides its arguments.
func (c *cudaCell) allocateHarness() error {
	var err error
	if c.flag, err = c.driver.HostAlloc(4096, cuda.HostMapped); err != nil {
		return err
	}
	if c.flagAt, err = c.flag.DevicePtr(); err != nil {
		return err
	}
	for _, memory := range []struct {
		at    *cuda.DevicePtr
		bytes int
	}{{&c.flushed[0], 2 * c.l2}, {&c.flushed[1], 2 * c.l2}, {&c.sink, 256}, {&c.stamps, maxBatch * c.stampBytes()}} {
		if *memory.at, err = c.driver.Alloc(uint64(memory.bytes)); err != nil {
			return err
		}
	}
	for _, at := range c.flushed {
		if err := c.driver.MemsetD8(at, 0, uint64(2*c.l2), c.stream); err != nil {
			return err
		}
	}
	for _, event := range []*cuda.Event{&c.before, &c.after} {
		if *event, err = c.driver.NewEvent(0); err != nil {
			return err
		}
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

// pick finds the device with a UUID; without a UUID, the first.
func pick(d *cuda.Driver, uuid string) (cuda.Device, error) {
	devices, err := d.Devices()
	if err != nil {
		return cuda.Device{}, err
	}
	for _, device := range devices {
		if got, err := device.UUID(); uuid == "" || err == nil && got == uuid {
			return device, nil
		}
	}
	return cuda.Device{}, result.Faultf(result.CauseUnsupported, "there is no GPU %s here", uuid)
}
