package spec

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"pawl/internal/diag"
	"pawl/internal/pattern"
)

// converter turns the library's tree into nodes.
type converter struct {
	*source
	problems *diag.List
	anchors  map[string]*node
	names    []string // of anchors, for hints
}

func (c *converter) convert(tree ast.Node) *node {
	switch t := tree.(type) {
	case *ast.MappingNode:
		return c.mapping(t.Start, t.IsFlowStyle, t.Values)
	case *ast.MappingValueNode:
		return c.mapping(t.Start, false, []*ast.MappingValueNode{t})
	case *ast.SequenceNode:
		return c.list(t)
	case *ast.AnchorNode:
		value := c.convert(t.Value)
		name := t.Name.GetToken().Value
		c.anchors[name] = value
		c.names = append(c.names, name)
		return value
	case *ast.AliasNode:
		return c.alias(t)
	case *ast.LiteralNode:
		n := c.scalar(textKind, t.Start)
		n.text, n.content = t.Value.Value, 0
		return n
	case *ast.StringNode:
		if t.Token.Type == token.StringType && plainFloat.MatchString(t.Value) {
			return c.scalar(floatKind, t.Token)
		}
		if t.Token.Type == token.StringType && plainInteger.MatchString(t.Value) {
			return c.scalar(integerKind, t.Token)
		}
		return c.scalar(textKind, t.Token)
	case *ast.IntegerNode:
		return c.scalar(integerKind, t.Token)
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return c.scalar(floatKind, t.GetToken())
	case *ast.BoolNode:
		return c.scalar(boolKind, t.Token)
	case *ast.NullNode:
		return c.scalar(nullKind, t.Token)
	case *ast.MappingKeyNode:
		return c.convert(t.Value)
	}
	n := &node{kind: nullKind, pos: c.pos(1, 1), width: 1, weight: 1, reported: true}
	if tree != nil && tree.GetToken() != nil {
		tk := tree.GetToken()
		n.pos = c.pos(tk.Position.Line, tk.Position.Column)
	}
	c.problems.Addf(n.pos, "this YAML feature is not used in pawl.yaml")
	return n
}

// YAML's own grammar of numbers: the library takes floats without a dot, such
// as 1e-4, and integers of more than 64 bits for text.
var (
	plainFloat   = pattern.New(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$`)
	plainInteger = pattern.New(`^[-+]?[0-9]+$`)
)

// scalar builds a scalar and finds where its text stands in the file.
func (c *converter) scalar(k kind, tk *token.Token) *node {
	n := &node{kind: k, text: tk.Value, pos: c.pos(tk.Position.Line, tk.Position.Column), width: 1, weight: 1}
	if k == nullKind {
		n.text = ""
		return n
	}
	line, want := c.lines[n.pos.Line-1], []rune(tk.Value)
	open := 0
	if tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType {
		open = 1
	}
	start := n.pos.Column - 1 + open
	if holds(line, start, want) && (open == 0 || holds(line, start+len(want), line[n.pos.Column-1:n.pos.Column])) {
		n.content = start + 1
		n.width = max(1, min(len(want)+2*open, maxWidth))
	}
	return n
}

// holds reports whether want stands in line at the index start.
func holds(line []rune, start int, want []rune) bool {
	return start >= 0 && start+len(want) <= len(line) && string(line[start:start+len(want)]) == string(want)
}

func (c *converter) alias(t *ast.AliasNode) *node {
	name := t.Value.GetToken().Value
	if value, ok := c.anchors[name]; ok {
		return value
	}
	at := c.pos(t.Start.Position.Line, t.Start.Position.Column)
	p := c.problems.Addf(at, "no anchor &%s above this alias", name)
	p.Width = 1 + len([]rune(name))
	if near := diag.Nearest(name, c.names); near != "" {
		p.Hint = "did you mean *" + near + "?"
	}
	return &node{kind: nullKind, pos: at, width: p.Width, weight: 1, reported: true}
}

func (c *converter) list(t *ast.SequenceNode) *node {
	n := &node{kind: listKind, pos: c.pos(t.Start.Position.Line, t.Start.Position.Column), width: 1, weight: 1}
	for _, value := range t.Values {
		item := c.convert(value)
		n.items = append(n.items, item)
		n.weight = addWeight(n.weight, item.weight)
	}
	return n
}

// mapping converts a mapping. Keys merged by << stand where the << stands;
// keys written out win over them, wherever they are.
func (c *converter) mapping(start *token.Token, flow bool, values []*ast.MappingValueNode) *node {
	n := &node{kind: mappingKind, width: 1, weight: 1}
	if start != nil {
		n.pos = c.pos(start.Position.Line, start.Position.Column)
	}
	type entry struct {
		field
		merge bool
	}
	var entries []entry
	first := map[string]*node{}
	for i, v := range values {
		key, merge := c.key(v.Key)
		value := c.convert(v.Value)
		if null, ok := v.Value.(*ast.NullNode); ok && null.Token.Type == token.ImplicitNullType {
			value.pos, value.width = key.pos, key.width
		}
		if i == 0 && !flow {
			n.pos, n.width = key.pos, key.width
		}
		n.weight = addWeight(n.weight, value.weight+1)
		if before := first[key.text]; before != nil && !merge {
			c.problems.Addf(key.pos, "%s is given twice; first on line %d", key.text, before.pos.Line).Width = key.width
			continue
		}
		if !merge {
			first[key.text] = key
		}
		entries = append(entries, entry{field{key, value}, merge})
	}
	for _, e := range entries {
		if e.merge {
			n.fields = append(n.fields, c.merged(e.value, first)...)
		} else {
			n.fields = append(n.fields, e.field)
		}
	}
	return n
}

// merged lists the fields that << brings: those whose keys are not taken yet.
func (c *converter) merged(value *node, taken map[string]*node) []field {
	var fields []field
	for _, m := range value.list() {
		if m.kind != mappingKind {
			if !m.reported {
				c.problems.Addf(m.pos, "<< merges mappings, found %s", m.describe()).Width = m.width
			}
			continue
		}
		for _, f := range m.fields {
			if taken[f.key.text] == nil {
				taken[f.key.text] = f.key
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// key converts a mapping's key, and reports whether it is the merge key.
func (c *converter) key(t ast.MapKeyNode) (key *node, merge bool) {
	if t.IsMergeKey() {
		tk := t.GetToken()
		return &node{kind: textKind, text: "<<", pos: c.pos(tk.Position.Line, tk.Position.Column), width: 2, weight: 1}, true
	}
	key = c.convert(t)
	switch key.kind {
	case textKind, integerKind:
	default:
		p := c.problems.Addf(key.pos, "a key must be a name, found %s", key.describe())
		p.Width, p.Hint = key.width, "put the key in quotes"
	}
	if strings.TrimSpace(key.text) == "" && key.kind == textKind {
		c.problems.Addf(key.pos, "a key must be a name, found an empty string")
	}
	return key, false
}

// addWeight adds without overflowing.
func addWeight(a, b int) int { return min(a+b, 1<<40) }
