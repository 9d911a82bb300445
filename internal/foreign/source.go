package foreign

import "pawl/internal/diag"

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
		return diag.At(s.file, s.whole, origin(s.pieces, at), message, hint)
	}
	return diag.At(s.file, s.text, at, message, hint)
}

// about returns a problem of the whole file.
func (s *source) about(message, hint string) *diag.Problem {
	return &diag.Problem{Pos: diag.Pos{File: s.file}, Message: message, Hint: hint}
}
