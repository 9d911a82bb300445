package cell

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/native/cuda/cudatest"
	"pawl/internal/oracle"
	"pawl/internal/worker/wire"
)

func TestClockOf(t *testing.T) {
	const sms = 3
	stamps := make([]byte, 2*sms*16)
	put := func(which, sm int, clock, nanoseconds uint64) {
		at := stamps[(which*sms+sm)*16:]
		binary.LittleEndian.PutUint64(at, clock)
		binary.LittleEndian.PutUint64(at[8:], nanoseconds)
	}
	if got := clockOf(stamps, sms); got != 0 {
		t.Errorf("without stamps: %g GHz", got)
	}
	put(0, 0, 1000, 500)
	put(1, 0, 3000, 1500) // 2000 cycles in 1000 ns
	put(0, 1, 10, 500)    // this SM was not reached again
	put(1, 2, 10, 500)    // and this one not before
	if got := clockOf(stamps, sms); got != 2 {
		t.Errorf("%g GHz, want 2", got)
	}
	put(1, 1, 5, 400) // a clock that ran backwards is left out
	if got := clockOf(stamps, sms); got != 2 {
		t.Errorf("%g GHz, want 2", got)
	}
}

func TestPoisonWord(t *testing.T) {
	for _, typ := range dtype.All {
		var want [16]byte
		oracle.Poison(want[:], typ)
		var got [16]byte
		binary.LittleEndian.PutUint64(got[:8], poisonWord(typ))
		binary.LittleEndian.PutUint64(got[8:], poisonWord(typ))
		if got != want {
			t.Errorf("%s: %x, want %x", typ, got, want)
		}
	}
}

func TestIsHostObject(t *testing.T) {
	elf := func(machine byte) []byte {
		return append([]byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00"), machine, 0, 1, 0)
	}
	if !IsHostObject(elf(62)) || IsHostObject(elf(190)) || IsHostObject([]byte("text")) || IsHostObject(nil) {
		t.Error("shared objects and cubins are confused")
	}
}

func TestBufferZones(t *testing.T) {
	arg := wire.Arg{Name: "x", DType: "f32", Buffer: true, Count: 1000, Role: "inout"}
	b, err := newBuffer(3, 0, arg, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer b.free()
	if got := b.trespass(); got != "" {
		t.Errorf("untouched: %s", got)
	}
	want := make([]byte, 4000)
	oracle.Generate(want, dtype.F32, oracle.Defaults(dtype.F32), 7)
	if !bytes.Equal(b.data(), want) {
		t.Error("the contents are not the generator's")
	}
	b.data()[17] ^= 1
	b.restore()
	if !bytes.Equal(b.data(), want) {
		t.Error("inout was not restored")
	}
	b.mapped[b.start+b.size+8] = 0
	if got := b.trespass(); got != "wrote past the end of argument x (byte 4008 of 4000)" {
		t.Errorf("past the end: %q", got)
	}
	b.paintRedZones()
	b.mapped[b.start-1] = 0
	if got := b.trespass(); got != "wrote before the start of argument x (1 bytes before it)" {
		t.Errorf("before the start: %q", got)
	}
}

func TestScalars(t *testing.T) {
	slot := make([]byte, 8)
	for _, tc := range []struct {
		dtype, value string
		bits         uint64
		ok           bool
	}{
		{"f32", "0.5", uint64(math.Float32bits(0.5)), true},
		{"f64", "-2.5", math.Float64bits(-2.5), true},
		{"i8", "-1", 0xff, true},
		{"u16", "65535", 0xffff, true},
		{"i64", "-9223372036854775808", 1 << 63, true},
		{"u64", "18446744073709551615", math.MaxUint64, true},
		{"u8", "256", 0, false},
		{"i32", "1.5", 0, false},
		{"f32", "one", 0, false},
		{"f16", "1.0", 0, false},
	} {
		clear(slot)
		err := putScalar(slot, wire.Arg{Name: "a", DType: tc.dtype, Value: tc.value})
		if (err == nil) != tc.ok || tc.ok && binary.LittleEndian.Uint64(slot) != tc.bits {
			t.Errorf("%s %s: %x, %v", tc.dtype, tc.value, slot, err)
		}
	}
	if err := putDeviceScalar(slot, wire.Arg{Name: "a", DType: "bf16", Value: "1.0"}); err != nil || binary.LittleEndian.Uint16(slot) != 0x3f80 {
		t.Errorf("bf16: %x, %v", slot, err)
	}
}

// Every fill of every type is the same on the device as here, bit for bit.
func TestGPUGeneratesTheSameBits(t *testing.T) {
	runtime.LockOSThread()
	cudatest.Need(t)
	c := newCUDA()
	if err := c.start(""); err != nil {
		t.Fatal(err)
	}
	const count = 10_007
	for _, typ := range dtype.All {
		fills := []oracle.Fill{{Kind: oracle.Zero}, {Kind: oracle.Iota}, {Kind: oracle.Constant, Args: []float64{3}}, {Kind: oracle.Integers, Args: []float64{0, 5}}}
		if typ.Float() {
			fills = append(fills, oracle.Fill{Kind: oracle.Normal, Args: []float64{0.25, 1.5}}, oracle.Fill{Kind: oracle.Uniform, Args: []float64{-1, 2}},
				oracle.Fill{Kind: oracle.Rows, Args: []float64{0.25, 1.5, 77}}, oracle.Fill{Kind: oracle.Outliers, Args: []float64{0.25, 1.5, 100, -9.7}},
				oracle.Fill{Kind: oracle.Specials, Args: []float64{0.25, 1.5, 7}}, oracle.Fill{Kind: oracle.Specials, Args: []float64{0, 1, 1}})
		}
		for _, fill := range fills {
			sameOnDevice(t, c, typ, fill, count, 0)
			sameOnDevice(t, c, typ, fill, count, 3)
			sameOnDevice(t, c, typ, fill, 5, 40) // places are hit more than once
		}
	}
}

// sameOnDevice compares a buffer that was filled, and changed in this many steps.
func sameOnDevice(t *testing.T, c *cudaCell, typ dtype.Type, fill oracle.Fill, count int64, steps int) {
	t.Helper()
	want := make([]byte, count*int64(typ.Size()))
	buffer, err := c.alloc(&problem{}, uint64(len(want)))
	if err != nil {
		t.Fatal(err)
	}
	oracle.Generate(want, typ, fill, 99)
	if err := c.helpers.fill(c.driver, c.stream, buffer, count, typ, fill, 99); err != nil {
		t.Fatal(err)
	}
	for step := range steps {
		oracle.Mutate(want, typ, fill, 99, step+1)
	}
	for _, part := range [][2]int{{1, steps / 3}, {steps/3 + 1, steps}} { // in two launches
		if err := c.helpers.mutate(c.stream, buffer, count, typ, fill, 99, part[0], part[1]); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, len(want))
	if err := c.driver.CopyToHost(got, buffer, c.stream); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s %v, %d elements after %d steps: byte %d is %x, want %x", typ, fill, count, steps, i, got[i], want[i])
			return
		}
	}
}

