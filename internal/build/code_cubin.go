package build

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/native/cuda/cubin"
)

// cubinHash hashes what a cubin does when loaded: every section except those that only describe,
// the driver's patches to them, the properties of its symbols, and which functions the launches
// name. Where other code looks symbols up by name, as a launcher's host code does, all names count.
func cubinHash(image []byte, launched []string, names bool) (string, error) {
	c, err := openCubin(image)
	if err != nil {
		return "", err
	}
	c.place = func(section uint32) string { return fmt.Sprintf("section %d", c.ordinal(section)) }
	sum := newDigest("pawl cubin 2")
	c.hashHeader(sum, image)
	for i, section := range c.file.Sections {
		if c.ordinals[i] == 0 {
			continue
		}
		if err := c.hashSection(sum, section); err != nil {
			return "", fmt.Errorf("read section %s: %w", section.Name, err)
		}
	}
	sum.add(c.describe(c.symbols, names), c.describe(c.mercury, names))
	if err := c.hashLaunched(sum, launched); err != nil {
		return "", err
	}
	return sum.hex(), nil
}

func openCubin(image []byte) (*cubinCode, error) {
	file, err := cubin.Open(image)
	if err != nil {
		return nil, fmt.Errorf("read the cubin: %w", err)
	}
	c := &cubinCode{file: file, ordinals: make([]int, len(file.Sections))}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("read the cubin: %w", err)
	}
	return c, nil
}

func (c *cubinCode) hashHeader(sum *digest, image []byte) {
	sum.bytes(image[7:9])   // the ABI and its version
	sum.bytes(image[16:32]) // type, machine, version, entry
	sum.bytes(image[48:52]) // e_flags: the architecture
}

// hashLaunched hashes which functions the launches name.
func (c *cubinCode) hashLaunched(sum *digest, launched []string) error {
	for _, name := range launched {
		at := slices.IndexFunc(c.symbols, func(s symbol) bool {
			return s.name == name && elf.ST_TYPE(s.info) == elf.STT_FUNC && s.section != elf.SHN_UNDEF
		})
		if at < 0 {
			return fmt.Errorf("read the cubin: it has no kernel %s", name)
		}
		sum.add(c.target(c.symbols, uint32(at)))
	}
	return nil
}

// Types of sections that NVIDIA added. Those of mercury hold the code a second time, in a form that
// the driver can finish for another GPU of the family, with their own symbol table.
const (
	cudaInfo         elf.SectionType = 0x70000000
	cudaCallgraph    elf.SectionType = 0x70000001
	cudaGlobal       elf.SectionType = 0x70000007
	cudaLocal        elf.SectionType = 0x70000009
	cudaShared       elf.SectionType = 0x7000000a
	cudaReserved     elf.SectionType = 0x70000015
	cudaMercuryText  elf.SectionType = 0x70000016
	cudaMercuryRela  elf.SectionType = 0x70000082
	cudaMercuryInfo  elf.SectionType = 0x70000083
	cudaMercuryTable elf.SectionType = 0x70000085
)

// describesCubin reports whether a section of a cubin only describes: names, notes and debug
// information. The symbols' other properties are hashed separately.
func describesCubin(s *elf.Section) bool {
	switch s.Type {
	case elf.SHT_NULL, elf.SHT_STRTAB, elf.SHT_SYMTAB, elf.SHT_NOTE, cudaMercuryTable:
		return true
	}
	name := strings.TrimPrefix(s.Name, ".nv.merc")
	for _, prefix := range []string{".rela", ".rel"} { // and the relocations of those
		if rest, ok := strings.CutPrefix(name, prefix); ok && strings.HasPrefix(rest, ".") {
			name = rest
			break
		}
	}
	return name == ".comment" || strings.HasPrefix(name, ".debug_") || strings.HasPrefix(name, ".nv_debug_")
}

// cubinCode is a cubin that is being hashed.
type cubinCode struct {
	file      *elf.File
	ordinals  []int // by number of section: its rank among those that count, 0 for the others
	functions []string
	symbols   []symbol
	mercury   []symbol

	place func(section uint32) string // returns the name in the hash of a section that counts
}

func (c *cubinCode) read() error {
	counted := 0
	for i, s := range c.file.Sections {
		if !describesCubin(s) {
			counted++
			c.ordinals[i] = counted
		}
		if name, ok := strings.CutPrefix(s.Name, ".text."); ok {
			c.functions = append(c.functions, name)
		}
		var err error
		switch s.Type {
		case elf.SHT_SYMTAB:
			c.symbols, _, err = readSymbols(c.file, s)
		case cudaMercuryTable:
			c.mercury, _, err = readSymbols(c.file, s)
		}
		if err != nil {
			return fmt.Errorf("its symbols: %w", err)
		}
	}
	if slices.ContainsFunc(slices.Concat(c.symbols, c.mercury), func(s symbol) bool { return s.section == elf.SHN_XINDEX }) {
		return fmt.Errorf("its symbols: it has too many sections")
	}
	return nil
}

// kind returns a section's name with the number of a function in place of its name.
func (c *cubinCode) kind(name string) string {
	best := -1
	for i, function := range c.functions {
		if strings.HasSuffix(name, "."+function) && (best < 0 || len(function) > len(c.functions[best])) {
			best = i
		}
	}
	if best < 0 {
		return name
	}
	return fmt.Sprintf("%s#%d", strings.TrimSuffix(name, c.functions[best]), best)
}

