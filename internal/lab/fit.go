package lab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/unit"
	"pawl/internal/worker"
)

// sharedOf is the largest dynamic shared memory of a block, in KiB, by architecture: the opt-in
// limit, not the default one.
var sharedOf = map[int]int64{
	75: 64,
	80: 163, 87: 163,
	86: 99, 89: 99, 120: 99, 121: 99,
	90: 227, 100: 227, 103: 227, 110: 227,
}

// limitsOf returns the limits that every GPU of an architecture has; none for an unknown one.
func limitsOf(arch string) *result.GPU {
	number, ok := ArchNumber(arch)
	if !ok || sharedOf[number] == 0 {
		return &result.GPU{}
	}
	return &result.GPU{Name: arch, Arch: arch, MaxShared: sharedOf[number] << 10, MaxThreads: 1024}
}

// Unfit says why a variant cannot run with any of its kernel's configs on an architecture, if its
// formulas alone show that.
func Unfit(v spec.Variant, arch string) *result.Fault {
	gpu := limitsOf(arch)
	if gpu.Arch == "" || !v.Kernel.DeviceCode() {
		return nil
	}
	var first *result.Fault
	for _, config := range v.Kernel.Configs {
		p := NewJob("", v, config)
		RefuseUnfit([]*Job{p}, gpu)
		if p.Record.Fault == nil {
			return nil
		}
		first = cmp.Or(first, p.Record.Fault)
	}
	return first
}

// RefuseUnfit fails the jobs whose formulas alone show that they cannot run on the GPU, before
// anything is compiled for them. An unknown limit, 0, refuses nothing.
func RefuseUnfit(jobs []*Job, gpu *result.GPU) {
	for _, p := range jobs {
		if p.Record.Fault != nil || p.Instance == nil || !p.GPU() {
			continue
		}
		fault := unfitMemory(p, gpu)
		for i := range p.Instance.Launches {
			if fault == nil && p.Variant.Kernel.DeviceCode() {
				fault = unfitLaunch(p, i, gpu)
			}
		}
		if fault != nil {
			p.fail("plan", fault)
		}
	}
}

// unfitLaunch says why a launch is too large for the GPU, if it is.
func unfitLaunch(p *Job, i int, gpu *result.GPU) *result.Fault {
	launch, formulas := p.Instance.Launches[i], p.Variant.Kernel.Launches[i]
	refuse := func(hint, format string, args ...any) *result.Fault {
		return &result.Fault{Cause: result.CauseLaunch, Message: launch.Entry + " " + fmt.Sprintf(format, args...), Hint: hint}
	}
	threads := launch.Block[0] * launch.Block[1] * launch.Block[2]
	switch {
	case gpu.MaxShared > 0 && launch.Shared > gpu.MaxShared:
		return refuse("smaller tiles or fewer stages need less", "wants %d bytes of dynamic shared memory (shared: %s); a block has at most %d on %s",
			launch.Shared, p.Instance.Explain(formulas.Shared), gpu.MaxShared, gpu.Name)
	case gpu.MaxThreads > 0 && threads > int64(gpu.MaxThreads):
		return refuse("", "wants blocks of %d threads (block: %s); at most %d are possible on %s",
			threads, p.Instance.Explain(formulas.Block...), gpu.MaxThreads, gpu.Name)
	case launch.Cluster != [3]int64{} && before(gpu.Arch, 90):
		return refuse("", "wants clusters of blocks (cluster: %s); they need sm_90, and %s has none",
			p.Instance.Explain(formulas.Cluster...), gpu.Name)
	}
	return nil
}

// before reports whether an architecture, such as sm_90a, is older than the number.
func before(arch string, number int) bool {
	n, ok := ArchNumber(arch)
	return ok && n < number
}

// ArchNumber returns the number of an architecture: 90 for sm_90a.
func ArchNumber(arch string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(arch, "sm_"), "af"))
	return n, err == nil
}

// unfitMemory says that the arguments do not fit into the GPU's memory, if they do not.
func unfitMemory(p *Job, gpu *result.GPU) *result.Fault {
	if gpu.MemoryBytes == 0 || p.Instance.Footprint <= gpu.MemoryBytes {
		return nil
	}
	largest := 0
	for i, arg := range p.Instance.Args {
		if arg.Bytes > p.Instance.Args[largest].Bytes {
			largest = i
		}
	}
	arg := p.Instance.Args[largest]
	return result.Faultf(result.CauseMemory, "the arguments take %s (%d bytes), %s of it %s (shape: %s); %s has %s (%d bytes)", unit.Bytes(p.Instance.Footprint), p.Instance.Footprint, unit.Bytes(arg.Bytes), arg.Name, p.Instance.Explain(p.Variant.Kernel.Args[largest].Shape...), gpu.Name, unit.Bytes(gpu.MemoryBytes), gpu.MemoryBytes).
		WithHint("choose a smaller config, or a device with more memory")
}

// Architectures lists the architectures of the GPUs that a worker on this machine finds, each once,
// in the order of the devices. Where it finds none, why says the reason.
func Architectures(ctx context.Context) (found []string, why string, err error) {
	client, err := worker.Start(ctx, worker.Options{})
	if err != nil {
		return nil, "", err
	}
	defer client.Close()
	hello := client.Hello()
	for _, device := range hello.Devices {
		if device.Arch != "" && !slices.Contains(found, device.Arch) {
			found = append(found, device.Arch)
		}
	}
	return found, hello.NoDevices, nil
}
