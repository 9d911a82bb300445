package report

import (
	"fmt"
	"strings"
	"time"

	"pawl/internal/result"
	"pawl/internal/unit"
)

// fuzzMarkdown renders a fuzz report: what every kernel came to, failures in full,
// all cases folded away. It is as short as a forge wants a comment to be.
func fuzzMarkdown(r *result.Report) string {
	rows := triedRows(r)
	end := fuzzEnding(r)
	var d bounded
	d.printf("# pawl fuzz: %s\n\n", fuzzHeadline(r, rows))
	d.room = mostMarkdown - len(end)
	d.scores(rows)
	d.printf("%s\n\n", checkOrigin(r))
	d.accusations(r.Rows, kernelName)
	d.failures(rows)
	d.sanitizer(rows)
	left := 0
	for _, t := range rows {
		const head = 1000 // bytes around a table
		switch {
		case len(t.v.Cases) == 0:
		case left > 0 || d.Len()+head > d.room:
			left++
		default:
			d.cases(t)
		}
	}
	if left > 0 {
		d.printf("… and the cases of %s\n\n", counted(left, "more kernel"))
	}
	return d.String() + end
}

func (d *bounded) scores(rows []tried) {
	if len(rows) == 0 {
		return
	}
	d.printf("| kernel |  | passed | failed | skipped | max abs | max rel | RMS |  |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for i, t := range rows {
		abs, rel, rms := "", "", ""
		if e := worstOf(t.v.Cases); e != nil {
			abs, rel, rms = far(e.abs), relative(e.abs, e.rel), far(e.rms)
		}
		word := t.word()
		if t.class() == "bad" {
			word = "**" + word + "**"
		}
		line := fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", inline(t.row.Kernel, 120), word,
			unit.Count(t.v.Passed), unit.Count(t.v.Failed), unit.Count(t.v.Skipped), abs, rel, rms, inline(strings.Join(t.extent(false), "; "), 400))
		if !d.add(line) {
			d.printf("\n")
			d.more(len(rows) - i)
			return
		}
	}
	d.printf("\n")
}

// accusations tell loudly what speaks against the honesty of rows.
func (d *bounded) accusations(rows []*result.Row, name func(*result.Row) string) {
	left, begun := 0, false
	for _, row := range rows {
		for _, f := range findings(row.Verification) {
			if f.told(row) {
				continue
			}
			if !begun {
				d.printf("## Integrity\n\n")
				begun = true
			}
			word := "suspicious"
			if f.Severity == result.Cheated {
				word = "rejected"
			}
			if !d.add(fmt.Sprintf("- **%s: %s**: %s: %s\n", word, inline(name(row), 120), inline(f.Exploit, 80), inline(f.String(), 600))) {
				left++
			}
		}
	}
	if left > 0 {
		d.printf("- … and %s more\n", unit.Count(left))
	}
	if begun {
		d.printf("\n")
	}
}

// failures tell kernels that could not be tried and the cases that fail.
func (d *bounded) failures(rows []tried) {
	left, begun := 0, false
	add := func(text string) {
		if !begun {
			d.printf("## Failures\n\n")
			begun = true
		}
		if !d.add(text) {
			left++
		}
	}
	for _, t := range rows {
		if f := t.row.Fault; f != nil && f.Cause != result.CauseInterrupted {
			text := fmt.Sprintf("**%s**: %s\n\n", inline(t.row.Kernel+variant(t.row), 200), inline(hinted(f.Message, f.Hint), 1000))
			if t.row.Build != nil && f.Stage == "build" && t.row.Build.Output != "" {
				text += fenced(clip(strings.Map(visible, excerpt(t.row.Build.Output)), 3000))
			}
			add(text)
		}
		blows := t.blows()
		for _, b := range blows[:min(mostFailures, len(blows))] {
			add(b.markdown(t.row.Kernel))
		}
		left += max(0, len(blows)-mostFailures)
	}
	if left > 0 {
		d.printf("… and %s\n\n", counted(left, "more failure"))
	}
}

// mostFailures of a kernel are told in full in a comment.
const mostFailures = 10

func (b blow) markdown(kernel string) string {
	text := fmt.Sprintf("**FAIL %s**: %s\n\n", inline(strings.TrimSpace(kernel+" "+sizes(b.Case)+" "+b.Fill), 300), inline(why(b.Case), 1000))
	var lines []string
	if b.Fault != nil && b.Fault.Hint != "" {
		lines = append(lines, "hint: "+b.Fault.Hint)
	}
	for i := range b.Outputs {
		if worst := worstLine(&b.Outputs[i], b.Reason); worst != "" {
			lines = append(lines, "worst: "+worst)
		}
	}
	for _, line := range append(lines, b.smallest()...) {
		text += "- " + inline(line, 600) + "\n"
	}
	return strings.TrimRight(text, "\n") + "\n\n" + markdownTiles(b.Case)
}

// markdownTiles draws the maps of a case's outputs.
func markdownTiles(c *result.Case) string {
	text := ""
	for _, o := range c.Outputs {
		if !drawable(o.Tiles) {
			continue
		}
		m := tileMap{o.Tiles}
		text += inline("- "+m.caption(o.Name, dimensions(&o)), 300) + "\n\n" + fenced(strings.Join(append(m.lines(), shadeKey), "\n"))
	}
	return text
}

// cases are all cases of a kernel, folded away; failing ones first, so that the last
// to find no room are those that need no attention.
func (d *bounded) cases(t tried) {
	d.printf("<details><summary>%s: %s</summary>\n\n", inline(t.row.Kernel, 120), counted(len(t.v.Cases), "case"))
	d.printf("| lane | case | max abs | max rel | RMS | atol | rtol |  |  |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |\n")
	left := 0
	for _, f := range []fate{wrong, skipped, passed} {
		for _, c := range t.of(f) {
			if left > 0 || !d.add(caseMarkdown(c, f)) {
				left++
			}
		}
	}
	d.printf("\n")
	if left > 0 {
		d.printf("… and %s\n\n", counted(left, "more case"))
	}
	d.printf("</details>\n\n")
}

func caseMarkdown(c *result.Case, f fate) string {
	cells := make([]string, 5)
	if o := closest(c); o != nil {
		cells[0], cells[1], cells[2] = farOff(o)
		cells[3], cells[4] = bounds(o)
	}
	word := string(f)
	if f == wrong {
		word = "**" + word + "**"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", inline(c.Lane, 40), inline(sizes(c), 200), strings.Join(cells, " | "), word, inline(strings.Join(caseNotes(c), "; "), 400))
}

// fuzzEnding is what stands below the cases.
func fuzzEnding(r *result.Report) string {
	d := bounded{room: mostMarkdown / 8}
	list := func(title string, all []string) {
		if len(all) == 0 {
			return
		}
		d.printf("## %s\n\n", title)
		for i, text := range all {
			if !d.add("- " + inline(text, 600) + "\n") {
				d.printf("- … and %s more\n", unit.Count(len(all)-i))
				break
			}
		}
		d.printf("\n")
	}
	list("Warnings", allWarnings(r))
	list("Notes", fuzzNotes(r))
	parts := []string{"pawl " + inline(r.Tool.Version, 40), r.Started.UTC().Format(time.RFC3339)}
	if text := replayed(r); text != "" {
		parts = append(parts, "the same cases again: "+text)
	}
	if r.ID != "" {
		parts = append(parts, "run "+inline(r.ID, 60))
	}
	d.printf("%s\n", strings.Join(parts, " · "))
	return d.String()
}
