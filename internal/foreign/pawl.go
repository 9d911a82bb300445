package foreign

import (
	"cmp"
	"fmt"

	"pawl/internal/result"
)

// readPawl reads one of pawl's own reports.
func readPawl(src source) (*File, error) {
	r, err := result.Decode([]byte(src.text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.file, err)
	}
	const edited = "the file was edited: use the one that pawl wrote"
	switch {
	case r.Kind == result.KindTune:
		return nil, src.about(`a report of kind "tune"; expected bench or check`, "a search compares its winner with today's defaults in turns already, and its report says how they compare; pawl check judges the params once they are applied")
	case r.Kind != result.KindBench && r.Kind != result.KindCheck:
		return nil, src.about(fmt.Sprintf("a report of kind %q; expected bench or check", r.Kind), "name reports of pawl bench or pawl check: other runs time nothing that can be compared")
	case len(r.Rows) == 0:
		return nil, src.about("the report has no rows", "its run measured nothing: run it again")
	}
	seen := map[string]bool{}
	for i, row := range r.Rows {
		if seen[row.Name()] {
			return nil, src.about(fmt.Sprintf("rows[%d]: %s is there twice", i, row.Name()), edited)
		}
		seen[row.Name()] = true
		t := row.Timing
		if t == nil {
			continue
		}
		if n, m := len(t.Samples.GHz), len(t.Samples.Seconds); n != 0 && n != m {
			return nil, src.about(fmt.Sprintf("rows[%d].timing.samples: %d clocks for %d times", i, n, m), edited)
		}
		for j, seconds := range t.Samples.Seconds {
			if message, hint := notATime(seconds); message != "" {
				return nil, locate(src, i, j, message, hint)
			}
		}
	}
	return &File{Path: src.file, Format: Pawl, Report: r}, nil
}

// locate finds a sample's place in the text, which decoding did not keep.
func locate(src source, row, sample int, message, hint string) error {
	s := &scanner{source: src}
	var found error
	way := []step{{key: "rows"}, {index: row}, {key: "timing"}, {key: "samples"}, {key: "seconds"}, {index: sample}}
	var follow func() error
	follow = func() error {
		if len(s.path) == len(way) {
			found = s.fail(s.here(), message, hint)
			return s.skip()
		}
		next := way[len(s.path)]
		if next.key != "" {
			return s.fields(map[string]func() error{next.key: follow})
		}
		return s.array(func(i int) error {
			if i == next.index {
				return follow()
			}
			return s.skip()
		})
	}
	err := follow()
	if err == nil && found == nil { // names in another case, which encoding/json accepts
		found = s.fail(0, message, hint)
	}
	return cmp.Or(found, err)
}
