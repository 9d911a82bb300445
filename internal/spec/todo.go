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
	comments := func(about lineMap) (list []diag.Pos) {
		for _, at := range s.TODOs {
			if _, there := about[all.commented(at, sorted)]; there {
				list = append(list, at)
			}
		}
		return list
	}
	first := func(about lineMap) diag.Pos {
		if list := comments(about); len(list) > 0 {
			return list[0]
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
			k.todos = comments(linesOf(f.key, f.value))
			k.TODO = either(first(linesOf(f.key, f.value)), "kernels")
		}
	}
	for _, c := range s.Configs {
		if f := root.find("configs").field(c.Name); f != nil {
			c.TODO = either(first(linesOf(f.key, f.value)), "configs")
		}
	}
}

// Draft is a part of the file that has TODO comments.
type Draft struct {
	Name  string // kernel gemm, config small, gate
	TODOs []diag.Pos
}

// DraftsOf returns the drafts that a run of these rows depends on: all of the file where the rows are
// all, and otherwise the parts that they use. Every comment is in one draft only.
func (s *Spec) DraftsOf(patterns []string, rows []Selection) []Draft {
	if len(s.TODOs) == 0 {
		return nil
	}
	var drafts []Draft
	taken := map[diag.Pos]bool{{}: true}
	add := func(name string, todos ...diag.Pos) {
		d := Draft{Name: name}
		for _, at := range todos {
			if !taken[at] {
				taken[at] = true
				d.TODOs = append(d.TODOs, at)
			}
		}
		if len(d.TODOs) > 0 {
			drafts = append(drafts, d)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Unfinished)) {
		add(key, s.Unfinished[key])
	}
	kernel := func(k *Kernel) { add("kernel "+k.Name, append(slices.Clone(k.todos), k.TODO)...) }
	if len(patterns) == 0 {
		for _, k := range s.Kernels {
			kernel(k)
		}
		for _, c := range s.Configs {
			add("config "+c.Name, c.TODO)
		}
		add("the file", s.TODOs...)
	}
	for _, row := range rows {
		kernel(row.Kernel)
		for _, o := range []*Oracle{row.Kernel.Oracle, row.Kernel.Tolerance.Rival} {
			for _, k := range s.Kernels {
				if o != nil && k.Name == o.Kernel {
					kernel(k)
				}
			}
		}
		for _, c := range row.Configs {
			add("config "+c.Name, c.TODO)
		}
	}
	slices.SortStableFunc(drafts, func(a, b Draft) int { return a.TODOs[0].Line - b.TODOs[0].Line })
	return drafts
}
