package machine

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
)

func TestUsableIsWhatTheRuntimeSees(t *testing.T) {
	if got, want := len(Usable()), runtime.NumCPU(); got != want {
		t.Errorf("%d usable CPUs, the runtime counts %d", got, want)
	}
	if !slices.IsSorted(Usable()) {
		t.Errorf("Usable() = %v is not sorted", Usable())
	}
	if !slices.Contains(Usable(), QuietCore()) {
		t.Errorf("quiet core %d is not usable", QuietCore())
	}
}

func TestQuietCore(t *testing.T) {
	for name, c := range map[string]struct {
		allowed  []int
		isolated string
		capacity map[int]int // per CPU
		fastKind string      // list of performance cores
		want     int
	}{
		"last":                            {allowed: []int{0, 1, 2, 3}, want: 3},
		"only the first":                  {allowed: []int{0}, want: 0},
		"of the allowed":                  {allowed: []int{0, 2}, want: 2},
		"isolated":                        {allowed: []int{0, 1, 2, 3}, isolated: "1-2", want: 2},
		"isolated, not allowed":           {allowed: []int{0, 1}, isolated: "2-3", want: 1},
		"big and little":                  {allowed: []int{0, 1, 2, 3}, capacity: map[int]int{0: 1024, 1: 1024, 2: 446, 3: 446}, want: 1},
		"a favoured core is not a kind":   {allowed: []int{0, 1, 2}, capacity: map[int]int{0: 1024, 1: 1000, 2: 990}, want: 2},
		"performance and efficiency":      {allowed: []int{0, 1, 2, 3}, fastKind: "0-1", want: 1},
		"efficiency cores are all we get": {allowed: []int{2, 3}, fastKind: "0-1", want: 3},
		"isolated goes before fast":       {allowed: []int{0, 1, 2, 3}, fastKind: "0-1", isolated: "3", want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			h := host{root: t.TempDir()}
			h.write(t, "sys/devices/system/cpu/isolated", c.isolated+"\n")
			for id, capacity := range c.capacity {
				h.write(t, fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpu_capacity", id), fmt.Sprintln(capacity))
			}
			if c.fastKind != "" {
				h.write(t, "sys/devices/cpu_core/cpus", c.fastKind)
			}
			if got := h.quietCore(c.allowed); got != c.want {
				t.Errorf("quiet core = %d, want %d", got, c.want)
			}
		})
	}
}

func TestQuietCores(t *testing.T) {
	for name, c := range map[string]struct {
		threads int
		want    []int
	}{
		"one":                    {1, []int{3}},
		"the last of the fast":   {2, []int{2, 3}},
		"all of the fast":        {4, []int{0, 1, 2, 3}},
		"more than are fast":     {5, []int{1, 2, 3, 4, 5}},
		"more than there are":    {9, []int{0, 1, 2, 3, 4, 5}},
		"as if there was but it": {0, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			h := host{root: t.TempDir()}
			h.write(t, "sys/devices/cpu_core/cpus", "0-3")
			if got := h.quietCores([]int{0, 1, 2, 3, 4, 5}, c.threads); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
