package bench

import (
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// refuseUnfit fails the rows whose formulas alone say that they cannot run on the
// GPU, before anything is compiled for them. A limit that is not known, 0, refuses
// nothing.
func refuseUnfit(plans []*plan, gpu *result.GPU) {
	for _, p := range plans {
		for _, side := range p.sides() {
			if side.row.Fault != nil || side.instance == nil || !side.gpu() {
				continue
			}
			fault := unfitMemory(side, gpu)
			for i := range side.instance.Launches {
				if fault == nil && side.row.Cell == spec.CellCUDA && !side.variant.Kernel.Launcher {
					fault = unfitLaunch(side, i, gpu)
				}
			}
			if fault != nil {
				side.fail("plan", fault)
			}
		}
	}
}

// unfitLaunch says why a launch is too large for the GPU, if it is.
func unfitLaunch(p *plan, i int, gpu *result.GPU) *result.Fault {
	launch, formulas := p.instance.Launches[i], p.variant.Kernel.Launches[i]
	refuse := func(hint, format string, args ...any) *result.Fault {
		return &result.Fault{Cause: result.CauseLaunch, Message: launch.Entry + " " + fmt.Sprintf(format, args...), Hint: hint}
	}
	threads := launch.Block[0] * launch.Block[1] * launch.Block[2]
	switch {
	case gpu.MaxShared > 0 && launch.Shared > gpu.MaxShared:
		return refuse("smaller tiles or fewer stages need less", "wants %d bytes of dynamic shared memory (shared: %s); a block has at most %d on %s",
			launch.Shared, p.instance.Explain(formulas.Shared), gpu.MaxShared, gpu.Name)
	case gpu.MaxThreads > 0 && threads > int64(gpu.MaxThreads):
		return refuse("", "wants blocks of %d threads (block: %s); at most %d are possible on %s",
			threads, p.instance.Explain(formulas.Block...), gpu.MaxThreads, gpu.Name)
	case launch.Cluster != [3]int64{} && before(gpu.Arch, 90):
		return refuse("", "wants clusters of blocks (cluster: %s); they need sm_90, and %s is %s",
			p.instance.Explain(formulas.Cluster...), gpu.Name, gpu.Arch)
	}
	return nil
}

// before tells whether an architecture, such as sm_90a, is an older one.
func before(arch string, number int) bool {
	n, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(arch, "sm_"), "af"))
	return err == nil && n < number
}

// unfitMemory says that the arguments do not fit into the GPU's memory, if so.
func unfitMemory(p *plan, gpu *result.GPU) *result.Fault {
	if gpu.MemoryBytes == 0 || p.instance.Footprint <= gpu.MemoryBytes {
		return nil
	}
	largest := 0
	for i, arg := range p.instance.Args {
		if arg.Bytes > p.instance.Args[largest].Bytes {
			largest = i
		}
	}
	arg := p.instance.Args[largest]
	return &result.Fault{
		Cause: result.CauseMemory,
		Message: fmt.Sprintf("the arguments take %s (%d bytes), %s of it %s (shape: %s); %s has %s (%d bytes)",
			unit.Bytes(p.instance.Footprint), p.instance.Footprint, unit.Bytes(arg.Bytes), arg.Name,
			p.instance.Explain(p.variant.Kernel.Args[largest].Shape...), gpu.Name, unit.Bytes(gpu.MemoryBytes), gpu.MemoryBytes),
		Hint: "choose a smaller config, or a device with more memory",
	}
}
