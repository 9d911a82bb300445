package worker

import (
	"fmt"

	"pawl/internal/machine"
	"pawl/internal/result"
)

const (
	leastForget = 64 << 20  // a cache may be larger than what a virtual machine reports
	mostForget  = 512 << 20 // reading more takes longer than it is worth
)

// forgetBytes returns how many bytes a cell reads to clear the CPU's state. It is 0 where there is
// no memory for that: neither the cell nor the machine may run out of it.
func (s *server) forgetBytes(c *child) int64 {
	used, err := readUsage(fmt.Sprintf("/proc/%d/status", c.proc.Pid()))
	if err != nil {
		return 0
	}
	available, _ := machine.MemoryAvailable() // 0 where it is not known
	return sweep(s.caches, c.limits.memory, used.resident, available)
}

func sweep(caches []result.Cache, limit, resident, available int64) int64 {
	bytes := int64(leastForget)
	for _, cache := range caches {
		bytes = max(bytes, min(2*cache.Bytes, mostForget))
	}
	if limit > 0 && resident+bytes > limit || 2*bytes > available {
		return 0
	}
	return bytes
}
