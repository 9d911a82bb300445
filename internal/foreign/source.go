package foreign

import (
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

// about returns a problem of the whole file.
func (s *source) about(message, hint string) *diag.Problem {
	return &diag.Problem{Pos: diag.Pos{File: s.file}, Message: message, Hint: hint}
}
