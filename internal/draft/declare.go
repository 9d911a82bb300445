package draft

import (
	"slices"
	"strings"

	"pawl/internal/csource"
)

// declarator is a variable that a statement declares.
type declarator struct {
	name  string
	words []string // of its type
	stars int
	array bool
	dims  [][]csource.Token // of an array
	init  []csource.Token
	list  bool // the initialiser is a list in brackets: dim3 grid(4, 4)
}

// notTypes begin statements that declare nothing.
var notTypes = strings.Fields("return else case goto delete throw new typedef using namespace template friend public private protected sizeof")

// declarations reads a declaration of variables; nil where the statement is none.
func declarations(tokens []csource.Token) []declarator {
	var words []string
	i, stars := 0, 0
types:
	for ; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Kind == csource.Word && slices.Contains(notTypes, t.Text):
			return nil
		case t.Kind == csource.Word && len(words) > 0 && i > 0 && tokens[i-1].Is("::"):
			words[len(words)-1] += "::" + t.Text
		case t.Kind == csource.Word:
			words = append(words, t.Text)
		case t.Is("::"):
		case t.Is("<") && len(words) > 0:
			i = csource.SkipGroup(tokens, i, "<", ">")
		case (t.Is("*") || t.Is("&")) && len(words) > 0:
			stars++
		default:
			break types
		}
	}
	if len(words) == 0 || len(words) == 1 && stars == 0 {
		return nil
	}
	name := words[len(words)-1]
	if i == 0 || tokens[i-1].Text != name && !strings.HasSuffix(name, "::"+tokens[i-1].Text) {
		return nil
	}
	kind := slices.DeleteFunc(words[:len(words)-1], func(w string) bool { return w == "const" || slices.Contains(ignoredWords, w) })
	if len(kind) == 0 && stars > 0 {
		return nil
	}
	var out []declarator
	for _, part := range csource.SplitAt(tokens[i:], ",") {
		d := declarator{words: kind, stars: stars}
		if len(out) == 0 {
			d.name = name
		} else {
			d.stars = 0
			for len(part) > 0 && (part[0].Is("*") || part[0].Is("&")) {
				d.stars++
				part = part[1:]
			}
			if len(part) == 0 || part[0].Kind != csource.Word {
				return out
			}
			d.name, part = part[0].Text, part[1:]
		}
		for len(part) > 0 && part[0].Is("[") {
			end := csource.SkipGroup(part, 0, "[", "]")
			d.array, d.dims, part = true, append(d.dims, part[1:max(1, end)]), part[end+1:]
		}
		switch {
		case len(part) == 0:
		case part[0].Is("="):
			d.init = part[1:]
		case part[0].Is("("), part[0].Is("{"):
			closing := map[string]string{"(": ")", "{": "}"}[part[0].Text]
			end := csource.SkipGroup(part, 0, part[0].Text, closing)
			d.init, d.list = part[1:max(1, end)], true
		default:
			return nil
		}
		out = append(out, d)
	}
	return out
}
