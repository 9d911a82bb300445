package cuda

import "unsafe"

// Context is a device's primary context, the one that the CUDA runtime and
// frameworks in this process share.
type Context struct {
	device Device
	handle uintptr
}

// RetainPrimary creates the primary context, or joins it. It is not yet current.
func (v Device) RetainPrimary() (Context, error) {
	var handle uintptr
	err := v.d.call(cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(&handle)), uintptr(v.handle))
	return Context{v, handle}, err
}

// Release gives the context back. With the last release it ends, and all that
// was made in it.
func (c Context) Release() error {
	return c.device.d.call(cuDevicePrimaryCtxRelease, uintptr(c.device.handle))
}

// SetCurrent makes the context current on the calling thread.
func (c Context) SetCurrent() error {
	return c.device.d.call(cuCtxSetCurrent, c.handle)
}

// Synchronize waits for all work in the current context and reports what failed
// in it.
func (d *Driver) Synchronize() error { return d.call(cuCtxSynchronize) }

// StartProfiler makes a profiler that this process runs under look at what is launched from here on.
// Without a profiler it does nothing.
func (d *Driver) StartProfiler() error { return d.call(cuProfilerStart) }

// StopProfiler makes it look away again.
func (d *Driver) StopProfiler() error { return d.call(cuProfilerStop) }

// Limit is a CUlimit.
type Limit int32

// LimitPersistingL2 is the part of the L2 that a context sets aside, in bytes.
const LimitPersistingL2 Limit = 6

// Limit asks for a limit of the current context.
func (d *Driver) Limit(l Limit) (uint64, error) {
	var value uint64
	err := d.call(cuCtxGetLimit, uintptr(unsafe.Pointer(&value)), uintptr(l))
	return value, err
}

// SetLimit requests a limit for the current context. The driver may round it;
// [Driver.Limit] says what came of it.
func (d *Driver) SetLimit(l Limit, value uint64) error {
	return d.call(cuCtxSetLimit, uintptr(l), uintptr(value))
}

// ResetPersistingL2 makes all lines that are set aside in L2 ordinary ones.
func (d *Driver) ResetPersistingL2() error { return d.call(cuCtxResetPersistingL2Cache) }
