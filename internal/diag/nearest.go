package diag

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Nearest returns the name most like word, or "" when none is near enough to
// be a likely misspelling. Case does not count.
func Nearest(word string, names []string) string {
	// At least half of the word must be right: any one-letter name is a single
	// change away from any other, and says nothing.
	length := utf8.RuneCountInString(word)
	best, bestDistance := "", min(length/3+1, length/2)+1
	for _, name := range slices.Sorted(slices.Values(names)) {
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// Meant returns the hint for a misspelt name: the nearest one, or the whole list
// when nothing is near. Without names there is no hint.
func Meant(word string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	if name := Nearest(word, names); name != "" {
		return "did you mean " + name + "?"
	}
	return "expected one of: " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// distance returns the optimal-string-alignment distance: insertions, deletions,
// substitutions and swaps of neighbours cost one each.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before := make([]int, len(y)+1)
	above := make([]int, len(y)+1)
	row := make([]int, len(y)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(y)]
}
