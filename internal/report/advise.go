package report

import (
	"fmt"
	"io"
	"time"

	"pawl/internal/report/render"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// Advise writes what to do about the kernels of a report that are explained: all findings, the most
// promising first, each with its evidence and the exact next step.
func Advise(w io.Writer, r *result.Report, opts TextOptions) error {
	if opts.Width == 0 && term.IsTerminal(w) {
		opts.Width = term.Width(w)
	}
	return render.Text(w, adviceOf(r, opts.Verbose), opts)
}

func adviceOf(r *result.Report, verbose bool) view.View {
	form := view.Text
	if verbose {
		form = view.Verbose
	}
	b := &builder{r: r, forms: form}
	b.v.Heading = present("pawl "+r.Tool.Version, machineLine(r), profiledWhen(r))
	all := explained(r.Rows)
	for _, w := range all {
		s := w.Last()
		title := w.name() + when(took(s) != "–", "   "+took(s))
		lines := []view.Line{}
		if w.Sentence != "" {
			lines = append(lines, view.Line{Text: w.told(), Tone: view.Strong})
		}
		if len(s.Findings) == 0 {
			lines = append(lines, bottlenecks(s, verbose)...)
		}
		for i, f := range s.Findings {
			lines = append(lines, findingLines(i+1, f, true)...)
		}
		if verbose && len(s.Findings) > 0 {
			rest := *s
			rest.Findings = nil
			lines = append(lines, bottlenecks(&rest, true)[1:]...)
		}
		b.add(form, view.Section{Name: title, Lines: lines, List: true})
	}
	b.limits(all, form)
	return b.v
}

// profiledWhen says how old the explanation is, and of which commit.
func profiledWhen(r *result.Report) string {
	return fmt.Sprintf("profiled %s UTC", r.Finished.UTC().Format(time.DateTime)) + prefixed(" at ", commit(r)) + when(len(r.Rows) > 1, ", "+unit.Plural(len(r.Rows), "config", "configs"))
}
