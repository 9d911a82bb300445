package term

import (
	"strings"
	"unicode"
)

// wide holds the runes that take two columns: East Asian scripts, full-width
// forms and emoji. It covers what turns up in names, not all of Unicode's
// annex 11.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1},
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1},
		{Lo: 0x3041, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff00, Hi: 0xff60, Stride: 1},
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1f300, Hi: 0x1f64f, Stride: 1},
		{Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1},
		{Lo: 0x1f900, Hi: 0x1f9ff, Stride: 1},
		{Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300: // the common case
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// DisplayWidth is the number of columns that plain text, without control
// characters or escape sequences, takes.
func DisplayWidth(text string) int {
	width := 0
	for _, r := range text {
		width += runeWidth(r)
	}
	return width
}

// truncate shortens plain text to at most width columns; the last is then an
// ellipsis.
func truncate(text string, width int) string {
	if DisplayWidth(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	used := 0
	for i, r := range text {
		if used += runeWidth(r); used > width-1 {
			return strings.TrimRight(text[:i], " ") + "…"
		}
	}
	return text
}

// plain makes text safe to put on a line: a control character, which may come
// from a file name or a kernel's own words, becomes a space.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
