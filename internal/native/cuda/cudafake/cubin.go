package cudafake

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Cubin compiles kernels in C, written with kernel.h, to an image that the fake
// loads and that pawl takes for a cubin: the machine is CUDA, and variables lie in
// .nv.global, .nv.global.init and .nv.constant3 at offsets from there.
func Cubin(t testing.TB, source string) []byte {
	t.Helper()
	if image, ok := cubins.Load(source); ok {
		return image.([]byte)
	}
	raw, err := os.ReadFile(Launcher(t, source))
	if err == nil {
		err = disguise(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	cubins.Store(source, raw)
	return raw
}

// cubins keeps those of this process by their source.
var cubins sync.Map

// Launcher compiles host code that launches kernels in C to a shared object, and
// returns its path. It includes launcher.h.
func Launcher(t testing.TB, source string) string {
	t.Helper()
	headers, library := unpack(t)
	folder := t.TempDir()
	file, object := filepath.Join(folder, "test.c"), filepath.Join(folder, "test.so")
	if err := os.WriteFile(file, []byte("#include \"kernel.h\"\n"+source), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := compile("-I", headers, "-o", object, file, library); err != nil {
		t.Fatal(err)
	}
	return object
}

// unpack returns a folder with the headers and the path of the fake. It skips the test
// where there is no fake.
func unpack(t testing.TB) (headers, library string) {
	t.Helper()
	library, err := Library()
	if err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, sources); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "testdata"), library
}

// disguise makes a cubin of a shared object, in place.
func disguise(image []byte) error {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return fmt.Errorf("disguise a shared object: %w", err)
	}
	table := file.SectionByType(elf.SHT_SYMTAB)
	if table == nil {
		return fmt.Errorf("disguise a shared object: it has no symbols")
	}
	const symbolSize, sectionAt, valueAt = 24, 6, 8 // of an Elf64_Sym
	for at := table.Offset; at < table.Offset+table.Size; at += symbolSize {
		symbol := image[at : at+symbolSize]
		number := int(file.ByteOrder.Uint16(symbol[sectionAt:]))
		if number >= len(file.Sections) {
			continue
		}
		if s := file.Sections[number]; s.Name == ".nv.global" || s.Name == ".nv.global.init" || s.Name == ".nv.constant3" {
			value := file.ByteOrder.Uint64(symbol[valueAt:])
			file.ByteOrder.PutUint64(symbol[valueAt:], value-s.Addr)
		}
	}
	const machineAt = 18 // in an Elf64_Ehdr
	binary.LittleEndian.PutUint16(image[machineAt:], uint16(elf.EM_CUDA))
	return nil
}
