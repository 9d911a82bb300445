package foreign

import (
	"cmp"
	"fmt"
	"strconv"

	"pawl/internal/result"
)

// readHyperfine reads the output of hyperfine --export-json.
func readHyperfine(src source, c *collector) error {
	s := &scanner{source: src}
	return s.fields(map[string]func() error{"results": func() error {
		return s.array(func(int) error { return hyperfineResult(s, c) })
	}})
}

// Halves splits a hyperfine file with two commands into two files, the first command's and the
// second's.
func (f *File) Halves() (first, second *File, err error) {
	src := source{file: f.Path}
	switch n := len(f.Report.Rows); {
	case f.Format != Hyper:
		return nil, nil, src.about(fmt.Sprintf("one %s file; expected two files, before and after a change", f.Format), "only a hyperfine file with two commands can be compared alone")
	case n != 2:
		count := "one command"
		if n != 1 {
			count = strconv.Itoa(n) + " commands"
		}
		return nil, nil, src.about(count+"; expected two in a file that is compared alone", "let hyperfine --export-json write a file for each command, and give the two to compare")
	}
	half := func(i int) *File {
		report := *f.Report
		report.Rows = report.Rows[i : i+1]
		return &File{Path: fmt.Sprintf("%s#%d", f.Path, i+1), Format: f.Format, Report: &report}
	}
	return half(0), half(1), nil
}

func hyperfineResult(s *scanner, c *collector) error {
	at := s.here()
	var command string
	var times []float64
	var median, mean float64
	failed := 0
	err := s.fields(map[string]func() error{
		"command": into(&command, s.string),
		"times": into(&times, func() ([]float64, error) {
			if s.next() == 'n' {
				return nil, s.skip()
			}
			return s.times(1)
		}),
		"median": figure(s, &median),
		"mean":   figure(s, &mean),
		"exit_codes": func() error {
			return s.anyArray(func() error {
				code, err := s.figure()
				if code != 0 {
					failed++
				}
				return err
			})
		},
	})
	if err != nil {
		return err
	}
	row, isNew := c.only(command, "")
	for n := 2; !isNew; n++ { // the same command, benchmarked again
		row, isNew = c.only(command, "run "+strconv.Itoa(n))
	}
	median = cmp.Or(median, mean)
	switch {
	case len(times) > 0:
		add(row, times...)
	case isTime(median):
		summarised(row, median, "a median", "hyperfine --export-json writes the times of every run")
	default:
		return s.fail(at, fmt.Sprintf("%q has no times", command), "write the file again with hyperfine --export-json")
	}
	if failed > 0 {
		row.Warnings = append(row.Warnings, result.Warning{
			Code: Exit, Message: fmt.Sprintf("the command failed in %d of %d runs", failed, len(times)),
		})
	}
	return nil
}
