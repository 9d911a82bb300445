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
