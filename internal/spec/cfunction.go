package spec

import "strings"

// cFunction is a function with a body, found at file level.
type cFunction struct {
	name     string
	line     int
	before   []cToken // specifiers and return type
	params   []cToken // between the parentheses
	template []cToken // between the angle brackets; nil without template
	bounds   []cToken // first argument of __launch_bounds__
	body     []cToken
	externC  bool
	space    string // namespaces around it: "a::b"
	hidden   bool   // inside a namespace without name

	conditional bool // it stands between #if and #endif, or has a directive before its body
}

// cScope is an open brace that functions may stand in.
type cScope struct {
	externC   bool
	namespace bool
	name      string // of the namespace
}

// findFunctions lists the function definitions outside of classes and other
// functions.
func findFunctions(tokens []cToken) []cFunction {
	var found []cFunction
	var scopes []cScope
	var head []cToken
	depth, inside := 0, false // of conditionals; a directive in the head
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if len(head) == 0 {
			inside = false
		}
		switch {
		case t.kind == cDirective:
			inside = inside || len(head) > 0
			depth += nests(t)
		case t.is(";"):
			head = nil
		case t.is("}"):
			head = nil
			if len(scopes) > 0 {
				scopes = scopes[:len(scopes)-1]
			}
		case t.is("{"):
			if scope, ok := opensScope(head); ok {
				scopes = append(scopes, scope)
				head = nil
				continue
			}
			end := skipGroup(tokens, i, "{", "}")
			if f, ok := parseHead(head); ok {
				f.body = tokens[i : end+1]
				f.conditional = inside || depth > 0
				f.enclose(scopes)
				found = append(found, f)
				head = nil
			}
			// Of other braces (class bodies, initialisers) the head goes on to
			// the semicolon.
			for _, t := range tokens[i : end+1] {
				depth += nests(t)
			}
			i = end
		default:
			head = append(head, t)
		}
	}
	return found
}

// nests is by how much a directive deepens the nesting of conditionals.
func nests(t cToken) int {
	word := strings.TrimSpace(strings.TrimPrefix(t.text, "#"))
	switch {
	case t.kind != cDirective:
	case strings.HasPrefix(word, "if"):
		return 1
	case strings.HasPrefix(word, "endif"):
		return -1
	}
	return 0
}

// enclose notes what the open scopes mean for the function.
func (f *cFunction) enclose(scopes []cScope) {
	var names []string
	for _, s := range scopes {
		f.externC = f.externC || s.externC
		f.hidden = f.hidden || s.namespace && s.name == ""
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	f.space = strings.Join(names, "::")
}

// opensScope tells whether a brace after head opens a namespace or a block of
// extern "C".
func opensScope(head []cToken) (cScope, bool) {
	if len(head) == 2 && head[0].is("extern") && head[1].kind == cString {
		return cScope{externC: true}, true
	}
	for i, t := range head {
		if t.is("namespace") {
			name := ""
			for _, part := range head[i+1:] {
				name += part.text
			}
			return cScope{namespace: true, name: name}, true
		}
		if t.is("(") || t.is("=") {
			break
		}
	}
	return cScope{}, false
}

// skipGroup returns the index of the bracket that closes the one at i, or the
// last index.
func skipGroup(tokens []cToken, i int, open, closing string) int {
	depth := 0
	for ; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.kind == cDirective:
		case t.is(open):
			depth++
		case t.is(closing):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens) - 1
}

// enabled drops what stands between #if 0 and its #endif or #else.
func enabled(tokens []cToken) []cToken {
	var kept []cToken
	depth := 0 // of conditionals, counted from an #if 0
	for _, t := range tokens {
		word := ""
		if t.kind == cDirective {
			word = strings.Join(strings.Fields(strings.TrimPrefix(t.text, "#")), " ")
		}
		switch {
		case depth == 0 && word == "if 0":
			depth = 1
		case depth == 0:
			kept = append(kept, t)
		case strings.HasPrefix(word, "if"):
			depth++
		case strings.HasPrefix(word, "endif"), depth == 1 && strings.HasPrefix(word, "el"):
			depth--
		}
	}
	return kept
}

