package formula

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenNumber
	tokenString
	tokenName
	tokenSymbol // operators, brackets, comma, and the words or, and, not, if, else
)

type token struct {
	kind   tokenKind
	text   string
	offset int
}

func (t token) span() span { return span{t.offset, len(t.text)} }

// is reports whether t is the symbol text.
func (t token) is(text string) bool { return t.kind == tokenSymbol && t.text == text }

// String returns the token as messages show it.
func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "the end"
	case tokenString:
		return t.text
	}
	return `"` + t.text + `"`
}

// words are the operators spelt as words.
var words = map[string]bool{"or": true, "and": true, "not": true, "if": true, "else": true}

// symbols, longest first.
var symbols = []string{
	"**", "//", "<<", ">>", "<=", ">=", "==", "!=",
	"+", "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "(", ")", ",",
}

// foreign are operators of other languages and of typeset text, with what to
// write instead; longest first.
var foreign = []struct{ symbol, hint string }{
	{"&&", "use and"},
	{"||", "use or"},
	{"=", "use =="},
	{"!", "use not"},
	{"?", "use a if condition else b"},
	{"×", "use *"},
	{"÷", "use / or //"},
	{"−", "use -"},
	{"–", "use -"},
	{"≤", "use <="},
	{"≥", "use >="},
	{"≠", "use !="},
}

// scan reads the token that begins at or after offset.
func scan(src string, offset int) token {
	for offset < len(src) && strings.IndexByte(" \t\r\n", src[offset]) >= 0 {
		offset++
	}
	rest := src[offset:]
	if rest == "" {
		// Right behind the last token, not behind a trailing newline: that is
		// where something is missing.
		return token{kind: tokenEnd, offset: len(strings.TrimRight(src, " \t\r\n"))}
	}
	switch c := rest[0]; {
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return token{tokenNumber, rest[:numberLength(rest)], offset}
	case isLetter(c):
		end := 1
		for end < len(rest) && (isLetter(rest[end]) || isDigit(rest[end])) {
			end++
		}
		if words[rest[:end]] {
			return token{tokenSymbol, rest[:end], offset}
		}
		return token{tokenName, rest[:end], offset}
	case c == '\'', c == '"':
		return scanString(rest, offset)
	}
	return scanSymbol(rest, offset)
}

func scanString(rest string, offset int) token {
	end := strings.IndexAny(rest[1:], rest[:1]+"\\\n")
	switch {
	case end < 0 || rest[1+end] == '\n':
		panic(failf("the string is never closed").at(span{offset, 1}))
	case rest[1+end] == '\\':
		panic(failf("strings have no escapes").at(span{offset + 1 + end, 1}))
	}
	text := rest[:end+2]
	if !utf8.ValidString(text) {
		panic(failf("the string is not UTF-8").at(span{offset, len(text)}))
	}
	return token{tokenString, text, offset}
}

func scanSymbol(rest string, offset int) token {
	for _, f := range foreign {
		// = and ! are wrong only where they do not begin == and !=.
		if strings.HasPrefix(rest, f.symbol) && !strings.HasPrefix(rest, f.symbol+"=") {
			panic(failf("%q is not an operator", f.symbol).hint(f.hint).at(span{offset, len(f.symbol)}))
		}
	}
	for _, symbol := range symbols {
		if strings.HasPrefix(rest, symbol) {
			return token{tokenSymbol, symbol, offset}
		}
	}
	_, size := utf8.DecodeRuneInString(rest)
	panic(failf("unexpected character %q", rest[:size]).at(span{offset, size}))
}

// numberLength takes in all that hangs together with a number, so that 2x and
// 1.2.3 are reported whole.
func numberLength(s string) int {
	hex := len(s) > 1 && (s[1] == 'x' || s[1] == 'X')
	n := 1
	for n < len(s) {
		exponent := !hex && (s[n-1] == 'e' || s[n-1] == 'E') && (s[n] == '+' || s[n] == '-')
		if !exponent && !isDigit(s[n]) && !isLetter(s[n]) && s[n] != '.' {
			break
		}
		n++
	}
	return n
}

// number returns the value of a number as Python writes them.
func number(text string) (Value, *Error) {
	digits, ok := withoutUnderscores(text)
	if !ok {
		return Value{}, failf("%s is not a number", text)
	}
	integer := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) < 0
	if integer && len(digits) > 1 && digits[0] == '0' {
		return Value{}, failf("%s has a leading zero", text)
	}
	based := len(digits) > 1 && digits[0] == '0' && isLetter(digits[1]) && digits[1]|0x20 != 'e'
	var v Value
	var err error
	outside := "%s is not a finite number"
	if integer || based {
		outside = "%s does not fit in a 64-bit integer"
		var i int64
		i, err = strconv.ParseInt(digits, 0, 64)
		v = Int(i)
	} else {
		var f float64
		f, err = strconv.ParseFloat(digits, 64)
		v = Float(f)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return Value{}, failf(outside, text)
	case err != nil:
		return Value{}, failf("%s is not a number", text)
	}
	return v, nil
}

// withoutUnderscores removes underscores, which must stand between two digits
// or, as in 0x_ff, behind the prefix.
func withoutUnderscores(text string) (string, bool) {
	digit := isDigit
	if len(text) > 1 && text[1]|0x20 == 'x' {
		digit = isHexDigit
	}
	for i := range len(text) {
		if text[i] != '_' {
			continue
		}
		prefix := i == 2 && strings.IndexByte("xXoObB", text[1]) >= 0
		if !prefix && !digit(text[i-1]) || i+1 == len(text) || !digit(text[i+1]) {
			return "", false
		}
	}
	return strings.ReplaceAll(text, "_", ""), true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
