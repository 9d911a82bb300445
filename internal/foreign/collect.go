package foreign

import (
	"math"
	"strconv"
	"strings"

	"pawl/internal/result"
)

// collector gathers samples by benchmark, in the order the file names them.
type collector struct {
	report *result.Report
	named  map[string]*result.Row
}

func newCollector() *collector {
	return &collector{named: map[string]*result.Row{}, report: &result.Report{Schema: result.Schema}}
}

// row returns the benchmark of that name, and creates it if it is new.
func (c *collector) row(kernel, config string) *result.Row {
	key := kernel + "\x00" + config
	r := c.named[key]
	if r == nil {
		r = &result.Row{Kernel: strings.Clone(kernel), Config: strings.Clone(config)} // the clones release the file's text
		c.named[key] = r
		c.report.Rows = append(c.report.Rows, r)
	}
	return r
}

// only returns the row of a name that may appear only once.
func (c *collector) only(kernel, config string) (row *result.Row, isNew bool) {
	_, found := c.named[kernel+"\x00"+config]
	return c.row(kernel, config), !found
}

// add appends samples to a row.
func add(r *result.Row, seconds ...float64) {
	if r.Timing == nil {
		r.Timing = &result.Timing{Repeat: 1}
	}
	r.Timing.Samples.Seconds = append(r.Timing.Samples.Seconds, seconds...)
}

// summarised gives a row the only number that its file has for it.
func summarised(r *result.Row, seconds float64, what, hint string) {
	add(r, seconds)
	r.Warnings = append(r.Warnings, result.Warning{
		Code: "samples", Message: "the file has only " + what + ", not the samples; without them nothing can be judged", Hint: hint,
	})
}

// skipped marks a benchmark that its tool did not run.
func skipped(r *result.Row, why string) {
	r.Fault = &result.Fault{Stage: "measure", Cause: result.CauseSkipped, Message: why}
}

// notATime says what is wrong with a time, "" when nothing is.
func notATime(seconds float64) (message, hint string) {
	switch {
	case math.IsNaN(seconds):
		return "expected a time, got NaN", "a benchmark that failed leaves such a number: run it again"
	case math.IsInf(seconds, 0):
		return "expected a time, got an infinite one", "a benchmark that failed leaves such a number: run it again"
	case seconds == 0:
		return "expected a time above 0, got 0", "the benchmark is too short for its clock: let a sample repeat the work"
	case seconds < 0:
		return "expected a time above 0, got " + strconv.FormatFloat(seconds, 'g', -1, 64), "a clock that was set back leaves such a number: run it again"
	}
	return "", ""
}

func isTime(seconds float64) bool { return seconds > 0 && !math.IsInf(seconds, 1) }

// time reads a number that must be a time, in units of the given number of seconds.
func (s *scanner) time(unit float64) (float64, error) {
	at := s.here()
	v, err := s.number()
	if err != nil {
		return 0, err
	}
	v *= unit
	if message, hint := notATime(v); message != "" {
		return 0, s.fail(at, message, hint)
	}
	return v, nil
}

// times reads a list of times.
func (s *scanner) times(unit float64) ([]float64, error) {
	var out []float64
	err := s.array(func(int) error {
		v, err := s.time(unit)
		out = append(out, v)
		return err
	})
	return out, err
}

// optional reads a text that may be null.
func (s *scanner) optional() (string, error) {
	if s.next() != '"' {
		return "", s.skip()
	}
	return s.string()
}

// flag reads true or false; anything else is false.
func (s *scanner) flag() (bool, error) { return s.next() == 't', s.skip() }

// anyArray reads an array, and skips whatever is none.
func (s *scanner) anyArray(each func() error) error {
	if s.next() != '[' {
		return s.skip()
	}
	return s.array(func(int) error { return each() })
}

// figure reads a number if there is one; nvbench writes its numbers as texts.
func (s *scanner) figure() (float64, error) {
	switch c := s.next(); {
	case startsNumber(c):
		return s.number()
	case c == '"':
		text, err := s.string()
		if err != nil {
			return 0, err
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, nil // a text that is no number is no figure
		}
		return v, nil
	}
	return 0, s.skip()
}

// fields reads an object of which only some keys matter.
func (s *scanner) fields(known map[string]func() error) error {
	return s.object(func(key string) error {
		if read := known[key]; read != nil {
			return read()
		}
		return s.skip()
	})
}

// figure makes a reader for fields that stores a number.
func figure[T int | int64 | float64](s *scanner, target *T) func() error {
	return func() error {
		v, err := s.figure()
		*target = T(v)
		return err
	}
}

// into makes a reader for fields that stores what read returns.
func into[T any](target *T, read func() (T, error)) func() error {
	return func() error {
		v, err := read()
		if err == nil {
			*target = v
		}
		return err
	}
}
