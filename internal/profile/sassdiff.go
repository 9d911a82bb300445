package profile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// KeyChange is one kind of instruction whose number differs.
type KeyChange struct {
	Key    string `json:"key"`
	Before int    `json:"before"`
	After  int    `json:"after"`
	Hot    [2]int `json:"hot"` // in the innermost loops, before and after
}

// MixDiff is how the machine code of two versions differs.
type MixDiff struct {
	Total     [2]int      `json:"total"`
	Bytes     [2]int      `json:"bytes"`
	Keys      []KeyChange `json:"keys"`      // the largest change first
	Sentences []string    `json:"sentences"` // what it means, the most telling first
}

// families are kinds of instructions that replace each other: the same data in other pieces.
var families = []struct {
	prefix, noun string
}{{"LDG.", "global load"}, {"STG.", "global store"}, {"LDS.", "shared-memory load"}, {"STS.", "shared-memory store"}}

// CompareMix compares the instructions of two versions.
func CompareMix(a, b *Mix) *MixDiff {
	d := &MixDiff{Total: [2]int{a.Total, b.Total}, Bytes: [2]int{a.Bytes, b.Bytes}}
	keys := slices.Sorted(maps.Keys(a.Keys))
	for key := range b.Keys {
		if _, both := a.Keys[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if a.Keys[key] != b.Keys[key] || a.Hot[key] != b.Hot[key] {
			d.Keys = append(d.Keys, KeyChange{key, a.Keys[key], b.Keys[key], [2]int{a.Hot[key], b.Hot[key]}})
		}
	}
	slices.SortStableFunc(d.Keys, func(x, y KeyChange) int { return cmp.Compare(y.size(), x.size()) })
	d.explain(a, b)
	return d
}

func (k KeyChange) size() int { return max(k.After-k.Before, k.Before-k.After) }

func (d *MixDiff) explain(a, b *Mix) {
	class := func(c Class, what string) {
		if x, y := a.Classes[c], b.Classes[c]; x != y && (x == 0 || y == 0) {
			d.Sentences = append(d.Sentences, fmt.Sprintf("%s: %s", what, arrow(x, y)))
		}
	}
	local := func(m *Mix) int { return m.Classes[ClassLocal] }
	if x, y := local(a), local(b); x != y {
		loads, more := sum(a, "LDL."), sum(b, "LDL.")
		d.Sentences = append(d.Sentences, fmt.Sprintf("local memory (spilled registers, indexed arrays): LDL %s, STL %s", arrow(loads, more), arrow(x-loads, y-more)))
	}
	var alike []string // the same number of other instructions says little
	for _, family := range families {
		sentence := widths(a, b, family.prefix, family.noun)
		switch {
		case sentence == "":
		case sum(a, family.prefix) == sum(b, family.prefix):
			alike = append(alike, sentence)
		default:
			d.Sentences = append(d.Sentences, sentence)
		}
	}
	class(ClassTensor, "tensor-core instructions")
	class(ClassDouble, "f64 instructions")
	class(ClassBulk, "TMA instructions")
	class(ClassAsync, "asynchronous copies (cp.async)")
	class(ClassAtomic, "atomics")
	class(ClassShuffle, "shuffles and votes")
	if x, y := a.Keys["BAR"], b.Keys["BAR"]; x != y {
		d.Sentences = append(d.Sentences, "barriers: "+arrow(x, y))
	}
	if x, y := special(a), special(b); max(x-y, y-x) >= 4 { // one or two are divisions of indices
		d.Sentences = append(d.Sentences, "special functions (MUFU): "+arrow(x, y))
	}
	for feature, words := range map[string]string{"setmaxnreg": "warp specialisation (setmaxnreg)", "cluster": "cluster barriers"} {
		if x, y := a.Uses[feature], b.Uses[feature]; (x == 0) != (y == 0) {
			d.Sentences = append(d.Sentences, words+": "+arrow(x, y))
		}
	}
	d.Sentences = append(d.Sentences, alike...)
	if ratio := float64(max(b.Total, 1)) / float64(max(a.Total, 1)); ratio > 1.3 || ratio < 1/1.3 {
		d.Sentences = append(d.Sentences, fmt.Sprintf("code: %s instructions, %s bytes", arrow(a.Total, b.Total), arrow(a.Bytes, b.Bytes)))
	}
}

func arrow(x, y int) string { return strconv.Itoa(x) + " → " + strconv.Itoa(y) }

func sum(m *Mix, prefix string) (n int) {
	for key, count := range m.Keys {
		if strings.HasPrefix(key, prefix) {
			n += count
		}
	}
	return n
}

func special(m *Mix) int { return sum(m, "MUFU") }

// widths says how the pieces of a family changed: "LDG.128 → LDG.32: 4× the global load instructions".
func widths(a, b *Mix, prefix, noun string) string {
	var fewer, more []string
	for _, width := range []string{"256", "128", "64", "32", "16", "8"} {
		key := prefix + width
		switch x, y := a.Keys[key], b.Keys[key]; {
		case y < x:
			fewer = append(fewer, key)
		case y > x:
			more = append(more, key)
		}
	}
	x, y := sum(a, prefix), sum(b, prefix)
	switch {
	case len(fewer) > 0 && len(more) > 0:
		return strings.Join(fewer, ", ") + " → " + strings.Join(more, ", ") + ": " + times(x, y) + " the " + noun + " instructions (" + arrow(x, y) + ")"
	case x != y && (x == 0 || y == 0 || math.Abs(math.Log(float64(y)/float64(x))) > 0.25):
		return noun + "s: " + arrow(x, y)
	}
	return ""
}

// times writes a ratio as people say it.
func times(x, y int) string {
	switch ratio := float64(y) / float64(max(x, 1)); {
	case x == y:
		return "as many of"
	case ratio >= 1:
		return strconv.FormatFloat(ratio, 'g', 2, 64) + "×"
	case ratio > 0 && math.Abs(1/ratio-math.Round(1/ratio)) < 0.05:
		return "1/" + strconv.Itoa(int(math.Round(1/ratio))) + " of"
	default:
		return strconv.FormatFloat(ratio, 'g', 2, 64) + "×"
	}
}
