package cupti

import (
	"encoding/binary"
	"unsafe"

	"pawl/internal/native/dl"
)

// Offsets in CUpti_ActivityKernel5 to CUpti_ActivityKernel10: CUDA 11 to 13 have
// only added to its end.
const (
	kindAt     = 0
	streamAt   = 48
	nameAt     = 104
	recordEnds = 112
)

// parse reads a record, if it is a kernel's.
func parse(record []byte) (Kernel, bool) {
	if len(record) < recordEnds {
		return Kernel{}, false
	}
	switch binary.NativeEndian.Uint32(record[kindAt:]) {
	case kindKernel, kindConcurrentKernel:
	default:
		return Kernel{}, false
	}
	address := uintptr(binary.NativeEndian.Uint64(record[nameAt:]))
	name := "" // CUPTI's string, which it keeps until its end
	if address != 0 {
		name = dl.GoString(*(**byte)(unsafe.Pointer(&address)))
	}
	return Kernel{Name: name, Stream: binary.NativeEndian.Uint32(record[streamAt:])}, true
}
