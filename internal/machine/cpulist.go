package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds the ids of a list: above what any kernel is built for, and low
// enough that a damaged list cannot ask for all memory.
const maxCPU = 1 << 16

// parseCPUList reads the kernel's list format, "0-3,8,10-11", into ascending
// ids without duplicates. An empty list is valid: no CPU is isolated, say.
func parseCPUList(list string) ([]int, error) {
	list = strings.TrimSpace(list)
	if list == "" {
		return nil, nil
	}
	var ids []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		low, err := parseCPU(first)
		if err != nil {
			return nil, fmt.Errorf("read CPU list %q: %w", list, err)
		}
		high := low
		if isRange {
			if high, err = parseCPU(last); err != nil {
				return nil, fmt.Errorf("read CPU list %q: %w", list, err)
			}
		}
		if high < low {
			return nil, fmt.Errorf("read CPU list %q: %d-%d runs backwards", list, low, high)
		}
		if len(ids)+high-low >= maxCPU {
			return nil, fmt.Errorf("read CPU list %q: more than %d entries", list, maxCPU)
		}
		for id := low; id <= high; id++ {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func parseCPU(text string) (int, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a CPU number", text)
	}
	if id >= maxCPU {
		return 0, fmt.Errorf("CPU %d is out of range", id)
	}
	return int(id), nil
}

// cpuList reads a file that holds a CPU list; what cannot be read is empty.
func (h host) cpuList(name string) []int {
	ids, _ := parseCPUList(h.text(name))
	return ids
}
