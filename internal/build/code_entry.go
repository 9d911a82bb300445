package build

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/pattern"
)

// hashDevice hashes the launched functions of a cubin. If the file has a part that may belong to
// any function, the hash is that of the whole file. WholeFile says why, where the file has other
// kernels. Former is the hash of the whole file in any case: older versions of pawl stored it.
func (a *Artifact) hashDevice(image []byte) (err error) {
	if a.Former, err = cubinHash(image, a.Symbols, false); err != nil {
		return err
	}
	a.Code, err = entryHash(image, a.Symbols)
	if why, ok := errors.AsType[wholeFile](err); ok {
		a.Code = a.Former
		if hasOthers(image, a.Symbols) {
			a.WholeFile = string(why)
		}
		return nil
	}
	return err
}

// hasOthers reports whether a cubin has kernels that are not launched.
func hasOthers(image []byte, launched []string) bool {
	c, err := openCubin(image)
	return err == nil && slices.ContainsFunc(c.symbols, func(s symbol) bool {
		return elf.ST_TYPE(s.info) == elf.STT_FUNC && s.other&kernelFlag != 0 && !slices.Contains(launched, s.name)
	})
}

// wholeFile says why the functions of a cubin cannot be told apart.
type wholeFile string

func (w wholeFile) Error() string { return string(w) }

func wholeFilef(format string, args ...any) error { return wholeFile(fmt.Sprintf(format, args...)) }

// entryHash hashes what the launched functions of a cubin do: their sections, those of every
// function that these refer to, and all sections that belong to no function. The order of functions
// in the file does not count. The error is a wholeFile if the cubin has anything that is not known
// to belong to a function or to all of them.
func entryHash(image []byte, launched []string) (string, error) {
	c, err := openCubin(image)
	if err != nil {
		return "", err
	}
	e := &entryCode{
		cubinCode: c, kinds: make([]string, len(c.file.Sections)), owners: make([]int, len(c.file.Sections)),
		sections: map[int][]int{}, ranks: map[int]int{},
	}
	c.place = e.place
	if err := e.assign(); err != nil {
		return "", err
	}
	sum := newDigest("pawl entry 1")
	c.hashHeader(sum, image)
	for _, i := range e.sections[everyone] {
		if err := e.hashSection(sum, i); err != nil {
			return "", err
		}
	}
	if err := c.hashLaunched(sum, launched); err != nil {
		return "", err
	}
	for at := 0; at < len(e.reached); at++ { // hashing a section may reach more functions
		for _, i := range e.sections[e.reached[at]] {
			if err := e.hashSection(sum, i); err != nil {
				return "", err
			}
		}
	}
	calls, err := e.calls()
	if err != nil {
		return "", err
	}
	records, err := e.records()
	if err != nil {
		return "", err
	}
	sum.add(calls, records, e.describeReached(c.symbols), e.describeReached(c.mercury), uint64(len(e.reached)))
	return sum.hex(), nil
}

// entryCode is a cubin of which some functions are being hashed. A function is known by the number
// of its .text section.
type entryCode struct {
	*cubinCode
	kinds    []string      // by number of section: its name without that of its function
	owners   []int         // by number of section: its function, or everyone
	sections map[int][]int // by function: its sections, in an order that does not depend on the file's
	ranks    map[int]int   // of the functions that are reached
	reached  []int         // by rank
}

// everyone owns the sections that count for every function.
const everyone = 0

// Sections of a function end with its name. The others count for all functions.
var (
	ownedSection  = pattern.New(`^(\.nv\.merc|\.nv\.capmerc)?(\.text|\.nv\.info|\.nv\.constant[0-9]+|\.nv\.constant\.[a-z]+|\.nv\.shared|\.nv\.local)\.`)
	sharedSection = pattern.New(`^(\.nv\.merc)?\.nv\.(global|global\.init|constant[0-9]+|constant\.[a-z]+|info|compat|callgraph|prototype|rel\.action|shared\.reserved\.[0-9]+)$`)
)

