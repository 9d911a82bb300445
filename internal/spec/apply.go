package spec

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl/internal/diag"
)

// Apply makes values the defaults of a kernel's params in the text of a pawl.yaml: each moves to the
// front of its list. Nothing else changes: not a comment, not a blank line, not the meaning of
// anything. Params that are not given keep their defaults. Source is returned as it is where they all
// are the defaults already.
//
// Only that kernel changes. Where it shares a list with others by an alias or a merge (<<), whoever
// does not hold the list gets params of its own, written out: this kernel with the new defaults, or the
// others with those that they had.
//
// The edited text is read again and compared with the first. If anything but the defaults differs, or
// the new defaults do not satisfy a constraint, the error says so and nothing is returned.
func Apply(source []byte, file, kernel string, params map[string]string) ([]byte, error) {
	s, err := Parse(file, source)
	if err != nil {
		return nil, err
	}
	k := s.Kernel(kernel)
	if k == nil {
		names := namesOf(s.Kernels, func(k *Kernel) string { return k.Name })
		return nil, diag.Errors{{Message: fmt.Sprintf("%s has no kernel %s", file, quote(kernel)), Hint: diag.Meant(kernel, names)}}
	}
	chosen := k.Default()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if chosen, err = chosen.choose(name, params[name]); err != nil {
			return nil, err
		}
	}
	if err := chosen.allowed(); err != nil {
		return nil, err
	}
	text, marked := bytes.CutPrefix(source, byteOrderMark)
	edited, err := applyTo(file, string(text), k, chosen)
	if err != nil {
		return nil, err
	}
	if marked {
		edited = string(byteOrderMark) + edited
	}
	if _, err := Parse(file, []byte(edited)); err != nil {
		return nil, fmt.Errorf("with %s as the default, %s would not be right: %w", chosen.Name(), file, err)
	}
	return []byte(edited), nil
}

// ChangedDefaults compares two texts of a pawl.yaml of which the second should differ in the defaults of params
// alone, as Apply makes it. It returns them, kernel by kernel: "gemm: BLOCK_M 128, was 64". The error says what else
// differs, or why the second is no valid file.
func ChangedDefaults(file string, before, after []byte) ([]string, error) {
	for _, text := range [][]byte{before, after} {
		if _, err := Parse(file, text); err != nil {
			return nil, err
		}
	}
	old, err := readEditable(file, strings.TrimPrefix(string(before), string(byteOrderMark)))
	if err != nil {
		return nil, err
	}
	now, err := readEditable(file, strings.TrimPrefix(string(after), string(byteOrderMark)))
	if err != nil {
		return nil, err
	}
	had, have := old.orders(), now.orders()
	if what := differ(old, now, have); what != "" {
		return nil, fmt.Errorf("%s: expected changes of defaults only, and %s differs", file, what)
	}
	var changes []string
	for _, kernel := range now.kernelNames(now.root.find("kernels").fields[0].key.text) {
		if len(had[kernel]) != len(have[kernel]) {
			return nil, fmt.Errorf("%s: expected changes of defaults only, and the params of %s differ", file, kernel)
		}
		for i, p := range have[kernel] {
			former := had[kernel][i]
			if former.name != p.name || !sameValues(former.values, p.values) {
				return nil, fmt.Errorf("%s: expected changes of defaults only, and the values of %s in kernel %s differ", file, p.name, kernel)
			}
			if !sameNode(former.values[0], p.values[0]) {
				changes = append(changes, fmt.Sprintf("%s: %s %s, was %s", kernel, p.name, p.values[0].text, former.values[0].text))
			}
		}
	}
	return changes, nil
}

// sameValues reports whether two lists have the same values, in any order.
func sameValues(a, b []*node) bool {
	_, ok := permutation(a, b)
	return ok
}

// applyTo edits the text until it means what is wanted, one list at a time.
func applyTo(file, text string, k *Kernel, chosen Variant) (string, error) {
	before, err := readEditable(file, text)
	if err != nil {
		return "", err
	}
	want := before.orders()
	for i, p := range k.Params {
		order := want[k.Name].find(p.Name)
		at := slices.Index(p.Values, chosen.Values[i])
		order.values = toFront(order.values, at)
	}
	now := before
	for _, name := range before.kernelNames(k.Name) {
		for {
			param, found := now.differs(name, want[name])
			if !found {
				break
			}
			if text, err = now.order(name, param, want[name]); err != nil {
				return "", err
			}
			next, err := readEditable(file, text)
			if err != nil {
				first, _, _ := strings.Cut(err.Error(), "\n")
				return "", now.refuse(name, param, "the edited file could not be read: "+first)
			}
			if still, _ := next.differs(name, want[name]); still == param {
				return "", now.refuse(name, param, "the edit would not do what it should")
			}
			now = next
		}
	}
	if what := differ(before, now, want); what != "" {
		return "", now.refuse(k.Name, "", "the edit would also change "+what)
	}
	return text, nil
}

