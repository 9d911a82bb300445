// Package cubin reads the output of NVIDIA's compilers: cubins, which are ELF files of device code,
// and the fat binaries that host code embeds. It needs no driver.
package cubin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
// it is, and must for as long as the file is used.
func Open(image []byte) (*elf.File, error) {
	if err := check(image); err != nil {
		return nil, err
	}
	header := [headerSize]byte(image)
	binary.LittleEndian.PutUint32(header[versionAt:], uint32(elf.EV_CURRENT))
	file, err := elf.NewFile(&reader{header, image})
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

// reader reads an image with another header.
type reader struct {
	header [headerSize]byte
	image  []byte
}

func (r *reader) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 || at >= int64(len(r.image)) {
		return 0, io.EOF
	}
	n := copy(p, r.image[at:])
	if at < headerSize {
		copy(p[:n], r.header[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
