package foreign

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl/internal/diag"
)

// source is the text of a file, with positions in it.
type source struct {
	file string
	text string

	pieces []piece // set if the text was joined from pieces of the whole file
	whole  string
}

// problem returns a problem at an offset of the text.
func (s *source) problem(at int, message, hint string) *diag.Problem {
	if s.pieces != nil {
		file := source{file: s.file, text: s.whole}
		return file.problem(origin(s.pieces, at), message, hint)
	}
	at = min(at, len(s.text))
	before := s.text[:at]
	start := strings.LastIndexByte(before, '\n') + 1
	line := s.text[start:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	return &diag.Problem{
		Pos:     diag.Pos{File: s.file, Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[start:]) + 1},
		Message: message, Hint: hint, Excerpt: strings.TrimRight(line, "\r"),
	}
}

// unquote resolves the escapes of a JSON string.
func unquote(raw string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			b.WriteByte(raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case '"', '\\', '/':
			b.WriteByte(c)
		case 'b', 'f', 'n', 'r', 't':
			b.WriteByte("\b\f\n\r\t"[strings.IndexByte("bfnrt", c)])
		case 'u':
			r, ok := hexRune(raw[i+1:])
			if !ok {
				return "", false
			}
			i += 4
			if low, ok := lowHalf(r, raw[i+1:]); ok {
				r = low
				i += 6
			}
			b.WriteRune(r) // half a pair becomes the replacement character
		default:
			return "", false
		}
	}
	return b.String(), true
}

func hexRune(digits string) (rune, bool) {
	if len(digits) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(digits[:4], 16, 16)
	return rune(v), err == nil
}

// lowHalf joins a high surrogate with the escape that follows it.
func lowHalf(high rune, rest string) (rune, bool) {
	if high < 0xd800 || high > 0xdbff || !strings.HasPrefix(rest, `\u`) {
		return 0, false
	}
	low, ok := hexRune(rest[2:])
	if !ok || low < 0xdc00 || low > 0xdfff {
		return 0, false
	}
	return (high-0xd800)<<10 + (low - 0xdc00) + 0x10000, true
}
