package nvml

import "pawl/internal/native/dl"

// proc is one function of NVML; its address is 0 where this driver lacks it.
type proc struct {
	address dl.Func
	symbol  string
}

// api holds every function of NVML that is used here.
type api struct {
	init, errorString, systemGetDriverVersion, deviceGetHandleByUUID, deviceGetCount, deviceGetHandleByIndex proc
	getUUID, getPCIInfo, getMemoryInfo, getMIGMode, getECCMode                                               proc

	getTemperature, getClockInfo, getMaxClockInfo, getClocksEventReasons                               proc
	getPowerUsage, getEnforcedPowerLimit, getTotalEnergyConsumption                                    proc
	getComputeRunningProcesses, getPersistenceMode, getComputeMode, setLockedClocks, resetLockedClocks proc
}

// bind looks every function up under the newest of its names that the library
// has. The structures of those names are the same.
func (a *api) bind(library *dl.Library) {
	for _, s := range []struct {
		at    *proc
		names []string
	}{
		{&a.init, []string{"nvmlInit_v2"}},
		{&a.errorString, []string{"nvmlErrorString"}},
		{&a.systemGetDriverVersion, []string{"nvmlSystemGetDriverVersion"}},
		{&a.deviceGetHandleByUUID, []string{"nvmlDeviceGetHandleByUUID"}},
		{&a.deviceGetCount, []string{"nvmlDeviceGetCount_v2"}},
		{&a.deviceGetHandleByIndex, []string{"nvmlDeviceGetHandleByIndex_v2"}},

		{&a.getUUID, []string{"nvmlDeviceGetUUID"}},
		{&a.getPCIInfo, []string{"nvmlDeviceGetPciInfo_v3"}},
		{&a.getMemoryInfo, []string{"nvmlDeviceGetMemoryInfo"}},
		{&a.getMIGMode, []string{"nvmlDeviceGetMigMode"}},
		{&a.getECCMode, []string{"nvmlDeviceGetEccMode"}},

		{&a.getTemperature, []string{"nvmlDeviceGetTemperature"}},
		{&a.getClockInfo, []string{"nvmlDeviceGetClockInfo"}},
		{&a.getMaxClockInfo, []string{"nvmlDeviceGetMaxClockInfo"}},
		{&a.getClocksEventReasons, []string{"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}},
		{&a.getPowerUsage, []string{"nvmlDeviceGetPowerUsage"}},
		{&a.getEnforcedPowerLimit, []string{"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"}},
		{&a.getTotalEnergyConsumption, []string{"nvmlDeviceGetTotalEnergyConsumption"}},
		{&a.getComputeRunningProcesses, []string{"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}},
		{&a.getPersistenceMode, []string{"nvmlDeviceGetPersistenceMode"}},
		{&a.getComputeMode, []string{"nvmlDeviceGetComputeMode"}},
		{&a.setLockedClocks, []string{"nvmlDeviceSetGpuLockedClocks"}},
		{&a.resetLockedClocks, []string{"nvmlDeviceResetGpuLockedClocks"}},
	} {
		s.at.symbol = s.names[0]
		for _, name := range s.names {
			if address, err := library.Lookup(name); err == nil {
				*s.at = proc{address, name}
				break
			}
		}
	}
}
