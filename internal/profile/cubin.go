package profile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/native/cuda/cubin"
)

// Resources are what a compiled kernel needs, as its cubin says.
type Resources struct {
	Kernel    string `json:"kernel"`    // the symbol
	CC        int    `json:"cc"`        // compute capability × 10; 0: not known
	Registers int    `json:"registers"` // per thread
	Shared    int    `json:"shared"`    // static bytes per block
	Stack     int    `json:"stack"`     // bytes of local memory per thread: spilled registers, arrays, frames of calls
	Code      int    `json:"code"`      // bytes
}

// driverShared is what cubins since Hopper count as the kernel's although the driver uses it.
const driverShared = 1024

// ReadCubin returns the resources of every kernel of a cubin, in the order of their symbols.
func ReadCubin(image []byte) ([]Resources, error) {
	file, err := cubin.Open(image)
	if err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	symbols, err := file.Symbols()
	if err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	registers, stack := map[uint32]int{}, map[uint32]int{}
	if section := file.Section(".nv.info"); section != nil {
		data, err := section.Data()
		if err != nil {
			return nil, fmt.Errorf("read cubin: .nv.info: %w", err)
		}
		attributes, _ := cubin.Attributes(data)
		for _, a := range attributes {
			if len(a.Value) < 8 {
				continue
			}
			symbol, value := binary.LittleEndian.Uint32(a.Value), int(binary.LittleEndian.Uint32(a.Value[4:]))
			switch a.Code {
			case cubin.AttributeRegisters:
				registers[symbol] = value
			case cubin.AttributeFrameSize, cubin.AttributeMinStackSize:
				stack[symbol] = max(stack[symbol], value)
			}
		}
	}
	var found []Resources
	for i, symbol := range symbols {
		if elf.ST_TYPE(symbol.Info) != elf.STT_FUNC {
			continue
		}
		text := file.Section(".text." + symbol.Name)
		if text == nil || file.Section(".nv.info."+symbol.Name) == nil {
			continue // a device function
		}
		number := uint32(i + 1) // debug/elf leaves the first symbol, which is empty, out
		r := Resources{Kernel: symbol.Name, CC: archOf(image), Registers: registers[number], Stack: stack[number], Code: int(text.Size)}
		if r.Registers == 0 {
			r.Registers = int(text.Info >> 24) // older cubins have them there, too
		}
		for _, section := range file.Sections {
			if rest, ok := strings.CutPrefix(section.Name, ".nv.shared."); ok && rest == symbol.Name {
				r.Shared += int(section.Size)
			}
		}
		if r.CC >= hopper && r.Shared >= driverShared {
			r.Shared -= driverShared
		}
		found = append(found, r)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("read cubin: there is no kernel in it")
	}
	slices.SortFunc(found, func(a, b Resources) int { return strings.Compare(a.Kernel, b.Kernel) })
	return found, nil
}

// archOf returns the compute capability × 10 that a cubin is for. Before CUDA 13 it stands in the
// lowest byte of the header's flags, since then in the next one.
func archOf(image []byte) int {
	const flagsAt = 48
	flags := binary.LittleEndian.Uint32(image[flagsAt:])
	for _, cc := range []int{int(flags & 0xff), int(flags >> 8 & 0xff)} {
		if _, known := limitsByCC[cc]; known {
			return cc
		}
	}
	return 0
}
