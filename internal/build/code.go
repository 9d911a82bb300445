package build

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// hostCode hashes a shared object that was reduced to its loaded part: every byte.
func hostCode(loaded []byte) string {
	return hashOf("pawl host code 1", loaded)
}

// codeHash hashes what a launcher does when loaded: every section except those that are not loaded
// and only describe, the loader's patches to them, the libraries it needs, and the names it imports
// and exports. The position of sections counts relative to the first one with code or data, since
// code refers to data by distance. Of the packed device code only what runs counts: nvcc's own
// names differ from one build to the next. Its line numbers are packed too, and when they need more
// room they move what follows: then the launcher counts as changed, and is measured.
func codeHash(so []byte) (string, error) {
	file, err := elf.NewFile(bytes.NewReader(so))
	if err != nil {
		return "", fmt.Errorf("read the shared object: %w", err)
	}
	if file.Class != elf.ELFCLASS64 {
		return "", fmt.Errorf("read the shared object: it is not of 64 bits")
	}
	o := &objectCode{file: file}
	if err := o.read(); err != nil {
		return "", fmt.Errorf("read the shared object: %w", err)
	}
	sum := newDigest("pawl code 3")
	flags := uint64(file.ByteOrder.Uint32(so[48:52]))
	sum.add(file.Machine.String(), uint64(file.Type), uint64(file.OSABI), flags)
	for _, p := range file.Progs {
		switch p.Type {
		case elf.PT_NOTE, elf.PT_PHDR, elf.PT_GNU_PROPERTY:
		default:
			sum.add(fmt.Sprint(p.Type, p.Flags)) // whether the stack is executable, say
		}
	}
	base, based := uint64(0), false
	for _, section := range file.Sections {
		if describesObject(section) {
			continue
		}
		sum.add(section.Name, uint64(section.Type), uint64(section.Flags), section.Addralign)
		if section.Flags&elf.SHF_ALLOC != 0 && !o.linking(section) {
			if !based {
				base, based = section.Addr, true
			}
			sum.number(section.Addr - base)
		}
		if err := o.hashContents(sum, section); err != nil {
			return "", fmt.Errorf("read section %s: %w", section.Name, err)
		}
	}
	return sum.hex(), nil
}

// describesObject reports whether a section of a shared object only describes: names, notes, and
// debug information. Everything that is loaded counts, names included: code can read it, and a
// source can put anything into a section of any name and type.
func describesObject(s *elf.Section) bool {
	if s.Flags&elf.SHF_ALLOC != 0 {
		return false
	}
	switch s.Type {
	case elf.SHT_NULL, elf.SHT_NOTE, elf.SHT_STRTAB, elf.SHT_SYMTAB:
		return true
	}
	return slices.Contains([]string{".comment", ".gdb_index", ".GCC.command.line"}, s.Name) ||
		slices.ContainsFunc([]string{".debug_", ".zdebug_", ".gnu_debug"}, func(prefix string) bool { return strings.HasPrefix(s.Name, prefix) })
}

// linking reports whether a section is one of the loader's own tables: it begins where .dynamic
// says. Other sections of these types are the source's data.
func (o *objectCode) linking(s *elf.Section) bool {
	tags, known := loaderTables[s.Type]
	return known && slices.ContainsFunc(tags, func(tag elf.DynTag) bool {
		at, err := o.file.DynValue(tag)
		return err == nil && len(at) == 1 && at[0] == s.Addr
	})
}

// loaderTables are the tables that the loader reads, by the entries of .dynamic that say
// where they are.
var loaderTables = map[elf.SectionType][]elf.DynTag{
	elf.SHT_RELA:        {elf.DT_RELA, elf.DT_JMPREL},
	elf.SHT_DYNSYM:      {elf.DT_SYMTAB},
	elf.SHT_GNU_VERNEED: {elf.DT_VERNEED},
}

// objectCode is a shared object that is being hashed.
type objectCode struct {
	file    *elf.File
	names   []byte   // .dynstr
	symbols []string // every property of the dynamic symbols
}

// symbol is an entry of a symbol table.
type symbol struct {
	name        string
	info, other byte
	section     elf.SectionIndex
	value, size uint64
}

