// Package dl loads shared objects and calls their functions without cgo.
package dl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// Library is a loaded shared object. It is never unloaded: code that ran once
// may have left threads and handlers behind.
type Library struct {
	handle uintptr
	path   string
}

// Open loads the shared object at path with all its symbols resolved.
func Open(path string) (*Library, error) {
	handle, err := dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("load shared object: %w", err)
	}
	return &Library{handle, path}, nil
}

// OpenFirst loads the first candidate that can be loaded. A name without a
// slash is searched for as the dynamic linker does. The error names every
// candidate, and why those that exist were refused.
func OpenFirst(candidates ...string) (*Library, error) {
	var absent, refused []string
	for _, candidate := range candidates {
		library, err := Open(candidate)
		if err == nil {
			return library, nil
		}
		reason := errors.Unwrap(err).Error()
		if strings.HasPrefix(reason, candidate+": cannot open shared object file: No such file") {
			absent = append(absent, candidate)
		} else {
			refused = append(refused, candidate+": "+strings.TrimPrefix(reason, candidate+": "))
		}
	}
	if len(absent) > 0 {
		refused = append(refused, "not found: "+strings.Join(absent, ", "))
	}
	return nil, fmt.Errorf("load shared object: %s", strings.Join(refused, "; "))
}

// Path returns the name under which the library was loaded.
func (l *Library) Path() string { return l.path }

// Loaded finds a function in any library that is already loaded, libc among
// them.
func Loaded(name string) (Func, error) {
	address, err := dlsym(purego.RTLD_DEFAULT, name)
	return Func(address), err
}

// Func is the address of a C function.
type Func uintptr

// Lookup finds an exported function.
func (l *Library) Lookup(name string) (Func, error) {
	address, err := dlsym(l.handle, name)
	return Func(address), err
}

// Int32 reads an exported C int.
func (l *Library) Int32(name string) (int32, error) {
	address, err := dlsym(l.handle, name)
	if err != nil {
		return 0, err
	}
	// The address comes from the dynamic linker, not from Go's heap.
	return **(**int32)(unsafe.Pointer(&address)), nil
}

// Call calls f with integer or pointer arguments and returns its integer result.
// A Go variable whose address is taken in the argument list itself, as
// uintptr(unsafe.Pointer(&v)), stays alive and in place until f returns.
//
//go:uintptrescapes
func (f Func) Call(args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(uintptr(f), args...)
	return result
}

// Address returns the address of memory that the garbage collector does not move or
// free while C uses it: mapped by the system, or kept alive by the caller.
func Address[T byte | uintptr](memory []T) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
}

// CString is s as C wants it, for as long as the pointer is held.
func CString(s string) *byte { return unsafe.SliceData(append([]byte(s), 0)) }

// GoString copies the C string at p; a nil p is empty.
func GoString(p *byte) string { return unix.BytePtrToString(p) }

// Text returns what a C function wrote into buffer: all that precedes the first NUL.
func Text(buffer []byte) string { return unix.ByteSliceToString(buffer) }

// What went wrong is kept per thread: asking for it on another one gives nothing.

func dlopen(path string, mode int) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, mode)
}

func dlsym(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	address, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", name, err)
	}
	return address, nil
}
