package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// subjects are the kernels of one kind that the checks were tried on.
type subjects struct {
	kind string
	list []result.SelftestSubject
}

var (
	selftestKinds = []string{"host", "python", "cuda", "launcher"}
	selftestRoles = []string{"cheat", "mutant", "control"}
)

// selftestOf is what a selftest found; a report that does not sum it up has its rows
// for subjects.
func selftestOf(r *result.Report) *result.Selftest {
	if r.Selftest != nil {
		return r.Selftest
	}
	made := &result.Selftest{}
	for _, row := range r.Rows {
		s := result.SelftestSubject{Name: row.Kernel, Kind: row.Cell, Role: row.Plan, Exploit: strings.Join(exploits(row), ", "), Outcome: status(row)}
		if row.Fault != nil {
			s.Why = row.Fault.Message
		}
		made.Subjects = append(made.Subjects, s)
	}
	return made
}

// byKind groups subjects: kinds and roles in the order people think of them, others
// after those.
func byKind(s *result.Selftest) []*subjects {
	var out []*subjects
	found := map[string]*subjects{}
	for _, subject := range s.Subjects {
		group := found[subject.Kind]
		if group == nil {
			group = &subjects{kind: subject.Kind}
			found[subject.Kind] = group
			out = append(out, group)
		}
		group.list = append(group.list, subject)
	}
	slices.SortStableFunc(out, func(a, b *subjects) int { return rank(selftestKinds, a.kind) - rank(selftestKinds, b.kind) })
	for _, group := range out {
		slices.SortStableFunc(group.list, func(a, b result.SelftestSubject) int {
			return rank(selftestRoles, a.Role) - rank(selftestRoles, b.Role)
		})
	}
	return out
}

func rank(order []string, word string) int {
	if at := slices.Index(order, word); at >= 0 {
		return at
	}
	return len(order)
}

// outcomeTone is how an outcome looks.
func outcomeTone(word string) view.Tone {
	switch word {
	case "caught", "passed", "killed":
		return view.Good
	case "missed", "failed", "survived":
		return view.Bad
	}
	return view.Unsure
}

// selftestTotals is the whole selftest in one line.
func selftestTotals(s *result.Selftest) string {
	controls := s.ControlsPassed + s.ControlsFailed
	parts := []string{
		fmt.Sprintf("%s caught, %s suspicious, %s defused, %s missed", unit.Count(s.Caught), unit.Count(s.Suspicious), unit.Count(s.Defused), unit.Count(s.Missed)),
		fmt.Sprintf("%s of %s pass", unit.Count(s.ControlsPassed), view.Counted(controls, "control")),
	}
	if s.Mutants > 0 {
		// 99.9% is not all of them.
		parts = append(parts, fmt.Sprintf("mutants %d/%d killed (%.0f%%)", s.MutantsKilled, s.Mutants, math.Floor(100*float64(s.MutantsKilled)/float64(s.Mutants))))
	}
	if s.Open > 0 {
		parts = append(parts, unit.Count(s.Open)+" open")
	}
	if s.Skipped > 0 {
		parts = append(parts, unit.Count(s.Skipped)+" skipped")
	}
	return strings.Join(parts, " · ")
}

// healthy reports whether the checks do what they are for.
func healthy(s *result.Selftest) bool {
	return s.Missed == 0 && s.ControlsFailed == 0 && s.MutantsKilled == s.Mutants && s.Caught+s.Suspicious+s.Defused+s.Open+s.ControlsPassed+s.Mutants > 0
}

// summary counts the outcomes of a kind: "14 caught, 1 suspicious".
func (g *subjects) summary() string {
	counts := map[string]int{}
	var order []string
	for _, s := range g.list {
		if counts[s.Outcome]++; counts[s.Outcome] == 1 {
			order = append(order, s.Outcome)
		}
	}
	for i, word := range order {
		order[i] = unit.Count(counts[word]) + " " + word
	}
	return strings.Join(order, ", ")
}

// folded are the subjects to list, and in how many words the others were skipped:
// where a kind cannot run at all, one line says it.
func (g *subjects) folded() (list []result.SelftestSubject, more []string) {
	const few = 3
	reasons := map[string]int{}
	for _, s := range g.list {
		if s.Outcome == "skipped" {
			reasons[s.Why]++
		}
	}
	done := map[string]bool{}
	for _, s := range g.list {
		switch n := reasons[s.Why]; {
		case s.Outcome != "skipped" || n <= few:
			list = append(list, s)
		case !done[s.Why]:
			done[s.Why] = true
			more = append(more, strings.TrimSuffix(unit.Count(n)+" skipped: "+s.Why, ": "))
		}
	}
	return list, more
}

// remark is what stands beside an outcome: what caught it, or why it was not.
func remark(s result.SelftestSubject) string {
	switch {
	case s.By == "":
		return s.Why
	case s.Why == "" || outcomeTone(s.Outcome) == view.Good:
		return s.By
	}
	return s.By + ": " + s.Why
}
