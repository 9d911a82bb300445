package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/pattern"
	"pawl/internal/result"
)

// googleRun is one entry of a Google Benchmark file: a repetition, or an
// aggregate of them.
type googleRun struct {
	name, run, kind, aggregate, unit, message string
	real                                      float64
	at                                        int // offset of the time; 0: there is none
	failed, skipped                           bool
}

// readGoogle reads the output of Google Benchmark's --benchmark_out=… --benchmark_out_format=json.
// A repetition is a sample, in wall time, which kernels that time themselves report.
func readGoogle(src source, c *collector) error {
	s := &scanner{source: src}
	medians := map[string]float64{} // where only aggregates were written
	var names []string
	err := s.fields(map[string]func() error{
		"context": func() error { return googleContext(s, c.report) },
		"benchmarks": func() error {
			return s.array(func(int) error {
				run, err := googleEntry(s)
				if err != nil {
					return err
				}
				if name, median, ok := run.median(); ok {
					medians[name] = median
					names = append(names, name)
					return nil
				}
				return run.collect(s, c)
			})
		},
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		row := c.row(name, "")
		if row.Timing != nil || row.Fault != nil {
			continue
		}
		if isTime(medians[name]) {
			summarised(row, medians[name], "a median", "omit --benchmark_report_aggregates_only, and use --benchmark_repetitions=10")
		} else {
			skipped(row, "its median is not a time")
		}
	}
	return nil
}

func googleEntry(s *scanner) (googleRun, error) {
	run := googleRun{unit: "ns"}
	err := s.fields(map[string]func() error{
		"name":           into(&run.name, s.string),
		"run_name":       into(&run.run, s.string),
		"run_type":       into(&run.kind, s.string),
		"aggregate_name": into(&run.aggregate, s.string),
		"time_unit":      into(&run.unit, s.string),
		"error_message":  into(&run.message, s.optional),
		"error_occurred": into(&run.failed, s.flag),
		"skipped":        into(&run.skipped, s.flag),
		"skip_message":   into(&run.message, s.optional),
		"real_time": func() error {
			run.at = s.here()
			return into(&run.real, s.number)()
		},
	})
	return run, err
}

var googleUnits = map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}

// isAggregate reports whether a run is an aggregate: by the file's own field or, in older files, by
// name.
func (r *googleRun) isAggregate() bool {
	if r.kind != "" {
		return r.kind == "aggregate"
	}
	endings := []string{"_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"}
	return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(r.name, ending) })
}

func (r *googleRun) median() (name string, seconds float64, ok bool) {
	if !r.isAggregate() || r.aggregate != "median" && !(r.aggregate == "" && strings.HasSuffix(r.name, "_median")) {
		return "", 0, false
	}
	return cmp.Or(r.run, strings.TrimSuffix(r.name, "_median")), r.real * googleUnits[r.unit], true
}

func (r *googleRun) collect(s *scanner, c *collector) error {
	if r.isAggregate() {
		return nil
	}
	name := cmp.Or(r.run, r.name)
	row := c.row(name, "")
	unit, known := googleUnits[r.unit]
	message, hint := notATime(r.real * unit)
	switch {
	case r.failed || r.skipped:
		skipped(row, "it reported an error: "+r.message)
		return nil
	case r.at == 0:
		return s.fail(s.at-1, fmt.Sprintf("%q has no real_time", name), "write the file again with --benchmark_out_format=json")
	case !known:
		return s.fail(r.at, fmt.Sprintf("%q has the unit %q; expected ns, us, ms or s", name, r.unit), "")
	case message != "":
		return s.fail(r.at, message, hint)
	}
	add(row, r.real*unit)
	return nil
}

const googleHint = "write the results as JSON: --benchmark_out=FILE --benchmark_out_format=json, or --benchmark_format=json instead of the table; " +
	"with --benchmark_repetitions=10 it holds samples"

var (
	terminalColour = pattern.New("\x1b\\[[0-9;]*m")
	// The heading of the table, and a line of it where somebody cut the heading off.
	googleHeading = pattern.New(`(?m)^Benchmark +Time +CPU\b.*$`)
	googleLine    = pattern.New(`(?m)^\S.*? +[0-9.e+]+ (?:ns|us|ms|s) +[0-9.e+]+ (?:ns|us|ms|s)(?: +[0-9]+\b.*)?$`)
)

// googleTable returns the offset of the table that Google Benchmark prints for people, -1 if a text
// does not begin with one.
func googleTable(text string) int {
	text = text[:min(len(text), 64<<10)]
	plain := text
	if strings.Contains(text, "\x1b") {
		plain = terminalColour.ReplaceAllString(text, "")
	}
	for _, line := range []*pattern.Pattern{googleHeading, googleLine} {
		if place := line.Regexp().FindStringIndex(plain); place != nil {
			return lineStart(text, strings.Count(plain[:place[0]], "\n"))
		}
	}
	return -1
}

// lineStart returns the offset of a line, counted from 0.
func lineStart(text string, line int) int {
	at := 0
	for range line {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return at
}

func googleContext(s *scanner, r *result.Report) error {
	cpu, mhz := &r.Machine.CPU, 0.0
	err := s.fields(map[string]func() error{
		"date":        func() error { return s.moment(&r.Started) },
		"num_cpus":    figure(s, &cpu.Cores),
		"mhz_per_cpu": figure(s, &mhz),
	})
	cpu.MaxGHz = mhz / 1000
	return err
}
