package spec

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// flowItem is an item of a flow list in the text.
type flowItem struct {
	start, end int // of the text, without surrounding spaces
	line       int // index of its line
}

// flowList is a flow list in the text.
type flowList struct {
	open, end int // offsets of the brackets
	items     []flowItem
	comments  bool
}

// scanFlow finds the items of a flow list of scalars.
func (e *editable) scanFlow(open int) (list flowList, why string) {
	list.open = open
	item := flowItem{start: -1}
	finish := func() {
		if item.start >= 0 {
			list.items = append(list.items, item)
		}
		item = flowItem{start: -1}
	}
	for at := open + 1; at < len(e.text); at++ {
		switch c := e.text[at]; {
		case c == ']':
			finish()
			list.end = at
			return list, ""
		case c == ',':
			finish()
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		case c == '#' && strings.ContainsRune(" \t\r\n[,", rune(e.text[at-1])):
			list.comments = true
			for at+1 < len(e.text) && e.text[at+1] != '\n' {
				at++
			}
			continue
		case c == '[' || c == '{':
			return list, "its list holds another list or a mapping"
		case item.start < 0:
			item.start, item.line = at, e.lineAt(at)
			fallthrough
		default:
			if c == '"' || c == '\'' {
				length := strings.IndexByte(e.text[at+1:], c)
				if length < 0 {
					return list, "a quote in its list does not end"
				}
				at += 1 + length
			}
			item.end = at + 1
		}
	}
	return list, "its list does not end"
}

// lineAt returns the index of the line that holds an offset.
func (e *editable) lineAt(offset int) int {
	for i, l := range e.lines {
		if offset < l.next {
			return i
		}
	}
	return len(e.lines) - 1
}

// orderFlow puts the items of a flow list into another order.
func (e *editable) orderFlow(t *ast.SequenceNode, perm []int, refuse refusal) (string, error) {
	open := e.offset(t.Start)
	if open < 0 || e.text[open] != '[' {
		return refuse("its list is not found where it should be")
	}
	list, why := e.scanFlow(open)
	if why == "" && len(list.items) != len(perm) {
		why = "its list is written in a way that is not understood"
	}
	if why != "" {
		return refuse(why)
	}
	if list.comments {
		return e.orderFlowLines(list, perm, refuse)
	}
	var b strings.Builder
	from := open
	for slot, item := range list.items {
		moved := list.items[perm[slot]]
		b.WriteString(e.text[from:item.start] + e.text[moved.start:moved.end])
		from = item.end
	}
	return e.replace(open, list.items[len(list.items)-1].end, b.String()), nil
}

// orderFlowLines is orderFlow for a list with comments, which move with their items: so each item must have
// a line of its own.
func (e *editable) orderFlowLines(list flowList, perm []int, refuse refusal) (string, error) {
	const why = "its list has comments, and not every value has a line of its own, so nobody can say which comment is whose"
	var items []lineItem
	last := e.lineAt(list.open)
	for i, item := range list.items {
		line := e.lines[item.line]
		if item.line == last || item.line == e.lineAt(list.end) || strings.TrimSpace(e.text[line.start:item.start]) != "" {
			return refuse(why)
		}
		rest := e.text[item.end:line.end]
		space := rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]
		after, comma := strings.CutPrefix(rest[len(space):], ",")
		if !comma && i < len(list.items)-1 {
			return refuse(why) // the comma stands on a line of its own
		}
		found := lineItem{line: item.line, above: last, text: e.text[line.start:item.end], between: space, after: after}
		if comma {
			found.between += ","
		} else {
			found.between, found.after = "", rest
		}
		items = append(items, found)
		last = item.line
	}
	return e.orderLines(items, perm), nil
}

// orderBlock puts the items of a block list into another order.
func (e *editable) orderBlock(t *ast.SequenceNode, of *ast.MappingValueNode, perm []int, refuse refusal) (string, error) {
	var items []lineItem
	last := of.Key.GetToken().Position.Line - 1
	for _, value := range t.Values {
		tk := value.GetToken()
		at := e.offset(tk)
		if at < 0 {
			return refuse("its list is not found where it should be")
		}
		index := tk.Position.Line - 1
		line := e.lines[index]
		if strings.TrimSpace(e.text[line.start:at]) != "-" || index <= last {
			return refuse("a value of its list does not stand on the line of its dash")
		}
		items = append(items, lineItem{line: index, above: last, text: e.text[line.start:line.end]})
		last = index
	}
	if len(items) != len(perm) {
		return refuse("its list is written in a way that is not understood")
	}
	return e.orderLines(items, perm), nil
}

// lineItem is an item of a list that has a line of its own.
type lineItem struct {
	line  int // index of its line
	above int // index of the line that what stands above it comes after
	text  string
	// Between stays in its place, as the comma does; after is a comment, which moves with the item.
	between, after string

	from int // index of the first line that belongs to it: a comment directly above
}

// orderLines puts items with lines of their own into another order, each with the comments directly above it
// and behind it. Blank lines, and comments that a blank line sets apart, stay where they are; so do comments
// above the first item when no other item has any: they are about the list.
func (e *editable) orderLines(items []lineItem, perm []int) string {
	commented := false
	for i := range items {
		item := &items[i]
		item.from = item.line
		for item.from-1 > item.above && strings.HasPrefix(strings.TrimSpace(e.lineText(item.from-1)), "#") {
			item.from--
		}
		commented = commented || i > 0 && item.from < item.line
	}
	if !commented {
		items[0].from = items[0].line
	}
	var b strings.Builder
	start := e.lines[items[0].from].start
	at := items[0].from
	for slot, item := range items {
		b.WriteString(e.text[e.lines[at].start:e.lines[item.from].start])
		moved := items[perm[slot]]
		b.WriteString(e.text[e.lines[moved.from].start:e.lines[moved.line].start])
		b.WriteString(moved.text + item.between + moved.after)
		b.WriteString(e.text[e.lines[item.line].end:e.lines[item.line].next])
		at = item.line + 1
	}
	return e.replace(start, e.lines[items[len(items)-1].line].next, b.String())
}

func (e *editable) lineText(i int) string { return e.text[e.lines[i].start:e.lines[i].end] }
