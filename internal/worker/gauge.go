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

// device finds a GPU.
func (g *gauges) device(uuid string) (nvml.Device, error) {
	if g == nil {
		return nvml.Device{}, nvml.ErrNoNVML
	}
	return g.library.DeviceByUUID(uuid)
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
		gpu.PowerLimitW, _ = device.PowerLimit()
		gpu.Persistence, _ = device.PersistenceMode()
		if mhz, err := device.MaxClockSM(); err == nil {
			gpu.MaxGHz = float64(mhz) / 1e3
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
	device, err := g.device(uuid)
	if err != nil {
		return state
	}
	if celsius, err := device.Temperature(); err == nil {
		state.TemperatureC = new(float64(celsius))
	}
	if mhz, err := device.ClockSM(); err == nil {
		state.GHz = new(float64(mhz) / 1e3)
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
		state.Processes = new(max(0, len(processes)-own))
	}
	return state
}

// energy returns the energy that a GPU has used since the driver was loaded, in joules.
func (g *gauges) energy(uuid string) (float64, bool) {
	device, err := g.device(uuid)
	if err != nil {
		return 0, false
	}
	joules, err := device.EnergyTotal()
	return joules, err == nil
}
