package cell

import (
	"bytes"
	"testing"

	"pawl/internal/native/dl"
	"pawl/internal/result"
)

// A launcher finds every byte of its scalars, and has a table of arguments also where
// it takes none.
func TestSlotsOfALauncher(t *testing.T) {
	long, short := []byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte{9, 10, 11, 12}
	s := &argSet{params: [][]byte{long, short}, buffers: make([]*deviceBuffer, 2)}
	if err := s.fillSlots(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.scalars[:12], append(bytes.Clone(long), short...)) || s.slots[0] != dl.Address(s.scalars) || s.slots[1] != dl.Address(s.scalars[8:]) {
		t.Errorf("%v at %v", s.scalars, s.slots)
	}
	empty := &argSet{}
	if err := empty.fillSlots(); err != nil || len(empty.slots) == 0 {
		t.Errorf("%v, %v", empty.slots, err)
	}
	mapped := &argSet{params: [][]byte{make([]byte, 128)}, buffers: make([]*deviceBuffer, 1)}
	if fault := faultIn(t, mapped.fillSlots()); fault.Cause != result.CauseProtocol {
		t.Errorf("%+v", fault)
	}
}
