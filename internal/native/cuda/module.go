package cuda

import (
	"errors"
	"runtime"
	"unsafe"

	"pawl/internal/native/dl"
)

// Module is device code that was loaded into the current context.
type Module struct {
	// Log is what the driver's compiler had to say while the module was loaded,
	// usually nothing.
	Log string

	d      *Driver
	handle uintptr
}

// CUjit_option numbers, in the order of jitValues.
var jitOptions = [4]uint32{
	5, // CU_JIT_ERROR_LOG_BUFFER
	6, // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
	3, // CU_JIT_INFO_LOG_BUFFER
	4, // CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES
}

// jitValues is a void*[4] in which sizes stand for themselves.
type jitValues struct {
	errors     unsafe.Pointer
	errorsSize uintptr
	info       unsafe.Pointer
	infoSize   uintptr
}

const jitLogSize = 16 << 10

// LoadModule loads a cubin, a fat binary or PTX, which the driver compiles. The
// [*Error] of what does not compile has the compiler's log.
func (d *Driver) LoadModule(image []byte) (*Module, error) {
	terminated := append(append(make([]byte, 0, len(image)+1), image...), 0) // PTX is a C string
	errorLog, infoLog := make([]byte, jitLogSize), make([]byte, jitLogSize)
	options := jitOptions
	values := &jitValues{
		errors: unsafe.Pointer(&errorLog[0]), errorsSize: jitLogSize,
		info: unsafe.Pointer(&infoLog[0]), infoSize: jitLogSize,
	}
	m := &Module{d: d}
	err := d.call(cuModuleLoadDataEx, uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(&terminated[0])),
		uintptr(len(options)), uintptr(unsafe.Pointer(&options)), uintptr(unsafe.Pointer(values)))
	runtime.KeepAlive(values)
	if failed := (*Error)(nil); errors.As(err, &failed) {
		failed.Log = dl.Text(errorLog)
	}
	if err != nil {
		return nil, err
	}
	m.Log = dl.Text(infoLog)
	return m, nil
}

// Unload frees the module, its functions and its globals.
func (m *Module) Unload() error { return m.d.call(cuModuleUnload, m.handle) }

// Function finds a kernel by its name in the object code, a mangled one for C++.
func (m *Module) Function(name string) (Function, error) {
	f := Function{d: m.d}
	text := dl.CString(name)
	err := m.d.call(cuModuleGetFunction, uintptr(unsafe.Pointer(&f.handle)), m.handle, uintptr(unsafe.Pointer(text)))
	return f, err
}

// Global finds a __device__ or __constant__ variable and its size in bytes.
func (m *Module) Global(name string) (DevicePtr, uint64, error) {
	var address DevicePtr
	var bytes uint64
	text := dl.CString(name)
	err := m.d.call(cuModuleGetGlobal, uintptr(unsafe.Pointer(&address)), uintptr(unsafe.Pointer(&bytes)), m.handle,
		uintptr(unsafe.Pointer(text)))
	return address, bytes, err
}
