package cuda

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// fatbin wraps code as one entry of a fat binary.
func fatbin(kind uint16, flags uint64, code []byte, unpacked int) []byte {
	entry := make([]byte, entryHeader)
	padded := slices.Concat(code, make([]byte, -len(code)&7))
	binary.LittleEndian.PutUint16(entry, kind)
	binary.LittleEndian.PutUint32(entry[4:], entryHeader)
	binary.LittleEndian.PutUint64(entry[8:], uint64(len(padded)))
	if flags != 0 {
		binary.LittleEndian.PutUint32(entry[16:], uint32(len(code)))
	}
	binary.LittleEndian.PutUint64(entry[40:], flags)
	binary.LittleEndian.PutUint64(entry[56:], uint64(unpacked))
	header := make([]byte, fatbinHeader)
	binary.LittleEndian.PutUint32(header, fatbinMagic)
	binary.LittleEndian.PutUint16(header[4:], 1)
	binary.LittleEndian.PutUint16(header[6:], fatbinHeader)
	binary.LittleEndian.PutUint64(header[8:], uint64(len(entry)+len(padded)))
	return slices.Concat(header, entry, padded)
}

const twoKernels = ".visible .entry first(\n)\n{ ret; }\n.entry _Z6secondPf ( .param .u64 p )\n.func helper\n"

func packZstd(t testing.TB, text string) []byte {
	writer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return writer.EncodeAll([]byte(text), nil)
}

func TestFatbinKernels(t *testing.T) {
	plain := fatbin(kindPTX, 0, []byte(twoKernels), 0)
	for _, test := range []struct {
		name     string
		section  []byte
		want     []string
		complete bool
	}{
		{"nothing", nil, nil, true},
		{"PTX", plain, []string{"first", "_Z6secondPf"}, true},
		{"two of them", slices.Concat(plain, make([]byte, 8), plain), []string{"first", "_Z6secondPf", "first", "_Z6secondPf"}, true},
		{"zstd", fatbin(kindPTX, packedZstd, packZstd(t, twoKernels), len(twoKernels)), []string{"first", "_Z6secondPf"}, true},
		{"broken zstd", fatbin(kindPTX, packedZstd, []byte("no zstd"), 100), nil, false},
		{"an unknown kind", fatbin(9, 0, []byte(twoKernels), 0), nil, false},
		{"cut short", plain[:len(plain)-8], nil, false},
		{"a cubin that is none", fatbin(kindCubin, 0, []byte(twoKernels), 0), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, complete := fatbinKernels(test.section)
			if diff := cmp.Diff(test.want, got); diff != "" || complete != test.complete {
				t.Errorf("complete %v, want %v: %s", complete, test.complete, diff)
			}
		})
	}
}

func TestUnpackLZ4(t *testing.T) {
	for _, test := range []struct {
		name, packed, want string
		broken             bool
	}{
		{"literals", "\x50hello", "hello", false},
		{"a copy that overlaps", "\x15a\x01\x00", "aaaaaaaaaa", false},
		{"a long run", "\xf0\x03" + strings.Repeat("x", 18), strings.Repeat("x", 18), false},
		{"before the start", "\x10a\x02\x00", "", true},
		{"no distance", "\x10a\x00\x00", "", true},
		{"cut short", "\x50hel", "", true},
		{"longer than it says", "\xf0\xff\xff\xff", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := unpackLZ4([]byte(test.packed), 64)
			if string(got) != test.want || (err != nil) != test.broken {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestStubs(t *testing.T) {
	for symbol, want := range map[string][]string{
		"_Z24__device_stub__Z5plainPfPf":                 {"_Z5plainPf", "plain"},
		"_ZL36__device_stub__ZN2ns5tiledILi4EEEvPfPf":    {"_ZN2ns5tiledILi4EEEvPf"},
		"_Z99__device_stub__Z5plainPfPf":                 nil,
		"main":                                           nil,
		"__device_stub__":                                nil,
		"_ZGVZL36__device_stub__ZN2ns5tiledILi4EEEvPfPf": {"_ZN2ns5tiledILi4EEEvPf"},
	} {
		if diff := cmp.Diff(want, stubOf(symbol)); diff != "" {
			t.Errorf("%s: %s", symbol, diff)
		}
	}
}

func FuzzFatbin(f *testing.F) {
	f.Add(fatbin(kindPTX, 0, []byte(twoKernels), 0))
	f.Add(fatbin(kindPTX, packedZstd, packZstd(f, twoKernels), len(twoKernels)))
	f.Add(fatbin(kindPTX, packedLZ4, []byte("\x15a\x01\x00"), 10))
	f.Fuzz(func(_ *testing.T, section []byte) { fatbinKernels(section) })
}
