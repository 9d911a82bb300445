package compare

import (
	"slices"
	"testing"

	"pawl/internal/result"
)

// Rows of one file may have had their caches emptied in several ways: each is held
// against its own.
func TestFlushOfRows(t *testing.T) {
	t.Parallel()
	of := func(rows ...string) *result.Report {
		r := &result.Report{}
		for i, flush := range rows {
			r.Rows = append(r.Rows, &result.Row{Kernel: string(rune('a' + i)), Config: "c", Flush: flush})
		}
		return r
	}
	for name, test := range map[string]struct {
		before, after *result.Report
		want          []string
	}{
		"alike":            {of("way 1", "way 2"), of("way 1", "way 2"), nil},
		"fewer rows":       {of("way 1", "way 2"), of("way 1"), nil},
		"each said once":   {of("way 1", "way 1", "way 2"), of("way 3", "way 3", "none"), []string{"flush way 1 → way 3", "flush way 2 → none"}},
		"nothing measured": {of("way 1", ""), of("", "way 2"), nil},
	} {
		if got := differences(test.before, test.after).texts; !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
