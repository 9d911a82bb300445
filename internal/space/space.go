// Package space holds what a search goes over: params with their values, and constraints between them.
// A space is never made whole: it is counted, drawn from and walked through as far as somebody asks.
package space

import (
	"encoding/binary"
	"slices"

	"pawl/internal/formula"
)

// Param is one param of a space and the values that it can have, the default first.
type Param struct {
	Name   string
	Values []formula.Value
}

// Point is one value for every param, by its index into Param.Values.
type Point []uint16

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
