// Package report shows a Report. It turns the Report into a View (sections, tables, badges, notes
// and plots as data: package view). Package render shows a View as text for a terminal, as Markdown
// and HTML for people who read it elsewhere, and as CSV for other programs. Package report reads
// the Report and nothing else. A Comment is what reviewers of a change see. The dashboard shows
// Fragments.
package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/report/render"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/term"
)

// Endings are the file endings a report can be written as.
var Endings = []string{".json", ".md", ".html", ".csv"}

// Ending returns a file's ending, in lower case.
func Ending(file string) string { return strings.ToLower(filepath.Ext(file)) }

// WriteFile writes the report in the form its ending names, whole or not at all.
func WriteFile(file string, r *result.Report) error {
	var data []byte
	var err error
	switch Ending(file) {
	case ".json":
		data, err = r.Encode()
	case ".md":
		data = []byte(Markdown(r))
	case ".html":
		data, err = HTML(r)
	case ".csv":
		data, err = CSV(r)
	case ".svg", ".png":
		data, err = Picture(r, Ending(file), false)
	default:
		return fmt.Errorf("write %s: expected a file ending in %s", file, strings.Join(Endings, ", "))
	}
	if err != nil {
		return err
	}
	return disk.Write(file, data)
}

// TextOptions say how a report looks on a terminal.
type TextOptions = render.TextOptions

// Text writes the report for a terminal: what ran where, a table, then only what needs attention,
// and at last what the run came to. On a terminal it fits the width; elsewhere nothing is wrapped or
// left out.
func Text(w io.Writer, r *result.Report, opts TextOptions) error {
	if opts.Width == 0 && term.IsTerminal(w) {
		opts.Width = term.Width(w)
	}
	form := view.Text
	if opts.Verbose {
		form = view.Verbose
	}
	return render.Text(w, ViewOf(r, form), opts)
}

// Result returns what a run came to, in one line.
func Result(r *result.Report) string { return ViewOf(r, view.Text).Closing.Text }

// Markdown renders the report for people who read it in a browser.
func Markdown(r *result.Report) string { return render.Markdown(ViewOf(r, view.Markdown)) }

// HTML renders the report as one page that needs nothing else.
func HTML(r *result.Report) ([]byte, error) { return render.HTML(ViewOf(r, view.HTML)) }

// Fragment is a report in parts of somebody else's page.
type Fragment = render.Fragment

// Fragments renders the report for a page of somebody else's, which needs Style.
func Fragments(r *result.Report) (Fragment, error) { return render.Fragments(ViewOf(r, view.HTML)) }

// Style returns the style sheet of pages and fragments.
func Style() (string, error) { return render.Style() }

// CSV renders the report for programs: times in seconds, changes as fractions.
func CSV(r *result.Report) ([]byte, error) { return render.CSV(ViewOf(r, view.CSV)) }

// shown is how a kind of run is shown to people and to programs.
type shown struct {
	view    func(*builder)
	records func(*result.Report) [][]string // below the names of their fields
}

var kinds = map[result.Kind]shown{
	result.KindBench:    {(*builder).bench, benchRecords},
	result.KindCheck:    {(*builder).check, checkRecords},
	result.KindCompare:  {(*builder).compare, compareRecords},
	result.KindFuzz:     {(*builder).fuzz, fuzzRecords},
	result.KindSelftest: {(*builder).selftest, selftestRecords},
	result.KindProfile:  {(*builder).profile, profileRecords},
	result.KindTune:     {(*builder).tune, tuneRecords},
}

// ViewOf returns what the forms show of a report. Sections that none of them has are left
// out.
func ViewOf(r *result.Report, forms view.Form) view.View {
	b := &builder{r: r, forms: forms, v: view.View{Kind: string(r.Kind), Tool: r.Tool.Version, Run: r.ID, Interrupted: r.Interrupted}}
	kind, known := kinds[r.Kind]
	if !known {
		kind = kinds[result.KindBench]
	}
	if b.shows(view.CSV) {
		b.v.Records = kind.records(r)
	}
	if forms != view.CSV {
		kind.view(b)
		b.cost()
		b.add(view.HTML, view.Section{ID: "machine", Title: "Machine", Facts: machineFacts(r)})
	}
	return b.v
}
