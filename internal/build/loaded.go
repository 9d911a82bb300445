package build

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// loadedPart returns a shared object without the parts that are never loaded: names of its own
// functions, comments, debug information, and the section table. Code can read its own file, and
// must not find out there which of two versions with the same code it is.
func loadedPart(so []byte) ([]byte, error) {
	file, err := elf.NewFile(bytes.NewReader(so))
	if err != nil {
		return nil, fmt.Errorf("read the shared object: %w", err)
	}
	const header, entry = 64, 56 // bytes of the file's header, and of a segment's
	table := binary.LittleEndian.Uint64(so[32:])
	kept := []elf.ProgHeader{{Filesz: header}, {Off: table, Filesz: entry * uint64(len(file.Progs))}}
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD {
			kept = append(kept, p.ProgHeader)
		}
	}
	end := uint64(0)
	for _, part := range kept {
		if part.Off > uint64(len(so)) || part.Filesz > uint64(len(so))-part.Off {
			return nil, fmt.Errorf("read the shared object: %d bytes at %d are not there", part.Filesz, part.Off)
		}
		end = max(end, part.Off+part.Filesz)
	}
	out := make([]byte, end)
	for _, part := range kept {
		copy(out[part.Off:part.Off+part.Filesz], so[part.Off:])
	}
	clear(out[24:32]) // where a program would begin
	clear(out[40:48]) // where the table of sections is
	clear(out[58:64]) // how many there are
	return out, nil
}
