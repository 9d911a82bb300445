package nvml

import "fmt"

// Reasons is a set of what may hold the clocks down.
type Reasons uint64

// Reasons why clocks are not at their highest.
const (
	ReasonIdle              Reasons = 0x1
	ReasonApplicationClocks Reasons = 0x2
	ReasonPowerCap          Reasons = 0x4
	ReasonHWSlowdown        Reasons = 0x8
	ReasonSyncBoost         Reasons = 0x10
	ReasonSWThermal         Reasons = 0x20
	ReasonHWThermal         Reasons = 0x40
	ReasonPowerBrake        Reasons = 0x80
	ReasonDisplayClock      Reasons = 0x100
)

var reasonNames = []struct {
	reason Reasons
	name   string
}{
	{ReasonIdle, "idle"},
	{ReasonApplicationClocks, "application clocks"},
	{ReasonPowerCap, "power cap"},
	{ReasonHWSlowdown, "hardware slowdown"},
	{ReasonSyncBoost, "sync boost"},
	{ReasonSWThermal, "software thermal slowdown"},
	{ReasonHWThermal, "hardware thermal slowdown"},
	{ReasonPowerBrake, "hardware power brake"},
	{ReasonDisplayClock, "display clock"},
}

// Names lists the reasons in words; bits without a name are given as a number.
func (r Reasons) Names() []string {
	var names []string
	for _, known := range reasonNames {
		if r&known.reason != 0 {
			names = append(names, known.name)
			r &^= known.reason
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

func (m ComputeMode) String() string {
	switch m {
	case ComputeDefault:
		return "default"
	case ComputeProhibited:
		return "prohibited"
	case ComputeExclusiveProcess:
		return "exclusive process"
	}
	return fmt.Sprintf("compute mode %d", int(m))
}
