// Package nvrtc is a thin binding of NVIDIA's run-time compiler, loaded at run time and without
// cgo. It compiles CUDA C++ to machine code and needs neither driver nor GPU. It decides nothing;
// the caller chooses architecture and headers in the options. Its calls may come from any thread.
package nvrtc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"pawl/internal/native/dl"
)

// ErrNoNVRTC says that no NVRTC could be loaded.
var ErrNoNVRTC = errors.New("no NVRTC")

// Error is a call that NVRTC refused.
type Error struct {
	Op   string // NVRTC's function, as nvrtcCompileProgram
	Code int    // an nvrtcResult
	Name string // NVRTC_ERROR_COMPILATION
	Log  string // what the compiler said, if it came to that
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s (%d)", e.Op, e.Name, e.Code)
	if e.Log != "" {
		text += ":\n" + strings.TrimRight(e.Log, "\n")
	}
	return text
}

// Library is a loaded NVRTC.
type Library struct {
	path      string
	functions map[string]dl.Func // by name, without the nvrtc that all begin with
}

var functions = []string{
	"GetErrorString", "Version", "CreateProgram", "DestroyProgram", "AddNameExpression", "CompileProgram",
	"GetProgramLogSize", "GetProgramLog", "GetCUBINSize", "GetCUBIN", "GetLoweredName",
}

// Open loads NVRTC from the first place that has it: the given files, or folders
// (and their lib and lib64), then CUDA_HOME and CUDA_PATH, then wherever the
// dynamic linker finds it, then /usr/local/cuda. In each place the newest comes
// first.
func Open(paths ...string) (*Library, error) {
	library, err := dl.OpenFirst(candidates(paths)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoNVRTC, err)
	}
	l := &Library{path: library.Path(), functions: map[string]dl.Func{}}
	for _, name := range functions {
		if l.functions[name], err = library.Lookup("nvrtc" + name); err != nil {
			return nil, fmt.Errorf("%w: %s is too old or not NVRTC: it has no nvrtc%s", ErrNoNVRTC, library.Path(), name)
		}
	}
	if err := l.loadBuiltins(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoNVRTC, err)
	}
	return l, nil
}

// loadBuiltins loads the library that NVRTC will look for by name when it
// compiles: it does not search its own folder.
func (l *Library) loadBuiltins() error {
	if !strings.Contains(l.path, "/") {
		return nil // the dynamic linker knew the one and will know the other
	}
	major, minor, err := l.Version()
	if err != nil {
		return err
	}
	file := filepath.Join(filepath.Dir(l.path), fmt.Sprintf("libnvrtc-builtins.so.%d.%d", major, minor))
	if _, err := os.Stat(file); err != nil {
		return nil // it may be elsewhere; compiling will tell
	}
	_, err = dl.Open(file)
	return err
}

// names are NVRTC's sonames, newest first, and what a development package links
// to one of them.
var names = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}

// candidates lists the files to try. In folders only those that exist, to keep
// the error readable.
func candidates(paths []string) []string {
	var files []string
	inFolder := func(folder string) {
		for _, sub := range []string{"", "lib64", "lib"} {
			for _, name := range names {
				file := filepath.Join(folder, sub, name)
				if _, err := os.Stat(file); err == nil {
					files = append(files, file)
				}
			}
		}
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			inFolder(path)
		} else {
			files = append(files, path)
		}
	}
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if home := os.Getenv(variable); home != "" {
			inFolder(home)
		}
	}
	files = append(files, names...)
	inFolder("/usr/local/cuda")
	return files
}

// Path returns the file, or the name, under which NVRTC was loaded.
func (l *Library) Path() string { return l.path }

// Version returns the CUDA version of this NVRTC.
func (l *Library) Version() (major, minor int, err error) {
	var version [2]int32
	err = l.call("Version", uintptr(unsafe.Pointer(&version[0])), uintptr(unsafe.Pointer(&version[1])))
	return int(version[0]), int(version[1]), err
}

//go:uintptrescapes
func (l *Library) call(name string, args ...uintptr) error {
	code := int32(l.functions[name].Call(args...))
	if code == 0 {
		return nil
	}
	text := l.functions["GetErrorString"].Call(uintptr(code))
	// The text is a constant inside NVRTC, not on Go's heap.
	return &Error{Op: "nvrtc" + name, Code: int(code), Name: dl.GoString(*(**byte)(unsafe.Pointer(&text)))}
}
