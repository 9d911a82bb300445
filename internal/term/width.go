package term

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// DisplayWidth returns the number of columns that plain text, without control
// characters or escape sequences, takes.
func DisplayWidth(text string) int { return displaywidth.String(text) }

// truncate shortens plain text to at most width columns; the last is then an
// ellipsis.
func truncate(text string, width int) string {
	if DisplayWidth(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return strings.TrimRight(displaywidth.TruncateString(text, width-1, ""), " ") + "…"
}

// withoutMiddle shortens plain text to at most width columns; an ellipsis is in its middle.
func withoutMiddle(text string, width int) string {
	if DisplayWidth(text) <= width || width < 1 {
		return truncate(text, width)
	}
	tail := []rune(text)
	for len(tail) > 0 && DisplayWidth(string(tail)) > (width-1)/2 {
		tail = tail[1:]
	}
	head := displaywidth.TruncateString(text, width-1-DisplayWidth(string(tail)), "")
	return head + "…" + string(tail)
}

// Plain makes text safe to put on a line: a control character, which may come
// from a file name or a kernel's own words, becomes a space.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
