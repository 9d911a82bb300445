package cubin

import "encoding/binary"

// Attribute is one record of a .nv.info section: what a cubin says about a kernel.
type Attribute struct {
	Format byte
	Code   byte
	Value  []byte
}

// Codes of attributes, as cuobjdump -elf lists them (EIATTR_…).
const (
	AttributeParamBank    = 0x0a // symbol of the bank, offset and size of the parameters in it
	AttributeExterns      = 0x0f // symbols
	AttributeFrameSize    = 0x11 // symbol, bytes
	AttributeMinStackSize = 0x12 // symbol, bytes
	AttributeParam        = 0x17 // a parameter: number, offset, size
	AttributeMaxStackSize = 0x23 // symbol, bytes
	AttributeRegisters    = 0x2f // symbol, registers
)

const sized = 4 // the format with a size before the value; others have two bytes

// Sized reports whether the value has a size of its own. Other values have at most two bytes.
func (a Attribute) Sized() bool { return a.Format == sized }

// Attributes reads a .nv.info section, and reports whether it is one to its end.
func Attributes(section []byte) ([]Attribute, bool) {
	var found []Attribute
	for len(section) > 0 {
		if len(section) < 4 {
			return found, false
		}
		a := Attribute{Format: section[0], Code: section[1], Value: section[2:4]}
		if section = section[4:]; a.Format == sized {
			size := int(binary.LittleEndian.Uint16(a.Value))
			if size > len(section) {
				return found, false
			}
			a.Value, section = section[:size], section[size:]
		}
		found = append(found, a)
	}
	return found, true
}
