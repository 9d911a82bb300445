package draft

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/pattern"
)

// definition is a macro of the source.
type definition struct {
	params   []string
	function bool // it takes arguments
	body     []csource.Token
}

// preprocessor resolves conditionals and replaces macros, as far as the file and its own headers
// define them.
type preprocessor struct {
	macros map[string]definition
	params []Macro // macros that are made to be set from outside; they are not replaced
	out    []csource.Token
	budget int // tokens that replacements may still make

	include func(name string) []byte // the text of a header in quotes; nil: not there
	seen    []string                 // headers
	missing bool                     // a header could not be read
	words   map[string]bool          // all words, as written
}

// maxExpansion bounds what macros can grow a source to.
const maxExpansion = 200000

// outsideMacros are those of compilers, as conditionals see them.
var outsideMacros = map[string]string{
	"__CUDACC__": "1", "__CUDA_ARCH__": "900", "__cplusplus": "201703", "CUDART_VERSION": "12000", "CUDA_VERSION": "12000", "__CUDACC_VER_MAJOR__": "12", "__linux__": "1",
}

// maxHeaders bounds how many headers are read.
const maxHeaders = 32

func preprocess(text []byte, include func(string) []byte) *preprocessor {
	p := &preprocessor{macros: map[string]definition{}, budget: maxExpansion, include: include, words: map[string]bool{}}
	p.file(csource.Read(text))
	return p
}

// file follows the tokens of a file.
func (p *preprocessor) file(tokens []csource.Token) {
	var taken []branch
	guard := "" // the name of an #ifndef on the line before
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		active := len(taken) == 0 || taken[len(taken)-1].active
		if t.Kind != csource.Directive {
			p.words[t.Text] = true
			guard = ""
			if active {
				i = p.token(tokens, i)
			}
			continue
		}
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(t.Text, "#")), " "))
		if len(words) == 0 {
			continue
		}
		for _, word := range plainName.FindAllString(t.Text, -1) {
			p.words[word] = true
		}
		before := guard
		guard = ""
		rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(t.Text, "#")), words[0]))
		switch words[0] {
		case "if", "ifdef", "ifndef":
			b := branch{outer: active}
			switch {
			case words[0] == "if":
				b.active = active && p.holds(rest)
			default:
				b.active = active && p.defined(rest) == (words[0] == "ifdef")
				if words[0] == "ifndef" && b.active {
					guard = rest
				}
			}
			b.done = b.active
			taken = append(taken, b)
		case "elif", "else":
			if n := len(taken) - 1; n >= 0 {
				taken[n].active = taken[n].outer && !taken[n].done && (words[0] == "else" || p.holds(rest))
				taken[n].done = taken[n].done || taken[n].active
			}
		case "endif":
			taken = taken[:max(0, len(taken)-1)]
		case "define":
			if active {
				p.define(t.Text, rest, before)
			}
		case "undef":
			if active {
				delete(p.macros, rest)
			}
		case "include":
			if name := quotedName.FindStringSubmatch(rest); active && name != nil {
				p.header(name[1])
			}
		}
	}
}

var quotedName = pattern.New(`^"([^"]+)"`)

// header reads a header in quotes in the place of its #include, once. Its tokens have no line.
func (p *preprocessor) header(name string) {
	if slices.Contains(p.seen, name) || len(p.seen) == maxHeaders {
		return
	}
	p.seen = append(p.seen, name)
	var text []byte
	if p.include != nil {
		text = p.include(name)
	}
	if text == nil {
		p.missing = true
		return
	}
	tokens := csource.Read(text)
	for i := range tokens {
		tokens[i].Line = 0
	}
	p.file(tokens)
}

// branch is an open conditional.
type branch struct{ outer, active, done bool }

// define records a macro. One whose #ifndef stands right before it is a param.
func (p *preprocessor) define(line, rest, guard string) {
	if m := definitionLine.FindStringSubmatch(line); m != nil && m[1] == guard {
		value := m[2]
		if n := wholeValue.FindStringSubmatch(value); n != nil {
			value = n[1]
		}
		if numeric.MatchString(value) || slices.Contains(macroWords, value) {
			p.params = append(p.params, Macro{Name: guard, Value: value})
			return
		}
	}
	body := csource.Read([]byte(" " + rest))
	if len(body) == 0 || body[0].Kind != csource.Word {
		return
	}
	name := body[0].Text
	d := definition{body: body[1:]}
	if strings.HasPrefix(rest, name+"(") {
		end := csource.SkipGroup(body, 1, "(", ")")
		d.function, d.body = true, body[min(len(body), end+1):]
		for _, part := range csource.SplitList(body[2:max(2, end)]) {
			d.params = append(d.params, lastWord(part))
		}
	}
	p.macros[name] = d
}

