package cudafake

import (
	"strings"
	"unsafe"

	"pawl/internal/native/dl"
)

// Fake is the driver as tests see it from behind.
type Fake struct {
	set, fail, reset dl.Func
	lines, calls     list
}

// list is a list of texts that the driver keeps.
type list struct{ count, at, forget dl.Func }

func bind(library *dl.Library) (*Fake, error) {
	f := new(Fake)
	for name, at := range map[string]*dl.Func{
		"fake_set": &f.set, "fake_fail": &f.fail, "fake_reset": &f.reset,
		"fake_line_count": &f.lines.count, "fake_line": &f.lines.at, "fake_forget_lines": &f.lines.forget,
		"fake_call_count": &f.calls.count, "fake_call": &f.calls.at, "fake_forget_calls": &f.calls.forget,
	} {
		var err error
		if *at, err = library.Lookup(name); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Set changes what the driver is: "version" (13000), "init" (what cuInit returns),
// "devices" (2), "capability" (90), "megabytes" of memory (1024), and what cuInit and
// a context take: "init_ms", "context_ms" (0).
func (f *Fake) Set(name string, value int) {
	text := dl.CString(name)
	if f.set.Call(uintptr(unsafe.Pointer(text)), uintptr(value)) != 0 {
		panic("cudafake: no setting " + name)
	}
}

// Fail makes the nth call of a function of the driver, or of any for "*", return a
// code, once. One that ends a context does.
func (f *Fake) Fail(function string, nth, code int) {
	text := dl.CString(function)
	f.fail.Call(uintptr(unsafe.Pointer(text)), uintptr(nth), uintptr(code))
}

// Reset brings the driver into the state that a new process finds.
func (f *Fake) Reset() { f.reset.Call() }

// Done lists what the devices did since it was last asked, in order: "STREAM fill TO
// VALUE BYTES", "STREAM copy TO FROM BYTES", "STREAM kernel NAME FIRST", "STREAM
// event", "STREAM graph", "reset L2". Numbers other than streams and bytes are
// hexadecimal; FIRST is the kernel's first parameter, where that is eight bytes.
func (f *Fake) Done() []string { return f.lines.take() }

// Calls lists the functions of the driver that were called since it was last asked.
func (f *Fake) Calls() []string { return f.calls.take() }

// take empties a list and returns what was in it.
func (l list) take() []string {
	all := make([]string, int(int32(l.count.Call())))
	for i := range all {
		address := l.at.Call(uintptr(i))
		// The text is C's; it is copied.
		all[i] = strings.Clone(dl.GoString(*(**byte)(unsafe.Pointer(&address))))
	}
	l.forget.Call()
	return all
}
