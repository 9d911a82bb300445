package worker

import (
	"pawl/internal/native/nvml"
	"pawl/internal/result"
)

// gauges read the state of this machine's GPUs; nil where NVML is missing, which costs nothing but
// the readings.
type gauges struct{ library *nvml.Library }

func openGauges() (*gauges, error) {
	library, err := nvml.Open()
	if err != nil {
		return nil, err
	}
	return &gauges{library}, nil
}

// describe adds to the devices what only NVML knows.
func (g *gauges) describe(devices []result.GPU) {
	if g == nil {
		return
	}
	driver, _ := g.library.DriverVersion()
	for i := range devices {
		gpu := &devices[i]
		gpu.Driver = driver
		device, err := g.library.DeviceByUUID(gpu.UUID)
		if err != nil {
			continue
		}
		if watts, err := device.PowerLimit(); err == nil {
			gpu.PowerLimitW = watts
		}
		if mhz, err := device.MaxClockSM(); err == nil {
			gpu.MaxGHz = float64(mhz) / 1e3
		}
		if on, err := device.PersistenceMode(); err == nil {
			gpu.Persistence = on
		}
		if mode, err := device.ComputeMode(); err == nil {
			gpu.ComputeMode = mode.String()
		}
	}
}

// harmless are the harmless reasons for a clock below the maximum: an idle GPU, and clocks that
// somebody set on purpose.
const harmless = nvml.ReasonIdle | nvml.ReasonApplicationClocks | nvml.ReasonSyncBoost | nvml.ReasonDisplayClock

// state reads a GPU; own is the number of this worker's processes that use it.
func (g *gauges) state(uuid, when string, own int) result.State {
	state := result.State{When: when}
	if g == nil {
		return state
	}
	device, err := g.library.DeviceByUUID(uuid)
	if err != nil {
		return state
	}
	if celsius, err := device.Temperature(); err == nil {
		state.TemperatureC = pointer(float64(celsius))
	}
	if mhz, err := device.ClockSM(); err == nil {
		state.GHz = pointer(float64(mhz) / 1e3)
	}
	if watts, err := device.Power(); err == nil {
		state.PowerW = &watts
	}
	if reasons, err := device.ThrottleReasons(); err == nil {
		state.Throttled = (reasons &^ harmless).Names()
	}
	// Inside a container NVML may number processes as the host does, so they are counted, not
	// identified.
	if processes, err := device.ComputeProcesses(); err == nil {
		others := max(0, len(processes)-own)
		state.Processes = &others
	}
	return state
}

// energy returns the energy that a GPU has used since the driver was loaded, in joules.
func (g *gauges) energy(uuid string) (float64, bool) {
	if g == nil {
		return 0, false
	}
	device, err := g.library.DeviceByUUID(uuid)
	if err != nil {
		return 0, false
	}
	joules, err := device.EnergyTotal()
	return joules, err == nil
}

func pointer[T any](v T) *T { return &v }
