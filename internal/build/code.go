package build

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// hostCode hashes a shared object that was reduced to its loaded part: every byte.
func hostCode(loaded []byte) string {
	sum := newDigest("pawl host code 1")
	sum.bytes(loaded)
	return sum.hex()
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
	sum.field(file.Machine.String())
	sum.number(uint64(file.Type))
	sum.number(uint64(file.OSABI))
	sum.number(uint64(file.ByteOrder.Uint32(so[48:52]))) // e_flags
	for _, p := range file.Progs {
		switch p.Type {
		case elf.PT_NOTE, elf.PT_PHDR, elf.PT_GNU_PROPERTY:
		default:
			sum.field(fmt.Sprint(p.Type, p.Flags)) // whether the stack is executable, say
		}
	}
	base, based := uint64(0), false
	for _, section := range file.Sections {
		if describesObject(section) {
			continue
		}
		sum.field(section.Name)
		sum.number(uint64(section.Type))
		sum.number(uint64(section.Flags))
		sum.number(section.Addralign)
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
	for _, prefix := range []string{".debug_", ".zdebug_", ".gnu_debug"} {
		if strings.HasPrefix(s.Name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{".comment", ".gdb_index", ".GCC.command.line"}, s.Name)
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
	names   []byte // .dynstr
	symbols []objectSymbol
}

// objectSymbol is a dynamic symbol.
type objectSymbol struct {
	name    string
	version uint16 // its number in .gnu.version_r, whose contents count
	target  string // where it lies; "" for an imported one
	info    string // type, binding, visibility, size
}

func (o *objectCode) read() error {
	table := o.file.SectionByType(elf.SHT_DYNSYM)
	if table == nil {
		return nil
	}
	const entry = 24
	data, err := table.Data()
	if err != nil {
		return err
	}
	if len(data)%entry != 0 || int(table.Link) >= len(o.file.Sections) {
		return fmt.Errorf("%s is no symbol table", table.Name)
	}
	if o.names, err = o.file.Sections[table.Link].Data(); err != nil {
		return err
	}
	var versions []byte
	if s := o.file.SectionByType(elf.SHT_GNU_VERSYM); s != nil {
		if versions, err = s.Data(); err != nil {
			return err
		}
	}
	order := o.file.ByteOrder
	for i := 0; len(data) > 0; i, data = i+1, data[entry:] {
		s := objectSymbol{info: fmt.Sprintf("%d %d %d", data[4], data[5], order.Uint64(data[16:]))}
		if s.name, err = stringAt(o.names, order.Uint32(data)); err != nil {
			return err
		}
		if len(versions) >= 2*i+2 {
			s.version = order.Uint16(versions[2*i:])
		}
		value := order.Uint64(data[8:])
		switch section := elf.SectionIndex(order.Uint16(data[6:])); {
		case section == elf.SHN_UNDEF && value == 0:
		case section != elf.SHN_UNDEF && int(section) < len(o.file.Sections):
			home := o.file.Sections[section]
			s.target = fmt.Sprintf("%s+%d", home.Name, value-home.Addr)
		default:
			s.target = fmt.Sprintf("%v+%d", section, value)
		}
		o.symbols = append(o.symbols, s)
	}
	return nil
}

func (s objectSymbol) String() string {
	return fmt.Sprintf("%s@%d %s %s", s.name, s.version, s.target, s.info)
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
		var lines []string
		for _, symbol := range o.symbols {
			lines = append(lines, symbol.String())
		}
		slices.Sort(lines)
		sum.fields(lines)
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
	entries := slices.Collect(slices.Chunk(data, entry))
	slices.SortStableFunc(entries, func(a, b []byte) int { return cmp.Compare(order.Uint64(a), order.Uint64(b)) })
	for _, e := range entries {
		info, addend := order.Uint64(e[8:]), order.Uint64(e[16:])
		kind, index := uint32(info), info>>32
		if index >= uint64(max(1, len(o.symbols))) {
			return fmt.Errorf("relocation of symbol %d of %d", index, len(o.symbols))
		}
		symbol := ""
		if index > 0 {
			symbol = o.symbols[index].String()
		}
		to := fmt.Sprint(addend)
		if slices.Contains(relativeTypes[o.file.Machine], kind) {
			to = o.place(addend)
		}
		sum.fields([]string{o.place(order.Uint64(e)), fmt.Sprint(kind), symbol, to})
	}
	return nil
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
			sum.field(text)
		case slices.Contains(dynamicAddresses, tag):
			sum.field(o.place(value))
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
		sum.bytes(data[:4])
		sum.field(file)
		sum.bytes(data[8:record])
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
			sum.bytes(need[:8])
			sum.field(name)
			sum.bytes(need[12:])
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
