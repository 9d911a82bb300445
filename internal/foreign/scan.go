package foreign

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// deepest is the largest nesting of JSON; no tool comes near it, and a hostile file must not
// exhaust the stack.
const deepest = 200

// scanner reads JSON from front to back, without building it, and always knows its position: an
// object of a million numbers costs only those numbers, and an invalid one has its line, column and
// path. It accepts NaN and Infinity as numbers, since Python's json writes them; the code that
// reads a time refuses them.
type scanner struct {
	source
	at   int
	path []step
}

// step is a part of a path: a key, or the index of an element.
type step struct {
	key   string
	index int
}

// where writes the path: benchmarks[3].real_time.
func (s *scanner) where() string {
	var b strings.Builder
	for _, p := range s.path {
		switch {
		case p.index >= 0:
			b.WriteString("[" + strconv.Itoa(p.index) + "]")
		case b.Len() > 0:
			b.WriteString("." + p.key)
		default:
			b.WriteString(p.key)
		}
	}
	return b.String()
}

// fail returns a problem at an offset, with the path in front.
func (s *scanner) fail(at int, message, hint string) error {
	if path := s.where(); path != "" {
		message = path + ": " + message
	}
	return s.problem(at, message, hint)
}

// syntax says what is expected at the current offset.
func (s *scanner) syntax(expected string) error {
	if s.at >= len(s.text) {
		return s.fail(s.at, "the file ends here; expected "+expected, "it was cut off: write it again")
	}
	r, _ := utf8.DecodeRuneInString(s.text[s.at:])
	return s.fail(s.at, "expected "+expected+", got "+strconv.QuoteRune(r), "this is not JSON: write it again with the tool that made it")
}

func (s *scanner) space() {
	for s.at < len(s.text) && isSpace(s.text[s.at]) {
		s.at++
	}
}

// here returns the offset of the next token.
func (s *scanner) here() int {
	s.space()
	return s.at
}

// next returns the first byte of the next token, 0 at the end.
func (s *scanner) next() byte {
	s.space()
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) enter(p step) error {
	if len(s.path) >= deepest {
		return s.problem(s.at, "nested more than "+strconv.Itoa(deepest)+" deep", "no benchmark tool writes such a file")
	}
	s.path = append(s.path, p)
	return nil
}

func (s *scanner) leave() { s.path = s.path[:len(s.path)-1] }

// sequence reads what stands between two brackets, with commas between the items.
func (s *scanner) sequence(open, end byte, expected string, item func(i int) error) error {
	if s.next() != open {
		return s.wrong(expected)
	}
	s.at++
	if s.next() == end {
		s.at++
		return nil
	}
	for i := 0; ; i++ {
		if err := item(i); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.at++
		case end:
			s.at++
			return nil
		default:
			return s.syntax("a comma or " + string(rune(end)))
		}
	}
}

// object calls each with every key; each must consume the value.
func (s *scanner) object(each func(key string) error) error {
	return s.sequence('{', '}', "an object", func(int) error {
		key, err := s.str("a key in quotes")
		if err != nil {
			return err
		}
		if s.next() != ':' {
			return s.syntax("a colon")
		}
		s.at++
		if err := s.enter(step{key: key, index: -1}); err != nil {
			return err
		}
		if err := each(key); err != nil {
			return err
		}
		s.leave()
		return nil
	})
}

// array calls each with every index; each must consume the element.
func (s *scanner) array(each func(i int) error) error {
	depth := len(s.path)
	err := s.sequence('[', ']', "a list", func(i int) error {
		if i == 0 {
			if err := s.enter(step{}); err != nil {
				return err
			}
		}
		s.path[depth].index = i
		return each(i)
	})
	if err == nil {
		s.path = s.path[:depth]
	}
	return err
}

// kinds are what values are called, by their first byte.
var kinds = map[byte]string{'{': "an object", '[': "a list", '"': "a text", 't': "true or false", 'f': "true or false", 'n': "null"}

// wrong distinguishes a value of the wrong kind from a missing one.
func (s *scanner) wrong(expected string) error {
	got := kinds[s.next()]
	if _, isNumber := s.numeral(); isNumber {
		got = "a number"
	}
	if got == "" {
		return s.syntax(expected)
	}
	return s.fail(s.at, "expected "+expected+", got "+got, "")
}

// string reads a text.
func (s *scanner) string() (string, error) {
	if s.next() != '"' {
		return "", s.wrong("a text")
	}
	return s.str("a text")
}

func (s *scanner) str(expected string) (string, error) {
	if s.next() != '"' {
		return "", s.syntax(expected)
	}
	start := s.at
	plain := true
	for i := s.at + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			if plain {
				return s.text[start+1 : i], nil
			}
			var text string
			if json.Unmarshal([]byte(s.text[start:i+1]), &text) != nil {
				s.at = start
				return "", s.fail(start, "a text with a backslash that means nothing", "")
			}
			return text, nil
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			return "", s.fail(i, "a control character inside a text", "this is not JSON: write it again with the tool that made it")
		}
	}
	s.at = len(s.text)
	return "", s.syntax("the end of a text")
}

func startsNumber(c byte) bool { return c-'0' <= 9 || c == '-' || c == 'N' || c == 'I' }

// numeral finds the end of the number that comes next.
func (s *scanner) numeral() (end int, ok bool) {
	text, i := s.text, s.at
	if i < len(text) && text[i] == '-' {
		i++
	}
	if i < len(text) && (text[i] == 'I' || text[i] == 'N' && i == s.at) {
		for _, word := range []string{"NaN", "Infinity"} {
			if strings.HasPrefix(text[i:], word) {
				return i + len(word), true
			}
		}
	}
	from := i
	if i < len(text) && text[i] == '0' {
		i++
	} else {
		i = digits(text, i)
	}
	if i == from {
		return i, false
	}
	if i < len(text) && text[i] == '.' {
		from = i + 1
		if i = digits(text, from); i == from {
			return i, false
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		from = i
		if i = digits(text, from); i == from {
			return i, false
		}
	}
	return i, true
}

// digits returns the offset after all digits at an offset.
func digits(text string, i int) int {
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return i
}

// number reads a number; one too large for a float64 is infinite.
func (s *scanner) number() (float64, error) {
	if !startsNumber(s.next()) {
		return 0, s.wrong("a number")
	}
	end, ok := s.numeral()
	if !ok {
		s.at = end
		return 0, s.syntax("a digit")
	}
	v, _ := strconv.ParseFloat(s.text[s.at:end], 64) // what is out of range becomes infinite
	s.at = end
	return v, nil
}

// skip passes over a value of any kind.
func (s *scanner) skip() error {
	switch c := s.next(); c {
	case '{':
		return s.object(func(string) error { return s.skip() })
	case '[':
		return s.array(func(int) error { return s.skip() })
	case '"':
		_, err := s.str("a text")
		return err
	default:
		for _, word := range []string{"true", "false", "null"} {
			if strings.HasPrefix(s.text[s.at:], word) {
				s.at += len(word)
				return nil
			}
		}
		if startsNumber(c) {
			end, ok := s.numeral()
			s.at = end
			if !ok {
				return s.syntax("a digit")
			}
			return nil
		}
		return s.syntax("a value")
	}
}

// end refuses whatever follows the value.
func (s *scanner) end() error {
	if s.space(); s.at < len(s.text) {
		return s.syntax("the end of the file")
	}
	return nil
}
