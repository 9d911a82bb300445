package cubin

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"
)

// A fat binary is a header, then entries with a header each.
const (
	fatbinMagic  = 0xba55ed50
	fatbinHeader = 16
	entryHeader  = 64

	packedLZ4  = 0x2000
	packedZstd = 0x8000

	unpackedMost = 1 << 30
)

// Kind is the kind of code that an entry of a fat binary has.
type Kind uint16

// The kinds that are known.
const (
	KindPTX   Kind = 1
	KindCubin Kind = 2
)

// Entry is one image of a fat binary.
type Entry struct {
	Kind   Kind
	Header []byte // without the sizes
	Code   []byte // unpacked
	Err    error  // why there is no Code
}

// Section is a section of fat binaries, as .nv_fatbin.
type Section struct {
	Entries []Entry
	Rest    []byte // all that is in no entry, without sizes
	Whole   bool   // it could be read to its end
}

// ReadSection reads fat binaries that lie one after the other.
func ReadSection(section []byte) Section {
	var s Section
	magic := binary.LittleEndian.AppendUint32(nil, fatbinMagic)
	for {
		at := bytes.Index(section, magic)
		if at < 0 {
			s.Rest, s.Whole = append(s.Rest, section...), true
			return s
		}
		s.Rest, section = append(s.Rest, section[:at]...), section[at:]
		if len(section) < fatbinHeader {
			return s
		}
		header, size := uint64(binary.LittleEndian.Uint16(section[6:])), binary.LittleEndian.Uint64(section[8:])
		if header < fatbinHeader || size > uint64(len(section)) || header > uint64(len(section))-size {
			return s
		}
		s.Rest = append(s.Rest, without(section[:header], 8, 16)...)
		if !s.readEntries(section[header : header+size]) {
			return s
		}
		section = section[header+size:]
	}
}

// readEntries reports whether it could read them to their end.
func (s *Section) readEntries(entries []byte) bool {
	for len(entries) > 0 {
		if len(entries) < entryHeader {
			return false
		}
		header, size := uint64(binary.LittleEndian.Uint32(entries[4:])), binary.LittleEndian.Uint64(entries[8:])
		if header < entryHeader || size > uint64(len(entries)) || header > uint64(len(entries))-size {
			return false
		}
		code, padding, err := unpack(entries[:header], entries[header:header+size])
		s.Entries = append(s.Entries, Entry{
			Kind: Kind(binary.LittleEndian.Uint16(entries)), Header: without(without(entries[:header], 8, 20), 56, 64), Code: code, Err: err,
		})
		s.Rest = append(s.Rest, padding...)
		entries = entries[header+size:]
	}
	return true
}

// without returns a copy of a header with zeros in a place.
func without(header []byte, from, to int) []byte {
	header = bytes.Clone(header)
	clear(header[from:to])
	return header
}

// unpack unpacks the code of one entry.
func unpack(header, code []byte) (unpacked, padding []byte, err error) {
	packed, flags := uint64(binary.LittleEndian.Uint32(header[16:])), binary.LittleEndian.Uint64(header[40:])
	size := binary.LittleEndian.Uint64(header[56:])
	if flags&(packedLZ4|packedZstd) == 0 {
		return code, nil, nil
	}
	if packed > uint64(len(code)) || size > unpackedMost {
		return nil, nil, errors.New("impossible sizes")
	}
	code, padding = code[:packed], code[packed:]
	if flags&packedZstd != 0 {
		unpacked, err = unpackZstd(code)
	} else {
		unpacked, err = unpackLZ4(code, int(size))
	}
	return unpacked, padding, err
}

func unpackZstd(packed []byte) ([]byte, error) {
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(unpackedMost))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return reader.DecodeAll(packed, nil)
}

// unpackLZ4 unpacks one block, as the format has it: literals, then a copy of
// what was written before, again and again.
func unpackLZ4(packed []byte, size int) ([]byte, error) {
	broken := errors.New("LZ4 data that ends too early")
	out := make([]byte, 0, min(size, 1<<20))
	length := func(n int) (int, bool) {
		for more := n == 15; more; {
			if len(packed) == 0 || n > size {
				return 0, false
			}
			more = packed[0] == 255
			n, packed = n+int(packed[0]), packed[1:]
		}
		return n, true
	}
	for len(packed) > 0 {
		token := packed[0]
		packed = packed[1:]
		literals, ok := length(int(token >> 4))
		if !ok || literals > len(packed) || len(out)+literals > size {
			return nil, broken
		}
		out, packed = append(out, packed[:literals]...), packed[literals:]
		if len(packed) == 0 {
			break
		}
		if len(packed) < 2 {
			return nil, broken
		}
		back := int(binary.LittleEndian.Uint16(packed))
		packed = packed[2:]
		match, ok := length(int(token & 15))
		if match += 4; !ok || back == 0 || back > len(out) || len(out)+match > size {
			return nil, broken
		}
		for range match { // the copy may overlap what it makes
			out = append(out, out[len(out)-back])
		}
	}
	return out, nil
}
