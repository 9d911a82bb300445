package cell

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"pawl/internal/dtype"
	"pawl/internal/native/dl"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

const (
	page     = 4096
	hugePage = 2 << 20
	redZone  = 4096 // bytes before and after every buffer that must stay unchanged
	redByte  = 0xA5
	stagger  = 320 // bytes between the page offsets of neighbouring buffers: equal offsets alias in the store buffer
)

// buffer is one argument in memory: guard page, red zone, data, red zone, guard page. A write just
// outside shows in the red zone; one far outside traps.
type buffer struct {
	arg    wire.Arg
	number int // number of the argument
	dtype  dtype.Type
	mapped []byte
	start  int // offset of the data inside mapped
	size   int
	probed bool // populate works here: Linux has it since 5.14

	home  []byte // mapped, while its pages are elsewhere
	place []byte // where the pages are then

	pristine []byte // contents to restore before a launch; inout only

	key   uint64 // of the contents
	steps int    // steps of oracle.Mutate applied to them
	sum   uint64 // wordSum that an input must still have after a launch
}

func newBuffer(index, number int, arg wire.Arg, key uint64) (*buffer, error) {
	t := dtype.Type(arg.DType)
	if !t.Valid() || arg.Count <= 0 || arg.Count > (1<<46)/int64(t.Size()) {
		return nil, result.Faultf(result.CauseProtocol, "argument %s: %d elements of %q", arg.Name, arg.Count, arg.DType)
	}
	if err := oracle.CheckFill(t, fillOf(arg)); err != nil {
		return nil, result.Faultf(result.CauseProtocol, "argument %s: %v", arg.Name, err)
	}
	size := int(arg.Count) * t.Size()
	align := page
	if size >= hugePage {
		align = hugePage // if huge pages depended on luck, the timing would change from run to run
	}
	offset := (index * stagger) % page &^ 63
	length := roundUp(page+align+redZone+offset+size+redZone+page, page)
	mapped, err := unix.Mmap(-1, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, result.Faultf(result.CauseMemory, "cannot map %d bytes for argument %s: %v", length, arg.Name, err)
	}
	base := int(dl.Address(mapped))
	start := roundUp(base+page+redZone, align) - base + offset
	b := &buffer{arg: arg, number: number, dtype: t, mapped: mapped, start: start, size: size}
	if size >= hugePage {
		_ = unix.Madvise(mapped, unix.MADV_HUGEPAGE) // advice: the result is the same without
	}
	tail := roundUp(start+size+redZone, page)
	if err := unix.Mprotect(mapped[:page], unix.PROT_NONE); err == nil {
		err = unix.Mprotect(mapped[tail:], unix.PROT_NONE)
		if err != nil {
			return nil, fmt.Errorf("protect guard page of %s: %w", arg.Name, err)
		}
	}
	b.paintRedZones()
	b.fill(key)
	b.probed = populate(b.inner()) == nil
	return b, nil
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

func (b *buffer) data() []byte { return b.mapped[b.start : b.start+b.size : b.start+b.size] }

// inner returns the memory between the guard pages.
func (b *buffer) inner() []byte { return b.mapped[page:roundUp(b.start+b.size+redZone, page)] }

func (b *buffer) address() uintptr { return dl.Address(b.data()) }

func (b *buffer) before() []byte { return b.mapped[b.start-redZone : b.start] }

func (b *buffer) after() []byte { return b.mapped[b.start+b.size : b.start+b.size+redZone] }

func (b *buffer) paintRedZones() {
	copy(b.before(), untouched)
	copy(b.after(), untouched)
}

// fill gives inputs their generated values and poisons the memory that the kernel must write.
func (b *buffer) fill(key uint64) {
	if b.arg.Role == "out" || b.arg.Role == "scratch" && b.arg.Init == "" {
		oracle.Poison(b.data(), b.dtype)
		return
	}
	oracle.Generate(b.data(), b.dtype, fillOf(b.arg), key)
	b.key, b.steps = key, 0
	switch b.arg.Role {
	case "in":
		b.sum = wordSum(b.data())
	case "inout":
		b.pristine = append(b.pristine[:0], b.data()...)
	}
}

// advance takes an input to a step, from the step before it or from the beginning.
func (b *buffer) advance(step int) {
	if step < b.steps {
		b.fill(b.key)
	}
	for b.steps < step && (b.arg.Role == "in" || b.pristine != nil) {
		b.mutate(b.steps + 1)
	}
}

// mutate changes a few elements of an input, so that no launch finds the contents of another. It
// updates the sum without reading all elements.
func (b *buffer) mutate(step int) {
	if b.pristine != nil {
		oracle.Mutate(b.pristine, b.dtype, fillOf(b.arg), b.key, step)
		b.steps = step
		return
	}
	var words [8]int
	distinct := words[:0]
	for _, place := range oracle.Places(b.key, b.arg.Count, step) {
		if w := int(place) * b.dtype.Size() / 8; !slices.Contains(distinct, w) {
			distinct = append(distinct, w)
		}
	}
	for _, w := range distinct {
		b.sum -= wordAt(b.data(), w)
	}
	oracle.Mutate(b.data(), b.dtype, fillOf(b.arg), b.key, step)
	for _, w := range distinct {
		b.sum += wordAt(b.data(), w)
	}
	b.steps = step
}

// wordSum sums a hash of every word and its index.
func wordSum(data []byte) uint64 {
	sum := uint64(0)
	for w := range (len(data) + 7) / 8 {
		sum += wordAt(data, w)
	}
	return sum
}

func wordAt(data []byte, w int) uint64 {
	var word uint64
	if at := 8 * w; at+8 <= len(data) {
		word = binary.LittleEndian.Uint64(data[at:])
	} else {
		var last [8]byte
		copy(last[:], data[at:])
		word = binary.LittleEndian.Uint64(last[:])
	}
	z := word + (uint64(w)+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	return z ^ z>>31
}

func fillOf(arg wire.Arg) oracle.Fill {
	if arg.Init == "" {
		return oracle.Defaults(dtype.Type(arg.DType))
	}
	return oracle.Fill{Kind: arg.Init, Args: arg.Params}
}

func (b *buffer) restore() {
	if b.pristine != nil {
		copy(b.data(), b.pristine)
	}
}

// trespass describes a write outside the buffer, if there was one.
func (b *buffer) trespass() string {
	for i, zone := range [][]byte{b.before(), b.after()} {
		if !bytes.Equal(zone, untouched) {
			return describeTrespass(b.arg, b.size, i == 0, zone)
		}
	}
	return ""
}

var untouched = bytes.Repeat([]byte{redByte}, redZone)

// describeTrespass says where a kernel has written into the red zone before or after an argument.
func describeTrespass(arg wire.Arg, size int, before bool, zone []byte) string {
	first := slices.IndexFunc(zone, func(v byte) bool { return v != redByte })
	if before {
		return fmt.Sprintf("wrote before the start of argument %s (%d bytes before it)", arg.Name, redZone-first)
	}
	return fmt.Sprintf("wrote past the end of argument %s (byte %d of %d)", arg.Name, size+first, size)
}

// outOfBounds returns the fault of a kernel that wrote outside an argument.
func outOfBounds(what string) error {
	return result.Faultf(result.CauseOutOfBounds, "the kernel %s", what).
		WithHint("check the kernel's index arithmetic, or the argument's shape in pawl.yaml")
}

func (b *buffer) free() { _ = unix.Munmap(b.mapped) }
