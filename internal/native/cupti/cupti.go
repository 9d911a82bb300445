// Package cupti lists the kernels that ran on a device, whoever launched them,
// by CUPTI's activity records. libcupti is part of the CUDA toolkit, not of the
// driver; it is loaded at run time, without cgo.
//
//	tracer, err := cupti.Open()
//	err = tracer.Start()
//	// launch, and wait for the device
//	kernels, err := tracer.Stop()
//
// CUPTI calls back from threads of its own. There is one Tracer in a process, and its hooks stay
// installed: time launches in another process.
package cupti

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"pawl/internal/native/dl"
)

// minVersion is the API of CUDA 12.0; older records are laid out otherwise.
const minVersion = 18

// Kernel is one that ran.
type Kernel struct {
	Name   string // its symbol
	Stream uint32 // CUPTI's number of it
}

// Tracer is the loaded library.
type Tracer struct {
	enable, disable, flush, next, words dl.Func

	mu      sync.Mutex
	buffers map[uintptr][]byte // that CUPTI is filling
	kernels []Kernel
	failed  error
}

// opened is the process's tracer: its callbacks can be registered once.
var opened struct {
	sync.Mutex
	tracer *Tracer
}

// Open loads CUPTI: the shared object or folder that PAWL_CUPTI names, else what
// the dynamic linker finds, else a toolkit's.
func Open() (*Tracer, error) {
	opened.Lock()
	defer opened.Unlock()
	if opened.tracer != nil {
		return opened.tracer, nil
	}
	t, err := open(libraries())
	if err == nil {
		opened.tracer = t
	}
	return t, err
}

func open(candidates []string) (*Tracer, error) {
	library, err := dl.OpenFirst(candidates...)
	if err != nil {
		return nil, fmt.Errorf("find CUPTI: %w", err)
	}
	t := &Tracer{buffers: map[uintptr][]byte{}}
	var version, register dl.Func
	for _, s := range []struct {
		at   *dl.Func
		name string
	}{
		{&version, "cuptiGetVersion"},
		{&register, "cuptiActivityRegisterCallbacks"},
		{&t.words, "cuptiGetResultString"},
		{&t.enable, "cuptiActivityEnable"},
		{&t.disable, "cuptiActivityDisable"},
		{&t.flush, "cuptiActivityFlushAll"},
		{&t.next, "cuptiActivityGetNextRecord"},
	} {
		if *s.at, err = library.Lookup(s.name); err != nil {
			return nil, fmt.Errorf("%s is not CUPTI: %w", library.Path(), err)
		}
	}
	var number uint32
	if err := t.call("cuptiGetVersion", version, uintptr(unsafe.Pointer(&number))); err != nil {
		return nil, err
	}
	if number < minVersion {
		return nil, fmt.Errorf("%s has API version %d; CUDA 12.0 has %d", library.Path(), number, minVersion)
	}
	if err := t.call("cuptiActivityRegisterCallbacks", register, purego.NewCallback(t.requested), purego.NewCallback(t.completed)); err != nil {
		return nil, err
	}
	return t, nil
}

// libraries returns where CUPTI is looked for.
func libraries() []string {
	names := []string{"libcupti.so.13", "libcupti.so.12"}
	if named := os.Getenv("PAWL_CUPTI"); named != "" {
		if info, err := os.Stat(named); err != nil || !info.IsDir() {
			return []string{named}
		}
		return []string{filepath.Join(named, names[0]), filepath.Join(named, names[1])}
	}
	found := slices.Clone(names)
	homes := []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda"}
	more, _ := filepath.Glob("/usr/local/cuda-1[2-9]*") // fails for a bad pattern only
	for _, home := range append(homes, more...) {
		if home == "" {
			continue
		}
		for _, folder := range []string{"extras/CUPTI/lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib64"} {
			for _, name := range names {
				path := filepath.Join(home, folder, name)
				if _, err := os.Stat(path); err == nil {
					found = append(found, path)
				}
			}
		}
	}
	return found
}

const (
	kindKernel           = 3  // CUPTI_ACTIVITY_KIND_KERNEL
	kindConcurrentKernel = 10 // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
	flushForced          = 1  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
	limitReached         = 12 // CUPTI_ERROR_MAX_LIMIT_REACHED: no more records
)

// Start begins to record the kernels that are launched from now on.
func (t *Tracer) Start() error {
	t.mu.Lock()
	t.kernels, t.failed = nil, nil
	t.mu.Unlock()
	return t.call("cuptiActivityEnable", t.enable, kindConcurrentKernel)
}

// Stop ends that and returns what ran, in the order in which CUPTI tells it. The
// device must be idle: records of running kernels are lost.
func (t *Tracer) Stop() ([]Kernel, error) {
	flushed := t.call("cuptiActivityFlushAll", t.flush, flushForced)
	disabled := t.call("cuptiActivityDisable", t.disable, kindConcurrentKernel)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, err := range []error{flushed, disabled, t.failed} {
		if err != nil {
			return nil, err
		}
	}
	return t.kernels, nil
}

//go:uintptrescapes
func (t *Tracer) call(name string, f dl.Func, args ...uintptr) error {
	code := uint32(f.Call(args...))
	if code == 0 {
		return nil
	}
	var text *byte
	if t.words == 0 || uint32(t.words.Call(uintptr(code), uintptr(unsafe.Pointer(&text)))) != 0 || text == nil {
		return fmt.Errorf("%s: CUPTI error %d", name, code)
	}
	return fmt.Errorf("%s: %s", name, dl.GoString(text))
}

const bufferSize = 1 << 20

// requested gives CUPTI memory for records. It is not Go's: CUPTI keeps it.
func (t *Tracer) requested(buffer, size, most uintptr) uintptr {
	memory, err := unix.Mmap(-1, 0, bufferSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	t.mu.Lock()
	defer t.mu.Unlock()
	address := dl.Address(memory)
	if err != nil {
		t.failed = fmt.Errorf("memory for records of kernels: %w", err)
	} else {
		t.buffers[address] = memory
	}
	**(**uintptr)(unsafe.Pointer(&buffer)) = address
	**(**uintptr)(unsafe.Pointer(&size)) = uintptr(len(memory))
	**(**uintptr)(unsafe.Pointer(&most)) = 0 // as many as fit
	return 0
}

// completed takes the records out of a buffer that CUPTI gives back.
func (t *Tracer) completed(_, _, buffer, _, valid uintptr) uintptr {
	t.mu.Lock()
	defer t.mu.Unlock()
	memory, ours := t.buffers[buffer]
	if !ours {
		return 0
	}
	delete(t.buffers, buffer)
	defer func() { _ = unix.Munmap(memory) }()
	if valid > uintptr(len(memory)) {
		t.failed = fmt.Errorf("%d bytes of records in a buffer of %d", valid, len(memory))
		return 0
	}
	var record uintptr
	for valid > 0 {
		code := uint32(t.next.Call(buffer, valid, uintptr(unsafe.Pointer(&record))))
		if code == limitReached {
			break
		}
		if code != 0 || record < buffer || record >= buffer+valid {
			t.failed = fmt.Errorf("cuptiActivityGetNextRecord: CUPTI error %d", code)
			break
		}
		if k, ok := parse(memory[record-buffer : valid]); ok {
			t.kernels = append(t.kernels, k)
		}
	}
	return 0
}