func (p *preprocessor) defined(name string) bool {
	_, ok := p.macros[name]
	return ok || outsideMacros[name] != "" || p.param(name) != ""
}

// param returns the value of a macro that is a param.
func (p *preprocessor) param(name string) string {
	for _, m := range p.params {
		if m.Name == name {
			return m.Value
		}
	}
	return ""
}

// token copies a token, or what its macro stands for. It returns the index of the last one used.
func (p *preprocessor) token(tokens []csource.Token, i int) int {
	expanded, used := p.expand(tokens[i:], nil)
	p.out = append(p.out, expanded...)
	return i + used - 1
}

// expand replaces the first token, if it is a macro. It returns how many tokens that took.
func (p *preprocessor) expand(tokens []csource.Token, open []string) ([]csource.Token, int) {
	t := tokens[0]
	d, ok := p.macros[t.Text]
	if t.Kind != csource.Word || !ok || slices.Contains(open, t.Text) || len(open) > 16 || p.budget < 0 {
		return tokens[:1], 1
	}
	used := 1
	var args [][]csource.Token
	if d.function {
		if len(tokens) < 2 || !tokens[1].Is("(") {
			return tokens[:1], 1
		}
		end := csource.SkipGroup(tokens, 1, "(", ")")
		args, used = csource.SplitAt(tokens[2:max(2, end)], ","), end+1
	}
	var body []csource.Token
	for i, u := range d.body {
		at := slices.Index(d.params, u.Text)
		isParam := u.Kind == csource.Word && at >= 0 && at < len(args)
		switch {
		case isParam && i > 0 && d.body[i-1].Is("#"): // its text
			body[len(body)-1] = csource.Token{Kind: csource.String, Text: `""`, Line: t.Line}
		case isParam:
			body = append(body, args[at]...)
		default:
			u.Line = t.Line
			body = append(body, u)
		}
	}
	p.budget -= len(body)
	var out []csource.Token
	for i := 0; i < len(body); {
		part, n := p.expand(body[i:], append(slices.Clone(open), t.Text))
		out = append(out, part...)
		i += n
	}
	return out, used
}

// holds evaluates the condition of an #if. Names without a macro are 0 there.
func (p *preprocessor) holds(text string) bool {
	tokens := csource.Read([]byte(" " + text))
	var out []csource.Token
	for i := 0; i < len(tokens); i++ {
		if t := tokens[i]; t.Is("defined") {
			name := ""
			for i+1 < len(tokens) && name == "" {
				i++
				if tokens[i].Kind == csource.Word {
					name = tokens[i].Text
				}
			}
			if i+1 < len(tokens) && tokens[i-1].Is("(") && tokens[i+1].Is(")") {
				i++
			}
			result := "0"
			if p.defined(name) {
				result = "1"
			}
			out = append(out, csource.Token{Kind: csource.Number, Text: result})
			continue
		}
		part, n := p.expand(tokens[i:], nil)
		out = append(out, part...)
		i += n - 1
	}
	n, ok := p.compute(csource.ReadExpression(out))
	return ok && n != 0
}

// compute evaluates an integer expression of a directive.
func (p *preprocessor) compute(e *csource.Expression) (int64, bool) {
	if e == nil {
		return 0, false
	}
	args := make([]int64, len(e.Args))
	for i, a := range e.Args {
		n, ok := p.compute(a)
		if !ok {
			return 0, false
		}
		args[i] = n
	}
	switch {
	case e.Op == "number":
		n, ok := literal(e.Text).sum.constant()
		return n, ok
	case e.Op == "name":
		for _, text := range []string{p.param(e.Text), outsideMacros[e.Text]} {
			if text != "" {
				n, _ := literal(text).sum.constant()
				return n, true
			}
		}
		return 0, true
	case e.Op == "u!":
		if args[0] == 0 {
			return 1, true
		}
		return 0, true
	case e.Op == "u-":
		return -args[0], true
	case len(args) == 2:
		op := pythonOperator(e.Op)
		if op == "/" {
			op = "//"
		}
		return evaluate(fmt.Sprintf("int(%d %s %d)", args[0], op, args[1]), nil)
	}
	return 0, false
}
