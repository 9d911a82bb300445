package report

import (
	"fmt"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

func noun(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// alike is the word for rows that all came to the same; "" for others.
func alike(rows []checked) string {
	for _, c := range rows {
		if c.word() != rows[0].word() {
			return ""
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return rows[0].word()
}

func movedNote(rows []checked) string {
	switch n := advanced(rows); n {
	case 0:
		return ""
	case len(rows):
		return "baseline moved"
	default:
		return fmt.Sprintf("baseline moved by %s", unit.Count(n))
	}
}

func gateLine(gate result.Gate) string {
	return fmt.Sprintf("fails above %s, improves below %s", view.Percent(gate.Regression), view.Percent(-gate.Improvement))
}

func checkFacts(r *result.Report) []view.Fact {
	facts := []view.Fact{{Name: "on", Text: machineLine(r)}}
	for _, f := range runFacts(r) {
		facts = append(facts, f)
		if f.Name == "commit" && r.Base != nil {
			facts = append(facts, view.Fact{Name: "base", Text: baseName(r)})
		}
	}
	gate := gateLine(gateOf(r))
	if text := alarms(r); text != "" {
		gate += " · " + text
	}
	return append(facts, view.Fact{Name: "gate", Text: gate})
}

// sided is the report with the other sides of its rows as lines of their own, the
// gravest first, as many as a page holds.
func sided(r *result.Report, rows []checked) *result.Report {
	out := *r
	out.Rows = nil
	for _, c := range gravest(rows) {
		if len(out.Rows) == mostListed {
			break
		}
		with := *c.row
		with.Rivals = nil
		for _, side := range c.row.Sides {
			if side.Row == nil {
				continue
			}
			other := *side.Row
			other.Kernel += " (" + sideName(side) + ")"
			with.Rivals = append(with.Rivals, &result.Rival{Label: sideName(side), Row: &other})
		}
		out.Rows = append(out.Rows, &with)
	}
	return &out
}

// unpaired are the rows that were measured alone.
func unpaired(r *result.Report, rows []checked) *result.Report {
	out := *r
	out.Rows = nil
	for _, c := range rows {
		if c.change == nil {
			row := *c.row
			row.Rivals = nil
			out.Rows = append(out.Rows, &row)
		}
	}
	return &out
}