// toFront returns the list with one item moved to the front.
func toFront[T any](list []T, at int) []T {
	return slices.Concat(list[at:at+1], list[:at], list[at+1:])
}

// paramOrder is the values of a param in the order that a file has, or should have.
type paramOrder struct {
	name   string
	values []*node
}

type paramOrders []*paramOrder

func (o paramOrders) find(name string) *paramOrder {
	i := slices.IndexFunc(o, func(p *paramOrder) bool { return p.name == name })
	return o[i]
}

// orders returns the values of all params of all kernels.
func (e *editable) orders() map[string]paramOrders {
	all := map[string]paramOrders{}
	for _, k := range e.root.find("kernels").fields {
		all[k.key.text] = paramsOf(k.value)
	}
	return all
}

func paramsOf(kernel *node) paramOrders {
	var orders paramOrders
	if params := kernel.find("params"); params != nil {
		for _, p := range params.fields {
			orders = append(orders, &paramOrder{p.key.text, p.value.list()})
		}
	}
	return orders
}

// kernelNames returns the names of all kernels, the given one first.
func (e *editable) kernelNames(first string) []string {
	names := []string{first}
	for _, k := range e.root.find("kernels").fields {
		if k.key.text != first {
			names = append(names, k.key.text)
		}
	}
	return names
}

// differs names a param of a kernel whose values are not in the order that is wanted.
func (e *editable) differs(kernel string, want paramOrders) (param string, found bool) {
	have := paramsOf(e.root.find("kernels").find(kernel))
	for i, p := range want {
		if i >= len(have) || have[i].name != p.name || !slices.EqualFunc(have[i].values, p.values, sameNode) {
			return p.name, true
		}
	}
	return "", false
}

// refuse says why a file cannot be edited, and what to do instead.
func (e *editable) refuse(kernel, param, why string) error {
	at := e.root.find("kernels").field(kernel)
	what := "the defaults of " + kernel
	pos := at.key.pos
	if params := at.value.find("params"); params.field(param) != nil {
		what, pos = "the default of "+param+" in kernel "+kernel, params.field(param).key.pos
	}
	var problems diag.List
	problems.Addf(pos, "cannot change %s here: %s", what, why).Hint = "move the value to the front of its list by hand"
	return problems.Err([]byte(e.text))
}

// differ compares two files, the second with its params in the orders that are wanted, and names what is not
// as it should be.
func differ(before, after *editable, want map[string]paramOrders) string {
	if !slices.Equal(before.comments, after.comments) {
		return "comments"
	}
	if len(before.root.fields) != len(after.root.fields) {
		return "the keys of the file"
	}
	for i, f := range before.root.fields {
		other := after.root.fields[i]
		if f.key.text != other.key.text || f.key.text != "kernels" && !sameNode(f.value, other.value) {
			return f.key.text
		}
	}
	old, now := before.root.find("kernels").fields, after.root.find("kernels").fields
	if len(old) != len(now) {
		return "the kernels"
	}
	for i, k := range old {
		if k.key.text != now[i].key.text || !sameKernel(k.value, now[i].value) || len(paramsOf(now[i].value)) != len(want[k.key.text]) {
			return "kernel " + k.key.text
		}
		if param, found := after.differs(k.key.text, want[k.key.text]); found {
			return param + " of kernel " + k.key.text
		}
	}
	return ""
}

// sameKernel reports whether two kernels say the same, but for their params. The order of a kernel's keys
// has no meaning.
func sameKernel(a, b *node) bool {
	if len(a.fields) != len(b.fields) {
		return false
	}
	for _, f := range a.fields {
		if other := b.find(f.key.text); other == nil || f.key.text != "params" && !sameNode(f.value, other) {
			return false
		}
	}
	return true
}

// sameNode reports whether two values say the same, wherever they stand.
func sameNode(a, b *node) bool {
	if a == b {
		return true
	}
	return a.kind == b.kind && a.text == b.text && slices.EqualFunc(a.items, b.items, sameNode) &&
		slices.EqualFunc(a.fields, b.fields, func(x, y field) bool { return x.key.text == y.key.text && sameNode(x.value, y.value) })
}

// listText writes values as a flow list.
func listText(values []*node) string {
	return "[" + strings.Join(namesOf(values, scalarText), ", ") + "]"
}

// scalarText writes a value so that it is read as what it was.
func scalarText(n *node) string {
	if n.kind != textKind || plainWord.MatchString(n.text) && !notText[strings.ToLower(n.text)] {
		return n.text
	}
	return `"` + n.text + `"` // its grammar is wordValue, which has nothing to escape
}

// mappingText writes params as a flow mapping.
func mappingText(orders paramOrders) string {
	return "{" + strings.Join(namesOf(orders, func(p *paramOrder) string { return p.name + ": " + listText(p.values) }), ", ") + "}"
}
