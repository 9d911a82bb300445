package cuda

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/native/cuda/cubin"
)

// KernelNames lists the symbols of the kernels that a shared object brings
// along, sorted: what it can launch without loading code from elsewhere. Where
// device code cannot be read, the host's stubs of the kernels stand for it.
func KernelNames(sharedObject []byte) ([]string, error) {
	file, err := elf.NewFile(bytes.NewReader(sharedObject))
	if err != nil {
		return nil, fmt.Errorf("read the shared object: %w", err)
	}
	var names []string
	whole := true
	for _, section := range file.Sections {
		if section.Name != ".nv_fatbin" && section.Name != "__nv_relfatbin" {
			continue
		}
		raw, err := section.Data()
		if err != nil {
			return nil, fmt.Errorf("read the shared object's device code: %w", err)
		}
		found, complete := fatbinKernels(raw)
		names, whole = append(names, found...), whole && complete
	}
	if !whole {
		names = append(names, stubs(file)...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// fatbinKernels reads a section of fat binaries, and reports whether it understood
// all of them.
func fatbinKernels(section []byte) (names []string, complete bool) {
	read := cubin.ReadSection(section)
	complete = read.Whole
	for _, entry := range read.Entries {
		found, err := entryKernels(entry)
		names, complete = append(names, found...), complete && err == nil
	}
	return names, complete
}

func entryKernels(entry cubin.Entry) ([]string, error) {
	switch {
	case entry.Err != nil:
		return nil, entry.Err
	case entry.Kind == cubin.KindPTX:
		return ptxKernels(entry.Code), nil
	case entry.Kind == cubin.KindCubin:
		return cubinKernels(entry.Code)
	}
	return nil, errors.New("code of an unknown kind")
}

var ptxEntry = regexp.MustCompile(`\.entry\s+([A-Za-z_$%][A-Za-z0-9_$]*)`)

func ptxKernels(text []byte) (names []string) {
	for _, match := range ptxEntry.FindAllSubmatch(text, -1) {
		names = append(names, string(match[1]))
	}
	return names
}

// stoEntry marks a kernel, as against a function that kernels call, in its
// symbol's other byte.
const stoEntry = 0x10

func cubinKernels(image []byte) ([]string, error) {
	file, err := cubin.Open(image)
	if err != nil {
		return nil, err
	}
	symbols, err := file.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	var names []string
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && s.Other&stoEntry != 0 {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// stubs returns the kernels whose launching functions are in the symbol table.
func stubs(file *elf.File) (names []string) {
	symbols, err := file.Symbols()
	if err != nil {
		return nil
	}
	for _, s := range symbols {
		names = append(names, stubOf(s.Name)...)
	}
	return names
}

// stubOf returns what the kernel of a stub may be called: _Z24__device_stub__Z5plainPfPf
// launches _Z5plainPf, or plain where that is extern "C".
func stubOf(symbol string) []string {
	const stub = "__device_stub__"
	before, rest, found := strings.Cut(symbol, stub)
	if !found {
		return nil
	}
	name, _, ok := counted(before[len(strings.TrimRight(before, "0123456789")):] + stub + rest)
	if !ok {
		return nil
	}
	mangled := "_" + strings.TrimPrefix(name, stub)
	if plain, _, ok := counted(strings.TrimPrefix(mangled, "_Z")); ok {
		return []string{mangled, plain}
	}
	return []string{mangled}
}

// counted takes a name with its length before it.
func counted(text string) (name, rest string, ok bool) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	length, err := strconv.Atoi(text[:digits])
	if err != nil || length < 1 || length > len(text)-digits {
		return "", "", false
	}
	return text[digits : digits+length], text[digits+length:], true
}
