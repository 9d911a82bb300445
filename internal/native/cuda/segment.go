package cuda

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/native/cuda/cubin"
)

// Variable is a __device__ variable of a cubin.
type Variable struct {
	Name   string
	Offset uint64 // in its segment
	Size   uint64
}

// Segment is the memory that a cubin's variables share: those that start as
// zero, or those with an initial value. Kernels can write to all of it.
type Segment struct {
	Name      string
	Size      uint64
	Variables []Variable // by offset, static ones too
	Managed   []string   // variables that lie elsewhere, where the host can reach them
}

// stoManaged marks a __managed__ variable in its symbol's other byte.
const stoManaged = 0x04

// Segments lists what kernels of a cubin can remember between launches.
// Constant memory, which they can only read, is not in it.
func Segments(image []byte) ([]Segment, error) {
	file, err := cubin.Open(image)
	if err != nil {
		return nil, fmt.Errorf("read the cubin: %w", err)
	}
	symbols, err := file.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("read the cubin's symbols: %w", err)
	}
	var found []Segment
	for number, section := range file.Sections {
		if section.Name != ".nv.global" && section.Name != ".nv.global.init" {
			continue
		}
		s := Segment{Name: section.Name, Size: section.Size}
		for _, symbol := range symbols {
			if int(symbol.Section) != number || elf.ST_TYPE(symbol.Info) != elf.STT_OBJECT || symbol.Size == 0 {
				continue
			}
			if symbol.Value > section.Size || symbol.Size > section.Size-symbol.Value {
				return nil, fmt.Errorf("read the cubin: variable %s does not fit into %s", symbol.Name, section.Name)
			}
			if symbol.Other&stoManaged != 0 {
				s.Managed = append(s.Managed, symbol.Name)
				continue
			}
			s.Variables = append(s.Variables, Variable{symbol.Name, symbol.Value, symbol.Size})
		}
		slices.SortStableFunc(s.Variables, func(a, b Variable) int { return cmp.Compare(a.Offset, b.Offset) })
		found = append(found, s)
	}
	return found, nil
}

// Symbols lists the __device__ and __constant__ variables of a cubin, without those that are
// internal to a translation unit: older NVRTCs bring dozens along.
func Symbols(image []byte) ([]string, error) {
	file, err := cubin.Open(image)
	if err != nil {
		return nil, fmt.Errorf("read the cubin: %w", err)
	}
	symbols, err := file.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("read the cubin's symbols: %w", err)
	}
	var names []string
	for _, symbol := range symbols {
		if int(symbol.Section) >= len(file.Sections) || elf.ST_TYPE(symbol.Info) != elf.STT_OBJECT || symbol.Size == 0 || strings.Contains(symbol.Name, "_INTERNAL_") {
			continue
		}
		if section := file.Sections[symbol.Section].Name; strings.HasPrefix(section, ".nv.global") || section == ".nv.constant3" {
			names = append(names, symbol.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Span is a piece of a module's memory.
type Span struct {
	At    DevicePtr
	Bytes uint64
}

// Locate finds where a loaded module keeps a segment. The driver does not find
// every variable by its name; the others lie where the segment says, as long as
// those it finds do.
func (s Segment) Locate(global func(name string) (DevicePtr, uint64, error)) ([]Span, error) {
	var spans []Span
	var missing []Variable
	bases := map[DevicePtr]bool{}
	var base DevicePtr
	var why error
	for _, v := range s.Variables {
		at, size, err := global(v.Name)
		if err != nil || at == 0 || size == 0 {
			missing, why = append(missing, v), err
			continue
		}
		base = at - DevicePtr(v.Offset)
		bases[base] = true
		spans = append(spans, Span{at, size})
	}
	switch {
	case len(s.Variables) == 0 && len(s.Managed) == 0 && s.Size > 0:
		return nil, fmt.Errorf("%s has %d bytes and no names", s.Name, s.Size)
	case len(bases) == 1:
		last := uint64(0)
		for _, v := range s.Variables {
			last = max(last, v.Offset+v.Size)
		}
		first := s.Variables[0].Offset
		return []Span{{base + DevicePtr(first), last - first}}, nil
	case len(missing) > 0:
		return nil, fmt.Errorf("the driver does not say where %s lies: %w", missing[0].Name, cmp.Or(why, errors.New("it has no address")))
	}
	return spans, nil
}
