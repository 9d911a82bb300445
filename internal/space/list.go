package space

import (
	"math/bits"
	"slices"
	"sort"
)

// list is the points of a component in the order of the file. A point is a row of words, in which each
// param has a field.
type list struct {
	params []int // in the order of the file
	fields []listField
	words  int   // of a row
	used   []int // bits, by word
	rows   []uint64
}

type listField struct {
	word  int
	shift int
	mask  uint64
}

// listOf returns the points of a tree, or nil where they are too many.
func (s *Space) listOf(c *component, t *tree) *list {
	l := &list{params: c.params, fields: make([]listField, len(c.params)), used: []int{0}}
	width := make([]int, len(c.params))
	for i, param := range c.params {
		width[i] = bits.Len(uint(len(s.params[param].Values) - 1))
		last := len(l.used) - 1
		if l.used[last]+width[i] > 64 {
			l.used = append(l.used, 0)
			last++
		}
		l.used[last] += width[i]
		l.fields[i].word, l.fields[i].mask = last, 1<<width[i]-1
	}
	l.words = len(l.used)
	if t.size() > float64(s.limits.listed/l.words) {
		return nil
	}
	// The first param of a word has its highest bits: rows are ordered as numbers.
	taken := make([]int, l.words)
	for i := range l.fields {
		f := &l.fields[i]
		taken[f.word] += width[i]
		f.shift = l.used[f.word] - taken[f.word]
	}
	l.fill(t)
	l.sort()
	return l
}

// fill writes a row for every path through the tree.
func (l *list) fill(t *tree) {
	l.rows = make([]uint64, 0, int(t.size())*l.words)
	at := map[int]listField{}
	for i, param := range l.params {
		at[param] = l.fields[i]
	}
	byDepth := make([]listField, len(t.order))
	for depth, param := range t.order {
		byDepth[depth] = at[param]
	}
	row := make([]uint64, l.words)
	var visit func(node int32, depth int)
	visit = func(node int32, depth int) {
		f := byDepth[depth]
		from, to := t.edges(node)
		for e := from; e < to; e++ {
			row[f.word] = row[f.word]&^(f.mask<<f.shift) | uint64(t.value[e])<<f.shift
			if depth+1 == len(byDepth) {
				l.rows = append(l.rows, row...)
			} else {
				visit(t.child[e], depth+1)
			}
		}
	}
	visit(t.root, 0)
}

// sort orders the rows by digits, from the lowest to the highest: some ten times as fast as comparing.
func (l *list) sort() {
	const digit = 11
	if l.sorted() {
		return
	}
	other := make([]uint64, len(l.rows))
	for word := l.words - 1; word >= 0; word-- {
		for shift := 0; shift < l.used[word]; shift += digit {
			var start [1 << digit]int
			for i := word; i < len(l.rows); i += l.words {
				start[l.rows[i]>>shift&(1<<digit-1)]++
			}
			sum := 0
			for d, n := range start {
				start[d] = sum
				sum += n
			}
			for i := 0; i < len(l.rows); i += l.words {
				d := l.rows[i+word] >> shift & (1<<digit - 1)
				copy(other[start[d]*l.words:], l.rows[i:i+l.words])
				start[d]++
			}
			l.rows, other = other, l.rows
		}
	}
}

func (l *list) sorted() bool {
	for i := l.words; i < len(l.rows); i += l.words {
		for w := range l.words {
			if a, b := l.rows[i-l.words+w], l.rows[i+w]; a != b {
				if a > b {
					return false
				}
				break
			}
		}
	}
	return true
}

func (l *list) len() int { return len(l.rows) / l.words }

// at returns the value that row i has of the k-th param.
func (l *list) at(i, k int) uint16 {
	f := l.fields[k]
	return uint16(l.rows[i*l.words+f.word] >> f.shift & f.mask)
}

// read sets the list's params of a point to those of row i.
func (l *list) read(i int, p Point) {
	for k, param := range l.params {
		p[param] = l.at(i, k)
	}
}

// find returns the row that has the point's values, or -1.
func (l *list) find(p Point) int {
	if l.words == 1 {
		return l.findWord(p)
	}
	var few [4]uint64
	row := append(few[:0], make([]uint64, l.words)...)
	for k, param := range l.params {
		f := l.fields[k]
		row[f.word] |= uint64(p[param]) << f.shift
	}
	i := sort.Search(l.len(), func(i int) bool {
		for w, want := range row {
			if got := l.rows[i*l.words+w]; got != want {
				return got > want
			}
		}
		return true
	})
	if i == l.len() {
		return -1
	}
	for w, want := range row {
		if l.rows[i*l.words+w] != want {
			return -1
		}
	}
	return i
}

// findWord is find where a row is one word.
func (l *list) findWord(p Point) int {
	row := uint64(0)
	for k, param := range l.params {
		row |= uint64(p[param]) << l.fields[k].shift
	}
	if i, ok := slices.BinarySearch(l.rows, row); ok {
		return i
	}
	return -1
}

// run returns where the rows from lo on end that have the k-th value of row lo; hi is the end of rows
// that have the same values before it.
func (l *list) run(lo, hi, k int) int {
	v := l.at(lo, k)
	if lo+1 == hi || l.at(lo+1, k) != v {
		return lo + 1
	}
	step := 2
	for lo+step < hi && l.at(lo+step, k) == v {
		step *= 2
	}
	from := lo + step/2
	return from + sort.Search(min(hi, lo+step)-from, func(i int) bool { return l.at(from+i, k) != v })
}
