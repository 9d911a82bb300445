// Package cuda is a thin binding of the CUDA driver API: libcuda is loaded at run time, without
// cgo. Each function here is one call of the driver, or a few calls that belong together. The
// package decides nothing.
//
// # Threads
//
// A CUDA context is current on an operating-system thread. All calls on one
// device come from one goroutine that has called [runtime.LockOSThread] and made
// a context current there:
//
//	runtime.LockOSThread()
//	driver, err := cuda.Open()
//	device, err := driver.Device(0)
//	context, err := device.RetainPrimary()
//	err = context.SetCurrent()
//
// Only words of host memory ([HostMemory.Word]) may be touched from elsewhere.
//
// # Addresses
//
// Device addresses are plain numbers ([DevicePtr]); Go neither follows nor frees
// them. Everything that is allocated, created or loaded here lives until it is
// freed, destroyed or unloaded, or until its context ends.
//
// # Errors
//
// A refused call returns an [*Error] with the driver's own name and message; errors.Is compares it
// with a [Code]. Errors of a running kernel show up in a later call, usually the next
// synchronisation. After an error that is [Error.Sticky] nothing works in this process any more.
package cuda
