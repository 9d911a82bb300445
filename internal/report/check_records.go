package report

import (
	"cmp"
	"strconv"
	"strings"

	"pawl/internal/result"
)

// statFields are the median of a row, for programs.
func statFields[T any](prefix string, row func(T) *result.Row) []field[T] {
	stat := func(name string, get func(result.Stats) float64) field[T] {
		return field[T]{prefix + name, func(item T) string {
			if r := row(item); r != nil && measured(r) {
				return number(get(r.Timing.Stats))
			}
			return ""
		}}
	}
	return []field[T]{
		stat("median_s", func(s result.Stats) float64 { return s.Median }), stat("ci_95_low_s", func(s result.Stats) float64 { return s.Low }),
		stat("ci_95_high_s", func(s result.Stats) float64 { return s.High }), stat("samples", func(s result.Stats) float64 { return float64(s.Count) }),
	}
}

// changeField is a number of a change, for programs.
func changeField[T any](name string, change func(T) *result.Change, text func(*result.Change) string) field[T] {
	return field[T]{name, func(item T) string {
		if c := change(item); c != nil {
			return text(c)
		}
		return ""
	}}
}

// changeFields are the numbers that every change has.
func changeFields[T any](prefix string, change func(T) *result.Change) []field[T] {
	of := func(name string, get func(*result.Change) float64) field[T] {
		return changeField(prefix+name, change, func(c *result.Change) string { return zero(get(c)) })
	}
	return []field[T]{
		of("change", func(c *result.Change) float64 { return c.Median }), of("change_low", func(c *result.Change) float64 { return c.Low }),
		of("change_high", func(c *result.Change) float64 { return c.High }), of("delta", func(c *result.Change) float64 { return c.Delta }),
		of("shift_s", func(c *result.Change) float64 { return c.Shift }),
	}
}

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return zero(*v)
}

// sideFields are the version of a role that a row was measured against.
func sideFields(role result.Role) []field[checked] {
	prefix := string(role) + "_"
	side := func(c checked) *result.Side {
		return cmp.Or(sideOf(c.row, func(side *result.Side) bool { return side.Role == role }), &result.Side{})
	}
	change := func(c checked) *result.Change { return side(c).Change }
	of := func(name string, text func(*result.Change) string) field[checked] {
		return changeField(prefix+name, change, text)
	}
	out := []field[checked]{{prefix + "commit", func(c checked) string { return side(c).Commit }}}
	out = append(out, statFields(prefix, func(c checked) *result.Row { return side(c).Row })...)
	out = append(out, changeFields(prefix, change)...)
	return append(
		out, of("cycles", func(c *result.Change) string { return optional(c.Cycles) }),
		of("cells", func(c *result.Change) string { return strconv.Itoa(len(c.Cells)) }), of("pairs", func(c *result.Change) string { return strconv.Itoa(c.Pairs) }),
		of("exact", func(c *result.Change) string { return strconv.FormatBool(c.Exact) }), of("confirmed", func(c *result.Change) string { return strconv.FormatBool(c.Confirmed) }),
		of("stopped", func(c *result.Change) string { return c.Stopped }),
	)
}

func reasons(row *result.Row) string {
	return strings.Join(each(row.Reasons, func(reason result.Reason) string { return string(reason) }), "; ")
}

func checkRecords(r *result.Report) [][]string {
	fields := []field[checked]{
		{"kernel", func(c checked) string { return c.row.Kernel }},
		{"config", func(c checked) string { return c.row.Config }},
		{"verdict", func(c checked) string { return string(c.row.Verdict) }},
		{"reasons", func(c checked) string { return reasons(c.row) }},
		{"fault", func(c checked) string { return cause(c.row) }},
		{"identity", func(c checked) string { return c.row.Identity }},
	}
	fields = append(fields, statFields("", func(c checked) *result.Row { return c.row })...)
	fields = append(append(fields, sideFields(result.Base)...), sideFields(result.Best)...)
	moved := func(name string, text func(*result.Moved) string) {
		fields = append(fields, field[checked]{name, func(c checked) string {
			if c.row.Moved == nil {
				return ""
			}
			return text(c.row.Moved)
		}})
	}
	moved("baseline", movedState)
	moved("baseline_from_commit", func(m *result.Moved) string { return m.From })
	moved("baseline_from_s", func(m *result.Moved) string { return number(m.FromS) })
	fields = append(fields, field[checked]{"plan", func(c checked) string { return c.row.Plan }})
	return records(checkedRows(r), append(fields, verifyFields...))
}

// movedState says what became of the baseline: moved, would move, refused, that this
// branch moved it before, or that only its commit is another.
func movedState(m *result.Moved) string {
	switch {
	case m.Done && m.Anchor:
		return "bound"
	case m.Done:
		return "moved"
	case m.Refused != "":
		return "refused"
	case m.Already:
		return "already"
	case m.Anchor:
		return "would be bound"
	}
	return "would move"
}