func (c *cubinCode) hashSection(sum *digest, s *elf.Section) error {
	symbols := c.table(s)
	sum.add(c.kind(s.Name), uint64(s.Type), uint64(s.Flags), s.Addr, s.Size, s.Addralign, s.Entsize, uint64(c.ordinal(s.Link)))
	if s.Flags&elf.SHF_EXECINSTR != 0 || s.Type == cudaMercuryText {
		sum.number(uint64(s.Info >> 24)) // registers, where the architecture keeps them there; the rest is the symbol's number
	} else {
		sum.number(uint64(c.ordinal(s.Info)))
	}
	return c.hashContents(sum, s, symbols)
}

// table returns the symbols that the numbers in a section stand for.
func (c *cubinCode) table(s *elf.Section) []symbol {
	if isMercury(s) {
		return c.mercury
	}
	return c.symbols
}

func isMercury(s *elf.Section) bool {
	return strings.HasPrefix(s.Name, ".nv.merc.") || strings.HasPrefix(s.Name, ".nv.capmerc.")
}

// hashContents hashes a section with the symbols that its numbers stand for.
func (c *cubinCode) hashContents(sum *digest, s *elf.Section, symbols []symbol) error {
	switch s.Type {
	case elf.SHT_NOBITS, cudaGlobal, cudaLocal, cudaShared, cudaReserved:
		return nil
	}
	data, err := s.Data()
	if err != nil {
		return err
	}
	switch s.Type {
	case elf.SHT_REL, elf.SHT_RELA, cudaMercuryRela:
		return c.hashRelocations(sum, symbols, data, relocationSize(s))
	case cudaInfo, cudaMercuryInfo:
		c.hashAttributes(sum, symbols, data)
	case cudaCallgraph:
		c.hashCallgraph(sum, symbols, data)
	default:
		sum.bytes(data)
	}
	return nil
}

// ordinal returns the rank of a section by its number, 0 for a section that does not count.
func (c *cubinCode) ordinal(section uint32) int {
	if int64(section) >= int64(len(c.ordinals)) {
		return 0
	}
	return c.ordinals[section]
}

// target returns what a symbol stands for, independent of its number: a place in a section, or a
// name that the driver resolves.
func (c *cubinCode) target(symbols []symbol, number uint32) string {
	if int64(number) >= int64(len(symbols)) {
		return fmt.Sprintf("number %d", number)
	}
	s := symbols[number]
	var home string
	switch {
	case s.section == elf.SHN_UNDEF:
		home = "undefined " + s.name
	case c.ordinal(uint32(s.section)) > 0:
		home = c.place(uint32(s.section))
	case int(s.section) < len(c.file.Sections):
		home = "section " + c.file.Sections[s.section].Name
	default:
		home = fmt.Sprintf("%v", s.section)
	}
	return fmt.Sprintf("%s at %d size %d info %d other %d", home, s.value, s.size, s.info, s.other)
}

// describe lists the symbols of sections that count, in an order of its own.
func (c *cubinCode) describe(symbols []symbol, names bool) []string {
	var lines []string
	for i, s := range symbols {
		if i == 0 || s.section != elf.SHN_UNDEF && s.section < elf.SHN_LORESERVE && c.ordinal(uint32(s.section)) == 0 {
			continue
		}
		line := c.target(symbols, uint32(i))
		if names {
			line += " " + s.name
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// hashRelocations hashes relocations by their targets, in the order of the places that they change:
// symbol numbers, and the order that follows from them, mean nothing.
func (c *cubinCode) hashRelocations(sum *digest, symbols []symbol, data []byte, entry int) error {
	if len(data)%entry != 0 {
		return fmt.Errorf("not a table of relocations")
	}
	for _, e := range byPlace(data, entry, binary.LittleEndian) {
		info := binary.LittleEndian.Uint64(e[8:])
		sum.add(e[:8], info&0xffffffff, c.target(symbols, uint32(info>>32)), e[16:])
	}
	return nil
}

// relocationSize returns the size of one relocation of a section.
func relocationSize(s *elf.Section) int {
	if s.Type == elf.SHT_REL {
		return 16
	}
	return 24
}

func (c *cubinCode) hashAttributes(sum *digest, symbols []symbol, data []byte) {
	attributes, whole := cubin.Attributes(data)
	if !whole {
		sum.bytes(data)
		return
	}
	for _, a := range attributes {
		sum.bytes([]byte{a.Format, a.Code})
		named := namedSymbols(a)
		for i := range named {
			sum.add(c.target(symbols, binary.LittleEndian.Uint32(a.Value[4*i:])))
		}
		sum.bytes(a.Value[4*named:])
	}
}

// namedSymbols returns how many words at the start of an attribute's value are numbers of symbols.
func namedSymbols(a cubin.Attribute) int {
	switch a.Code {
	case cubin.AttributeRegisters, cubin.AttributeFrameSize, cubin.AttributeMinStackSize, cubin.AttributeMaxStackSize, cubin.AttributeParamBank:
		return min(1, len(a.Value)/4)
	case cubin.AttributeExterns:
		return len(a.Value) / 4
	}
	return 0
}

// hashCallgraph hashes the call graph: pairs of symbols, or of 0 and a negative number.
func (c *cubinCode) hashCallgraph(sum *digest, symbols []symbol, data []byte) {
	for ; len(data) >= 4; data = data[4:] {
		sum.add(c.target(symbols, binary.LittleEndian.Uint32(data)))
	}
	sum.bytes(data)
}
