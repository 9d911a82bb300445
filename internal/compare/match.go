package compare

import "pawl/internal/result"

// pair is a benchmark in both files; one is nil if only the other file has it.
type pair struct{ before, after *result.Row }

// match finds the benchmarks of the same name, in the order of the second file; those that it no
// longer has follow. Two files with one benchmark each are compared whatever its name, because
// whoever gives the times of two commands means that; strict leaves that out.
func match(before, after []*result.Row, strict bool) []pair {
	if len(before) == 1 && len(after) == 1 && !strict {
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
