package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/result"
)

// unnamed is the name of the samples of a list without names.
const unnamed = "samples"

// readList reads a JSON list of times, or an object of name → list.
func readList(src source, c *collector, opts Options) error {
	s := &scanner{source: src}
	if s.next() == '[' {
		return list(s, c, unnamed, opts.Unit)
	}
	return s.object(func(name string) error {
		if s.next() != '[' {
			return s.fail(s.at, "expected a list of times: the format of this file is unknown", formats)
		}
		return list(s, c, name, opts.Unit)
	})
}

func list(s *scanner, c *collector, name string, given float64) error {
	at := s.at
	times, err := s.times(cmp.Or(given, 1))
	if err != nil {
		return err
	}
	if err := mindName(&s.source, at, name, given); err != nil {
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

// table is a CSV that is being read: one column of times, or two of names and times.
type table struct {
	source
	*collector
	unit    float64 // of the times, in seconds; 0: not given
	width   int     // columns
	remarks []cell  // before the first line
}

// readCSV reads a table with or without a header.
func readCSV(src source, c *collector, opts Options) error {
	t := &table{source: src, collector: c, unit: opts.Unit}
	separator, at := separatorOf(src.text), 0
	for line := range strings.Lines(src.text) {
		start := at
		at += len(line)
		text := strings.TrimSpace(line)
		switch {
		case text == "":
			continue
		case text[0] == '#':
			if t.width == 0 {
				t.remarks = append(t.remarks, cell{strings.TrimSpace(strings.TrimLeft(text, "#")), start})
			}
			continue
		}
		cells := split(line, start, separator)
		if t.width == 0 { // the first line with anything in it
			heading, err := t.begin(cells, start)
			if err != nil {
				return err
			}
			if heading {
				continue
			}
		}
		if err := t.line(cells, start); err != nil {
			return err
		}
	}
	return nil
}

// begin reads the first line and reports whether it is a heading.
func (t *table) begin(cells []cell, start int) (heading bool, err error) {
	t.width = len(cells)
	if t.width > 2 {
		hint := "summaries hold no samples: use the JSON that the tool writes"
		if cells[0].text == "name" && cells[1].text == "iterations" {
			hint = googleHint
		}
		return false, t.problem(cells[2].at, fmt.Sprintf("%d columns; expected one of times, or two of names and times", t.width), hint)
	}
	value := cells[t.width-1]
	if numeric(value.text) {
		return false, t.mindRemarks()
	}
	unit, problem, unclear := headingUnit(value.text)
	switch {
	case unit == 0 && slices.ContainsFunc(cells, isProse):
		return false, t.problem(start, "expected a result file", formats)
	case problem != "" && !(unclear && t.unit != 0):
		hint := "name the column for what it holds: time_ms, time_us, time_ns, time_s"
		if unclear {
			hint += "; or give --unit"
		}
		return false, t.problem(value.at, problem, hint)
	case unit != 0:
		t.unit = unit
	case t.unit == 0:
		t.report.Warnings = append(t.report.Warnings, result.Warning{
			Code: "unit", Message: fmt.Sprintf("the heading %q names no unit: its times were taken as seconds", value.text),
			Hint: "call it time_s, time_ms, time_us or time_ns, or give --unit",
		})
	}
	return true, nil
}

// mindRemarks refuses a list without a heading whose remarks name a unit.
func (t *table) mindRemarks() error {
	for _, remark := range t.remarks {
		if unit, problem, _ := headingUnit(remark.text); t.unit == 0 && unit != 0 && unit != 1 && problem == "" {
			return t.problem(remark.at, "the comment names a unit, but comments are not read; expected a heading such as time_ms", "remove the # if this is the heading, or give --unit")
		}
	}
	return nil
}

// line reads one sample.
func (t *table) line(cells []cell, start int) error {
	if len(cells) != t.width {
		return t.problem(start, fmt.Sprintf("%d columns; expected %d, as before", len(cells), t.width), "a cut-off line, or a decimal comma: write 0.0015")
	}
	value := cells[t.width-1]
	v, err := strconv.ParseFloat(value.text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		hint := ""
		if list, _ := headingWords(value.text); len(list) > 0 && listUnits[list[len(list)-1].text] != 0 {
			hint = "the unit belongs into the heading: time_ms"
		}
		return t.problem(value.at, fmt.Sprintf("expected a time as a plain number, got %q", value.text), hint)
	}
	name := cell{unnamed, start}
	if t.width == 2 {
		name = cells[0]
	}
	if err := mindName(&t.source, name.at, name.text, t.unit); err != nil {
		return err
	}
	v *= cmp.Or(t.unit, 1)
	if message, hint := notATime(v); message != "" {
		return t.problem(value.at, message, hint)
	}
	add(t.row(name.text, ""), v)
	return nil
}

// mindName refuses a name that ends in a unit where no unit is given: nobody can tell whether the
// times are in it.
func mindName(src *source, at int, name string, unit float64) error {
	list, _ := headingWords(name)
	if unit != 0 || len(list) == 0 {
		return nil
	}
	found, problem, _ := headingUnit(name)
	last := list[len(list)-1].text
	if problem != "" || found == 0 || found == 1 || listUnits[last] != found {
		return nil
	}
	return src.problem(at, fmt.Sprintf("%q ends in a unit; expected a list that says whether its times are in %s or in seconds", name, last),
		"give --unit "+last+", or --unit s if it is only a name")
}

// separatorOf returns the column separator, from the first line that has one.
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

// split cuts a line at its separators, except inside quotes. A name may be quoted, with quotes
// inside doubled; it does not span lines.
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

// numeric reports whether a text is a number, or was meant as one, instead of a heading.
func numeric(text string) bool {
	if text == "" {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || strings.IndexByte("0123456789.+-", text[0]) >= 0
}

// isProse reports whether a text is a sentence instead of a heading, which has a few words.
func isProse(c cell) bool { return len(c.text) > 40 || len(strings.Fields(c.text)) > 4 }
