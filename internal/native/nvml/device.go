package nvml

import (
	"errors"
	"unsafe"
)

// Device is a GPU.
type Device struct {
	l      *Library
	handle uintptr
}

// number asks for one unsigned int.
func (v Device) number(p *proc) (int, error) {
	var value uint32
	err := v.l.call(p, v.handle, uintptr(unsafe.Pointer(&value)))
	return int(value), err
}

// kind asks for one unsigned int of several.
func (v Device) kind(p *proc, which uintptr) (int, error) {
	var value uint32
	err := v.l.call(p, v.handle, which, uintptr(unsafe.Pointer(&value)))
	return int(value), err
}

const temperatureGPU = 0

// Temperature returns that of the GPU die, in °C.
func (v Device) Temperature() (int, error) { return v.kind(&v.l.getTemperature, temperatureGPU) }

const clockSM = 1 // an nvmlClockType_t

// ClockSM returns the clock of the SMs now, in MHz.
func (v Device) ClockSM() (int, error) { return v.kind(&v.l.getClockInfo, clockSM) }

// MaxClockSM returns the highest clock of the SMs, in MHz.
func (v Device) MaxClockSM() (int, error) { return v.kind(&v.l.getMaxClockInfo, clockSM) }

// Power returns what the board draws now, in watts.
func (v Device) Power() (float64, error) {
	milliwatts, err := v.number(&v.l.getPowerUsage)
	return float64(milliwatts) / 1000, err
}

// PowerLimit returns what the board may draw, in watts: the lowest of all limits.
func (v Device) PowerLimit() (float64, error) {
	milliwatts, err := v.number(&v.l.getEnforcedPowerLimit)
	return float64(milliwatts) / 1000, err
}

// EnergyTotal returns what the board has drawn since the driver was loaded, in joules.
func (v Device) EnergyTotal() (float64, error) {
	var millijoules uint64
	err := v.l.call(&v.l.getTotalEnergyConsumption, v.handle, uintptr(unsafe.Pointer(&millijoules)))
	return float64(millijoules) / 1000, err
}

// ThrottleReasons returns what holds the clocks down now.
func (v Device) ThrottleReasons() (Reasons, error) {
	var reasons Reasons
	err := v.l.call(&v.l.getClocksEventReasons, v.handle, uintptr(unsafe.Pointer(&reasons)))
	return reasons, err
}

// Process has a CUDA context on the device.
type Process struct {
	PID       int    // in the outermost namespace, which a container does not see
	UsedBytes uint64 // 0 when the driver does not say
}

// processInfo is an nvmlProcessInfo_v2_t.
type processInfo struct {
	pid                              uint32
	usedBytes                        uint64
	gpuInstanceID, computeInstanceID uint32
}

// ComputeProcesses lists the processes that have a CUDA context on the device.
func (v Device) ComputeProcesses() ([]Process, error) {
	infos := make([]processInfo, 16)
	for {
		count := uint32(len(infos))
		err := v.l.call(&v.l.getComputeRunningProcesses, v.handle, uintptr(unsafe.Pointer(&count)), uintptr(unsafe.Pointer(&infos[0])))
		if failed := (*Error)(nil); errors.As(err, &failed) && failed.Code == codeInsufficientSize {
			infos = make([]processInfo, 2*max(int(count), len(infos))) // room for those that start meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		processes := make([]Process, count)
		for i, info := range infos[:count] {
			processes[i] = Process{PID: int(info.pid), UsedBytes: info.usedBytes}
			if info.usedBytes == ^uint64(0) {
				processes[i].UsedBytes = 0
			}
		}
		return processes, nil
	}
}

// PersistenceMode says whether the driver stays loaded when nobody uses the GPU.
func (v Device) PersistenceMode() (bool, error) {
	mode, err := v.number(&v.l.getPersistenceMode)
	return mode == 1, err
}

// ComputeMode says who may have a CUDA context on the device.
func (v Device) ComputeMode() (ComputeMode, error) {
	mode, err := v.number(&v.l.getComputeMode)
	return ComputeMode(mode), err
}

// SetLockedClocks keeps the clock of the SMs between min and max, in MHz, until
// [Device.ResetLockedClocks] or until the driver is unloaded: it outlives this
// process. It takes an administrator, else it is [ErrNoPermission].
func (v Device) SetLockedClocks(minimum, maximum int) error {
	return v.l.call(&v.l.setLockedClocks, v.handle, uintptr(minimum), uintptr(maximum))
}

// ResetLockedClocks lets the clock go where the driver wants it.
func (v Device) ResetLockedClocks() error { return v.l.call(&v.l.resetLockedClocks, v.handle) }
