package cubin_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"testing"
	"testing/iotest"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/native/cuda/cubin/cubintest"
)

const versionAt = 20 // in an ELF header

func committed(t testing.TB) []byte {
	t.Helper()
	image, err := os.ReadFile("../testdata/globals.cubin")
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// with returns a copy of an image with other bytes in a place.
func with(image []byte, at int, other ...byte) []byte {
	image = bytes.Clone(image)
	copy(image[at:], other)
	return image
}

func TestOpenToolkits(t *testing.T) {
	const source = "__device__ int counter = 3;\n" + `extern "C" __global__ void plain(int *x) { *x = counter++; }`
	for _, toolkit := range cubintest.Toolkits(t) {
		for _, arch := range toolkit.Architectures(t) {
			image := toolkit.Compile(t, arch, source)
			before := bytes.Clone(image)
			file, err := cubin.Open(image)
			if err != nil {
				t.Errorf("%s, %s: %v", toolkit.Name, arch, err)
				continue
			}
			symbols, err := file.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, s := range symbols {
				found = found || s.Name == "plain" && elf.ST_TYPE(s.Info) == elf.STT_FUNC
			}
			if !found || file.Section(".text.plain") == nil || file.Section(".nv.global.init") == nil {
				t.Errorf("%s, %s: %v", toolkit.Name, arch, symbols)
			}
			if !bytes.Equal(image, before) {
				t.Errorf("%s, %s: the image was changed", toolkit.Name, arch)
			}
		}
	}
}

func TestOpenHeaders(t *testing.T) {
	image := committed(t)
	host, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		image []byte
		ok    bool
	}{
		{"as it is", image, true},
		{"CUDA 12.0", with(image, versionAt, 120), true},
		{"CUDA 12.9", with(image, versionAt, 129), true},
		{"CUDA 12.9, its ABI", with(with(image, versionAt, 129), 7, 0x33, 7), true},
		{"version 0", with(image, versionAt, 0), false},
		{"version 2", with(image, versionAt, 2), false},
		{"a large version", with(image, versionAt, 0, 0, 0, 1), false},
		{"another version of ELF", with(image, 6, 2), false},
		{"32 bits", with(image, 4, byte(elf.ELFCLASS32)), false},
		{"big-endian", with(image, 5, byte(elf.ELFDATA2MSB)), false},
		{"another machine", with(image, 18, byte(elf.EM_X86_64)), false},
		{"no ELF", with(image, 0, 'X'), false},
		{"sections beyond the end", with(image, 40, 255, 255, 255), false},
		{"nothing", nil, false},
		{"cut short", image[:63], false},
		{"host code", host, false},
		{"host code, CUDA's version", with(host, versionAt, 129), false},
	} {
		file, err := cubin.Open(test.image)
		if (err == nil) != test.ok || (file == nil) == test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// FuzzOpen: what debug/elf takes for a cubin Open does too, and the other way round
// once the version in the header is 1.
func FuzzOpen(f *testing.F) {
	image := committed(f)
	f.Add([]byte{})
	f.Add(image)
	f.Add(with(image, versionAt, 129))
	f.Add(image[:200])
	f.Fuzz(func(t *testing.T, image []byte) {
		before := bytes.Clone(image)
		file, err := cubin.Open(image)
		if !bytes.Equal(image, before) {
			t.Fatal("the image was changed")
		}
		if len(image) < 64 {
			if err == nil {
				t.Fatal("a cubin without a header")
			}
			return
		}
		version := binary.LittleEndian.Uint32(image[versionAt:])
		plain, other := elf.NewFile(bytes.NewReader(with(image, versionAt, 1, 0, 0, 0)))
		cuda := other == nil && plain.Machine == elf.EM_CUDA && plain.Class == elf.ELFCLASS64 && plain.Data == elf.ELFDATA2LSB &&
			(version == 1 || version >= 110 && version < 200)
		if (err == nil) != cuda {
			t.Fatalf("%v; debug/elf says %v, version %d", err, other, version)
		}
		if err != nil {
			return
		}
		for i, s := range file.Sections {
			if s.SectionHeader != plain.Sections[i].SectionHeader {
				t.Fatalf("section %d is %+v, not %+v", i, s.SectionHeader, plain.Sections[i].SectionHeader)
			}
		}
	})
}

// Sections of a cubin with another version in its header are read as they are.
func TestOpenReads(t *testing.T) {
	image := committed(t)
	old := with(image, versionAt, 129)
	file, err := cubin.Open(old)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range file.Sections {
		if s.Type == elf.SHT_NOBITS || s.Type == elf.SHT_NULL {
			continue
		}
		if err := iotest.TestReader(io.NewSectionReader(s, 0, int64(s.Size)), image[s.Offset:s.Offset+s.Size]); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}