// readSymbols returns the entries of a symbol table, with the string table that has their names.
func readSymbols(file *elf.File, table *elf.Section) (symbols []symbol, names []byte, err error) {
	const entry = 24
	data, err := table.Data()
	if err != nil {
		return nil, nil, err
	}
	if len(data)%entry != 0 || int(table.Link) >= len(file.Sections) {
		return nil, nil, fmt.Errorf("%s is no symbol table", table.Name)
	}
	if names, err = file.Sections[table.Link].Data(); err != nil {
		return nil, nil, err
	}
	order := file.ByteOrder
	for e := range slices.Chunk(data, entry) {
		name, err := stringAt(names, order.Uint32(e))
		if err != nil {
			return nil, nil, err
		}
		symbols = append(symbols, symbol{
			name: name, info: e[4], other: e[5], section: elf.SectionIndex(order.Uint16(e[6:])),
			value: order.Uint64(e[8:]), size: order.Uint64(e[16:]),
		})
	}
	return symbols, names, nil
}

// stringAt returns a string of a string table.
func stringAt(table []byte, at uint32) (string, error) {
	if int64(at) >= int64(len(table)) {
		if at == 0 {
			return "", nil
		}
		return "", fmt.Errorf("a name outside of the names")
	}
	name, _, _ := strings.Cut(string(table[at:]), "\x00")
	return name, nil
}

func (o *objectCode) read() error {
	table := o.file.SectionByType(elf.SHT_DYNSYM)
	if table == nil {
		return nil
	}
	symbols, names, err := readSymbols(o.file, table)
	if err != nil {
		return err
	}
	o.names = names
	var versions []byte
	if s := o.file.SectionByType(elf.SHT_GNU_VERSYM); s != nil {
		if versions, err = s.Data(); err != nil {
			return err
		}
	}
	for i, s := range symbols {
		version := uint16(0) // its number in .gnu.version_r, whose contents count
		if len(versions) >= 2*i+2 {
			version = o.file.ByteOrder.Uint16(versions[2*i:])
		}
		target := "" // where it lies
		switch {
		case s.section == elf.SHN_UNDEF && s.value == 0: // imported
		case s.section != elf.SHN_UNDEF && int(s.section) < len(o.file.Sections):
			home := o.file.Sections[s.section]
			target = fmt.Sprintf("%s+%d", home.Name, s.value-home.Addr)
		default:
			target = fmt.Sprintf("%v+%d", s.section, s.value)
		}
		o.symbols = append(o.symbols, fmt.Sprintf("%s@%d %s %d %d %d", s.name, version, target, s.info, s.other, s.size))
	}
	return nil
}

// place returns an address as a section and a distance from its start: sections move when a
// descriptive one gets longer.
func (o *objectCode) place(address uint64) string {
	for _, s := range o.file.Sections {
		tls := s.Flags&elf.SHF_TLS != 0 && s.Type == elf.SHT_NOBITS // takes no addresses
		if s.Flags&elf.SHF_ALLOC != 0 && !tls && (address >= s.Addr && address-s.Addr < s.Size || address == s.Addr) {
			return fmt.Sprintf("%s+%d", s.Name, address-s.Addr)
		}
	}
	return fmt.Sprint(address)
}

func (o *objectCode) hashContents(sum *digest, s *elf.Section) error {
	if s.Type == elf.SHT_NOBITS {
		sum.number(s.Size)
		return nil
	}
	data, err := s.Data()
	if err != nil {
		return err
	}
	switch linking := o.linking(s); {
	case linking && s.Type == elf.SHT_DYNSYM:
		sum.add(slices.Sorted(slices.Values(o.symbols)))
	case linking && s.Type == elf.SHT_RELA:
		return o.hashRelocations(sum, data)
	case s.Type == elf.SHT_DYNAMIC && s == o.file.SectionByType(elf.SHT_DYNAMIC):
		return o.hashDynamic(sum, data)
	case linking && s.Type == elf.SHT_GNU_VERNEED:
		return o.hashVersions(sum, data)
	case s.Name == ".nv_fatbin" || s.Name == "__nv_relfatbin":
		hashFatbins(sum, data)
	default:
		sum.bytes(data)
	}
	return nil
}

// Relocations whose addend is an address in the object itself.
var relativeTypes = map[elf.Machine][]uint32{
	elf.EM_X86_64:  {uint32(elf.R_X86_64_RELATIVE), uint32(elf.R_X86_64_IRELATIVE)},
	elf.EM_AARCH64: {uint32(elf.R_AARCH64_RELATIVE), uint32(elf.R_AARCH64_IRELATIVE)},
}

