package dl

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

func TestOpenFirstNamesEveryCandidate(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "broken.so")
	if err := os.WriteFile(broken, []byte("not an object"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenFirst("libpawl-none.so.1", broken, "/nonexistent/libpawl-none.so")
	if err == nil {
		t.Fatal("loaded a library that does not exist")
	}
	for _, want := range []string{broken + ": ", "not found: libpawl-none.so.1, /nonexistent/libpawl-none.so"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q: %v", want, err)
		}
	}
}

func TestOpenFirstSkipsWhatIsMissing(t *testing.T) {
	t.Parallel()
	library, err := OpenFirst("libpawl-none.so.1", "libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	if library.Path() != "libc.so.6" {
		t.Errorf("loaded %s", library.Path())
	}
	length, err := library.Lookup("strlen")
	if err != nil {
		t.Fatal(err)
	}
	text := CString("ratchet")
	if got := length.Call(uintptr(unsafe.Pointer(text))); got != 7 {
		t.Errorf("strlen = %d", got)
	}
	if _, err := library.Lookup("no_such_function"); err == nil || !strings.Contains(err.Error(), "no_such_function") {
		t.Errorf("lookup of a missing function: %v", err)
	}
}

// Out parameters are local variables: they must not move with the stack while C
// writes to them.
func TestOutParametersStayInPlace(t *testing.T) {
	t.Parallel()
	end, err := Loaded("strtol")
	if err != nil {
		t.Fatal(err)
	}
	var deep func(n int) int
	deep = func(n int) int {
		if n == 0 {
			runtime.GC()
			return 0
		}
		var pad [256]byte
		var rest *byte
		text := CString("42 left")
		got := int(end.Call(uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(&rest)), 10))
		if left := GoString(rest); got != 42 || left != " left" {
			t.Errorf("strtol = %d, rest %q", got, left)
		}
		runtime.KeepAlive(text)
		return deep(n-1) + int(pad[n%256])
	}
	deep(200)
}

func TestStrings(t *testing.T) {
	t.Parallel()
	if got := GoString(nil); got != "" {
		t.Errorf("nil = %q", got)
	}
	if got := GoString(CString("")); got != "" {
		t.Errorf("empty = %q", got)
	}
	if got := Text([]byte("NVIDIA H200\x00\x00garbage")); got != "NVIDIA H200" {
		t.Errorf("text = %q", got)
	}
	if got := Text([]byte("full")); got != "full" {
		t.Errorf("text without NUL = %q", got)
	}
}
