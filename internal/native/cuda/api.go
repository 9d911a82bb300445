package cuda

import "pawl/internal/native/dl"

// proc is a function of the driver.
type proc struct {
	number int // in procs
	symbol string
	since  int // the driver API that brought it, when that is newer than MinVersion
}

// procs are all functions of the driver that are used here.
var procs []*proc

// function declares a function that every supported driver has.
func function(symbol string) *proc { return functionSince(0, symbol) }

// functionSince declares a function that drivers have since a version.
func functionSince(version int, symbol string) *proc {
	p := &proc{number: len(procs), symbol: symbol, since: version}
	procs = append(procs, p)
	return p
}

var (
	cuDriverGetVersion                          = function("cuDriverGetVersion")
	cuInit                                      = function("cuInit")
	cuGetErrorName                              = function("cuGetErrorName")
	cuGetErrorString                            = function("cuGetErrorString")
	cuDeviceGet                                 = function("cuDeviceGet")
	cuDeviceGetCount                            = function("cuDeviceGetCount")
	cuDeviceGetName                             = function("cuDeviceGetName")
	cuDeviceGetUUID                             = function("cuDeviceGetUuid_v2")
	cuDeviceGetAttribute                        = function("cuDeviceGetAttribute")
	cuDeviceTotalMem                            = function("cuDeviceTotalMem_v2")
	cuDevicePrimaryCtxRetain                    = function("cuDevicePrimaryCtxRetain")
	cuDevicePrimaryCtxRelease                   = function("cuDevicePrimaryCtxRelease_v2")
	cuCtxSetCurrent                             = function("cuCtxSetCurrent")
	cuCtxSynchronize                            = function("cuCtxSynchronize")
	cuCtxSetLimit                               = function("cuCtxSetLimit")
	cuCtxGetLimit                               = function("cuCtxGetLimit")
	cuCtxResetPersistingL2Cache                 = function("cuCtxResetPersistingL2Cache")
	cuModuleLoadDataEx                          = function("cuModuleLoadDataEx")
	cuModuleUnload                              = function("cuModuleUnload")
	cuModuleGetFunction                         = function("cuModuleGetFunction")
	cuModuleGetGlobal                           = function("cuModuleGetGlobal_v2")
	cuFuncGetParamInfo                          = functionSince(12040, "cuFuncGetParamInfo")
	cuFuncGetAttribute                          = function("cuFuncGetAttribute")
	cuFuncSetAttribute                          = function("cuFuncSetAttribute")
	cuOccupancyMaxActiveBlocksPerMultiprocessor = function("cuOccupancyMaxActiveBlocksPerMultiprocessor")
	cuLaunchKernelEx                            = function("cuLaunchKernelEx")
	cuMemAlloc                                  = function("cuMemAlloc_v2")
	cuMemFree                                   = function("cuMemFree_v2")
	cuMemGetInfo                                = function("cuMemGetInfo_v2")
	cuMemsetD8Async                             = function("cuMemsetD8Async")
	cuMemsetD32Async                            = function("cuMemsetD32Async")
	cuMemcpyHtoDAsync                           = function("cuMemcpyHtoDAsync_v2")
	cuMemcpyDtoHAsync                           = function("cuMemcpyDtoHAsync_v2")
	cuMemcpyDtoDAsync                           = function("cuMemcpyDtoDAsync_v2")
	cuMemHostAlloc                              = function("cuMemHostAlloc")
	cuMemHostGetDevicePointer                   = function("cuMemHostGetDevicePointer_v2")
	cuTensorMapEncodeTiled                      = function("cuTensorMapEncodeTiled")
	cuStreamCreate                              = function("cuStreamCreate")
	cuStreamDestroy                             = function("cuStreamDestroy_v2")
	cuStreamSynchronize                         = function("cuStreamSynchronize")
	cuStreamBeginCapture                        = function("cuStreamBeginCapture_v2")
	cuStreamEndCapture                          = function("cuStreamEndCapture")
	cuStreamGetAttribute                        = function("cuStreamGetAttribute")
	cuStreamSetAttribute                        = function("cuStreamSetAttribute")
	cuEventCreate                               = function("cuEventCreate")
	cuEventRecord                               = function("cuEventRecord")
	cuEventElapsedTime                          = function("cuEventElapsedTime")
	cuGraphInstantiateWithFlags                 = function("cuGraphInstantiateWithFlags")
	cuGraphLaunch                               = function("cuGraphLaunch")
	cuGraphUpload                               = function("cuGraphUpload")
	cuGraphDestroy                              = function("cuGraphDestroy")
	cuGraphExecDestroy                          = function("cuGraphExecDestroy")
	cuProfilerStart                             = function("cuProfilerStart")
	cuProfilerStop                              = function("cuProfilerStop")
)

func (d *Driver) address(p *proc) dl.Func { return d.addresses[p.number] }

// bind looks every function up and returns the names of those that are missing
// and that every supported driver has.
func (d *Driver) bind(library *dl.Library) (missing []string) {
	d.addresses = make([]dl.Func, len(procs))
	for _, p := range procs {
		address, err := library.Lookup(p.symbol)
		if err != nil && p.since == 0 {
			missing = append(missing, p.symbol)
		}
		d.addresses[p.number] = address
	}
	return missing
}
