package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/pattern"
)

// decoder turns nodes into typed values. It never stops at a problem: what
// cannot be read is recorded and left out, and the rest is read.
type decoder struct {
	problems *diag.List
	skipped  int  // problems not recorded again, because the node's own is
	earlier  bool // the file is of an earlier commit: keys that nothing reads are passed over
}

// trouble grows with every problem; what did not change it was read whole.
func (d *decoder) trouble() int { return d.problems.Len() + d.skipped }

// fail records a problem at a node.
func (d *decoder) fail(n *node, format string, args ...any) *diag.Problem {
	p := d.problems.Addf(n.pos, format, args...)
	p.Width = n.width
	return p
}

// expect records that a node is not what it should be.
func (d *decoder) expect(n *node, what string) *diag.Problem {
	if n.reported {
		d.skipped++
		return &diag.Problem{}
	}
	return d.fail(n, "expected %s, found %s", what, n.describe())
}

// key is one key that a mapping may hold and what reads its value.
type key[T any] struct {
	name string
	read func(d *decoder, into *T, value *node)
}

func keyNames[T any](keys []key[T]) []string {
	return namesOf(keys, func(k key[T]) string { return k.name })
}

// found is what a mapping held.
type found struct {
	fields  map[string]field // nil when it was no mapping
	guessed map[string]bool  // keys that were probably meant by unknown ones
}

func (f found) has(name string) bool {
	_, ok := f.fields[name]
	return ok
}

// lacks reports whether a key should be complained about: not when the mapping
// was none, or when a misspelling of the key has been reported.
func (f found) lacks(name string) bool {
	return f.fields != nil && !f.has(name) && !f.guessed[name]
}

// plannedKeys are known to the design and to nothing else, by the mapping they are in; each with the
// end of its hint. Accepted, they would promise what does not happen.
var plannedKeys = map[string]string{
	"pawl.yaml session": "",

	"ci comment": "; pawl ci post writes comments",
	"gate claim": "; pawl check judges by regression and improvement, pawl compare by --gate and --improvement",
	"gate delta": "; pawl check judges by regression and improvement, pawl compare by --gate and --improvement",
}

// readKeys reads a mapping by its table of keys. What names the mapping in
// messages; elsewhere holds a hint for keys that people put here although they
// belong in another place.
func readKeys[T any](d *decoder, n *node, what string, keys []key[T], elsewhere map[string]string, into *T) found {
	if n.kind != mappingKind {
		d.expect(n, what+" as a mapping").Hint = "its keys are: " + strings.Join(keyNames(keys), ", ")
		return found{}
	}
	result := found{fields: make(map[string]field, len(n.fields)), guessed: map[string]bool{}}
next:
	for _, f := range n.fields {
		for _, k := range keys {
			if k.name == f.key.text {
				result.fields[k.name] = f
				k.read(d, into, f.value)
				continue next
			}
		}
		kind, _, _ := strings.Cut(what, " ")
		if hint, planned := plannedKeys[kind+" "+f.key.text]; planned {
			if !d.earlier {
				d.fail(f.key, "%s is not supported yet: nothing reads it", f.key.text).Hint = "remove it" + hint
			}
			continue
		}
		p := d.fail(f.key, "unknown key %s in %s", quote(f.key.text), what)
		if p.Hint = elsewhere[f.key.text]; p.Hint == "" {
			p.Hint = diag.Meant(f.key.text, keyNames(keys))
		}
		for _, k := range keys {
			result.guessed[k.name] = result.guessed[k.name] || p.Hint == didYouMean(k.name)
		}
	}
	return result
}

// refuse records a problem at the key of a mapping, if the mapping has that key.
func (d *decoder) refuse(in found, name, hint, format string, args ...any) {
	if f, ok := in.fields[name]; ok {
		d.fail(f.key, format, args...).Hint = hint
	}
}

// entries returns the fields of a mapping; what says what is expected of anything else.
func (d *decoder) entries(n *node, what, example string) []field {
	if n.kind != mappingKind {
		d.expect(n, what).Hint = example
	}
	return n.fields
}

// items returns the items of a list; what says what is expected of anything else.
func (d *decoder) items(n *node, what, example string) []*node {
	if n.kind != listKind {
		d.expect(n, what).Hint = example
	}
	return n.items
}

// choice reads one of a few words. Aliases are what people write for them by mistake.
func (d *decoder) choice(n *node, what, refusal string, words []string, aliases map[string]string) (string, bool) {
	text, ok := d.word(n, what)
	if !ok || slices.Contains(words, text) {
		return text, ok
	}
	p := d.fail(n, refusal, quote(text))
	if p.Hint = diag.Meant(text, words); aliases[strings.ToLower(text)] != "" {
		p.Hint = didYouMean(aliases[strings.ToLower(text)])
	}
	return text, false
}

// namesOf lists the names of things.
func namesOf[T any](list []T, name func(T) string) []string {
	var names []string
	for _, one := range list {
		names = append(names, name(one))
	}
	return names
}

func didYouMean(name string) string { return "did you mean " + name + "?" }

// word reads one of a set of names.
func (d *decoder) word(n *node, what string) (string, bool) {
	if n.kind != textKind {
		d.expect(n, what)
		return "", false
	}
	return n.text, true
}

// text reads a string.
func (d *decoder) text(n *node, what string) (string, bool) {
	if n.kind != textKind {
		d.expect(n, what).Hint = quoteHint(n)
		return "", false
	}
	if strings.TrimSpace(n.text) == "" {
		d.fail(n, "expected %s, found an empty string", what)
		return "", false
	}
	return n.text, true
}

