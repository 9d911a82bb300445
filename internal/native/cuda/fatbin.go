package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// KernelNames lists the symbols of the kernels that a shared object brings
// along, sorted: what it can launch without loading code from elsewhere. Where
// device code cannot be read, the host's stubs of the kernels stand for it.
func KernelNames(sharedObject []byte) ([]string, error) {
	file, err := elf.NewFile(bytes.NewReader(sharedObject))
	if err != nil {
		return nil, fmt.Errorf("read the shared object: %w", err)
	}
	var names []string
	whole := true
	for _, section := range file.Sections {
		if section.Name != ".nv_fatbin" && section.Name != "__nv_relfatbin" {
			continue
		}
		raw, err := section.Data()
		if err != nil {
			return nil, fmt.Errorf("read the shared object's device code: %w", err)
		}
		found, complete := fatbinKernels(raw)
		names, whole = append(names, found...), whole && complete
	}
	if !whole {
		names = append(names, stubs(file)...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// A fat binary is a header, then entries with a header each.
const (
	fatbinMagic  = 0xba55ed50
	fatbinHeader = 16
	entryHeader  = 64

	kindPTX   = 1
	kindCubin = 2

	packedLZ4  = 0x2000
	packedZstd = 0x8000

	unpackedMost = 1 << 30
)

// fatbinKernels reads a section of fat binaries, and tells whether it understood
// all of them.
func fatbinKernels(section []byte) (names []string, complete bool) {
	complete = true
	magic := binary.LittleEndian.AppendUint32(nil, fatbinMagic)
	for {
		at := bytes.Index(section, magic)
		if at < 0 {
			return names, complete
		}
		section = section[at:]
		if len(section) < fatbinHeader {
			return names, false
		}
		header, size := uint64(binary.LittleEndian.Uint16(section[6:])), binary.LittleEndian.Uint64(section[8:])
		if header < fatbinHeader || size > uint64(len(section)) || header > uint64(len(section))-size {
			return names, false
		}
		found, ok := entryKernels(section[header : header+size])
		names, complete = append(names, found...), complete && ok
		section = section[header+size:]
	}
}

func entryKernels(entries []byte) (names []string, complete bool) {
	complete = true
	for len(entries) > 0 {
		if len(entries) < entryHeader {
			return names, false
		}
		header, size := uint64(binary.LittleEndian.Uint32(entries[4:])), binary.LittleEndian.Uint64(entries[8:])
		if header < entryHeader || size > uint64(len(entries)) || header > uint64(len(entries))-size {
			return names, false
		}
		found, err := codeKernels(entries[:header], entries[header:header+size])
		names, complete = append(names, found...), complete && err == nil
		entries = entries[header+size:]
	}
	return names, complete
}

// codeKernels lists the kernels of one entry.
func codeKernels(header, code []byte) ([]string, error) {
	packed, flags := uint64(binary.LittleEndian.Uint32(header[16:])), binary.LittleEndian.Uint64(header[40:])
	size := binary.LittleEndian.Uint64(header[56:])
	if flags&(packedLZ4|packedZstd) != 0 {
		if packed > uint64(len(code)) || size > unpackedMost {
			return nil, errors.New("sizes that cannot be")
		}
		var err error
		if code = code[:packed]; flags&packedZstd != 0 {
			code, err = unpackZstd(code)
		} else {
			code, err = unpackLZ4(code, int(size))
		}
		if err != nil {
			return nil, err
		}
	}
	switch binary.LittleEndian.Uint16(header) {
	case kindPTX:
		return ptxKernels(code), nil
	case kindCubin:
		return cubinKernels(code)
	}
	return nil, errors.New("code of an unknown kind")
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
	broken := errors.New("LZ4 that ends before its time")
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

var ptxEntry = regexp.MustCompile(`\.entry\s+([A-Za-z_$%][A-Za-z0-9_$]*)`)

func ptxKernels(text []byte) (names []string) {
	for _, match := range ptxEntry.FindAllSubmatch(text, -1) {
		names = append(names, string(match[1]))
	}
	return names
}

// stoEntry marks a kernel, as against a function that kernels call, in its
// symbol's other byte.
const stoEntry = 0x10

func cubinKernels(cubin []byte) ([]string, error) {
	file, err := elf.NewFile(bytes.NewReader(cubin))
	if err != nil {
		return nil, err
	}
	symbols, err := file.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	var names []string
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && s.Other&stoEntry != 0 {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// stubs are the kernels whose launching functions are in the symbol table.
func stubs(file *elf.File) (names []string) {
	symbols, err := file.Symbols()
	if err != nil {
		return nil
	}
	for _, s := range symbols {
		names = append(names, stubOf(s.Name)...)
	}
	return names
}

// stubOf is what the kernel of a stub may be called: _Z24__device_stub__Z5plainPfPf
// launches _Z5plainPf, or plain where that is extern "C".
func stubOf(symbol string) []string {
	const stub = "__device_stub__"
	before, rest, found := strings.Cut(symbol, stub)
	if !found {
		return nil
	}
	name, _, ok := counted(before[len(strings.TrimRight(before, "0123456789")):] + stub + rest)
	if !ok {
		return nil
	}
	mangled := "_" + strings.TrimPrefix(name, stub)
	if plain, _, ok := counted(strings.TrimPrefix(mangled, "_Z")); ok {
		return []string{mangled, plain}
	}
	return []string{mangled}
}

// counted takes a name with its length before it.
func counted(text string) (name, rest string, ok bool) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	length, err := strconv.Atoi(text[:digits])
	if err != nil || length < 1 || length > len(text)-digits {
		return "", "", false
	}
	return text[digits : digits+length], text[digits+length:], true
}
