package worker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A cell's output is taken only if it is what was requested, and belongs to the worker from then
// on.
func TestKeep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := put("0.bin", "12345678")
	handle, err := os.OpenFile(good, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	sha, err := s.keep(good, 8, false)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256([]byte("12345678")); sha != hex.EncodeToString(sum[:]) {
		t.Errorf("hash %s", sha)
	}
	if _, err := handle.WriteAt([]byte("other"), 0); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(s.output(sha)); err != nil || string(kept) != "12345678" {
		t.Errorf("kept %q, %v", kept, err)
	}
	if err := os.Symlink(put("secret", "12345678"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"too short": put("short", "1234567"), "too long": put("long", "123456789"), "a link": filepath.Join(dir, "link"),
		"a pipe": filepath.Join(dir, "pipe"), "a folder": dir, "nothing": filepath.Join(dir, "nothing"),
	} {
		if _, err := s.keep(path, 8, false); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// Old outputs are removed when there are too many; the newest few stay whatever their size.
func TestKeptOutputsAreBounded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for i := range 20 {
		sha := string(rune('a' + i))
		if err := os.WriteFile(filepath.Join(s.outputs()[i%len(s.outputs())], sha), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.remember(sha, keptBytes)
	}
	left := 0
	for _, folder := range s.outputs() {
		found, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		left += len(found)
	}
	if _, err := os.Stat(s.output("t")); err != nil || left != keptAlways {
		t.Errorf("%d left, %v", left, err)
	}
}

// Large outputs are hashed and copied in parts, or moved from a cell that runs no foreign code; the
// result is the same.
func TestKeepLargeOutputs(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	size := 5*hashedPart/2 + 3
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	names := map[string]bool{}
	for _, alone := range []bool{false, true} {
		path := filepath.Join(s.dir, "left")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		sha, err := s.keep(path, int64(size), alone)
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := os.ReadFile(s.output(sha)); err != nil || !bytes.Equal(kept, data) {
			t.Errorf("alone %v: %d bytes are other ones, %v", alone, len(kept), err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("alone %v: the cell's file is still there", alone)
		}
		names[sha] = true
	}
	data[size-1]++
	path := filepath.Join(s.dir, "left")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	sha, err := s.keep(path, int64(size), true)
	if names[sha] = true; err != nil || len(names) != 2 {
		t.Errorf("%d names of two contents, %v", len(names), err)
	}
}

func TestWhatIsDeviceCode(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	elf := func(machine byte) []byte {
		return append([]byte("\x7fELF\x02\x01\x01"), append(make([]byte, 11), append([]byte{machine}, make([]byte, 60)...)...)...)
	}
	for name, test := range map[string]struct {
		image []byte
		want  bool
	}{
		"cubin": {elf(190), true}, "shared object": {elf(62), false}, "short": {[]byte("\x7fELF"), false}, "nothing": {nil, false},
	} {
		sum := sha256.Sum256([]byte(name))
		sha := hex.EncodeToString(sum[:])
		if err := os.WriteFile(s.path(sha), test.image, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.isDeviceCode(sha); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A cell's output in memory stays there, is found, and is removed with the worker; so are the
// outputs of a killed worker.
func TestOutputsInMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	if s.quick == "" {
		s.close()
		t.Skip("no tmpfs with room at " + memoryFolder)
	}
	path := filepath.Join(s.quick, "left")
	if err := os.WriteFile(path, []byte("12345678"), 0o600); err != nil {
		t.Fatal(err)
	}
	sha, err := s.keep(path, 8, true)
	if err != nil {
		t.Fatal(err)
	}
	if kept := s.output(sha); filepath.Dir(kept) != s.outputs()[1] {
		t.Errorf("kept at %s", kept)
	}
	s.held.Close() // as if it had been killed
	other, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.quick); err == nil {
		t.Error("what a dead worker left in memory is still there")
	}
	if _, err := os.Stat(s.dir); err != nil {
		t.Error("a living worker's folder was swept")
	}
	other.close()
	if _, err := os.Stat(other.quick); err == nil {
		t.Error("what a worker left in memory is still there")
	}
	s.close()
}

// Between its last answer and the next request a cell may have ended, and its scratch with it: the
// request says how, a missing folder would not.
func TestOutputsOfACellThatHasEnded(t *testing.T) {
	c := &child{scratch: filepath.Join(t.TempDir(), "gone")}
	if _, err := c.outputFolder(problem{}); err != nil {
		t.Errorf("%v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.scratch = file
	if _, err := c.outputFolder(problem{}); err == nil {
		t.Error("made a folder below a file")
	}
}

// A cell that was killed after its answer has left no outputs, and is no cheat. One that removes them
// itself is.
func TestOutputsThatAreGone(t *testing.T) {
	t.Parallel()
	of := problem{args: []wire.Arg{{Name: "y", Buffer: true, Role: "out", DType: "f32", Count: 4}}}
	for _, killed := range []bool{true, false} {
		c := startFamily(t, "sleep 600 >/dev/null &")
		c.leaves = filepath.Join(t.TempDir(), "outputs")
		if killed {
			_ = c.proc.Kill()
		}
		s := &server{store: &store{dir: t.TempDir()}}
		_, err := s.collect(c, of, []wire.Left{{Arg: 0}})
		fault, ok := errors.AsType[*result.Fault](err)
		if !ok || (fault.Cause == result.CauseForged) == killed {
			t.Errorf("killed %t: %v", killed, err)
		}
	}
}
