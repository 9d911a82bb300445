package spec

import (
	"path"
	"slices"
	"strings"

	"pawl/internal/diag"
)

// tensorMapDraft is a tensor map while it is read.
type tensorMapDraft struct {
	*TensorMap
	arg     *argDraft
	of      *node
	fill    *node
	present found
}

// Words of a tensor map; the first of each is what holds when none is given.
var (
	swizzles    = []string{"none", "32B", "64B", "128B"}
	interleaves = []string{"none", "16B", "32B"}
	promotions  = []string{"none", "64B", "128B", "256B"}
	fills       = []string{"zero", "nan"}
)

// maxTensorRank is how many dimensions the copy engine knows.
const maxTensorRank = 5

var tensorMapKeys = []key[tensorMapDraft]{
	{"of", func(d *decoder, m *tensorMapDraft, n *node) {
		if text, ok := d.text(n, "the name of the buffer that it maps"); ok {
			m.Of, m.of = text, n
		}
	}},
	{"box", func(d *decoder, m *tensorMapDraft, n *node) { m.Box = m.formulas(d, n, "box") }},
	{"dims", func(d *decoder, m *tensorMapDraft, n *node) { m.Dims = m.formulas(d, n, "dims") }},
	{"strides", func(d *decoder, m *tensorMapDraft, n *node) { m.Strides = m.formulas(d, n, "strides") }},
	{"element_strides", func(d *decoder, m *tensorMapDraft, n *node) { m.ElementStrides = m.formulas(d, n, "element_strides") }},
	{"swizzle", func(d *decoder, m *tensorMapDraft, n *node) { m.Swizzle = m.choice(d, n, "swizzle", swizzles) }},
	{"interleave", func(d *decoder, m *tensorMapDraft, n *node) { m.Interleave = m.choice(d, n, "interleave", interleaves) }},
	{"l2", func(d *decoder, m *tensorMapDraft, n *node) { m.L2 = m.choice(d, n, "l2", promotions) }},
	{"fill", func(d *decoder, m *tensorMapDraft, n *node) { m.Fill, m.fill = m.choice(d, n, "fill", fills), n }},
}

func (m *tensorMapDraft) formulas(d *decoder, n *node, what string) []*Formula {
	return d.formulas(n, what, " of "+m.arg.label(), maxTensorRank)
}

// choice reads one of a few words. Sizes are written with their unit, which makes
// them words; a bare number is taken for a forgotten one.
func (m *tensorMapDraft) choice(d *decoder, n *node, what string, words []string) string {
	if n.kind == integerKind && slices.Contains(words, n.text+"B") {
		d.fail(n, "%s of %s has no unit", what, m.arg.label()).Hint = "write " + n.text + "B"
		return words[0]
	}
	text, ok := d.word(n, what+" of "+m.arg.label()+" as one of: "+strings.Join(words, ", "))
	if ok && !slices.Contains(words, text) {
		d.fail(n, "%s is no %s of a tensor map", quote(text), what).Hint = "expected one of: " + strings.Join(words, ", ")
	}
	return text
}

func (d *decoder) tensorMap(a *argDraft, n *node) {
	m := &tensorMapDraft{
		TensorMap: &TensorMap{Swizzle: swizzles[0], Interleave: interleaves[0], L2: promotions[0], Fill: fills[0]}, arg: a,
	}
	m.present = readKeys(d, n, "a tensor map", tensorMapKeys, map[string]string{
		"shape": "dims overrides the buffer's shape", "dtype": "it is the buffer's", "buffer": didYouMean("of"), "tile": didYouMean("box"),
	}, m)
	for _, name := range []string{"of", "box"} {
		if m.present.lacks(name) {
			d.fail(n, "tensor map %s has no %s", a.label(), name).Hint = "for example tensor_map: {of: q, box: [64, 64]}"
		}
	}
	if m.Dims == nil && m.present.lacks("dims") {
		d.refuse(m.present, "strides", "give both, or neither: a buffer's rows follow each other", "strides of %s go with dims", a.label())
	}
	a.TensorMap, a.tensorMap = m.TensorMap, m
}

// tensorMapParts refuses what a tensor map takes from its buffer.
func (d *decoder) tensorMapParts(a *argDraft) {
	for _, name := range []string{"dtype", "shape", "value", "role", "init", "symbol"} {
		d.refuse(a.present, name, "a tensor map is a separate parameter; its buffer is another argument", "%s has both tensor_map and %s", a.label(), name)
	}
}

// tensorMapShape checks a tensor map against the other arguments and the cell.
func (d *decoder) tensorMapShape(k *kernelDraft, a *argDraft) {
	m := a.tensorMap
	key := a.present.fields["tensor_map"].key
	switch {
	case k.Cell == CellHost:
		d.fail(key, "tensor maps are for CUDA kernels, and %s runs on the host", path.Base(k.Source))
	case k.Cell == CellPython:
		d.fail(key, "tensor maps are for CUDA kernels, and %s is a Python function", k.Python)
	case k.Launcher:
		d.fail(key, "%s is a tensor map, and a launcher makes its own", a.label()).Hint = "host code can call cuTensorMapEncodeTiled"
	}
	if m.of == nil || k.unread {
		return
	}
	var buffers []string
	for _, other := range k.args {
		if other.Symbol != "" { // its address is its module's
			continue
		}
		if other.Name == m.Of && other.Shape != nil {
			if m.Fill == "nan" && (!other.DType.Float() || other.DType.Size() == 1) {
				d.fail(m.fill, "fill: nan needs f16, bf16, f32 or f64, and %s is %s", other.Name, other.DType)
			}
			if m.present.lacks("dims") && len(other.Shape) > maxTensorRank {
				d.fail(m.of, "%s has %d dimensions, and a tensor map at most %d", other.Name, len(other.Shape), maxTensorRank).
					Hint = "join some of them: dims: [B * H * S, D]"
			}
			m.rank(d, len(other.Shape))
			return
		}
		if other.Shape != nil {
			buffers = append(buffers, other.Name)
		}
	}
	d.fail(m.of, "no buffer of %s is called %s", k.Name, quote(m.Of)).Hint = diag.Meant(m.Of, buffers)
}

// rank checks how many formulas there are for a tensor of this many dimensions.
func (m *tensorMapDraft) rank(d *decoder, rank int) {
	if m.Dims != nil {
		rank = len(m.Dims)
	}
	count := func(name string, got, want int, hint string) {
		f, ok := m.present.fields[name]
		if ok && got > 0 && got != want {
			d.fail(f.value, "%s of %s has %d entries for a tensor of %d dimensions; expected %d", name, m.arg.label(), got, rank, want).Hint = hint
		}
	}
	if f, ok := m.present.fields["box"]; ok && len(m.Box) > rank {
		d.fail(f.value, "box of %s has %d entries for a tensor of %d dimensions", m.arg.label(), len(m.Box), rank).
			Hint = "one that is shorter is for the last dimensions; in the others it is 1"
	}
	count("strides", len(m.Strides), rank-1, "in elements, of all dimensions but the last, whose elements follow each other")
	count("element_strides", len(m.ElementStrides), rank, "")
	if f, ok := m.present.fields["interleave"]; ok && m.Interleave != "none" && rank < 3 {
		d.fail(f.value, "interleave needs at least 3 dimensions, and %s has %d", m.Of, rank)
	}
	if f, ok := m.present.fields["interleave"]; ok && m.Interleave == "32B" && m.Swizzle != "32B" {
		d.fail(f.value, "interleave: 32B needs swizzle: 32B")
	}
}
