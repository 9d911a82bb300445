package draft

import (
	"strconv"
	"strings"

	"pawl/internal/csource"
)

// launch is a launch as the host code has it.
type launch struct {
	grid, block [3]sum
	shared      sum
	args        []value
	template    string // arguments in angle brackets
	cooperative bool
	guessed     bool // something of it could not be read
}

// blockConstants lists the constants that blocks are made of, but no buffer.
func (h *host) blockConstants() map[string]bool {
	fixed := map[string]bool{}
	for _, l := range h.launches {
		used := map[string]bool{}
		for _, a := range l.args {
			for _, name := range append(a.sum.variables(), a.count.variables()...) {
				used[name] = used[name] || a.kind == buffer
			}
		}
		for _, dim := range l.block {
			for _, name := range dim.variables() {
				if _, known := h.sizes[name]; known && !used[name] {
					fixed[name] = true
				}
			}
		}
	}
	return fixed
}

// launches reports whether a body launches a kernel.
func launches(body []csource.Token) bool {
	for i := range body {
		if opensLaunch(body, i) {
			return true
		}
	}
	return csource.Has(body, "cudaLaunchKernel", "cudaLaunchCooperativeKernel")
}

func opensLaunch(tokens []csource.Token, i int) bool {
	return i > 0 && i+3 < len(tokens) && tokens[i].Is("<") && tokens[i+1].Is("<") && tokens[i+2].Is("<")
}

// reached reports whether all launches of a function are known already.
func (h *host) reached(fn csource.Function) bool {
	for i := range fn.Body {
		if opensLaunch(fn.Body, i) {
			if name, _ := launched(fn.Body, i); h.launches[name] == nil {
				return false
			}
		}
	}
	return true
}

// templateArguments writes the arguments of a kernel's template, numbers where they are known.
func (h *host) templateArguments(tokens []csource.Token, env map[string]value) string {
	if len(tokens) == 0 {
		return ""
	}
	var parts []string
	for _, part := range csource.SplitList(tokens) {
		text := h.typeText(part)
		v := h.eval(csource.ReadExpression(part), env)
		if n, ok := h.numeric(v); ok && !(len(part) == 1 && (h.file.macro(part[0].Text) || part[0].Is("true") || part[0].Is("false"))) {
			text = strconv.FormatInt(n, 10)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// launched returns the kernel before the brackets of a launch, and its template's arguments.
func launched(tokens []csource.Token, i int) (name string, template []csource.Token) {
	at := i - 1
	if tokens[at].Is(">") {
		depth := 0
		end := at
		for ; at >= 0; at-- {
			if tokens[at].Is(">") {
				depth++
			} else if tokens[at].Is("<") {
				if depth--; depth == 0 {
					break
				}
			}
		}
		if at <= 0 {
			return "", nil
		}
		template = tokens[at+1 : end]
		at--
	}
	return tokens[at].Text, template
}

// tokenText writes tokens as source.
func tokenText(tokens []csource.Token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && t.Kind != csource.Punct && tokens[i-1].Kind != csource.Punct || i > 0 && tokens[i-1].Is(",") {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// launch records kernel<<<grid, block, shared, stream>>>(arguments).
func (h *host) launch(tokens []csource.Token, i int, env map[string]value) {
	name, arguments := launched(tokens, i)
	end, depth := i+3, 0
	for ; end+2 < len(tokens); end++ {
		switch t := tokens[end]; {
		case t.Is("(") || t.Is("{"):
			depth++
		case t.Is(")") || t.Is("}"):
			depth--
		}
		if depth == 0 && tokens[end].Is(">") && tokens[end+1].Is(">") && tokens[end+2].Is(">") {
			break
		}
	}
	if end+3 >= len(tokens) || !tokens[end+3].Is("(") || name == "" {
		return
	}
	l := &launch{template: h.templateArguments(arguments, env)}
	var given []value
	for _, part := range csource.SplitAt(tokens[i+3:end], ",") {
		given = append(given, h.eval(csource.ReadExpression(part), env))
	}
	if len(given) < 2 {
		return
	}
	closing := csource.SkipGroup(tokens, end+3, "(", ")")
	if inside := tokens[end+4 : max(end+4, closing)]; len(inside) > 0 {
		for _, part := range csource.SplitAt(inside, ",") {
			l.args = append(l.args, h.eval(csource.ReadExpression(part), env))
		}
	}
	h.record(name, l, given)
}

// record keeps a launch, unless a better one of the same kernel is known.
func (h *host) record(name string, l *launch, given []value) {
	for at, to := range map[int]*[3]sum{0: &l.grid, 1: &l.block} {
		switch v := given[at]; v.kind {
		case integer:
			*to = [3]sum{v.sum, number(1), number(1)}
		case dimensions:
			*to = v.dims
		default:
			l.guessed = true
		}
	}
	if len(given) > 2 {
		if given[2].kind == integer {
			l.shared = given[2].sum
		} else {
			l.guessed = true
		}
	}
	if have := h.launches[name]; have == nil || have.guessed && !l.guessed {
		h.launches[name] = l
	}
}
