package spec

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"pawl/internal/diag"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// source is a file's text with what is needed to place a token in it.
type source struct {
	file  string
	lines [][]rune
}

// pos bounds a place to the file: the library's counting is off after tags and
// at the end of the text.
func (s *source) pos(line, column int) diag.Pos {
	line = min(max(line, 1), max(len(s.lines), 1))
	width := 0
	if line <= len(s.lines) {
		width = len(s.lines[line-1])
	}
	return diag.Pos{File: s.file, Line: line, Column: min(max(column, 1), width+1)}
}

// readYAML turns the text into a tree of nodes. The root is nil when the file
// is empty or no YAML; todos are the places of comments that begin with TODO.
func readYAML(file string, text []byte, problems *diag.List) (root *node, todos []diag.Pos) {
	if len(text) > maxFileBytes {
		problems.Addf(diag.Pos{File: file}, "the file has %d bytes, more than the %d allowed", len(text), maxFileBytes)
		return nil, nil
	}
	clean := bytes.TrimPrefix(text, byteOrderMark)
	clean = bytes.ReplaceAll(clean, []byte("\r\n"), []byte("\n"))
	src := &source{file: file}
	for line := range bytes.SplitSeq(clean, []byte("\n")) {
		src.lines = append(src.lines, bytes.Runes(line))
	}
	if !checkCharacters(src, clean, problems) || !checkBlankLines(src, problems) {
		return nil, nil
	}
	defer func() {
		if r := recover(); r != nil {
			problems.Addf(diag.Pos{File: file}, "not readable as YAML (%v)", r)
			root, todos = nil, nil
		}
	}()
	tokens := lexer.Tokenize(string(clean))
	todos = findTODOs(src, tokens)
	if !checkTokens(src, tokens, problems) {
		return nil, todos
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		problems.Add(syntaxProblem(src, err))
		return nil, todos
	}
	return convertFile(src, tree, problems), todos
}

// checkCharacters refuses what cannot be placed or seen: bytes that are not
// UTF-8, control characters, carriage returns that end no line.
func checkCharacters(src *source, clean []byte, problems *diag.List) bool {
	line, column := 1, 1
	for rest := clean; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			problems.Addf(src.pos(line, column), "byte 0x%02x is not UTF-8", rest[0]).Hint = "save the file as UTF-8"
			return false
		}
		if r != '\n' && r != '\t' && (r < ' ' || r == 0x7f || r == 0xfeff) {
			problems.Addf(src.pos(line, column), "control character U+%04X is not allowed in YAML", r)
			return false
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		rest = rest[size:]
	}
	return true
}

// checkBlankLines refuses long runs of blank lines, for which the library
// takes quadratic time inside block scalars.
func checkBlankLines(src *source, problems *diag.List) bool {
	run := 0
	for i, line := range src.lines {
		run++
		if strings.TrimSpace(string(line)) != "" {
			run = 0
		}
		if run > maxBlankLines {
			problems.Addf(src.pos(i+1, 1), "more than %d blank lines in a row", maxBlankLines)
			return false
		}
	}
	return true
}

// findTODOs lists the comments whose first word is TODO.
func findTODOs(src *source, tokens token.Tokens) []diag.Pos {
	var todos []diag.Pos
	for _, tk := range tokens {
		if tk.Type != token.CommentType {
			continue
		}
		words := strings.FieldsFunc(tk.Value, func(r rune) bool { return r == ' ' || r == '\t' || r == ':' || r == '(' })
		if len(words) > 0 && words[0] == "TODO" {
			todos = append(todos, src.pos(tk.Position.Line, tk.Position.Column))
		}
	}
	return todos
}

// syntaxProblem words an error of the YAML library.
func syntaxProblem(src *source, err error) *diag.Problem {
	var placed interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &placed) || placed.GetToken() == nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return &diag.Problem{Pos: src.pos(1, 1), Message: "not readable as YAML: " + first}
	}
	tk := placed.GetToken()
	p := &diag.Problem{Pos: src.pos(tk.Position.Line, tk.Position.Column), Message: "not readable as YAML: " + placed.GetMessage()}
	if line := src.lines[p.Pos.Line-1]; strings.ContainsRune(string(line[:len(line)-len([]rune(strings.TrimLeft(string(line), " \t")))]), '\t') {
		p.Hint = "indent with spaces: YAML does not allow tabs"
	} else if strings.HasPrefix(p.Message, "not readable as YAML: mapping value is not allowed") {
		p.Hint = `put a value that holds ": " in quotes`
	}
	return p
}

// convertFile converts the one document there is.
func convertFile(src *source, tree *ast.File, problems *diag.List) *node {
	c := &converter{source: src, problems: problems, anchors: map[string]*node{}}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		root := c.convert(doc.Body)
		if root.weight > maxWeight {
			problems.Addf(root.pos, "aliases expand to more than %d values", int(maxWeight))
			return nil
		}
		return root
	}
	return nil
}
