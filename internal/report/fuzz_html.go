package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"pawl/internal/plot"
	"pawl/internal/result"
	"pawl/internal/unit"
)

//go:embed verify.tmpl
var verifyTemplate string

// failure is a wrong answer, with all that is known of it.
type failure struct {
	Name, Message, Hint string
	Outcome             outcome
	Findings            []accusation
	Lines               []string
	Maps                []picture
}

// accusation is a finding as a page shows it.
type accusation struct {
	Exploit, Message string
	Outcome          outcome
}

// picture is where an output is wrong.
type picture struct {
	Caption, Edges string
	Picture        template.HTML
}

// casesView is every case of a fuzz report.
type casesView struct{ Kernels []caseList }

type caseList struct {
	Name, Count, More string
	Open              bool
	Lines             []casePage
}

type casePage struct {
	Sizes, Lane, Output             string
	Abs, Rel, RMS, Atol, Rtol, Note string
	Outcome                         outcome
}

// mostCases is how many lines of cases a page holds.
const mostCases = 5000

// fuzzHTML renders a fuzz report as the same kind of page as any run.
func fuzzHTML(r *result.Report) ([]byte, error) {
	rows := triedRows(r)
	doubts := allWarnings(r)
	failures := fuzzFailures(rows)
	if failures.left > 0 {
		doubts = append(doubts, counted(failures.left, "more failure")+" in the JSON report")
	}
	return execute(page{
		Kind: string(r.Kind), Title: fuzzHeadline(r, rows), PlotStyle: template.CSS(plot.Style), Interrupted: r.Interrupted,
		Facts: verifyFacts(r), Tiles: fuzzTiles(rows), Results: fuzzResults(rows), Failures: failures.list, Problems: fuzzProblems(r), Sanitizer: sanitizerPage(rows), Warnings: doubts,
		Notes: fuzzNotes(r), Cases: casesOf(rows), Machine: machineFacts(r), Tool: r.Tool.Version, Run: r.ID,
	})
}

// verifyFacts are the facts of a run that measured nothing.
func verifyFacts(r *result.Report) []fact {
	facts := []fact{{"on", machineLine(r)}}
	for _, f := range runFacts(r) {
		if f.Name != "method" {
			facts = append(facts, f)
		} else if text := replayed(r); text != "" {
			facts = append(facts, fact{"replay", text})
		}
	}
	return facts
}

func fuzzTiles(rows []tried) []tile {
	pass, fail, skip := 0, 0, 0
	words := map[string]int{}
	for _, t := range rows {
		pass, fail, skip = pass+t.v.Passed, fail+t.v.Failed, skip+t.v.Skipped
		words[t.word()]++
	}
	out := []tile{{"", unit.Count(len(rows)), noun(len(rows), "kernel"), ""}}
	add := func(class string, n int, name string, always bool) {
		if n == 0 {
			class = "none"
		}
		if always || n > 0 {
			out = append(out, tile{class, unit.Count(n), name, ""})
		}
	}
	add("good", pass, noun(pass, "case")+" pass", true)
	add("bad", fail, noun(fail, "case")+" fail", true)
	add("unsure", skip, "skipped", false)
	add("bad", words["REJECTED"], noun(words["REJECTED"], "kernel")+" rejected", false)
	add("bad", words["BROKEN"], noun(words["BROKEN"], "kernel")+" broken", false)
	add("unsure", words["SUSPICIOUS"], noun(words["SUSPICIOUS"], "kernel")+" suspicious", false)
	untried := words["NOT TRIED"] + words["ENDED EARLY"]
	add("unsure", untried, noun(untried, "kernel")+" not tried", false)
	return out
}

func fuzzResults(rows []tried) results {
	t := results{Subject: "kernel", Nothing: "Nothing was tried.", Outcome: "result", Judged: true, Heads: []string{"passed", "failed", "skipped", "max abs", "max rel", "RMS", "took"}}
	for _, row := range rows {
		cells := make([]string, len(t.Heads))
		if len(row.v.Cases) > 0 {
			cells[0], cells[1], cells[2] = unit.Count(row.v.Passed), unit.Count(row.v.Failed), unit.Count(row.v.Skipped)
		}
		if e := worstOf(row.v.Cases); e != nil {
			cells[3], cells[4], cells[5] = far(e.abs), relative(e.abs, e.rel), far(e.rms)
		}
		if took := row.took(); took > 0 {
			cells[6] = unit.Duration(took)
		}
		t.Lines = append(t.Lines, resultLine{
			Label: row.row.Kernel, Outcome: outcome{Class: row.class(), Text: row.word()}, Cells: cells, Note: strings.Join(row.extent(false), "; "),
		})
	}
	return t
}