// assign finds the owners of all sections that count.
func (e *entryCode) assign() error {
	if e.file.Type != elf.ET_EXEC {
		return wholeFile("the cubin is not linked")
	}
	functions := map[string]int{}
	for i, s := range e.file.Sections {
		if name, ok := strings.CutPrefix(s.Name, ".text."); ok {
			if functions[name] != 0 {
				return wholeFilef("the cubin has two functions %s", name)
			}
			functions[name] = i
		}
	}
	if err := e.checkSymbols(); err != nil {
		return err
	}
	for i, s := range e.file.Sections {
		if e.ordinals[i] > 0 && !relocates(s) {
			if err := e.assignSection(i, s, functions); err != nil {
				return err
			}
		}
	}
	for i, s := range e.file.Sections {
		if e.ordinals[i] > 0 && relocates(s) {
			if err := e.assignRelocations(i, s); err != nil {
				return err
			}
		}
	}
	for i := range e.file.Sections {
		if e.ordinals[i] > 0 {
			e.sections[e.owners[i]] = append(e.sections[e.owners[i]], i)
		}
	}
	for _, own := range e.sections {
		slices.SortStableFunc(own, func(a, b int) int {
			return cmp.Or(cmp.Compare(e.kinds[a], e.kinds[b]), cmp.Compare(e.file.Sections[a].Type, e.file.Sections[b].Type))
		})
	}
	return nil
}

// checkSymbols refuses a second symbol table, as sections do not say which they refer to, and
// symbols of sections that do not exist.
func (e *entryCode) checkSymbols() error {
	tables := map[elf.SectionType]int{}
	for _, s := range e.file.Sections {
		tables[s.Type]++
	}
	if tables[elf.SHT_SYMTAB] > 1 || tables[cudaMercuryTable] > 1 {
		return wholeFile("the cubin has two symbol tables")
	}
	for _, s := range slices.Concat(e.symbols, e.mercury) {
		if s.section < elf.SHN_LORESERVE && int(s.section) >= len(e.file.Sections) {
			return wholeFilef("symbol %q of the cubin has no section", s.name)
		}
	}
	return nil
}

func relocates(s *elf.Section) bool {
	return s.Type == elf.SHT_REL || s.Type == elf.SHT_RELA || s.Type == cudaMercuryRela
}

// assignSection finds the owner of a section by its name, and compares it with the section that the
// header names.
func (e *entryCode) assignSection(i int, s *elf.Section, functions map[string]int) error {
	prefix := ownedSection.FindString(s.Name)
	owner, owned := functions[strings.TrimPrefix(s.Name, prefix)]
	switch {
	case prefix != "" && owned:
		e.kinds[i], e.owners[i] = prefix, owner
	case sharedSection.MatchString(s.Name):
		e.kinds[i], e.owners[i] = s.Name, everyone
	default:
		return wholeFilef("section %s of the cubin is unknown", s.Name)
	}
	symbols := e.table(s)
	switch code := strings.HasSuffix(prefix, ".text."); {
	case e.owners[i] == everyone && s.Info != 0, code != (s.Flags&elf.SHF_EXECINSTR != 0 || s.Type == cudaMercuryText):
		return wholeFilef("section %s of the cubin has an unknown form", s.Name)
	case code: // the header names the function's symbol
		number := s.Info & 0xffffff
		if int64(number) >= int64(len(symbols)) || int(symbols[number].section) != i || prefix+symbols[number].name != s.Name {
			return wholeFilef("section %s of the cubin belongs to another function", s.Name)
		}
	case e.owners[i] != everyone: // the header names the function's code
		if !e.isCode(s.Info, owner) {
			return wholeFilef("section %s of the cubin belongs to another function", s.Name)
		}
	}
	return nil
}

// isCode reports whether a section is the code of a function, in either form.
func (e *entryCode) isCode(section uint32, function int) bool {
	if int64(section) >= int64(len(e.file.Sections)) {
		return false
	}
	name := strings.TrimPrefix(e.file.Sections[section].Name, ".nv.capmerc")
	return name == e.file.Sections[function].Name
}

// assignRelocations gives relocations to the owner of the section that they change.
func (e *entryCode) assignRelocations(i int, s *elf.Section) error {
	if e.ordinal(s.Info) == 0 || relocates(e.file.Sections[s.Info]) {
		return wholeFilef("section %s of the cubin changes an unknown section", s.Name)
	}
	e.kinds[i], e.owners[i] = "relocations of "+e.kinds[s.Info], e.owners[s.Info]
	return nil
}

// place returns the name of a section in the hash. A function gets its number when it is first
// named, and is hashed later.
func (e *entryCode) place(section uint32) string {
	owner := e.owners[section]
	if owner == everyone {
		return e.kinds[section]
	}
	rank, ok := e.ranks[owner]
	if !ok {
		rank = len(e.reached)
		e.ranks[owner], e.reached = rank, append(e.reached, owner)
	}
	return fmt.Sprintf("%s#%d", e.kinds[section], rank)
}

// counts reports whether a section belongs to everyone or to a function that is reached.
func (e *entryCode) counts(section uint32) bool {
	if e.ordinal(section) == 0 {
		return false
	}
	_, reached := e.ranks[e.owners[section]]
	return reached || e.owners[section] == everyone
}

