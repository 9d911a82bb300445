package csource

import "slices"

// StatementKind is the kind of a statement.
type StatementKind uint8

// The kinds of statements.
const (
	Simple StatementKind = iota // a declaration, an expression, a label
	If
	Loop // for, while and do
	Switch
	Block
	Return // return, break and continue: what follows in the block is not reached
)

// Statement is a statement of a function's body.
type Statement struct {
	Kind   StatementKind
	Tokens []Token // of a simple statement, or the condition of others
	Init   []Token // of a for loop
	Step   []Token // of a for loop
	Body   []Statement
	Else   []Statement
}

// maxStatementDepth bounds the nesting that is read; deeper statements are left out.
const maxStatementDepth = 64

// Statements reads the body of a function, with or without its braces. Directives are left out.
func Statements(body []Token) []Statement {
	var plain []Token
	for _, t := range body {
		if t.Kind != Directive {
			plain = append(plain, t)
		}
	}
	r := &statementReader{tokens: plain}
	var list []Statement
	for r.at < len(r.tokens) {
		list = append(list, r.next(0)...)
	}
	if len(list) == 1 && list[0].Kind == Block {
		return list[0].Body
	}
	return list
}

type statementReader struct {
	tokens []Token
	at     int
}

func (r *statementReader) is(text string) bool {
	return r.at < len(r.tokens) && r.tokens[r.at].Is(text)
}

// group takes a bracketed group and returns what is inside.
func (r *statementReader) group(open, closing string) []Token {
	if !r.is(open) {
		return nil
	}
	end := SkipGroup(r.tokens, r.at, open, closing)
	inside := r.tokens[r.at+1 : max(r.at+1, end)]
	r.at = end + 1
	return inside
}

// next reads one statement. It always moves on.
func (r *statementReader) next(depth int) []Statement {
	t := r.tokens[r.at]
	switch {
	case depth > maxStatementDepth:
		r.at = len(r.tokens)
		return nil
	case t.Is("{"):
		inside := &statementReader{tokens: r.group("{", "}")}
		s := Statement{Kind: Block}
		for inside.at < len(inside.tokens) {
			s.Body = append(s.Body, inside.next(depth+1)...)
		}
		return []Statement{s}
	case t.Is("if"):
		r.at++
		if r.is("constexpr") {
			r.at++
		}
		s := Statement{Kind: If, Tokens: r.group("(", ")"), Body: r.body(depth)}
		if r.is("else") {
			r.at++
			s.Else = r.body(depth)
		}
		return []Statement{s}
	case t.Is("for"):
		r.at++
		parts := SplitAt(r.group("(", ")"), ";")
		s := Statement{Kind: Loop}
		if len(parts) == 3 {
			s.Init, s.Tokens, s.Step = parts[0], parts[1], parts[2]
		} else if of := SplitAt(parts[0], ":"); len(of) == 2 { // over a list: as if for its first element
			s.Init = slices.Concat(of[0], []Token{{Kind: Punct, Text: "="}}, of[1], []Token{{Kind: Punct, Text: "["}, {Kind: Number, Text: "0"}, {Kind: Punct, Text: "]"}})
		}
		s.Body = r.body(depth)
		return []Statement{s}
	case t.Is("while"), t.Is("switch"):
		r.at++
		s := Statement{Kind: Loop, Tokens: r.group("(", ")")}
		if t.Is("switch") {
			s.Kind = Switch
		}
		s.Body = r.body(depth)
		return []Statement{s}
	case t.Is("do"):
		r.at++
		return []Statement{{Kind: Loop, Body: r.body(depth)}}
	case t.Is("case"), t.Is("default"):
		for r.at < len(r.tokens) && !r.is(":") {
			r.at++
		}
		r.at++
		return nil
	case t.Is("else"), t.Is(";"), t.Is("}"), t.Is(")"), t.Is("]"):
		r.at++
		return nil
	}
	return r.simple()
}

// body reads the statement that a condition governs.
func (r *statementReader) body(depth int) []Statement {
	if r.at >= len(r.tokens) {
		return nil
	}
	list := r.next(depth + 1)
	if len(list) == 1 && list[0].Kind == Block {
		return list[0].Body
	}
	return list
}

// simple reads up to the semicolon, over the braces of initialisers.
func (r *statementReader) simple() []Statement {
	start, depth := r.at, 0
	for ; r.at < len(r.tokens); r.at++ {
		switch t := r.tokens[r.at]; {
		case t.Is("(") || t.Is("[") || t.Is("{"):
			depth++
		case t.Is(")") || t.Is("]") || t.Is("}"):
			depth--
		}
		if depth <= 0 && r.is(";") {
			break
		}
	}
	s := Statement{Tokens: r.tokens[start:r.at]}
	r.at++
	if first := s.Tokens[0]; first.Is("return") || first.Is("break") || first.Is("continue") {
		s.Kind, s.Tokens = Return, s.Tokens[1:]
	}
	return []Statement{s}
}

// SplitAt splits tokens at a sign outside of all brackets.
func SplitAt(tokens []Token, sign string) [][]Token {
	list := [][]Token{nil}
	depth := 0
	for _, t := range tokens {
		switch {
		case t.Is("(") || t.Is("[") || t.Is("{"):
			depth++
		case t.Is(")") || t.Is("]") || t.Is("}"):
			depth--
		case t.Is(sign) && depth == 0:
			list = append(list, nil)
			continue
		}
		list[len(list)-1] = append(list[len(list)-1], t)
	}
	return list
}
