package nvrtc

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"unsafe"

	"pawl/internal/native/dl"
)

// Program is what is compiled.
type Program struct {
	Source  string
	Name    string            // in messages, as a file's
	Headers map[string]string // contents by the name that #include uses
	// Options as on a command line, as --gpu-architecture=sm_90a.
	Options []string
	// NameExpressions are kernels and variables to instantiate and keep, as
	// "scale<float, 4>".
	NameExpressions []string
}

// Result is what came of it.
type Result struct {
	CUBIN   []byte            // nothing when the architecture is a virtual one
	Lowered map[string]string // name in the object code, by name expression
	Log     string            // warnings
}

// Compile compiles a program. What does not compile is an [*Error] with the log.
func (l *Library) Compile(p Program) (Result, error) {
	handle, err := l.create(p)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = l.call("DestroyProgram", uintptr(unsafe.Pointer(&handle))) }() // nothing is lost with it
	for _, expression := range p.NameExpressions {
		text := dl.CString(expression)
		if err := l.call("AddNameExpression", handle, uintptr(unsafe.Pointer(text))); err != nil {
			return Result{}, err
		}
	}
	options := cStrings(p.Options)
	failed := l.call("CompileProgram", handle, uintptr(len(p.Options)), uintptr(unsafe.Pointer(unsafe.SliceData(options))))
	runtime.KeepAlive(options)
	log, err := l.output(handle, "GetProgramLog")
	if err != nil && failed == nil {
		return Result{}, err
	}
	if refused := (*Error)(nil); errors.As(failed, &refused) {
		refused.Log = dl.Text(log)
		return Result{}, refused
	}
	result := Result{Log: dl.Text(log), Lowered: make(map[string]string)}
	for _, expression := range p.NameExpressions {
		var lowered *byte
		text := dl.CString(expression)
		if err := l.call("GetLoweredName", handle, uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(&lowered))); err != nil {
			return Result{}, err
		}
		result.Lowered[expression] = dl.GoString(lowered)
	}
	result.CUBIN, err = l.output(handle, "GetCUBIN")
	return result, err
}

func (l *Library) create(p Program) (handle uintptr, err error) {
	includeNames := slices.Sorted(maps.Keys(p.Headers))
	contents := make([]string, len(includeNames))
	for i, name := range includeNames {
		contents[i] = p.Headers[name]
	}
	headers, names := cStrings(contents), cStrings(includeNames)
	source, name := dl.CString(p.Source), dl.CString(p.Name)
	err = l.call("CreateProgram", uintptr(unsafe.Pointer(&handle)), uintptr(unsafe.Pointer(source)), uintptr(unsafe.Pointer(name)),
		uintptr(len(includeNames)), uintptr(unsafe.Pointer(unsafe.SliceData(headers))), uintptr(unsafe.Pointer(unsafe.SliceData(names))))
	return handle, err
}

// output fetches one of the program's outputs, if it has it. A second function gives its size.
func (l *Library) output(handle uintptr, get string) ([]byte, error) {
	var bytes uint64
	if err := l.call(get+"Size", handle, uintptr(unsafe.Pointer(&bytes))); err != nil {
		return nil, err
	}
	if bytes == 0 {
		return nil, nil
	}
	buffer := make([]byte, bytes)
	err := l.call(get, handle, uintptr(unsafe.Pointer(&buffer[0])))
	return buffer, err
}

// cStrings returns a char*[].
func cStrings(texts []string) []*byte {
	pointers := make([]*byte, len(texts))
	for i, text := range texts {
		pointers[i] = dl.CString(text)
	}
	return pointers
}
