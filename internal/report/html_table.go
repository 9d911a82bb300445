package report

import (
	"fmt"
	"strings"

	"pawl/internal/result"
)

// results is the table of all rows and their rivals.
type results struct {
	Subject string // heading of the names; "" where they are kernel/config
	Nothing string // what it says when it is empty
	Outcome string // heading of the outcomes
	Judged  bool   // at least one line came to something
	Heads   []string
	Lines   []resultLine
}

type resultLine struct {
	Label   string
	Rival   bool
	Outcome outcome
	Cells   []string
	Note    string // stands below the line
}

// Width is how many columns the table has.
func (t results) Width() int {
	if t.Judged {
		return len(t.Heads) + 2
	}
	return len(t.Heads) + 1
}

// outcome is what a line came to, with how it looks.
type outcome struct {
	Class    string // faster, slower, even; good, bad, unsure, plain
	Text     string
	Interval string // of a speedup
}

func resultTable(r *result.Report) results {
	all := lines(r)
	shown := present(all)
	t := results{Outcome: lastHeading(all)}
	if t.Outcome == "" {
		t.Outcome = "outcome"
	}
	for _, c := range shown {
		t.Heads = append(t.Heads, c.head)
	}
	for _, l := range all {
		made := resultLine{Label: l.label, Rival: l.rival != nil, Outcome: l.judged(), Cells: make([]string, len(shown))}
		t.Judged = t.Judged || made.Outcome.Text != ""
		for i, c := range shown {
			if measured(l.row) {
				made.Cells[i] = c.text(l.row)
			}
		}
		t.Lines = append(t.Lines, made)
	}
	return t
}

func (l line) judged() outcome {
	if l.rival != nil && l.rival.Ratio != nil {
		ratio := l.rival.Ratio
		return outcome{
			Class: standing(ratio), Text: fmt.Sprintf("%.2f×", ratio.Median),
			Interval: fmt.Sprintf("[%.2f, %.2f]", ratio.Low, ratio.High),
		}
	}
	text := status(l.row)
	switch {
	case text == "":
		return outcome{}
	case l.row.Verdict == result.Improvement:
		return outcome{Class: "good", Text: text}
	case l.row.Verdict == result.Regression || l.row.Verdict == result.Incorrect || l.row.Verdict == result.Broken || l.row.Verdict == result.Rejected:
		return outcome{Class: "bad", Text: text}
	case l.row.Fault != nil || l.row.Verdict == result.Inconclusive || l.row.Verdict == result.Incomparable:
		return outcome{Class: "unsure", Text: text}
	}
	return outcome{Class: "plain", Text: text}
}

// standing is whether the row's kernel was shown to be faster than a rival.
func standing(ratio *result.Ratio) string {
	switch {
	case ratio.Low > 1:
		return "faster"
	case ratio.High < 1:
		return "slower"
	}
	return "even"
}

// problem is a fault and what explains it.
type problem struct {
	Name, Message, Hint string
	Outcome             outcome
	Output, Log         string
	Open                bool
}

// problems are the faults that need an explanation. Rows of one kernel whose build
// failed alike are explained once.
func problems(r *result.Report) []problem {
	const open = 3 // more outputs than this would bury each other
	var out []problem
	seen := map[string]int{}
	for _, l := range lines(r) {
		row, f := l.row, l.row.Fault
		if f == nil || f.Cause == result.CauseInterrupted {
			continue
		}
		p := problem{Name: row.Name(), Message: f.Message, Hint: f.Hint, Outcome: line{row: row}.judged(), Open: len(out) < open}
		if f.Stage == "build" {
			p.Name = row.Kernel + variant(row)
			if row.Build != nil {
				p.Output = excerpt(row.Build.Output)
			}
			id := row.Kernel + "\x00" + f.Message
			if seen[id]++; seen[id] > 1 {
				continue
			}
		}
		p.Log = excerpt(row.Log)
		out = append(out, p)
	}
	return out
}

// excerpt is the beginning and the end of a text that is too long for the page.
func excerpt(text string) string {
	const most = 64
	const widest = 400
	all := strings.Split(strings.TrimSpace(text), "\n")
	if left := len(all) - most; left > 0 {
		head, tail := all[:most/2], all[len(all)-most/2:]
		all = append(append(append([]string(nil), head...), fmt.Sprintf("… %s, all of them in the JSON report …", count(left, "more line"))), tail...)
	}
	for i, text := range all {
		if len(text) > widest {
			all[i] = strings.ToValidUTF8(text[:widest], "") + "…"
		}
	}
	return strings.Join(all, "\n")
}
