package space

import (
	"encoding/binary"
	"slices"
)

// Key returns a text that no other point has, for maps.
func (p Point) Key() string {
	key := make([]byte, 0, 2*len(p))
	for _, v := range p {
		key = binary.LittleEndian.AppendUint16(key, v)
	}
	return string(key)
}

// Clone returns a copy.
func (p Point) Clone() Point { return slices.Clone(p) }