// hashRelocations hashes relocations by the names of their symbols and by their targets, in the
// order of the places that they change: symbol numbers, and the order that follows from them, mean
// nothing.
func (o *objectCode) hashRelocations(sum *digest, data []byte) error {
	const entry = 24 // offset, info, addend
	if len(data)%entry != 0 {
		return errors.New("not a table of 64-bit relocations")
	}
	order := o.file.ByteOrder
	for _, e := range byPlace(data, entry, order) {
		info, addend := order.Uint64(e[8:]), order.Uint64(e[16:])
		kind, index := uint32(info), info>>32
		if index >= uint64(max(1, len(o.symbols))) {
			return fmt.Errorf("relocation of symbol %d of %d", index, len(o.symbols))
		}
		symbol := ""
		if index > 0 {
			symbol = o.symbols[index]
		}
		to := fmt.Sprint(addend)
		if slices.Contains(relativeTypes[o.file.Machine], kind) {
			to = o.place(addend)
		}
		sum.add([]string{o.place(order.Uint64(e)), fmt.Sprint(kind), symbol, to})
	}
	return nil
}

// byPlace returns the entries of a table of relocations in the order of the places that they
// change.
func byPlace(data []byte, entry int, order binary.ByteOrder) [][]byte {
	entries := slices.Collect(slices.Chunk(data, entry))
	slices.SortStableFunc(entries, func(a, b []byte) int { return cmp.Compare(order.Uint64(a), order.Uint64(b)) })
	return entries
}

// Entries of .dynamic whose value is a string, and those whose value is an address.
var (
	dynamicStrings   = []elf.DynTag{elf.DT_NEEDED, elf.DT_SONAME, elf.DT_RPATH, elf.DT_RUNPATH, elf.DT_AUXILIARY, elf.DT_FILTER}
	dynamicAddresses = []elf.DynTag{
		elf.DT_PLTGOT, elf.DT_HASH, elf.DT_STRTAB, elf.DT_SYMTAB, elf.DT_RELA, elf.DT_REL, elf.DT_JMPREL, elf.DT_INIT, elf.DT_FINI, elf.DT_INIT_ARRAY,
		elf.DT_FINI_ARRAY, elf.DT_PREINIT_ARRAY, elf.DT_GNU_HASH, elf.DT_VERSYM, elf.DT_VERNEED, elf.DT_VERDEF, elf.DT_TLSDESC_PLT, elf.DT_TLSDESC_GOT,
		36, // DT_RELR
	}
)

// hashDynamic hashes what the loader is told.
func (o *objectCode) hashDynamic(sum *digest, data []byte) error {
	order := o.file.ByteOrder
	for len(data) >= 16 {
		tag, value := elf.DynTag(order.Uint64(data)), order.Uint64(data[8:])
		if tag == elf.DT_NULL {
			break
		}
		sum.number(uint64(tag))
		switch {
		case slices.Contains(dynamicStrings, tag):
			text, err := stringAt(o.names, uint32(min(value, 1<<32-1)))
			if err != nil {
				return err
			}
			sum.add(text)
		case slices.Contains(dynamicAddresses, tag):
			sum.add(o.place(value))
		case tag == elf.DT_STRSZ: // grows with the names
			sum.number(value - uint64(len(o.names)))
		default:
			sum.number(value)
		}
		data = data[16:]
	}
	sum.bytes(data)
	return nil
}

// hashVersions hashes the versions that imported names must have.
func (o *objectCode) hashVersions(sum *digest, data []byte) error {
	const record = 16 // Verneed: version, count, file, first, next; Vernaux: hash, flags, number, name, next
	order := o.file.ByteOrder
	broken := errors.New("not a table of versions")
	for len(data) >= record {
		file, err := stringAt(o.names, order.Uint32(data[4:]))
		if err != nil {
			return err
		}
		sum.add(data[:4], file, data[8:record])
		first, next := uint64(order.Uint32(data[8:])), uint64(order.Uint32(data[12:]))
		for at, left := first, order.Uint16(data[2:]); left > 0; left-- {
			if at > uint64(len(data)) || uint64(len(data))-at < record {
				return broken
			}
			need := data[at : at+record]
			name, err := stringAt(o.names, order.Uint32(need[8:]))
			if err != nil {
				return err
			}
			sum.add(need[:8], name, need[12:])
			step := uint64(order.Uint32(need[12:]))
			if step == 0 && left > 1 {
				return broken
			}
			at += step
		}
		if next == 0 {
			return nil
		}
		if next > uint64(len(data)) || next < record {
			return broken
		}
		data = data[next:]
	}
	return nil
}