// Sections with records of many functions, of which each function has its own.
func isInfo(kind string) bool { return kind == ".nv.info" || kind == ".nv.merc.nv.info" }

func isCallgraph(kind string) bool { return kind == ".nv.callgraph" || kind == ".nv.merc.nv.callgraph" }

func isPrototypes(kind string) bool {
	return kind == ".nv.prototype" || kind == ".nv.merc.nv.prototype"
}

func (e *entryCode) hashSection(sum *digest, i int) error {
	s, kind := e.file.Sections[i], e.kinds[i]
	sum.add(e.place(uint32(i)), uint64(s.Type), uint64(s.Flags), s.Addr, s.Addralign, s.Entsize)
	if isInfo(kind) || isCallgraph(kind) || isPrototypes(kind) {
		return nil // calls and records
	}
	sum.number(s.Size)
	if strings.HasSuffix(kind, ".text.") && !relocates(s) {
		sum.number(uint64(s.Info >> 24)) // registers, where the architecture keeps them there
	}
	symbols := e.table(s)
	switch {
	case relocates(s):
		if err := e.checkRelocations(i, symbols); err != nil {
			return err
		}
	case s.Type == cudaInfo || s.Type == cudaMercuryInfo:
		if err := e.checkAttributes(s, symbols); err != nil {
			return err
		}
	case s.Type == cudaMercuryText:
		return e.hashMercuryText(sum, i)
	}
	return e.hashContents(sum, s, symbols)
}

// hashMercuryText hashes a function's code in its second form. It begins with the number of the
// section that has the first.
func (e *entryCode) hashMercuryText(sum *digest, i int) error {
	s := e.file.Sections[i]
	data, err := s.Data()
	if err != nil {
		return err
	}
	if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) != int64(e.owners[i]) {
		return wholeFilef("section %s of the cubin has an unknown form", s.Name)
	}
	sum.bytes(data[4:])
	return nil
}

// checkRelocations refuses data that has the address of a function or of something that a function
// owns: any function may call it.
func (e *entryCode) checkRelocations(i int, symbols []symbol) error {
	s := e.file.Sections[i]
	data, err := s.Data()
	if err != nil {
		return err
	}
	size := relocationSize(s)
	for entry := range slices.Chunk(data[:len(data)/size*size], size) {
		number := binary.LittleEndian.Uint64(entry[8:]) >> 32
		if number >= uint64(len(symbols)) {
			return wholeFilef("section %s of the cubin has unknown symbols", s.Name)
		}
		home := uint32(symbols[number].section)
		if e.owners[i] == everyone && e.ordinal(home) > 0 && e.owners[home] != everyone {
			return wholeFilef("data of the cubin points to %s", e.file.Sections[home].Name)
		}
	}
	return nil
}

// attributesWithoutSymbols are the attributes of a function, of those with a size, whose values are
// not numbers of symbols: sizes, and offsets in its code.
var attributesWithoutSymbols = []byte{
	0x05, 0x10, 0x3d, // threads and blocks
	0x17, 0x45, // parameters
	0x1c, 0x1d, 0x25, 0x27, 0x28, 0x29, 0x31, 0x34, 0x39, 0x46, 0x47, 0x57, 0x59, // instructions
	0x1e,             // the size of a stack
	0x36, 0x37, 0x66, // versions
	0x5a, // options for the driver's compiler
}

// checkAttributes refuses attributes of a function that may name other functions.
func (e *entryCode) checkAttributes(s *elf.Section, symbols []symbol) error {
	data, err := s.Data()
	if err != nil {
		return err
	}
	attributes, complete := cubin.Attributes(data)
	if !complete {
		return wholeFilef("section %s of the cubin is unknown", s.Name)
	}
	for _, a := range attributes {
		for i := range namedSymbols(a) {
			if int64(binary.LittleEndian.Uint32(a.Value[4*i:])) >= int64(len(symbols)) {
				return wholeFilef("section %s of the cubin has unknown symbols", s.Name)
			}
		}
		if a.Sized() && namedSymbols(a) == 0 && !slices.Contains(attributesWithoutSymbols, a.Code) {
			return wholeFilef("attribute %#x in section %s of the cubin is unknown", a.Code, s.Name)
		}
	}
	return nil
}

