// Package cubintest gives tests real cubins from every CUDA toolkit that PAWL_TOOLKITS names, and
// packs them into fat binaries.
package cubintest

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/native/nvrtc"
)

// Toolkit is an NVRTC with its headers, as pip unpacks them.
type Toolkit struct {
	Name   string // of its folder, as cuda-12.0.140
	Folder string // of its library, for PAWL_NVRTC
}

// Toolkits returns those that PAWL_TOOLKITS names, with colons between them. Where
// it is not set the test skips; where it is, it must name one at least.
func Toolkits(t testing.TB) []Toolkit {
	t.Helper()
	list, set := os.LookupEnv("PAWL_TOOLKITS")
	if !set {
		t.Skip(`no CUDA toolkits: PAWL_TOOLKITS="$(tools/cuda)" installs and names them`)
	}
	var found []Toolkit
	for _, folder := range filepath.SplitList(list) {
		toolkit := Toolkit{Name: filepath.Base(folder)}
		for _, layout := range []string{"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"} {
			if _, err := os.Stat(filepath.Join(folder, layout)); err == nil {
				toolkit.Folder = filepath.Join(folder, layout)
			}
		}
		if toolkit.Folder == "" {
			t.Fatalf("PAWL_TOOLKITS names %s, which has no NVRTC", folder)
		}
		found = append(found, toolkit)
	}
	if len(found) == 0 {
		t.Fatal("PAWL_TOOLKITS is set and names no toolkit")
	}
	return found
}

// Disassembler returns nvdisasm or cuobjdump, which tools/cuda installs beside the toolkits. Where it
// is not there the test skips.
func Disassembler(t testing.TB, name string) string {
	t.Helper()
	for _, folder := range filepath.SplitList(os.Getenv("PAWL_TOOLKITS")) {
		found, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), "disassembler-*", "nvidia", "*", "bin", name))
		if len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Skipf("no %s: PAWL_TOOLKITS=\"$(tools/cuda)\" installs it", name)
	return ""
}

// Architectures returns those that the toolkit compiles for, of three generations. Short tests have one of
// each toolkit: the oldest of an old one, the newest of a new one.
func (k Toolkit) Architectures(t testing.TB) []string {
	t.Helper()
	major, minor, err := k.open(t).Version()
	if err != nil {
		t.Fatal(err)
	}
	old := major == 12 && minor < 8
	switch {
	case testing.Short() && old:
		return []string{"sm_80"}
	case testing.Short():
		return []string{"sm_100"}
	case old:
		return []string{"sm_80", "sm_90a"}
	}
	return []string{"sm_80", "sm_90a", "sm_100"}
}

func (k Toolkit) open(t testing.TB) *nvrtc.Library {
	t.Helper()
	library, err := nvrtc.Open(k.Folder)
	if err != nil {
		t.Fatal(err)
	}
	return library
}

// Compile compiles a source to a cubin, with lines for the debugger as pawl does.
func (k Toolkit) Compile(t testing.TB, arch, source string, options ...string) []byte {
	t.Helper()
	compiled, err := k.open(t).Compile(nvrtc.Program{
		Source: source, Name: "k.cu", Options: slices.Concat([]string{"--gpu-architecture=" + arch, "--std=c++17", "-lineinfo"}, options),
	})
	if err != nil {
		t.Fatalf("%s, %s: %v", k.Name, arch, err)
	}
	return compiled.CUBIN
}

// made has the cubins of CompileOnce.
var made sync.Map

// CompileOnce returns a cubin that Compile has made for this test or for one before it.
func (k Toolkit) CompileOnce(t testing.TB, arch, source string) []byte {
	t.Helper()
	key := [3]string{k.Folder, arch, source}
	image, ok := made.Load(key)
	if !ok {
		image, _ = made.LoadOrStore(key, k.Compile(t, arch, source))
	}
	return bytes.Clone(image.([]byte))
}

// How the code of a fat binary is packed.
const (
	Plain = 0
	LZ4   = 0x2000
	Zstd  = 0x8000
)

// Fatbin wraps code, packed so, as the one entry of a fat binary.
func Fatbin(kind cubin.Kind, packing uint64, code []byte, unpacked int) []byte {
	const fatbinHeader, entryHeader = 16, 64
	entry := make([]byte, entryHeader)
	padded := slices.Concat(code, make([]byte, -len(code)&7))
	binary.LittleEndian.PutUint16(entry, uint16(kind))
	binary.LittleEndian.PutUint32(entry[4:], entryHeader)
	binary.LittleEndian.PutUint64(entry[8:], uint64(len(padded)))
	if packing != Plain {
		binary.LittleEndian.PutUint32(entry[16:], uint32(len(code)))
	}
	binary.LittleEndian.PutUint64(entry[40:], packing)
	binary.LittleEndian.PutUint64(entry[56:], uint64(unpacked))
	header := make([]byte, fatbinHeader)
	binary.LittleEndian.PutUint32(header, 0xba55ed50)
	binary.LittleEndian.PutUint16(header[4:], 1)
	binary.LittleEndian.PutUint16(header[6:], fatbinHeader)
	binary.LittleEndian.PutUint64(header[8:], uint64(len(entry)+len(padded)))
	return slices.Concat(header, entry, padded)
}
