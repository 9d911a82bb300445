package spec

import (
	"cmp"
	"maps"
	"slices"

	"pawl/internal/diag"
)

// lineMap knows the lines that values stand on, and the column of the first on each.
type lineMap map[int]int

// add records a value with all that is below it. Values behind an alias stand where
// their anchor is.
func (m lineMap) add(n *node, seen map[*node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	if first, there := m[n.pos.Line]; !there || n.pos.Column < first {
		m[n.pos.Line] = n.pos.Column
	}
	for _, f := range n.fields {
		m.add(f.key, seen)
		m.add(f.value, seen)
	}
	for _, item := range n.items {
		m.add(item, seen)
	}
}

func linesOf(nodes ...*node) lineMap {
	m, seen := lineMap{}, map[*node]bool{}
	for _, n := range nodes {
		m.add(n, seen)
	}
	return m
}

// commented returns the line that a comment is about: its own, or where it stands alone the
// next one, unless that is indented less.
func (m lineMap) commented(at diag.Pos, sorted []int) int {
	i, own := slices.BinarySearch(sorted, at.Line)
	if own && m[at.Line] < at.Column {
		return at.Line
	}
	if i < len(sorted) && at.Column <= m[sorted[i]] || i == 0 {
		return sorted[min(i, len(sorted)-1)]
	}
	return sorted[i-1]
}

// placeTODOs finds out which parts of the file the TODO comments are about. What is
// about version, or about kernels or configs as a whole, is about each of them.
func (s *specDraft) placeTODOs(root *node) {
	if len(s.TODOs) == 0 {
		return
	}
	all := linesOf(root)
	sorted := slices.Sorted(maps.Keys(all))
	first := func(about lineMap) diag.Pos {
		for _, at := range s.TODOs {
			if _, there := about[all.commented(at, sorted)]; there {
				return at
			}
		}
		return diag.Pos{}
	}
	places := map[string]diag.Pos{} // by key, of the key alone
	s.Unfinished = map[string]diag.Pos{}
	for _, f := range root.fields {
		places[f.key.text] = first(lineMap{f.key.pos.Line: 0})
		if at := first(linesOf(f.key, f.value)); at.Line > 0 && f.key.text != "kernels" && f.key.text != "configs" {
			s.Unfinished[f.key.text] = at
		}
	}
	either := func(own diag.Pos, key string) diag.Pos { return cmp.Or(own, places[key], s.Unfinished["version"]) }
	for _, k := range s.Kernels {
		if f := root.find("kernels").field(k.Name); f != nil {
			k.TODO = either(first(linesOf(f.key, f.value)), "kernels")
		}
	}
	for _, c := range s.Configs {
		if f := root.find("configs").field(c.Name); f != nil {
			c.TODO = either(first(linesOf(f.key, f.value)), "configs")
		}
	}
}

// TODOsOf returns the TODO comments that a run of these rows depends on: of everything
// where they are everything, and otherwise the first about each part that they use.
func (s *Spec) TODOsOf(patterns []string, rows []Selection) []diag.Pos {
	if len(patterns) == 0 || len(s.TODOs) == 0 {
		return s.TODOs
	}
	used := map[diag.Pos]bool{}
	for _, at := range s.Unfinished {
		used[at] = true
	}
	for _, row := range rows {
		used[row.Kernel.TODO] = true
		for _, o := range []*Oracle{row.Kernel.Oracle, row.Kernel.Tolerance.Rival} {
			for _, k := range s.Kernels {
				used[k.TODO] = used[k.TODO] || o != nil && k.Name == o.Kernel
			}
		}
		for _, c := range row.Configs {
			used[c.TODO] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(s.TODOs), func(at diag.Pos) bool { return !used[at] })
}
