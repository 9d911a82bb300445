package cell

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"pawl/internal/native/dl"
	"pawl/internal/result"
)

// launcherABI is the version of the functions that build's shim exports.
const launcherABI = 1

// IsHostObject reports whether an image is a shared object, not a cubin: both are ELF.
func IsHostObject(image []byte) bool {
	return len(image) > 20 && bytes.HasPrefix(image, []byte(elf.ELFMAG)) &&
		elf.Machine(binary.LittleEndian.Uint16(image[18:20])) != elf.EM_CUDA
}

// openObject loads a shared object whose shim has the wanted version.
func openObject(path, symbol, kind string, want int32) (*dl.Library, error) {
	lib, err := dl.Open(path)
	if err != nil {
		return nil, result.Faultf(result.CauseNoEntry, "%v", err)
	}
	abi, err := lib.Int32(symbol)
	if err != nil || abi != want {
		return nil, result.Faultf(result.CauseNoEntry, "the shared object has %s ABI %d, this pawl has %d", kind, abi, want).
			WithHint("build it with this version of pawl")
	}
	return lib, nil
}

// openLauncher loads host code that takes a stream.
func openLauncher(path string) (dl.Func, error) {
	lib, err := openObject(path, "pawl_launcher_abi", "launcher", launcherABI)
	if err != nil {
		return 0, err
	}
	launch, err := lib.Lookup("pawl_launch")
	if err != nil {
		return 0, result.Faultf(result.CauseNoEntry, "%v", err)
	}
	return launch, nil
}

// fillSlots lays a problem's parameters out as a launcher reads them.
func (s *argSet) fillSlots() error {
	s.slots = make([]uintptr, len(s.params)+1)
	s.scalars = make([]byte, 8*(len(s.params)+1))
	for i, param := range s.params {
		if s.buffers[i] != nil {
			s.slots[i] = uintptr(s.buffers[i].data())
			continue
		}
		if len(param) > 8 {
			return result.Faultf(result.CauseProtocol, "a launcher is given no tensor maps")
		}
		at := s.scalars[8*i : 8*i+8]
		copy(at, param)
		s.slots[i] = dl.Address(at)
	}
	return nil
}
