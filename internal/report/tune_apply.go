package report

import (
	"pawl/internal/report/view"
	"pawl/internal/result"
)

// tuneApply says how to use what the search has found.
func (b *builder) tuneApply(s *search) {
	if !s.suggested() {
		return
	}
	var names []string
	for _, p := range s.Space.Params {
		names = append(names, p.Name)
	}
	section := view.Section{ID: "apply", Title: "How to apply"}
	for _, way := range HowToApply(s.Kernel, s.cell(), names, s.winner.Params) {
		section.Parts = append(section.Parts, view.Section{
			In: view.Markdown | view.HTML, Lines: []view.Line{{Text: way.Title + ":"}}, Code: view.Code{Text: way.Text, Language: way.Language},
		})
	}
	b.add(view.Markdown|view.HTML, section)
}

// cell returns the kind of the kernel.
func (s *search) cell() string {
	for _, row := range s.r.Rows {
		if row.Cell != "" {
			return row.Cell
		}
	}
	return ""
}

// Searched reports whether a report is of a search that tried something.
func Searched(r *result.Report) bool {
	return r.Kind == result.KindTune && r.Tuning != nil && len(r.Tuning.Trials) > 0
}
