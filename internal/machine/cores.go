package machine

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// Usable returns the ids of the CPUs that the calling thread may run on, in
// ascending order. It is never empty.
func Usable() []int { return live.usable() }

func (h host) usable() []int {
	if h != live {
		return h.online()
	}
	var set unix.CPUSet
	// Fails on machines with more CPUs than the set holds.
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return h.online()
	}
	ids := make([]int, 0, set.Count())
	for id := 0; len(ids) < cap(ids); id++ {
		if set.IsSet(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (h host) online() []int {
	if ids := h.cpuList("sys/devices/system/cpu/online"); len(ids) > 0 {
		return ids
	}
	return []int{0}
}

// QuietCore returns the CPU to pin a measurement to: one that the kernel keeps
// free of other work if there is one, else the last of the fastest kind.
// CPU 0 is the last choice, because interrupts and housekeeping land there.
func QuietCore() int { return live.quietCore(live.usable()) }

func (h host) quietCore(allowed []int) int {
	candidates := h.fastest(allowed)
	isolated := h.cpuList("sys/devices/system/cpu/isolated")
	for _, preferred := range [][]int{
		intersect(candidates, isolated),
		intersect(allowed, isolated),
		candidates,
	} {
		if len(preferred) > 0 {
			return slices.Max(preferred)
		}
	}
	return 0
}

// QuietCores returns CPUs for a measurement with this many threads: of the fastest kind
// while there are enough of these, and the last of them.
func QuietCores(threads int) []int { return live.quietCores(live.usable(), threads) }

func (h host) quietCores(allowed []int, threads int) []int {
	if threads <= 1 {
		return []int{h.quietCore(allowed)}
	}
	if fast := h.fastest(allowed); len(fast) >= threads {
		allowed = fast
	}
	return allowed[max(0, len(allowed)-threads):]
}

// fastest keeps the CPUs of the fastest kind: on hybrid processors the highest
// ids are the slow cores.
func (h host) fastest(ids []int) []int {
	capacity := make(map[int]int64, len(ids))
	var most int64
	for _, id := range ids {
		if c, ok := h.integer(fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpu_capacity", id)); ok {
			capacity[id] = c
			most = max(most, c)
		}
	}
	if most == 0 {
		if performance := intersect(ids, h.cpuList("sys/devices/cpu_core/cpus")); len(performance) > 0 {
			return performance
		}
		return ids
	}
	var fast []int
	for _, id := range ids {
		// Favoured cores differ from their equals by a few per cent, slow
		// kinds from fast ones by far more.
		if capacity[id]*10 >= most*9 {
			fast = append(fast, id)
		}
	}
	return fast
}

func intersect(a, b []int) []int {
	return slices.DeleteFunc(slices.Clone(a), func(id int) bool { return !slices.Contains(b, id) })
}
