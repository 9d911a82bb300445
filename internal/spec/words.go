package spec

import (
	"errors"
	"strings"
)

// splitWords splits a command line as a shell does, without expanding
// anything: blanks separate, single quotes keep all, double quotes keep all but
// a backslash before " \ $ or `, and a backslash keeps the next character.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("a ' is never closed")
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
		case '"':
			closed := false
			for i++; i < len(line); i++ {
				if line[i] == '"' {
					closed = true
					break
				}
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
					i++
				}
				word.WriteByte(line[i])
			}
			if !closed {
				return nil, errors.New(`a " is never closed`)
			}
		case '\\':
			if i+1 == len(line) {
				return nil, errors.New("a backslash at the end keeps nothing")
			}
			i++
			word.WriteByte(line[i])
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
