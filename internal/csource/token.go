package csource

import (
	"regexp"
	"strings"
)

// Token is a token of C, C++ or CUDA source. Comments are gone; a string
// literal keeps only its kind.
type Token struct {
	Kind Kind
	Text string
	Line int
}

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	Word Kind = iota
	Number
	String
	Punct
	Directive // a whole preprocessor line, continuations joined
)

// Is reports whether the token is this word, number or sign.
func (t Token) Is(text string) bool { return t.Text == text && t.Kind != String }

// directive splits a preprocessor line into its words; other tokens have none.
func (t Token) directive() []string {
	if t.Kind != Directive {
		return nil
	}
	return strings.Fields(strings.TrimPrefix(t.Text, "#"))
}

// Read splits source into tokens, without those between #if 0 and its #endif or #else.
func Read(source []byte) []Token {
	return enabled((&scanner{src: string(source), line: 1, fresh: true}).scan())
}

// Directives returns all preprocessor lines of a source whose continued lines are already joined,
// without their comments.
func Directives(source string) []string {
	var lines []string
	for _, t := range (&scanner{src: source, line: 1, fresh: true, directives: true}).scan() {
		lines = append(lines, t.Text)
	}
	return lines
}

// scanner splits source into tokens. It accepts anything: text that is not C gives meaningless
// tokens.
type scanner struct {
	src    string
	at     int
	line   int
	fresh  bool // only blanks so far on this line
	tokens []Token

	directives bool // other tokens are not kept
}

func (s *scanner) scan() []Token {
	for s.at < len(s.src) {
		s.next()
	}
	return s.tokens
}

func (s *scanner) peek(n int) byte {
	if s.at+n < len(s.src) {
		return s.src[s.at+n]
	}
	return 0
}

// take moves on by n bytes and counts lines.
func (s *scanner) take(n int) string {
	text := s.src[s.at:min(len(s.src), s.at+n)]
	s.at += len(text)
	s.line += strings.Count(text, "\n")
	return text
}

func (s *scanner) emit(kind Kind, text string, line int) {
	s.fresh = false
	if kind == Directive || !s.directives {
		s.tokens = append(s.tokens, Token{kind, text, line})
	}
}

func (s *scanner) next() {
	line := s.line
	switch c := s.peek(0); {
	case c == '\n':
		s.take(1)
		s.fresh = true
	case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
		s.take(1)
	case s.continuation():
	case c == '/' && s.peek(1) == '/':
		s.lineEnd()
	case c == '/' && s.peek(1) == '*':
		s.comment()
	case c == '#' && s.fresh:
		s.emit(Directive, s.directive(), line)
		s.fresh = true
	case c == '"':
		s.quoted('"')
		s.emit(String, `"`, line)
	case c == '\'':
		s.quoted('\'')
		s.emit(Number, "0", line)
	case isWordByte(c) && (c < '0' || c > '9'):
		if text := s.word(); s.literal(text) {
			s.emit(String, `"`, line)
		} else {
			s.emit(Word, text, line)
		}
	case c >= '0' && c <= '9':
		n := 1
		for isWordByte(s.peek(n)) || s.peek(n) == '.' || s.peek(n) == '\'' && isWordByte(s.peek(n+1)) ||
			(s.peek(n) == '+' || s.peek(n) == '-') && strings.IndexByte("eEpP", s.peek(n-1)) >= 0 {
			n++
		}
		s.emit(Number, s.take(n), line)
	case c == ':' && s.peek(1) == ':', c == '-' && s.peek(1) == '>':
		s.emit(Punct, s.take(2), line)
	default:
		s.emit(Punct, s.take(1), line)
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

func (s *scanner) word() string {
	n := 1
	for isWordByte(s.peek(n)) {
		n++
	}
	return s.take(n)
}

// literal skips a string literal that begins with the word just read, if it does: L"…", R"x(…)x".
func (s *scanner) literal(prefix string) bool {
	if s.peek(0) != '"' {
		return false
	}
	switch prefix {
	case "R", "LR", "uR", "UR", "u8R":
		s.rawString()
		return true
	case "L", "u", "U", "u8":
		s.quoted('"')
		return true
	}
	return false
}

// lineEnd skips to the end of the line, over continuations.
func (s *scanner) lineEnd() {
	for s.at < len(s.src) && s.peek(0) != '\n' {
		if !s.continuation() {
			s.take(1)
		}
	}
}

// continuation skips a backslash with the end of its line, if that comes next. In joined lines it
// joins nothing: a compiler does that once.
func (s *scanner) continuation() bool {
	if s.directives || s.peek(0) != '\\' || s.peek(1) != '\n' && (s.peek(1) != '\r' || s.peek(2) != '\n') {
		return false
	}
	s.take(strings.IndexByte(s.src[s.at:], '\n') + 1)
	return true
}

func (s *scanner) comment() {
	end := strings.Index(s.src[s.at+2:], "*/")
	if end < 0 {
		s.take(len(s.src) - s.at)
		return
	}
	s.take(end + 4)
}

// headerName matches the name of a header, whose slashes begin no comment.
var headerName = regexp.MustCompile(`^<[^<>()\s]+>`)

// directive reads a preprocessor line without its comments.
func (s *scanner) directive() string {
	var b strings.Builder
	for s.at < len(s.src) && s.peek(0) != '\n' {
		start := s.at
		switch c := s.peek(0); {
		case c == '/' && s.peek(1) == '/':
			s.lineEnd()
			continue
		case c == '/' && s.peek(1) == '*':
			s.comment()
			b.WriteByte(' ')
			continue
		case s.continuation():
			b.WriteByte(' ')
			continue
		case c == '"' || c == '\'':
			s.quoted(c)
		case c == '<':
			s.take(max(1, len(headerName.FindString(s.src[s.at:]))))
		case isWordByte(c):
			s.literal(s.word())
		default:
			s.take(1)
		}
		b.WriteString(s.src[start:s.at])
	}
	return strings.TrimSpace(b.String())
}

// quoted skips a string or character literal; an unclosed one ends with its
// line.
func (s *scanner) quoted(quote byte) {
	s.take(1)
	for s.at < len(s.src) {
		switch c := s.peek(0); {
		case c == '\\' && (s.peek(1) != '\n' || !s.directives):
			s.take(2)
		case c == '\n':
			return
		default:
			s.take(1)
			if c == quote {
				return
			}
		}
	}
}

func (s *scanner) rawString() {
	open := strings.IndexByte(s.src[s.at:], '(')
	if open < 1 || open > 17 {
		s.quoted('"')
		return
	}
	closing := ")" + s.src[s.at+1:s.at+open] + `"`
	end := strings.Index(s.src[s.at+open:], closing)
	if end < 0 {
		s.quoted('"')
		return
	}
	s.take(open + end + len(closing))
}
