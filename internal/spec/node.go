package spec

import (
	"slices"
	"strings"

	"pawl/internal/diag"
)

// kind tells what a YAML value is.
type kind uint8

const (
	nullKind kind = iota
	boolKind
	integerKind
	floatKind
	textKind
	mappingKind
	listKind
)

// String names the kind as error messages do.
func (k kind) String() string {
	return [...]string{"nothing", "a boolean", "an integer", "a number", "a string", "a mapping", "a list"}[k]
}

// node is a YAML value with its place: aliases resolved, merge keys merged.
// Nodes behind an alias are shared, so they are never changed once built.
type node struct {
	kind   kind
	pos    diag.Pos
	width  int    // runes to underline
	text   string // scalars: the value as text
	fields []field
	items  []*node

	// content is the column of text's first rune when text stands in the file
	// letter for letter, on one line; 0 when it does not (escapes, block
	// scalars), so that a place inside text has no place in the file.
	content int

	reported bool // it stands for something that has a problem of its own

	weight int // nodes below and including this one, aliases expanded
}

// field is one key of a mapping with its value.
type field struct {
	key   *node
	value *node
}

// find returns the value of a key, or nil.
func (n *node) find(name string) *node {
	if f := n.field(name); f != nil {
		return f.value
	}
	return nil
}

// field returns the field of a mapping by its key; nil where there is none.
func (n *node) field(name string) *field {
	if n == nil {
		return nil
	}
	i := slices.IndexFunc(n.fields, func(f field) bool { return f.key.text == name })
	if i < 0 {
		return nil
	}
	return &n.fields[i]
}

// describe says what the value is, short enough for a message.
func (n *node) describe() string {
	switch n.kind {
	case boolKind, integerKind, floatKind:
		return n.text
	case textKind:
		return quote(n.text)
	}
	if n.kind == mappingKind && len(n.fields) == 0 {
		return "an empty mapping"
	}
	if n.kind == listKind && len(n.items) == 0 {
		return "an empty list"
	}
	return n.kind.String()
}

// at returns the place of the byte offset inside the scalar's text; without a known
// place inside, that of the scalar.
func (n *node) at(offset int) (pos diag.Pos, exact bool) {
	if n.content == 0 || offset < 0 || offset > len(n.text) {
		return n.pos, false
	}
	pos = n.pos
	pos.Column = n.content + len([]rune(n.text[:offset]))
	return pos, true
}

// quote puts text in quotes, cut where it would flood a message.
func quote(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return `"` + strings.ReplaceAll(text, "\n", `\n`) + `"`
}
