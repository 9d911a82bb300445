package spec

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"pawl/internal/diag"
	"pawl/internal/pattern"
)

// editable is the text of a pawl.yaml together with what it means and how it is written: nodes have
// aliases resolved, the library's tree still has them.
type editable struct {
	file     string
	text     string // without a byte order mark; line ends as they are
	root     *node
	tree     []*ast.MappingValueNode // of the top level
	lines    []textLine
	comments []string // sorted
}

// textLine is a line of a text, by offsets.
type textLine struct{ start, end, next int } // end: without what ends it; next: with that

// readEditable reads a text that Parse takes.
func readEditable(file, text string) (e *editable, err error) {
	var problems diag.List
	root, _ := readYAML(file, []byte(text), &problems)
	if err := problems.Err([]byte(text)); err != nil || root == nil {
		return nil, err
	}
	e = &editable{file: file, text: text, root: root}
	for start := 0; start < len(text); {
		line := textLine{start: start, next: len(text)}
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			line.next = start + i + 1
		}
		line.end = start + len(strings.TrimRight(text[start:line.next], "\r\n"))
		e.lines = append(e.lines, line)
		start = line.next
	}
	tokens := lexer.Tokenize(strings.ReplaceAll(text, "\r\n", "\n"))
	for _, tk := range tokens {
		if tk.Type == token.CommentType {
			e.comments = append(e.comments, strings.TrimSpace(tk.Value))
		}
	}
	slices.Sort(e.comments)
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			e.tree, _, _ = mappingOf(doc.Body)
			break
		}
	}
	return e, nil
}

// mappingOf returns the entries of a mapping that is written where it stands, and whether it is a flow
// mapping.
func mappingOf(n ast.Node) (entries []*ast.MappingValueNode, flow, ok bool) {
	switch t := n.(type) {
	case *ast.AnchorNode:
		return mappingOf(t.Value)
	case *ast.MappingNode:
		return t.Values, t.IsFlowStyle, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{t}, false, true
	}
	return nil, false, false
}

// entryOf finds a key among entries; nil: it is not written there.
func entryOf(entries []*ast.MappingValueNode, name string) *ast.MappingValueNode {
	for _, e := range entries {
		if !e.Key.IsMergeKey() && e.Key.GetToken().Value == name {
			return e
		}
	}
	return nil
}

// mergesOf returns the merge keys among entries.
func mergesOf(entries []*ast.MappingValueNode) (merges []*ast.MappingValueNode) {
	for _, e := range entries {
		if e.Key.IsMergeKey() {
			merges = append(merges, e)
		}
	}
	return merges
}

// offset returns where a token begins; -1: the library has lost count.
func (e *editable) offset(tk *token.Token) int {
	line, column := tk.Position.Line, tk.Position.Column
	if line < 1 || line > len(e.lines) || column < 1 {
		return -1
	}
	at := e.lines[line-1]
	for i := range e.text[at.start:at.end] {
		if column--; column == 0 {
			return at.start + i
		}
	}
	return -1
}

// extent returns where a key begins and where its value ends. The value is an alias, or a flow list of them.
func (e *editable) extent(entry *ast.MappingValueNode) (start, end int, ok bool) {
	start = e.offset(entry.Key.GetToken())
	switch t := entry.Value.(type) {
	case *ast.AliasNode:
		end = e.offset(t.Start) + 1 + len(t.Value.GetToken().Value)
	case *ast.SequenceNode:
		if !t.IsFlowStyle || t.End == nil {
			return 0, 0, false
		}
		end = e.offset(t.End) + 1
	}
	return start, end, start >= 0 && end > start
}

// replace returns the text with a part of it replaced.
func (e *editable) replace(start, end int, by string) string {
	return e.text[:start] + by + e.text[end:]
}

