package lab

import (
	"cmp"
	"fmt"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// Kind tells workers apart whose numbers must not be mixed: it names the device class of the lab's
// worker and, once the run uses a GPU, the product and its driver. It is empty before there is a worker.
func (l *Lab) Kind() string { return l.kindOf(l.hello()) }

func (l *Lab) kindOf(hello wire.Hello) string {
	if hello.DeviceClass == "" || l.machine().GPU == nil {
		return hello.DeviceClass
	}
	return hello.DeviceClass + ", " + productOf(hello, l.Device)
}

// productOf names a GPU of a worker with its driver.
func productOf(hello wire.Hello, device int) string {
	if device >= len(hello.Devices) {
		return fmt.Sprintf("no GPU %d", device)
	}
	gpu := hello.Devices[device]
	if gpu.Driver == "" {
		return gpu.Name
	}
	return gpu.Name + " with driver " + gpu.Driver
}

// sameDevice refuses a worker on a device of another kind than the run began on: its numbers would be
// taken for those of one device. Workers of a mixed crew need only run the same code.
func (l *Lab) sameDevice(hello wire.Hello) error {
	if l.said.DeviceClass == "" {
		return nil
	}
	own, theirs := l.said.DeviceClass, hello.DeviceClass
	switch gpu := l.machine().GPU; {
	case l.mixed:
		own, theirs = codeOf(l.said, gpu, l.Device), codeOf(hello, gpu, l.Device)
	case gpu != nil && own == theirs:
		own, theirs = productOf(l.said, l.Device), productOf(hello, l.Device)
	}
	if own == theirs {
		return nil
	}
	fault := result.Faultf(result.CauseUnsupported, "a worker has %s, but the run began on %s; numbers of different devices are not mixed", theirs, own)
	if l.mixed {
		fault.Message = fmt.Sprintf("a worker has %s, but the run is compiled for %s", theirs, own)
	}
	if l.pooled() {
		fault.Hint = "let the pool's launch command ask for one kind of machine, for example srun --constraint or --gres=gpu:h200:1"
	}
	return fault
}

// codeOf names what code a worker can run: its GPU's architecture, if the run uses one, and the CPU's.
func codeOf(hello wire.Hello, gpu *result.GPU, device int) string {
	cpu := cmp.Or(hello.Machine.Arch, "a CPU")
	switch {
	case gpu == nil:
		return cpu
	case device >= len(hello.Devices):
		return fmt.Sprintf("%s, no GPU %d", cpu, device)
	}
	return cpu + ", " + hello.Devices[device].Arch
}
