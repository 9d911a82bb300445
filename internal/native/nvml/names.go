package nvml

import (
	"cmp"
	"fmt"
)

// Reasons is a set of what may hold the clocks down.
type Reasons uint64

// Reasons why clocks are not at their highest.
const (
	ReasonIdle Reasons = 1 << iota
	ReasonApplicationClocks
	ReasonPowerCap
	ReasonHWSlowdown
	ReasonSyncBoost
	ReasonSWThermal
	ReasonHWThermal
	ReasonPowerBrake
	ReasonDisplayClock
)

// reasonNames has a name for each of them, in the same order.
var reasonNames = []string{
	"idle", "application clocks", "power cap", "hardware slowdown", "sync boost",
	"software thermal slowdown", "hardware thermal slowdown", "hardware power brake", "display clock",
}

// Names lists the reasons in words; bits without a name are given as a number.
func (r Reasons) Names() []string {
	var names []string
	for bit, name := range reasonNames {
		if reason := Reasons(1) << bit; r&reason != 0 {
			names = append(names, name)
			r &^= reason
		}
	}
	if r != 0 {
		names = append(names, fmt.Sprintf("%#x", uint64(r)))
	}
	return names
}

// ComputeMode is an nvmlComputeMode_t.
type ComputeMode int

// Who may have a CUDA context on a device.
const (
	ComputeDefault          ComputeMode = 0 // any number of processes
	ComputeProhibited       ComputeMode = 2
	ComputeExclusiveProcess ComputeMode = 3
)

var computeModes = map[ComputeMode]string{ComputeDefault: "default", ComputeProhibited: "prohibited", ComputeExclusiveProcess: "exclusive process"}

func (m ComputeMode) String() string {
	return cmp.Or(computeModes[m], fmt.Sprintf("compute mode %d", int(m)))
}