// fuzzProblems are the faults of kernels, of which none was to be measured.
func fuzzProblems(r *result.Report) []problem {
	out := problems(r)
	for i := range out {
		out[i].Outcome.Text = strings.Replace(out[i].Outcome.Text, "not measured", "not tried", 1)
	}
	return out
}

// failureList is as many failures as a page holds. The others are not even drawn.
type failureList struct {
	list []failure
	left int
}

func (l *failureList) add(draw func() failure) {
	if len(l.list) == mostProblems {
		l.left++
		return
	}
	l.list = append(l.list, draw())
}

// fuzzFailures are the failures of all kernels, and what speaks against them.
func fuzzFailures(rows []tried) failureList {
	var out failureList
	for _, t := range rows {
		if f := accused(t.row, t.row.Kernel); len(f.Findings) > 0 {
			out.add(func() failure { return f })
		}
		for _, b := range t.blows() {
			out.add(func() failure {
				f := failureOf(b.Case, strings.TrimSpace(t.row.Kernel+" "+sizes(b.Case)+" "+b.Fill))
				f.Lines = append(f.Lines, b.smallest()...)
				return f
			})
		}
	}
	return out
}

// accused is what speaks against a row's honesty.
func accused(row *result.Row, name string) failure {
	f := failure{Name: name, Outcome: outcome{"unsure", string(result.Suspicious), ""}}
	for _, found := range findings(row.Verification) {
		if found.told(row) { // among the problems
			continue
		}
		made := accusation{found.Exploit, found.String(), outcome{"unsure", string(result.Suspicious), ""}}
		if found.Severity == result.Cheated {
			made.Outcome = outcome{"bad", string(result.Rejected), ""}
			f.Outcome = made.Outcome
		}
		f.Findings = append(f.Findings, made)
	}
	for i := range f.Findings {
		if f.Findings[i].Outcome == f.Outcome { // one badge says it
			f.Findings[i].Outcome = outcome{}
		}
	}
	return f
}

// failureOf is a wrong answer.
func failureOf(c *result.Case, name string) failure {
	f := failure{Name: name, Message: why(c), Outcome: outcome{"bad", string(wrong), ""}}
	if c.Fault != nil {
		f.Hint = c.Fault.Hint
	}
	for i := range c.Outputs {
		o := &c.Outputs[i]
		if text := worstLine(o, c.Reason); text != "" {
			f.Lines = append(f.Lines, "worst: "+text)
		}
		if o.Wrong > 0 {
			abs, rel, rms := farOff(o)
			f.Lines = append(f.Lines, fmt.Sprintf("%s: max abs %s, max rel %s, RMS %s; allowed: %s", o.Name, abs, rel, rms, allowed(o)))
		}
		if drawable(o.Tiles) {
			m := tileMap{o.Tiles}
			f.Maps = append(f.Maps, picture{m.caption(o.Name, dimensions(o)), m.edges(), m.svg()})
		}
	}
	return f
}

// casesOf are all cases, as many as a page holds, the failing ones of a kernel first.
func casesOf(rows []tried) *casesView {
	const open = 60
	view, room := &casesView{}, mostCases
	for _, t := range rows {
		if len(t.v.Cases) == 0 {
			continue
		}
		list := caseList{Name: t.row.Kernel + variant(t.row), Count: counted(len(t.v.Cases), "case"), Open: len(t.v.Cases) <= open && len(view.Kernels) == 0}
		left := 0
		for _, f := range []fate{wrong, skipped, passed} {
			for _, c := range t.of(f) {
				if room <= 0 {
					left++
					continue
				}
				lines := caseLines(c, f)
				room -= len(lines)
				list.Lines = append(list.Lines, lines...)
			}
		}
		if left > 0 {
			list.More = counted(left, "more case") + " in the JSON report"
		}
		view.Kernels = append(view.Kernels, list)
	}
	if len(view.Kernels) == 0 {
		return nil
	}
	return view
}

// caseLines has a line for every output of a case.
func caseLines(c *result.Case, f fate) []casePage {
	first := casePage{Sizes: sizes(c), Lane: c.Lane, Outcome: outcome{f.class(), string(f), ""}, Note: strings.Join(caseNotes(c), "; ")}
	if len(c.Outputs) == 0 {
		return []casePage{first}
	}
	var out []casePage
	for i := range c.Outputs {
		o := &c.Outputs[i]
		line := casePage{}
		if i == 0 {
			line = first
		}
		line.Output = o.Name
		line.Abs, line.Rel, line.RMS = farOff(o)
		line.Atol, line.Rtol = bounds(o)
		out = append(out, line)
	}
	return out
}
