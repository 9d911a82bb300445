package cuda

import "pawl/internal/native/dl"

// api holds every function of the driver that is used here.
type api struct {
	init, driverGetVersion, getErrorName, getErrorString proc

	deviceGet, deviceGetCount, deviceGetName, deviceGetUUID, deviceGetPCIBusID, deviceGetAttribute, deviceTotalMem proc

	primaryCtxRetain, primaryCtxRelease, ctxSetCurrent, ctxSynchronize, ctxSetLimit, ctxGetLimit, ctxResetPersistingL2 proc

	moduleLoadDataEx, moduleUnload, moduleGetFunction, moduleGetFunctionCount, moduleEnumerateFunctions, moduleGetGlobal proc

	funcGetName, funcGetParamInfo, funcGetAttribute, funcSetAttribute, maxActiveBlocks, maxActiveClusters, launchKernelEx proc

	memAlloc, memFree, memGetInfo, memsetD8Async, memsetD32Async           proc
	memcpyHtoDAsync, memcpyDtoHAsync, memcpyDtoDAsync                      proc
	memHostAlloc, memHostGetDevicePointer, memFreeHost, tensorMapEncode    proc
	streamCreate, streamDestroy, streamSynchronize, streamQuery            proc
	streamWaitEvent, streamBeginCapture, streamEndCapture                  proc
	streamGetAttribute, streamSetAttribute                                 proc
	eventCreate, eventDestroy, eventRecord, eventSynchronize, eventQuery   proc
	eventElapsedTime                                                       proc
	graphInstantiate, graphLaunch, graphUpload, graphDestroy, graphExecEnd proc
}

// symbol says where a function is kept, what the library calls it, and since
// when it has it if a supported driver may lack it.
type symbol struct {
	at    *proc
	name  string
	since int
}

func (a *api) symbols() []symbol {
	return []symbol{
		{&a.driverGetVersion, "cuDriverGetVersion", 0},
		{&a.init, "cuInit", 0},
		{&a.getErrorName, "cuGetErrorName", 0},
		{&a.getErrorString, "cuGetErrorString", 0},

		{&a.deviceGet, "cuDeviceGet", 0},
		{&a.deviceGetCount, "cuDeviceGetCount", 0},
		{&a.deviceGetName, "cuDeviceGetName", 0},
		{&a.deviceGetUUID, "cuDeviceGetUuid_v2", 0},
		{&a.deviceGetPCIBusID, "cuDeviceGetPCIBusId", 0},
		{&a.deviceGetAttribute, "cuDeviceGetAttribute", 0},
		{&a.deviceTotalMem, "cuDeviceTotalMem_v2", 0},

		{&a.primaryCtxRetain, "cuDevicePrimaryCtxRetain", 0},
		{&a.primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", 0},
		{&a.ctxSetCurrent, "cuCtxSetCurrent", 0},
		{&a.ctxSynchronize, "cuCtxSynchronize", 0},
		{&a.ctxSetLimit, "cuCtxSetLimit", 0},
		{&a.ctxGetLimit, "cuCtxGetLimit", 0},
		{&a.ctxResetPersistingL2, "cuCtxResetPersistingL2Cache", 0},

		{&a.moduleLoadDataEx, "cuModuleLoadDataEx", 0},
		{&a.moduleUnload, "cuModuleUnload", 0},
		{&a.moduleGetFunction, "cuModuleGetFunction", 0},
		{&a.moduleGetFunctionCount, "cuModuleGetFunctionCount", 12040},
		{&a.moduleEnumerateFunctions, "cuModuleEnumerateFunctions", 12040},
		{&a.moduleGetGlobal, "cuModuleGetGlobal_v2", 0},

		{&a.funcGetName, "cuFuncGetName", 12030},
		{&a.funcGetParamInfo, "cuFuncGetParamInfo", 12040},
		{&a.funcGetAttribute, "cuFuncGetAttribute", 0},
		{&a.funcSetAttribute, "cuFuncSetAttribute", 0},
		{&a.maxActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor", 0},
		{&a.maxActiveClusters, "cuOccupancyMaxActiveClusters", 0},
		{&a.launchKernelEx, "cuLaunchKernelEx", 0},

		{&a.memAlloc, "cuMemAlloc_v2", 0},
		{&a.memFree, "cuMemFree_v2", 0},
		{&a.memGetInfo, "cuMemGetInfo_v2", 0},
		{&a.memsetD8Async, "cuMemsetD8Async", 0},
		{&a.memsetD32Async, "cuMemsetD32Async", 0},
		{&a.memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", 0},
		{&a.memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", 0},
		{&a.memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", 0},
		{&a.memHostAlloc, "cuMemHostAlloc", 0},
		{&a.memHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", 0},
		{&a.memFreeHost, "cuMemFreeHost", 0},
		{&a.tensorMapEncode, "cuTensorMapEncodeTiled", 0},

		{&a.streamCreate, "cuStreamCreate", 0},
		{&a.streamDestroy, "cuStreamDestroy_v2", 0},
		{&a.streamSynchronize, "cuStreamSynchronize", 0},
		{&a.streamQuery, "cuStreamQuery", 0},
		{&a.streamWaitEvent, "cuStreamWaitEvent", 0},
		{&a.streamBeginCapture, "cuStreamBeginCapture_v2", 0},
		{&a.streamEndCapture, "cuStreamEndCapture", 0},
		{&a.streamGetAttribute, "cuStreamGetAttribute", 0},
		{&a.streamSetAttribute, "cuStreamSetAttribute", 0},

		{&a.eventCreate, "cuEventCreate", 0},
		{&a.eventDestroy, "cuEventDestroy_v2", 0},
		{&a.eventRecord, "cuEventRecord", 0},
		{&a.eventSynchronize, "cuEventSynchronize", 0},
		{&a.eventQuery, "cuEventQuery", 0},
		{&a.eventElapsedTime, "cuEventElapsedTime", 0},

		{&a.graphInstantiate, "cuGraphInstantiateWithFlags", 0},
		{&a.graphLaunch, "cuGraphLaunch", 0},
		{&a.graphUpload, "cuGraphUpload", 0},
		{&a.graphDestroy, "cuGraphDestroy", 0},
		{&a.graphExecEnd, "cuGraphExecDestroy", 0},
	}
}

// bind looks every function up and returns the names of those that are missing
// and that every supported driver has.
func (a *api) bind(library *dl.Library) (missing []string) {
	for _, s := range a.symbols() {
		address, err := library.Lookup(s.name)
		if err != nil && s.since == 0 {
			missing = append(missing, s.name)
		}
		*s.at = proc{address: address, symbol: s.name, since: s.since}
	}
	return missing
}
