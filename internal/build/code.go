package build

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"strings"
)

// codeHash hashes what a shared object does when loaded: the contents of its
// loaded sections, what the loader is told to patch into them, and the
// libraries it needs. Sections that only name or describe are left out, so that
// symbol names, comments, debug information and notes do not count. Imported
// names do: sinf and cosf are called by the same bytes.
func codeHash(so []byte) (string, error) {
	file, err := elf.NewFile(bytes.NewReader(so))
	if err != nil {
		return "", fmt.Errorf("read the shared object: %w", err)
	}
	sum := newDigest("pawl code 1")
	sum.field(file.Machine.String())
	libraries, err := file.ImportedLibraries()
	if err != nil {
		return "", fmt.Errorf("read the needed libraries: %w", err)
	}
	sum.fields(libraries)
	for _, section := range file.Sections {
		if section.Flags&elf.SHF_ALLOC == 0 || descriptive(section) {
			continue
		}
		sum.field(section.Name)
		sum.number(uint64(section.Flags))
		sum.number(section.Size)
		switch section.Type {
		case elf.SHT_NOBITS:
		case elf.SHT_RELA:
			err = hashRelocations(sum, file, section)
		default:
			var data []byte
			if data, err = section.Data(); err == nil {
				sum.bytes(data)
			}
		}
		if err != nil {
			return "", fmt.Errorf("read section %s: %w", section.Name, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// descriptive reports whether a loaded section only serves linking by name,
// unwinding or notes.
func descriptive(s *elf.Section) bool {
	switch s.Type {
	case elf.SHT_NOTE, elf.SHT_DYNSYM, elf.SHT_STRTAB, elf.SHT_HASH, elf.SHT_GNU_HASH, elf.SHT_DYNAMIC,
		elf.SHT_GNU_VERSYM, elf.SHT_GNU_VERNEED, elf.SHT_GNU_VERDEF:
		return true
	}
	return strings.HasPrefix(s.Name, ".eh_frame")
}

// hashRelocations hashes relocations by the name of their symbol: its index
// says nothing.
func hashRelocations(sum *digest, file *elf.File, section *elf.Section) error {
	const entry = 24 // offset, info, addend
	data, err := section.Data()
	if err != nil {
		return err
	}
	if file.Class != elf.ELFCLASS64 || len(data)%entry != 0 {
		return fmt.Errorf("not a table of 64-bit relocations")
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return err
	}
	for ; len(data) > 0; data = data[entry:] {
		info := file.ByteOrder.Uint64(data[8:])
		name := ""
		if index := int(info >> 32); index > 0 { // DynamicSymbols leaves out number 0
			if index > len(symbols) {
				return fmt.Errorf("relocation of symbol %d of %d", index, len(symbols))
			}
			name = symbols[index-1].Name
		}
		sum.bytes(data[:8])
		sum.number(info & 0xffffffff)
		sum.field(name)
		sum.bytes(data[16:entry])
	}
	return nil
}
