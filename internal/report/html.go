package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"time"
	"unicode"

	"pawl/internal/plot"
	"pawl/internal/result"
	"pawl/internal/term"
)

//go:embed page.tmpl
var pageText string

//go:embed style.tmpl
var styleText string

var pageTemplate = template.Must(template.Must(template.New("page").Parse(pageText)).Parse(styleText + checkTemplate + verifyTemplate))

// page is what the template shows.
type page struct {
	Kind, Title string
	PlotStyle   template.CSS
	Interrupted bool
	Facts       []fact
	Overall     []overall
	Results     results
	Problems    []problem
	Warnings    []string
	Charts      []chart
	Samples     []strips
	Resources   sheet
	Details     sheet
	Machine     []fact
	Tool, Run   string
	Check       *checkView // nil for other kinds
	Tiles       []tile
	Failures    []failure
	Verified    sheet // of a check
	Cases       *casesView
	Selftest    *selftestView
	Sanitizer   *sanitizerView // of a fuzz
	Notes       []string
}

// fact is a thing and what it is.
type fact struct{ Name, Text string }

// HTML renders the report as one page that needs nothing else: no network, no
// script, no font. It holds summaries of the samples, not the samples.
func HTML(r *result.Report) ([]byte, error) {
	switch r.Kind {
	case result.KindCompare:
		return compareHTML(r)
	case result.KindCheck:
		return checkHTML(r)
	case result.KindFuzz:
		return fuzzHTML(r)
	case result.KindSelftest:
		return selftestHTML(r)
	}
	p := page{
		Kind: string(r.Kind), Title: title(r), PlotStyle: template.CSS(plot.Style),
		Interrupted: r.Interrupted, Facts: runFacts(r), Overall: standings(r), Results: resultTable(r), Problems: problems(r),
		Warnings: allWarnings(r), Charts: charts(r), Samples: allStrips(r), Resources: resourceSheet(r),
		Details: detailSheet(r), Machine: machineFacts(r), Tool: r.Tool.Version, Run: r.ID,
	}
	return execute(p)
}

// execute makes the page.
func execute(p page) ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("render HTML: %w", err)
	}
	return bytes.Map(visible, b.Bytes()), nil
}

// visible drops control characters, which have no place in a page.
func visible(r rune) rune {
	if r != '\n' && r != '\t' && unicode.IsControl(r) {
		return -1
	}
	return r
}

// title says what ran where.
func title(r *result.Report) string {
	var names []string
	for _, k := range byKernel(r) {
		names = append(names, k.name)
	}
	if len(names) == 0 {
		return machineLine(r)
	}
	return few(names) + " on " + machineLine(r)
}

// kernelRows are the rows of one kernel.
type kernelRows struct {
	name string
	rows []*result.Row
}

// byKernel groups the rows, kernels in the order they first appear in.
func byKernel(r *result.Report) []*kernelRows {
	var out []*kernelRows
	found := map[string]*kernelRows{}
	for _, row := range r.Rows {
		k := found[row.Kernel]
		if k == nil {
			k = &kernelRows{name: row.Kernel}
			found[row.Kernel] = k
			out = append(out, k)
		}
		k.rows = append(k.rows, row)
	}
	return out
}

// runFacts say when, of what and how the run was made.
func runFacts(r *result.Report) []fact {
	when := r.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	if took := r.Finished.Sub(r.Started); took > 0 {
		when += ", took " + span(took)
	}
	facts := []fact{{"when", when}}
	if r.Commit != nil {
		commit := fmt.Sprintf("%.12s", r.Commit.SHA)
		if r.Commit.Dirty {
			commit += " with local changes"
		}
		facts = append(facts, fact{"commit", commit})
	}
	if uuids := devices(lines(r)); uuids != nil {
		facts = append(facts, deviceFact(uuids))
	}
	facts = append(facts, fact{"method", method(r)})
	if len(r.Command) > 0 {
		facts = append(facts, fact{"command", term.ShellLine(r.Command...)})
	}
	return facts
}

// span writes how long a run took.
func span(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
