package foreign

import (
	"fmt"

	"pawl/internal/diag"
	"pawl/internal/result"
)

// readPawl reads one of pawl's own reports.
func readPawl(src source) (*File, error) {
	r, err := result.Decode([]byte(src.text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.file, err)
	}
	wrong := func(message, hint string) (*File, error) {
		return nil, &diag.Problem{Pos: diag.Pos{File: src.file}, Message: message, Hint: hint}
	}
	switch {
	case r.Kind != result.KindBench && r.Kind != result.KindCheck:
		return wrong(fmt.Sprintf("a report of kind %q; expected bench or check", r.Kind), "compare the two files it was made of")
	case len(r.Rows) == 0:
		return wrong("the report has no rows", "its run measured nothing: run it again")
	}
	seen := map[string]bool{}
	for i, row := range r.Rows {
		if seen[row.Name()] {
			return wrong(fmt.Sprintf("rows[%d]: %s is there twice", i, row.Name()), "the file was edited: use the one that pawl wrote")
		}
		seen[row.Name()] = true
		t := row.Timing
		if t == nil {
			continue
		}
		if n, m := len(t.Samples.GHz), len(t.Samples.Seconds); n != 0 && n != m {
			return wrong(fmt.Sprintf("rows[%d].timing.samples: %d clocks for %d times", i, n, m), "the file was edited: use the one that pawl wrote")
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
	inside := func(key string, read func() error) error {
		return s.fields(map[string]func() error{key: read})
	}
	at := func(index int, read func() error) error {
		return s.array(func(i int) error {
			if i == index {
				return read()
			}
			return s.skip()
		})
	}
	err := inside("rows", func() error {
		return at(row, func() error {
			return inside("timing", func() error {
				return inside("samples", func() error {
					return inside("seconds", func() error {
						return at(sample, func() error {
							s.space()
							found = s.fail(s.at, message, hint)
							return s.skip()
						})
					})
				})
			})
		})
	})
	if err == nil && found == nil { // names in another case, which encoding/json accepts
		found = s.fail(0, message, hint)
	}
	if found != nil {
		return found
	}
	return err
}