// withArguments are specifiers that take a parenthesis, which is not that of
// the parameters.
var withArguments = wordSet("__attribute__ __attribute __declspec __launch_bounds__ __maxnreg__ __cluster_dims__ __block_size__ alignas noexcept throw decltype requires")

// parseHead reads the tokens before a body. It is a function when they hold one
// parenthesis after a name, other than those of specifiers.
func parseHead(head []cToken) (cFunction, bool) {
	var f cFunction
	if len(head) > 1 && head[0].is("template") && head[1].is("<") {
		end := skipGroup(head, 1, "<", ">")
		f.template = append([]cToken{}, head[2:max(2, end)]...)
		head = head[min(len(head), end+1):]
	}
	if len(head) > 1 && head[0].is("extern") && head[1].kind == cString {
		f.externC = true
	}
	for i := 0; i < len(head); i++ {
		t := head[i]
		switch {
		case t.is("class") || t.is("struct") || t.is("union") || t.is("enum"):
			// A return type may be a struct; a class body has no parenthesis.
		case t.is("=") || t.is("operator") || t.is("[") && i+1 < len(head) && !head[i+1].is("["):
			return f, false
		case t.kind == cWord && i+1 < len(head) && head[i+1].is("("):
			end := skipGroup(head, i+1, "(", ")")
			group := head[i+2 : max(i+2, end)]
			if withArguments[t.text] {
				if t.is("__launch_bounds__") {
					f.bounds = splitList(group)[0]
				}
				head = append(append([]cToken{}, head[:i]...), head[end+1:]...)
				i--
				continue
			}
			if i > 0 && (head[i-1].is("::") || head[i-1].is("~")) || !head[end].is(")") || has(head[:i], ":", ",") {
				return f, false
			}
			if !onlyTrailers(head[end+1:]) { // a macro with arguments, as in EXPORT(void) f(…)
				i = end
				continue
			}
			f.name, f.line, f.before, f.params = t.text, t.line, head[:i], group
			return f, true
		case t.is("("):
			return f, false
		}
	}
	return f, false
}

// onlyTrailers reports whether the tokens between parameters and body are such
// as may stand there: qualifiers, but no old-style declarations, initialisers
// or further parentheses.
func onlyTrailers(tokens []cToken) bool {
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.kind == cWord && withArguments[t.text]:
			if i+1 < len(tokens) && tokens[i+1].is("(") {
				i = skipGroup(tokens, i+1, "(", ")")
			}
		case t.is("const") || t.is("override") || t.is("final"):
		default:
			return false
		}
	}
	return true
}

// splitList splits tokens at commas outside of all brackets.
func splitList(tokens []cToken) [][]cToken {
	list := [][]cToken{nil}
	depth := 0
	for _, t := range tokens {
		switch {
		case t.kind == cDirective:
			continue
		case t.is("(") || t.is("[") || t.is("{") || t.is("<"):
			depth++
		case t.is(")") || t.is("]") || t.is("}") || t.is(">"):
			depth--
		case t.is(",") && depth == 0:
			list = append(list, nil)
			continue
		}
		list[len(list)-1] = append(list[len(list)-1], t)
	}
	return list
}

// has reports whether one of the words stands among the tokens.
func has(tokens []cToken, words ...string) bool {
	for _, t := range tokens {
		for _, w := range words {
			if t.is(w) {
				return true
			}
		}
	}
	return false
}

// elementUse tells what a body does with the elements of a pointer: whether it
// writes some, and whether the first thing it does is to read one.
func elementUse(body []cToken, name string) (written, readFirst bool) {
	for i, t := range body {
		if !t.is(name) || t.kind != cWord || i+1 == len(body) || !body[i+1].is("[") {
			continue
		}
		end := skipGroup(body, i+1, "[", "]")
		after := func(n int) cToken {
			if end+n < len(body) {
				return body[end+n]
			}
			return cToken{}
		}
		assigned := after(1).is("=") && !after(2).is("=")
		changed := len(after(1).text) == 1 && strings.Contains("+-*/%&|^", after(1).text) && (after(2).is("=") || after(2).is(after(1).text) && !after(2).is("&") && !after(2).is("|"))
		if !assigned && !written {
			readFirst = true
		}
		written = written || assigned || changed
	}
	return written, readFirst
}
