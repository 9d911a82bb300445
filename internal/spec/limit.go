package spec

import (
	"fmt"

	"github.com/goccy/go-yaml/token"

	"pawl/internal/diag"
)

// Bounds on the file. They keep hostile input cheap: the YAML library recurses
// into depth and along the keys of a mapping without a limit of its own, takes
// quadratic time for the latter, and a Go stack that overflows cannot be caught.
const (
	maxFileBytes  = 1 << 20
	maxFlowDepth  = 24   // brackets open at once
	maxIndent     = 100  // columns
	maxIndicators = 12   // "-", "?" and ":" that nest on one line
	maxEntries    = 2000 // of one mapping or list
	maxWeight     = 1e5  // values, aliases expanded
	maxBlankLines = 200  // in a row
	maxProblems   = 50   // shown at once
	maxWidth      = 1000 // runes that an error underlines
)

// limiter follows the tokens and refuses what pawl.yaml has no use for and
// what would exhaust the parser.
type limiter struct {
	line       int
	depth      int                   // of brackets
	indicators int                   // that nest, since the line or entry began
	block      [maxIndent + 1]int    // entries so far at each column
	flow       [maxFlowDepth + 1]int // entries so far at each depth
	anchored   int                   // index of the last anchor
	content    bool                  // the document has begun
	ended      bool                  // the document has ended
}

// checkTokens reports the first token that goes beyond the limits.
func checkTokens(src *source, tokens token.Tokens, problems *diag.List) bool {
	l := &limiter{anchored: -2}
	for i, tk := range tokens {
		if message, hint := l.next(i, tk); message != "" {
			problems.Add(&diag.Problem{Pos: src.pos(tk.Position.Line, tk.Position.Column), Message: message, Hint: hint})
			return false
		}
	}
	return true
}

const (
	tooDeep    = "nested too deeply"
	tooMany    = "too many entries in one mapping or list"
	secondText = "a second YAML document starts here; pawl.yaml is one document"
)

// next checks one token and says what is wrong with it, if anything.
func (l *limiter) next(i int, tk *token.Token) (message, hint string) {
	switch tk.Type {
	case token.CommentType:
		return "", ""
	case token.TagType:
		return "tags such as " + quote(tk.Value) + " are not used in pawl.yaml",
			"leave the tag out; put a value in quotes to make it a string"
	case token.DirectiveType:
		return "directives such as %YAML are not used in pawl.yaml", "put a value that starts with % in quotes"
	case token.DocumentHeaderType:
		if l.content {
			return secondText, "remove the --- line"
		}
		return "", ""
	case token.DocumentEndType:
		l.ended = l.content
		return "", ""
	}
	if l.ended {
		return secondText, "remove the ... line"
	}
	l.content = true
	if message, hint := l.newLine(tk); message != "" {
		return message, hint
	}
	switch tk.Type {
	case token.SequenceStartType, token.MappingStartType:
		if l.depth++; l.depth <= maxFlowDepth {
			l.flow[l.depth] = 0
		}
		l.indicators = 0
	case token.SequenceEndType, token.MappingEndType:
		l.depth = max(0, l.depth-1)
		l.indicators = 0
	case token.CollectEntryType:
		l.indicators = 0
		if l.flow[l.depth]++; l.flow[l.depth] > maxEntries {
			return tooMany, ""
		}
	case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
		l.indicators++
	case token.AnchorType:
		if i == l.anchored+2 {
			return "two anchors on one value", ""
		}
		l.anchored = i
	}
	if l.depth > maxFlowDepth || l.indicators > maxIndicators {
		return tooDeep, ""
	}
	return "", ""
}

// newLine counts a line of block style as an entry at its column.
func (l *limiter) newLine(tk *token.Token) (message, hint string) {
	if tk.Position.Line == l.line || l.depth > 0 {
		return "", ""
	}
	l.line, l.indicators = tk.Position.Line, 0
	column := max(0, tk.Position.Column)
	if column > maxIndent {
		return tooDeep, fmt.Sprintf("nothing in pawl.yaml is indented by more than %d columns", maxIndent)
	}
	clear(l.block[column+1:])
	if l.block[column]++; l.block[column] > maxEntries {
		return tooMany, ""
	}
	return "", ""
}
