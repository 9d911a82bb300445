// Package cubin reads the output of NVIDIA's compilers: cubins, which are ELF files of device code,
// and the fat binaries that host code embeds. It needs no driver.
package cubin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// Offsets in a 64-bit ELF header of the fields that Open reads.
const (
	headerSize = 64
	classAt    = 4
	orderAt    = 5
	machineAt  = 18
	versionAt  = 20
)

// Open opens a cubin of any CUDA since 11.0. Those of CUDA 12, but for the newest
// architectures, have the toolkit's number where every other ELF file has a 1, and
// debug/elf refuses them; nothing else about them is forgiven. The image stays as
// it is.
func Open(image []byte) (*elf.File, error) {
	if err := check(image); err != nil {
		return nil, err
	}
	image = bytes.Clone(image)
	binary.LittleEndian.PutUint32(image[versionAt:], uint32(elf.EV_CURRENT))
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("no cubin: %w", err)
	}
	return file, nil
}

func check(image []byte) error {
	switch {
	case !bytes.HasPrefix(image, []byte(elf.ELFMAG)):
		return errors.New("no cubin: not an ELF file")
	case len(image) < headerSize:
		return fmt.Errorf("no cubin: an ELF header of %d bytes", len(image))
	case elf.Class(image[classAt]) != elf.ELFCLASS64 || elf.Data(image[orderAt]) != elf.ELFDATA2LSB:
		return errors.New("no cubin: not of 64 bits, or not little-endian")
	}
	if machine := elf.Machine(binary.LittleEndian.Uint16(image[machineAt:])); machine != elf.EM_CUDA {
		return fmt.Errorf("no cubin: it is for %v", machine)
	}
	if version := binary.LittleEndian.Uint32(image[versionAt:]); version != uint32(elf.EV_CURRENT) && (version < 110 || version > 199) {
		return fmt.Errorf("no cubin: version %d in its header, expected 1, or CUDA's as 129 for 12.9", version)
	}
	return nil
}