// quoteHint helps where YAML made a number or boolean of what was to be text.
func quoteHint(n *node) string {
	if n.kind == boolKind || n.kind == integerKind || n.kind == floatKind {
		return "put it in quotes to make it a string"
	}
	return ""
}

// boolean reads true or false.
func (d *decoder) boolean(n *node, what string) bool {
	if n.kind != boolKind {
		d.expect(n, what+" to be true or false").Hint = booleanHints[strings.ToLower(n.text)]
	}
	return n.kind == boolKind && strings.EqualFold(n.text, "true")
}

// booleanHints help with what older YAML took for booleans.
var booleanHints = map[string]string{
	"yes": "write true", "on": "write true", "y": "write true", "no": "write false", "off": "write false", "n": "write false",
}

// integer reads a whole number between low and high; 0 where it is none.
func (d *decoder) integer(n *node, what string, low, high int64) int64 {
	if n.kind != integerKind {
		d.expect(n, what+" to be an integer")
		return 0
	}
	value, err := parseInteger(n.text)
	switch {
	case err != nil:
		d.fail(n, "%s: %v", what, err)
	case value < low || value > high:
		d.fail(n, "expected %s to be between %d and %d, found %d", what, low, high, value)
	default:
		return value
	}
	return 0
}

// number reads a finite number, whole or not.
func (d *decoder) number(n *node, what string) (float64, bool) {
	if n.kind != integerKind && n.kind != floatKind {
		d.expect(n, what+" to be a number")
		return 0, false
	}
	value, err := parseNumber(n)
	if err != nil {
		d.fail(n, "%s: %v", what, err)
	}
	return value, err == nil
}

// parseNumber returns a number as a float64.
func parseNumber(n *node) (float64, error) {
	value, err := numberValue(n)
	number, _ := value.Float()
	return number, err
}

// numberValue returns an integer or a finite float.
func numberValue(n *node) (formula.Value, error) {
	if n.kind == integerKind {
		value, err := parseInteger(n.text)
		return formula.Int(value), err
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(n.text, "_", ""), 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return formula.Value{}, fmt.Errorf("%s is not a finite number", n.text)
	}
	return formula.Float(value), nil
}

var leadingZero = pattern.New(`^[-+]?0[0-9_]`)

// parseInteger reads YAML's integers. A leading zero is refused: it means
// octal to some readers of YAML and decimal to others.
func parseInteger(text string) (int64, error) {
	if leadingZero.MatchString(text) {
		return 0, fmt.Errorf("%s starts with 0, which some read as octal", text)
	}
	value, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s does not fit a 64-bit integer", text)
	}
	return value, nil
}

var wordValue = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$`)

// value reads what a param or a variable may be.
func (d *decoder) value(n *node, what string) (formula.Value, bool) {
	switch n.kind {
	case integerKind, floatKind:
		v, err := numberValue(n)
		if err != nil {
			d.fail(n, "%s: %v", what, err)
		}
		return v, err == nil
	case boolKind:
		return formula.Bool(strings.EqualFold(n.text, "true")), true
	case textKind:
		if wordValue.MatchString(n.text) {
			return formula.String(n.text), true
		}
		d.fail(n, "expected %s to be a number, a boolean or a word, found %s", what, n.describe()).
			Hint = "values are plain; formulas are not evaluated here"
		return formula.Value{}, false
	}
	d.expect(n, what+" to be a number, a boolean or a word")
	return formula.Value{}, false
}

// formula reads an expression; numbers and booleans are expressions too.
func (d *decoder) formula(n *node, what string) *Formula {
	text := n.text
	switch n.kind {
	case textKind:
	case boolKind:
		text = strings.ToLower(text)
	case integerKind, floatKind:
		v, ok := d.value(n, what)
		if !ok {
			return nil
		}
		if text = v.String(); n.kind == floatKind {
			number, _ := v.Float()
			text = strconv.FormatFloat(number, 'g', -1, 64)
		}
	default:
		d.expect(n, "a formula for "+what)
		return nil
	}
	f := &Formula{Text: text, what: what, node: n}
	f.Pos, _ = n.at(0)
	if err := f.parse(); err != nil {
		d.problems.Add(f.problem(err))
		return nil
	}
	return f
}

// list returns the items of a list; a single value stands for a list of one.
func (n *node) list() []*node {
	if n.kind == listKind {
		return n.items
	}
	return []*node{n}
}

// formulas reads one to most formulas; what and of name them: shape of x, or
// shape[0] of x where there are several.
func (d *decoder) formulas(n *node, what, of string, most int) []*Formula {
	items := n.list()
	if len(items) == 0 || len(items) > most {
		d.fail(n, "expected 1 to %d formulas for %s, found %d", most, what+of, len(items))
		return nil
	}
	var list []*Formula
	for i, item := range items {
		name := what + of
		if len(items) > 1 {
			name = fmt.Sprintf("%s[%d]%s", what, i, of)
		}
		if f := d.formula(item, name); f != nil {
			list = append(list, f)
		}
	}
	if len(list) < len(items) {
		return nil
	}
	return list
}

// one reads a single formula.
func (d *decoder) one(n *node, what string) *Formula {
	if n.kind == listKind || n.kind == mappingKind {
		d.expect(n, "one formula for "+what)
		return nil
	}
	return d.formula(n, what)
}
