package build

import (
	"fmt"
	"slices"
	"strings"
)

// parseDepfile returns the prerequisites of a make rule as compilers write it,
// sorted, each once. Backslash-newline continues a line, `\ ` and `\#` stand for
// the character, `$$` for a dollar.
func parseDepfile(text string) ([]string, error) {
	var deps []string
	var word strings.Builder
	inTargets, sawTargets := true, false
	flush := func() {
		if word.Len() > 0 && !inTargets {
			deps = append(deps, word.String())
		}
		word.Reset()
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte('\n')
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case c == '\\' && next == '\n':
			flush()
			i++
		case c == '\\' && next == '\r' && strings.HasPrefix(text[i+1:], "\r\n"):
			flush()
			i += 2
		case c == '\\' && (next == ' ' || next == '#' || next == '\t' || next == ':'):
			word.WriteByte(next)
			i++
		case c == '$' && next == '$':
			word.WriteByte('$')
			i++
		case c == ':' && inTargets && (next == ' ' || next == '\t' || next == '\r' || next == '\n' || next == '\\'):
			word.Reset()
			inTargets, sawTargets = false, true
		case c == ' ' || c == '\t' || c == '\r':
			flush()
		case c == '\n':
			flush()
			inTargets = true
		default:
			word.WriteByte(c)
		}
	}
	flush()
	if !sawTargets {
		return nil, fmt.Errorf("the compiler's dependency file holds no rule")
	}
	slices.Sort(deps)
	return slices.Compact(deps), nil
}