// order returns the text with one param of a kernel in the order that is wanted, or with all of its
// params written out where it has that one from elsewhere.
func (e *editable) order(kernel, param string, want paramOrders) (string, error) {
	refuse := func(why string) (string, error) { return "", e.refuse(kernel, param, why) }
	kernels := entryOf(e.tree, "kernels")
	if kernels == nil {
		return refuse("kernels are not written as a mapping")
	}
	entries, _, _ := mappingOf(kernels.Value)
	k := entryOf(entries, kernel)
	if k == nil {
		return refuse("the kernel is merged in from elsewhere")
	}
	if alias, ok := k.Value.(*ast.AliasNode); ok {
		name := alias.Value.GetToken().Value
		return e.replaceAlias(alias, "{<<: *"+name+", params: "+mappingText(want)+"}", refuse)
	}
	entries, flow, ok := mappingOf(k.Value)
	if !ok {
		return refuse("the kernel is not written as a mapping")
	}
	params := entryOf(entries, "params")
	if params == nil {
		return e.addParams(entries, flow, want, refuse)
	}
	if alias, ok := params.Value.(*ast.AliasNode); ok {
		return e.replaceAlias(alias, mappingText(want), refuse)
	}
	entries, flow, ok = mappingOf(params.Value)
	if !ok {
		return refuse("params are not written as a mapping")
	}
	p := entryOf(entries, param)
	if p == nil {
		return e.expandMerge(entries, flow, want, refuse)
	}
	value := p.Value
	if anchor, ok := value.(*ast.AnchorNode); ok {
		value = anchor.Value
	}
	switch t := value.(type) {
	case *ast.AliasNode:
		return e.replaceAlias(t, listText(want.find(param).values), refuse)
	case *ast.SequenceNode:
		have := paramsOf(e.root.find("kernels").find(kernel)).find(param).values
		perm, ok := permutation(have, want.find(param).values)
		if !ok {
			return refuse("its values are not those that they were")
		}
		if t.IsFlowStyle {
			return e.orderFlow(t, perm, refuse)
		}
		return e.orderBlock(t, p, perm, refuse)
	}
	return refuse("its values are not written as a list")
}

// permutation says for every place of want which item of have stands there.
func permutation(have, want []*node) ([]int, bool) {
	var perm []int
	for _, w := range want {
		for i, h := range have {
			if sameNode(h, w) {
				perm = append(perm, i)
			}
		}
	}
	return perm, len(perm) == len(want) && len(have) == len(want)
}

type refusal func(why string) (string, error)

// replaceAlias writes something in place of an alias.
func (e *editable) replaceAlias(alias *ast.AliasNode, by string, refuse refusal) (string, error) {
	start := e.offset(alias.Start)
	text := "*" + alias.Value.GetToken().Value
	if start < 0 || !strings.HasPrefix(e.text[start:], text) {
		return refuse("the alias " + text + " is not found where it should be")
	}
	return e.replace(start, start+len(text), by), nil
}

// addParams gives params of its own to a kernel that has them by a merge.
func (e *editable) addParams(entries []*ast.MappingValueNode, flow bool, want paramOrders, refuse refusal) (string, error) {
	merges := mergesOf(entries)
	if len(merges) == 0 {
		return refuse("nobody can see where its params come from")
	}
	start, end, ok := e.extent(merges[0])
	if !ok {
		return refuse("what it merges (<<) is not an alias")
	}
	text := "params: " + mappingText(want)
	if flow {
		return e.replace(end, end, ", "+text), nil
	}
	line := e.lines[merges[0].Key.GetToken().Position.Line-1]
	for _, l := range e.lines { // the line on which the merge ends
		if l.start <= end && end <= l.end {
			line.end, line.next = l.end, l.next
		}
	}
	// It is a line of its own, ended as the line above is; at the end of a file that is not ended, first.
	ending := e.text[line.end:line.next]
	if ending == "" {
		return e.replace(line.end, line.end, "\n"+e.text[line.start:start]+text), nil
	}
	return e.replace(line.next, line.next, e.text[line.start:start]+text+ending), nil
}

// expandMerge writes out the params that a merge brings, where the merge stands: so their order stays.
func (e *editable) expandMerge(entries []*ast.MappingValueNode, flow bool, want paramOrders, refuse refusal) (string, error) {
	merges := mergesOf(entries)
	if len(merges) != 1 {
		return refuse("its params are merged (<<) from several places")
	}
	start, end, ok := e.extent(merges[0])
	if !ok {
		return refuse("what its params merge (<<) is not an alias")
	}
	between := ", "
	if !flow {
		line := e.lines[merges[0].Key.GetToken().Position.Line-1]
		indent := e.text[line.start:start]
		if strings.Trim(indent, " ") != "" {
			return refuse("the merge (<<) does not stand on a line of its own")
		}
		between = strings.TrimSuffix(e.text[line.end:line.next], "\n") + "\n" + indent
	}
	var merged []string
	for _, p := range want {
		if entryOf(entries, p.name) == nil {
			merged = append(merged, p.name+": "+listText(p.values))
		}
	}
	return e.replace(start, end, strings.Join(merged, between)), nil
}

// plainWord and notText say which texts need no quotes.
var (
	plainWord = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	notText   = map[string]bool{
		"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true, "nan": true, "inf": true,
	}
)