// The device's hash of a buffer is a sum over its words, whoever adds them up.
func TestGPUHashes(t *testing.T) {
	runtime.LockOSThread()
	cudatest.Need(t)
	c := newCUDA()
	if err := c.start(""); err != nil {
		t.Fatal(err)
	}
	mix := func(z uint64) uint64 {
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	const golden = uint64(0x9e3779b97f4a7c15)
	for _, size := range []int{1, 7, 8, 1 << 12, 1<<20 + 5, 9<<20 + 3} {
		data := make([]byte, size)
		oracle.Generate(data, dtype.U8, oracle.Fill{Kind: oracle.Integers, Args: []float64{0, 255}}, 7)
		words := uint64(size / 8)
		want := uint64(0)
		for i := range words {
			want += mix(binary.LittleEndian.Uint64(data[8*i:]) + (i+1)*golden)
		}
		for i, rest := range data[8*words:] {
			want += mix(uint64(rest) + (words+uint64(i)+1)*golden + 1)
		}
		p := &problem{}
		at, err := c.alloc(p, uint64(size))
		if err == nil {
			err = c.driver.CopyToDevice(at, data, c.stream)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			raw := make([]byte, 8)
			err := c.driver.MemsetD8(c.sink, 0, 8, c.stream)
			if err == nil {
				err = c.helpers.hash.Launch(c.stream, c.helpers.wide(), cuda.Param(at), cuda.Param(uint64(size)), cuda.Param(c.sink))
			}
			if err == nil {
				err = c.driver.CopyToHost(raw, c.sink, c.stream)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := binary.LittleEndian.Uint64(raw); got != want {
				t.Errorf("%d bytes: %x, want %x", size, got, want)
			}
		}
		c.free(p)
	}
}
