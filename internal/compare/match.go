package compare

import "pawl/internal/result"

// pair is a benchmark in both files; one of them is nil where it is in one only.
type pair struct{ before, after *result.Row }

// match finds the benchmarks of the same name, in the order of the second file;
// those that it no longer has follow. Two files with one benchmark each are
// compared whatever it is called: that is what somebody means who gives the times
// of two commands.
func match(before, after []*result.Row) []pair {
	if len(before) == 1 && len(after) == 1 {
		return []pair{{before[0], after[0]}}
	}
	type id struct{ kernel, config string }
	left := make(map[id]*result.Row, len(before))
	for _, row := range before {
		left[id{row.Kernel, row.Config}] = row
	}
	pairs := make([]pair, 0, max(len(before), len(after)))
	for _, row := range after {
		key := id{row.Kernel, row.Config}
		pairs = append(pairs, pair{left[key], row})
		delete(left, key)
	}
	for _, row := range before {
		if left[id{row.Kernel, row.Config}] != nil {
			pairs = append(pairs, pair{row, nil})
		}
	}
	return pairs
}
