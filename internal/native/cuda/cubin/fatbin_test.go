package cubin

import (
	"strings"
	"testing"
)

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

// Nothing of a section is lost: it is in an entry, in the rest, or a size.
func FuzzReadSection(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x50\xed\x55\xba\x01\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00 between"))
	f.Fuzz(func(t *testing.T, section []byte) {
		read := ReadSection(section)
		size := len(read.Rest)
		for _, entry := range read.Entries {
			if entry.Err != nil || len(entry.Code) > len(section) {
				return
			}
			size += len(entry.Header) + len(entry.Code)
		}
		if read.Whole && size < len(section) {
			t.Errorf("%d of %d bytes", size, len(section))
		}
	})
}

func FuzzAttributes(f *testing.F) {
	f.Add([]byte("\x04\x2f\x08\x00\x01\x00\x00\x00\x18\x00\x00\x00\x03\x1b\xff\x00"))
	f.Fuzz(func(t *testing.T, section []byte) {
		attributes, whole := Attributes(section)
		size := 0
		for _, a := range attributes {
			if size += 2 + len(a.Value); a.Format == sized {
				size += 2
			}
		}
		if whole && size != len(section) {
			t.Errorf("%d of %d bytes: %v", size, len(section), attributes)
		}
	})
}
