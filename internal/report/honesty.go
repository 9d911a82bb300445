package report

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// found is a finding, and how often it was made.
type found struct {
	result.Finding
	times int
}

// findings are what speaks against a row's honesty, each once, proofs first.
func findings(v *result.Verification) []found {
	if v == nil {
		return nil
	}
	var out []found
	at := map[result.Finding]int{}
	for _, f := range v.Findings {
		if _, seen := at[f]; !seen {
			at[f] = len(out)
			out = append(out, found{Finding: f})
		}
		out[at[f]].times++
	}
	slices.SortStableFunc(out, func(a, b found) int { return proof(b) - proof(a) })
	return out
}

func proof(f found) int {
	if f.Severity == result.Cheated {
		return 1
	}
	return 0
}

// told reports whether the row's fault is this very finding.
func (f found) told(row *result.Row) bool {
	return row.Fault != nil && row.Fault.Message == f.Exploit+": "+f.Message
}

func (f found) String() string {
	text := f.Message
	if f.times > 1 {
		text += fmt.Sprintf(" (%s times)", unit.Count(f.times))
	}
	return text
}

// suspicious reports whether something speaks against a row, and nothing is proven.
func suspicious(row *result.Row) bool {
	return row.Verification != nil && row.Verification.Integrity == result.Suspicious
}

// exploits names what a row is accused of.
func exploits(row *result.Row) []string {
	var out []string
	for _, f := range findings(row.Verification) {
		if f.Exploit != "" && !slices.Contains(out, f.Exploit) {
			out = append(out, f.Exploit)
		}
	}
	return out
}

// limits are what could not be guaranteed, each sentence once, with the rows it is
// about.
func limits(rows []*result.Row, name func(*result.Row) string) []string {
	var sentences []string
	about := map[string][]string{}
	for _, row := range rows {
		if row.Verification == nil {
			continue
		}
		for _, sentence := range row.Verification.Limits {
			if about[sentence] == nil {
				sentences = append(sentences, sentence)
			}
			if names := about[sentence]; len(names) == 0 || names[len(names)-1] != name(row) {
				about[sentence] = append(names, name(row))
			}
		}
	}
	for i, sentence := range sentences {
		if names := few(about[sentence]); !strings.HasPrefix(sentence, names+" ") { // or it names them itself
			sentences[i] = names + ": " + sentence
		}
	}
	return sentences
}

// authorTrust says once what cannot be guaranteed of code that runs inside the process
// that measures or asks it; "" where no row has such code, or where it is said already.
func authorTrust(rows []*result.Row, name func(*result.Row) string) string {
	const trustAuthor = "author"
	var names []string
	known := map[string]bool{}
	watched := "its answers are compared"
	for _, row := range rows {
		if row.Trust == trustAuthor && !known[name(row)] {
			known[name(row)] = true
			names = append(names, name(row))
		}
		if row.Trust == trustAuthor && measured(row) {
			watched = "its answers are compared and its times checked"
		}
		if row.Verification != nil && slices.ContainsFunc(row.Verification.Limits, func(s string) bool { return strings.Contains(s, "address space") }) {
			return ""
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "trust: author for " + few(names) + ": this code shares its cell's address space; " + watched +
		" from outside, but nothing proves that it leaves the process it runs in alone"
}

// accused is what speaks against a row's honesty, unless its fault says it.
func accused(row *result.Row, name string) view.Item {
	suspect := view.Cell{Text: string(result.Suspicious), Tone: view.Unsure}
	item := view.Item{Name: name, Badge: suspect}
	for _, f := range findings(row.Verification) {
		if f.told(row) {
			continue
		}
		made := view.Finding{Exploit: f.Exploit, Message: f.String(), Badge: suspect}
		if f.Severity == result.Cheated {
			made.Badge = view.Cell{Text: string(result.Rejected), Tone: view.Bad}
			item.Badge = made.Badge
		}
		item.Findings = append(item.Findings, made)
	}
	return item
}

// accusations are what speaks against rows.
func accusations(rows []*result.Row, name func(*result.Row) string) view.Section {
	s := view.Section{Title: "Integrity", List: true}
	for _, row := range rows {
		if item := accused(row, name(row)); len(item.Findings) > 0 {
			s.Items = append(s.Items, item)
		}
	}
	return s
}
