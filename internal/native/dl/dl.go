// Package dl loads shared objects and calls their functions without cgo.
package dl

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Library is a loaded shared object. It is never unloaded: code that ran once
// may have left threads and handlers behind.
type Library struct {
	handle uintptr
	path   string
}

// Open loads the shared object at path with all its symbols resolved.
func Open(path string) (*Library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("load shared object: %w", err)
	}
	return &Library{handle, path}, nil
}

// Loaded finds a function in any library that is already loaded, libc among
// them.
func Loaded(name string) (Func, error) {
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, name)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", name, err)
	}
	return Func(address), nil
}

// Func is the address of a C function.
type Func uintptr

// Lookup finds an exported function.
func (l *Library) Lookup(name string) (Func, error) {
	address, err := purego.Dlsym(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", name, err)
	}
	return Func(address), nil
}

// Int32 reads an exported C int.
func (l *Library) Int32(name string) (int32, error) {
	address, err := purego.Dlsym(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", name, err)
	}
	// The address comes from the dynamic linker, not from Go's heap.
	return **(**int32)(unsafe.Pointer(&address)), nil
}

// Call calls f with integer or pointer arguments and returns its integer result.
func (f Func) Call(args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(uintptr(f), args...)
	return result
}

// Address is the address of memory that the garbage collector does not move or
// free while C uses it: mapped by the system, or kept alive by the caller.
func Address(memory []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(memory))) }

// PointerTable is an array of C pointers outside the Go heap's type system.
func PointerTable(addresses []uintptr) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(addresses)))
}
