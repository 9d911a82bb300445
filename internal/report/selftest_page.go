package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html/template"
	"strings"
	"time"

	"pawl/internal/plot"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// selftestView is a selftest as a page shows it.
type selftestView struct{ Kinds []selftestKind }

type selftestKind struct {
	Name, Summary, More string
	Lines               []selftestLine
}

type selftestLine struct {
	Name, Role, Exploit, By, Why, Time string
	Outcome                            outcome
}

// selftestMarkdown renders a selftest: a table for every kind.
func selftestMarkdown(r *result.Report) string {
	s := selftestOf(r)
	var d bounded
	d.room = mostMarkdown
	title := selftestTotals(s)
	if r.Interrupted {
		title = "interrupted: " + title
	}
	d.printf("# pawl selftest: %s\n\n%s\n\n", title, checkOrigin(r))
	left := 0
	for _, group := range byKind(s) {
		const head = 1000
		if left > 0 || d.Len()+head > d.room {
			left += len(group.list)
			continue
		}
		d.subjects(group)
	}
	d.more(left)
	parts := []string{"pawl " + inline(r.Tool.Version, 40), r.Started.UTC().Format(time.RFC3339)}
	if r.ID != "" {
		parts = append(parts, "run "+inline(r.ID, 60))
	}
	if text := replayed(r); text != "" {
		parts = append(parts, "the same again: "+text)
	}
	d.printf("%s\n", strings.Join(parts, " · "))
	return d.String()
}

func (d *bounded) subjects(group *subjects) {
	list, more := group.folded()
	d.printf("## Cell %s: %s\n\n", inline(group.kind, 40), inline(group.summary(), 200))
	if len(list) > 0 {
		d.printf("| subject | role | exploit | outcome | caught by |\n| --- | --- | --- | --- | --- |\n")
	}
	left := 0
	for i, s := range list {
		word := inline(s.Outcome, 40)
		if outcomeClass(s.Outcome) == "bad" {
			word = "**" + word + "**"
		}
		if !d.add(fmt.Sprintf("| %s | %s | %s | %s | %s |\n", inline(s.Name, 120), inline(s.Role, 40), inline(s.Exploit, 80), word, inline(remark(s), 400))) {
			left = len(list) - i
			break
		}
	}
	if len(list) > 0 {
		d.printf("\n")
	}
	d.more(left)
	for i, line := range more {
		if !d.add(inline(line, 400) + "\n\n") {
			d.more(len(more) - i)
			break
		}
	}
}

// selftestHTML renders a selftest as the same kind of page as any run.
func selftestHTML(r *result.Report) ([]byte, error) {
	s := selftestOf(r)
	return execute(page{
		Kind: string(r.Kind), Title: selftestTotals(s), PlotStyle: template.CSS(plot.Style), Interrupted: r.Interrupted, Facts: verifyFacts(r), Tiles: selftestTiles(s),
		Selftest: selftestViewOf(s), Warnings: allWarnings(r), Machine: machineFacts(r), Tool: r.Tool.Version, Run: r.ID,
	})
}

func selftestTiles(s *result.Selftest) []tile {
	out := []tile{
		{"good", unit.Count(s.Caught), "caught", ""},
		{"unsure", unit.Count(s.Suspicious), "suspicious", ""},
		{"unsure", unit.Count(s.Defused), "defused", ""},
		{"bad", unit.Count(s.Missed), "missed", ""},
		{"unsure", unit.Count(s.Open), "open", ""},
		{"good", unit.Count(s.ControlsPassed), "controls pass", ""},
		{"bad", unit.Count(s.ControlsFailed), "controls fail", ""},
		{"good", unit.Count(s.MutantsKilled), "mutants killed", "of " + unit.Count(s.Mutants)},
		{"unsure", unit.Count(s.Skipped), "skipped", ""},
	}
	for i := range out {
		switch {
		case out[i].Name == "mutants killed" && s.MutantsKilled < s.Mutants:
			out[i].Class = "bad"
		case out[i].Count == "0":
			out[i].Class = "none"
		}
	}
	return out
}

func selftestViewOf(s *result.Selftest) *selftestView {
	view := &selftestView{}
	room := mostListed
	for _, group := range byKind(s) {
		list, more := group.folded()
		kind := selftestKind{Name: group.kind, Summary: group.summary()}
		if left := len(list) - room; left > 0 {
			list = list[:room]
			more = append(more, counted(left, "more subject")+" in the JSON report")
		}
		room -= len(list)
		kind.More = strings.Join(more, "; ")
		for _, subject := range list {
			line := selftestLine{Name: subject.Name, Role: subject.Role, Exploit: subject.Exploit, By: subject.By, Outcome: outcome{outcomeClass(subject.Outcome), subject.Outcome, ""}}
			if outcomeClass(subject.Outcome) != "good" {
				line.Why = subject.Why
			}
			if subject.Seconds > 0 {
				line.Time = unit.Duration(subject.Seconds)
			}
			kind.Lines = append(kind.Lines, line)
		}
		view.Kinds = append(view.Kinds, kind)
	}
	return view
}

// selftestCSV renders one line a subject.
func selftestCSV(r *result.Report) ([]byte, error) {
	records := [][]string{{"kind", "name", "role", "exploit", "outcome", "by", "why", "seconds"}}
	for _, group := range byKind(selftestOf(r)) {
		for _, s := range group.list {
			records = append(records, []string{s.Kind, s.Name, s.Role, s.Exploit, s.Outcome, s.By, s.Why, number(s.Seconds)})
		}
	}
	var buf bytes.Buffer
	if err := csv.NewWriter(&buf).WriteAll(records); err != nil {
		return nil, fmt.Errorf("render CSV: %w", err)
	}
	return buf.Bytes(), nil
}
