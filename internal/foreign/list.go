package foreign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// unnamed is what the samples of a list without names are called.
const unnamed = "samples"

// readList reads a JSON list of times, or an object of name → list.
func readList(src source, c *collector, opts Options) error {
	s := &scanner{source: src}
	unit := opts.Unit
	if unit == 0 {
		unit = 1
	}
	if s.next() == '[' {
		return list(s, c, unnamed, unit)
	}
	return s.object(func(name string) error {
		if s.next() != '[' {
			return s.fail(s.at, "expected a list of times: this is no result file that is known", formats)
		}
		return list(s, c, name, unit)
	})
}

func list(s *scanner, c *collector, name string, unit float64) error {
	at := s.at
	times, err := s.times(unit)
	if err != nil {
		return err
	}
	row, isNew := c.only(name, "")
	switch {
	case !isNew:
		return s.fail(at, "a second list of that name", "give each list a name of its own")
	case len(times) == 0:
		return s.fail(at, "the list is empty; expected times in seconds", "")
	}
	add(row, times...)
	return nil
}

// readCSV reads one column of times, or two of names and times, with or without
// a header.
func readCSV(src source, c *collector, opts Options) error {
	separator := separatorOf(src.text)
	unit, width, at := opts.Unit, 0, 0
	for line := range strings.Lines(src.text) {
		start := at
		at += len(line)
		if text := strings.TrimSpace(line); text == "" || text[0] == '#' {
			continue
		}
		cells := split(line, start, separator)
		value := cells[len(cells)-1]
		if width == 0 { // the first line with anything in it
			width = len(cells)
			if width > 2 {
				return src.problem(cells[2].at, fmt.Sprintf("%d columns; expected one of times, or two of names and times", width),
					"summaries hold no samples: use the JSON that the tool writes")
			}
			if !numeric(value.text) {
				if slices.ContainsFunc(cells, isProse) {
					return src.problem(start, "expected a result file", formats)
				}
				if named := unitOf(value.text); named != 0 {
					unit = named
				}
				continue
			}
		}
		if len(cells) != width {
			return src.problem(start, fmt.Sprintf("%d columns; expected %d, as before", len(cells), width), "a cut-off line, or a decimal comma: write 0.0015")
		}
		v, err := strconv.ParseFloat(value.text, 64)
		if err != nil && !numeric(value.text) || value.text == "" {
			return src.problem(value.at, fmt.Sprintf("expected a time in seconds, got %q", value.text), "")
		}
		if unit == 0 {
			unit = 1
		}
		v *= unit
		if message, hint := notATime(v); message != "" {
			return src.problem(value.at, message, hint)
		}
		name := unnamed
		if width == 2 {
			name = cells[0].text
		}
		add(c.row(name, ""), v)
	}
	return nil
}

// separatorOf is what stands between columns: the first line that has one tells.
func separatorOf(text string) string {
	for line := range strings.Lines(text) {
		for _, s := range []string{"\t", ";", ","} {
			if strings.Contains(line, s) {
				return s
			}
		}
	}
	return ","
}

// cell is a column of a line and its offset in the text.
type cell struct {
	text string
	at   int
}

// split cuts a line at its separators, those inside quotes left alone. A name may
// be quoted, with quotes inside doubled; it does not go over lines.
func split(line string, at int, separator string) []cell {
	var out []cell
	quoted, from := false, 0
	cut := func(to int) {
		raw := line[from:to]
		text := strings.TrimSpace(raw)
		place := at + from + strings.Index(raw, text)
		if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
			text = strings.ReplaceAll(text[1:len(text)-1], `""`, `"`)
		}
		out = append(out, cell{text, place})
		from = to + len(separator)
	}
	for i := range len(line) {
		switch {
		case line[i] == '"':
			quoted = !quoted
		case !quoted && line[i] == separator[0]:
			cut(i)
		}
	}
	cut(len(line))
	return out
}

// numeric tells a number, or what wants to be one, from a heading.
func numeric(text string) bool {
	if text == "" {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || strings.IndexByte("0123456789.+-", text[0]) >= 0
}

// isProse tells a sentence from a heading, which has a few words.
func isProse(c cell) bool { return len(c.text) > 40 || len(strings.Fields(c.text)) > 4 }

var listUnits = map[string]float64{
	"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
	"ms": 1e-3, "msec": 1e-3, "milliseconds": 1e-3,
	"us": 1e-6, "µs": 1e-6, "μs": 1e-6, "usec": 1e-6, "microseconds": 1e-6,
	"ns": 1e-9, "nsec": 1e-9, "nanoseconds": 1e-9,
}

// Unit is the seconds that a unit's name stands for, 0 when it is none.
func Unit(name string) float64 { return listUnits[strings.ToLower(name)] }

// unitOf finds a unit at the end of a heading: time_ms, "time (ns)", seconds.
func unitOf(heading string) float64 {
	words := strings.FieldsFunc(heading, func(r rune) bool { return strings.ContainsRune(" _-()[]/.", r) })
	if len(words) == 0 {
		return 0
	}
	return Unit(words[len(words)-1])
}
