package csource

import (
	"slices"
	"strings"
)

// Function is a function with a body, found at file level.
type Function struct {
	Name     string
	Line     int
	Before   []Token // specifiers and return type
	Params   []Token // between the parentheses
	Template []Token // between the angle brackets; nil without template
	Bounds   []Token // first argument of __launch_bounds__
	Body     []Token
	ExternC  bool
	Space    string // namespaces around it: "a::b"
	Hidden   bool   // inside a namespace without name
	Member   bool   // of a class, defined outside of it: void Stream::copy()

	Conditional bool // it is between #if and #endif, or has a directive before its body
}

// scope is an open brace that may contain functions.
type scope struct {
	externC   bool
	namespace bool
	name      string // of the namespace
}

// Functions lists the function definitions outside of classes and other
// functions.
func Functions(tokens []Token) []Function {
	var found []Function
	var scopes []scope
	var head []Token
	depth, inside := 0, false // of conditionals; a directive in the head
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if len(head) == 0 {
			inside = false
		}
		switch {
		case t.Kind == Directive:
			inside = inside || len(head) > 0
			depth += nests(t)
		case t.Is(";"):
			head = nil
		case t.Is("}"):
			head = nil
			if len(scopes) > 0 {
				scopes = scopes[:len(scopes)-1]
			}
		case t.Is("{"):
			if scope, ok := opensScope(head); ok {
				scopes = append(scopes, scope)
				head = nil
				continue
			}
			end := SkipGroup(tokens, i, "{", "}")
			if f, ok := parseHead(head); ok {
				f.Body = tokens[i : end+1]
				f.Conditional = inside || depth > 0
				f.enclose(scopes)
				found = append(found, f)
			}
			head = nil // also after other braces: members of classes end without a semicolon
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

// nests returns by how much a directive deepens the nesting of conditionals.
func nests(t Token) int {
	word := strings.Join(t.directive(), " ")
	switch {
	case strings.HasPrefix(word, "if"):
		return 1
	case strings.HasPrefix(word, "endif"):
		return -1
	}
	return 0
}

// enclose records what the open scopes mean for the function.
func (f *Function) enclose(scopes []scope) {
	var names []string
	for _, s := range scopes {
		f.ExternC = f.ExternC || s.externC
		f.Hidden = f.Hidden || s.namespace && s.name == ""
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	f.Space = strings.Join(names, "::")
}

// opensScope reports whether a brace after head opens a namespace or a block of
// extern "C".
func opensScope(head []Token) (scope, bool) {
	if len(head) == 2 && head[0].Is("extern") && head[1].Kind == String {
		return scope{externC: true}, true
	}
	for i, t := range head {
		if t.Is("namespace") {
			name := ""
			for _, part := range head[i+1:] {
				name += part.Text
			}
			return scope{namespace: true, name: name}, true
		}
		if t.Is("(") || t.Is("=") {
			break
		}
	}
	return scope{}, false
}

// SkipGroup returns the index of the bracket that closes the one at i, or the
// last index.
func SkipGroup(tokens []Token, i int, open, closing string) int {
	depth := 0
	for ; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Kind == Directive:
		case t.Is(open):
			depth++
		case t.Is(closing):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens) - 1
}

// enabled drops the tokens between #if 0 and its #endif or #else.
func enabled(tokens []Token) []Token {
	var kept []Token
	depth := 0 // of conditionals, counted from an #if 0
	for _, t := range tokens {
		word := strings.Join(t.directive(), " ")
		switch {
		case depth == 0 && word == "if 0":
			depth = 1
		case depth == 0:
			kept = append(kept, t)
		case depth == 1 && strings.HasPrefix(word, "el"):
			depth = 0
		default:
			depth += nests(t)
		}
	}
	return kept
}

// withArguments are specifiers that take a parenthesis, which is not that of the parameters.
var withArguments = strings.Fields("__attribute__ __attribute __declspec __launch_bounds__ __maxnreg__ __cluster_dims__ __block_size__ alignas noexcept throw decltype requires")

// parseHead reads the tokens before a body. They are a function if they contain one parenthesis
// after a name, other than those of specifiers.
func parseHead(head []Token) (Function, bool) {
	var f Function
	if len(head) > 1 && head[0].Is("template") && head[1].Is("<") {
		end := SkipGroup(head, 1, "<", ">")
		f.Template = append([]Token{}, head[2:max(2, end)]...)
		head = head[min(len(head), end+1):]
	}
	if len(head) > 1 && head[0].Is("extern") && head[1].Kind == String {
		f.ExternC = true
	}
	for i := 0; i < len(head); i++ {
		t := head[i]
		switch {
		case t.Is("class") || t.Is("struct") || t.Is("union") || t.Is("enum"):
			// A return type may be a struct; a class body has no parenthesis.
		case t.Is("=") || t.Is("operator") || t.Is("[") && i+1 < len(head) && !head[i+1].Is("["):
			return f, false
		case t.Kind == Word && i+1 < len(head) && head[i+1].Is("("):
			end := SkipGroup(head, i+1, "(", ")")
			group := head[i+2 : max(i+2, end)]
			if slices.Contains(withArguments, t.Text) {
				if t.Is("__launch_bounds__") {
					f.Bounds = SplitList(group)[0]
				}
				head = append(append([]Token{}, head[:i]...), head[end+1:]...)
				i--
				continue
			}
			f.Member = i > 0 && head[i-1].Is("::")
			if i > 0 && head[i-1].Is("~") || !head[end].Is(")") || Has(head[:i], ":") || !f.Member && Has(head[:i], ",") {
				return f, false
			}
			if !onlyTrailers(head[end+1:]) { // a macro with arguments, as in EXPORT(void) f(…)
				i = end
				continue
			}
			f.Name, f.Line, f.Before, f.Params = t.Text, t.Line, head[:i], group
			return f, true
		case t.Is("("):
			return f, false
		}
	}
	return f, false
}

// onlyTrailers reports whether the tokens between parameters and body are allowed there:
// qualifiers, but no old-style declarations, initialisers or further parentheses.
func onlyTrailers(tokens []Token) bool {
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.Kind == Word && slices.Contains(withArguments, t.Text):
			if i+1 < len(tokens) && tokens[i+1].Is("(") {
				i = SkipGroup(tokens, i+1, "(", ")")
			}
		case t.Is("const") || t.Is("override") || t.Is("final"):
		default:
			return false
		}
	}
	return true
}

// SplitList splits tokens at commas outside of all brackets.
func SplitList(tokens []Token) [][]Token {
	list := [][]Token{nil}
	depth := 0
	for _, t := range tokens {
		switch {
		case t.Kind == Directive:
			continue
		case t.Is("(") || t.Is("[") || t.Is("{") || t.Is("<"):
			depth++
		case t.Is(")") || t.Is("]") || t.Is("}") || t.Is(">"):
			depth--
		case t.Is(",") && depth == 0:
			list = append(list, nil)
			continue
		}
		list[len(list)-1] = append(list[len(list)-1], t)
	}
	return list
}

// Has reports whether one of the words is among the tokens.
func Has(tokens []Token, words ...string) bool {
	return slices.ContainsFunc(tokens, func(t Token) bool { return slices.ContainsFunc(words, t.Is) })
}
