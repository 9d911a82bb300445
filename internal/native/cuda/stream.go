package cuda

import "unsafe"

// Stream is a queue of work. The zero Stream, in a launch or a copy, is the
// legacy default stream.
type Stream object

const streamNonBlocking = 1

// NewStream creates a stream that does not wait for the default stream.
func (d *Driver) NewStream() (Stream, error) {
	s := Stream{d: d}
	err := d.call(cuStreamCreate, uintptr(unsafe.Pointer(&s.handle)), streamNonBlocking)
	return s, err
}

// DefaultStream returns the legacy default stream, with methods.
func (d *Driver) DefaultStream() Stream { return Stream{d: d} }

// Handle returns the CUstream, for code that takes one.
func (s Stream) Handle() uintptr { return s.handle }

// Destroy ends the stream once its work is done.
func (s Stream) Destroy() error { return s.d.call(cuStreamDestroy, s.handle) }

// Synchronize waits for all work in the stream.
func (s Stream) Synchronize() error { return s.d.call(cuStreamSynchronize, s.handle) }

// window is a CUaccessPolicyWindow in a CUstreamAttrValue: a range of memory whose
// accesses by the stream's kernels are treated specially in L2.
type window struct {
	base     uintptr
	bytes    uintptr
	hitRatio float32
	hit      int32
	miss     int32
	_        [64 - 28]byte
}

const (
	attributeWindow  = 1 // CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
	accessPersisting = 2 // CU_ACCESS_PROPERTY_PERSISTING
)

// Persists returns how many bytes the stream's launches keep in the part of the L2 that
// is set aside.
func (s Stream) Persists() (uint64, error) {
	var w window
	err := s.d.call(cuStreamGetAttribute, s.handle, attributeWindow, uintptr(unsafe.Pointer(&w)))
	if err != nil || w.hit != accessPersisting && w.miss != accessPersisting {
		return 0, err
	}
	return uint64(w.bytes), nil
}

// ForgetWindow makes the stream's launches treat all memory alike.
func (s Stream) ForgetWindow() error {
	var none window
	return s.d.call(cuStreamSetAttribute, s.handle, attributeWindow, uintptr(unsafe.Pointer(&none)))
}

// EventFlags are those of cuEventCreate.
type EventFlags uint32

// Event is a mark in a stream.
type Event object

// NewEvent creates an event.
func (d *Driver) NewEvent(flags EventFlags) (Event, error) {
	e := Event{d: d}
	err := d.call(cuEventCreate, uintptr(unsafe.Pointer(&e.handle)), uintptr(flags))
	return e, err
}

// Record puts the event into the stream.
func (e Event) Record(s Stream) error { return e.d.call(cuEventRecord, e.handle, s.handle) }

// Elapsed returns the time between two events in milliseconds. It is [NotReady]
// before both have been reached.
func Elapsed(start, end Event) (float32, error) {
	var milliseconds float32
	err := start.d.call(cuEventElapsedTime, uintptr(unsafe.Pointer(&milliseconds)), start.handle, end.handle)
	return milliseconds, err
}