// records lists what .nv.info says about the functions that are reached, and about all.
func (e *entryCode) records() ([]string, error) {
	var lines []string
	for _, i := range e.sections[everyone] {
		s := e.file.Sections[i]
		if !isInfo(e.kinds[i]) {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		attributes, complete := cubin.Attributes(data)
		if !complete {
			return nil, wholeFilef("section %s of the cubin is unknown", s.Name)
		}
		symbols := e.table(s)
		for _, a := range attributes {
			about := "all"
			if a.Sized() {
				if namedSymbols(a) != 1 || len(a.Value) != 8 {
					return nil, wholeFilef("attribute %#x in section %s of the cubin is unknown", a.Code, s.Name)
				}
				number := binary.LittleEndian.Uint32(a.Value)
				counts, err := e.named(s, symbols, number)
				if err != nil {
					return nil, err
				}
				if !counts {
					continue
				}
				about = e.target(symbols, number)
			}
			value := a.Value
			if a.Sized() {
				value = value[4:]
			}
			lines = append(lines, fmt.Sprintf("%s %d %d %x of %s", e.kinds[i], a.Format, a.Code, value, about))
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// named reports whether a symbol counts: that of another function does not.
func (e *entryCode) named(s *elf.Section, symbols []symbol, number uint32) (bool, error) {
	if number == 0 || int64(number) >= int64(len(symbols)) {
		return false, wholeFilef("section %s of the cubin has unknown symbols", s.Name)
	}
	home := symbols[number].section
	return home == elf.SHN_UNDEF || home >= elf.SHN_LORESERVE || e.ordinal(uint32(home)) == 0 || e.counts(uint32(home)), nil
}

// calls lists the calls and the prototypes of the functions that are reached. The call graph is a
// list of pairs, with headings before four kinds of them: calls, functions whose address is taken,
// calls through pointers, and their possible targets.
func (e *entryCode) calls() ([]string, error) {
	const direct = -1
	if e.hasCallees() && !slices.ContainsFunc(e.kinds, isCallgraph) {
		return nil, wholeFile("the cubin has device functions but no call graph")
	}
	var lines []string
	for _, i := range e.sections[everyone] {
		s, kind := e.file.Sections[i], e.kinds[i]
		if !isCallgraph(kind) && !isPrototypes(kind) {
			continue
		}
		pairs, err := e.pairs(s)
		if err != nil {
			return nil, err
		}
		symbols, heading := e.table(s), int32(0)
		for _, pair := range pairs {
			from, to := pair[0], pair[1]
			if isCallgraph(kind) && from == 0 && int32(to) < 0 {
				heading = int32(to)
				continue
			}
			if isCallgraph(kind) && heading != direct {
				return nil, wholeFile("the cubin calls functions through pointers")
			}
			counts, err := e.named(s, symbols, from)
			if err != nil {
				return nil, err
			}
			if !counts {
				continue
			}
			line := fmt.Sprintf("%s %s %d", kind, e.target(symbols, from), to)
			if isCallgraph(kind) {
				known, err := e.named(s, symbols, to)
				if err != nil {
					return nil, err
				}
				if !known {
					return nil, wholeFilef("the cubin calls %s without a relocation", symbols[to].name)
				}
				line = fmt.Sprintf("%s %s calls %s", kind, e.target(symbols, from), e.target(symbols, to))
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// pairs returns the numbers in a section, two by two.
func (e *entryCode) pairs(s *elf.Section) ([][2]uint32, error) {
	data, err := s.Data()
	if err != nil {
		return nil, err
	}
	if len(data)%8 != 0 {
		return nil, wholeFilef("section %s of the cubin is unknown", s.Name)
	}
	var pairs [][2]uint32
	for pair := range slices.Chunk(data, 8) {
		pairs = append(pairs, [2]uint32{binary.LittleEndian.Uint32(pair), binary.LittleEndian.Uint32(pair[4:])})
	}
	return pairs, nil
}

// hasCallees reports whether a function is no kernel.
func (e *entryCode) hasCallees() bool {
	return slices.ContainsFunc(e.symbols, func(s symbol) bool {
		return elf.ST_TYPE(s.info) == elf.STT_FUNC && s.other&kernelFlag == 0 && s.value == 0 && e.ordinal(uint32(s.section)) > 0
	})
}

// kernelFlag marks kernels, in the field other of their symbols.
const kernelFlag = 0x10

// describeReached lists the symbols of sections that count. Undefined ones count where they are
// named.
func (e *entryCode) describeReached(symbols []symbol) []string {
	var lines []string
	for i, s := range symbols {
		if i > 0 && (s.section >= elf.SHN_LORESERVE || s.section != elf.SHN_UNDEF && e.counts(uint32(s.section))) {
			lines = append(lines, e.target(symbols, uint32(i)))
		}
	}
	slices.Sort(lines)
	return lines
}
