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
	err := v.d.call(&v.d.primaryCtxRetain, uintptr(unsafe.Pointer(&handle)), uintptr(v.handle))
	return Context{v, handle}, err
}

// Release gives the context back. With the last release it ends, and all that
// was made in it.
func (c Context) Release() error {
	return c.device.d.call(&c.device.d.primaryCtxRelease, uintptr(c.device.handle))
}

// SetCurrent makes the context current on the calling thread.
func (c Context) SetCurrent() error {
	return c.device.d.call(&c.device.d.ctxSetCurrent, c.handle)
}

// Device returns the device that the context is on.
func (c Context) Device() Device { return c.device }

// Synchronize waits for all work in the current context and reports what failed
// in it.
func (d *Driver) Synchronize() error { return d.call(&d.ctxSynchronize) }

// Limit is a CUlimit.
type Limit int32

// Limits of a context, in bytes.
const (
	LimitStackSize    Limit = 0 // per thread
	LimitMallocHeap   Limit = 2
	LimitPersistingL2 Limit = 6
)

// Limit asks for a limit of the current context.
func (d *Driver) Limit(l Limit) (uint64, error) {
	var value uint64
	err := d.call(&d.ctxGetLimit, uintptr(unsafe.Pointer(&value)), uintptr(l))
	return value, err
}

// SetLimit requests a limit for the current context. The driver may round it;
// [Driver.Limit] says what came of it.
func (d *Driver) SetLimit(l Limit, value uint64) error {
	return d.call(&d.ctxSetLimit, uintptr(l), uintptr(value))
}

// ResetPersistingL2 makes all lines that are set aside in L2 ordinary ones.
func (d *Driver) ResetPersistingL2() error { return d.call(&d.ctxResetPersistingL2) }
