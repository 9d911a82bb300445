package score

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Totals count rows of one set.
type Totals struct {
	Plants, First, Three     int
	Repaired                 int // plants with a profile of a twin that is faster: none at the roof
	Gone, Named              int
	Measured, Faster, Within int // with a measured twin; of those: faster by a twentieth; within 1.1 × the bound
	Calm, Claims             int // twins and healthy kernels; of those: first findings that claim more than a tenth
	Ruled, Rule              int // plants that ncu's rules were asked about; of those: its first rule names the cause
}

func count(is ...bool) (n int) {
	for _, one := range is {
		if one {
			n++
		}
	}
	return n
}

// of returns what one row adds to the totals.
func of(r Row) Totals {
	if r.Cause == "" {
		return Totals{Calm: 1, Claims: count(r.Headroom > claimed)}
	}
	s := Totals{
		Plants: 1, First: count(r.First == r.Cause), Three: count(slices.Contains(r.Top, r.Cause)),
		Ruled: count(r.Ruled), Rule: count(r.Ruled && r.RuleNames),
	}
	if r.Paired {
		s.Calm, s.Claims = 1, count(r.TwinHeadroom > claimed)
	}
	if r.Cause == "at-roof" { // there is nothing to repair
		return s
	}
	if r.Paired {
		s.Repaired, s.Gone, s.Named = 1, count(r.Gone), count(r.Named)
	}
	if r.Gain > 0 {
		s.Measured, s.Faster, s.Within = 1, count(r.Gain > 1.05), count(r.Bound > 0 && r.Gain <= 1.1*r.Bound)
	}
	return s
}

// Plus adds the totals of another set.
func (s Totals) Plus(o Totals) Totals {
	return Totals{
		s.Plants + o.Plants, s.First + o.First, s.Three + o.Three, s.Repaired + o.Repaired, s.Gone + o.Gone, s.Named + o.Named,
		s.Measured + o.Measured, s.Faster + o.Faster, s.Within + o.Within, s.Calm + o.Calm, s.Claims + o.Claims, s.Ruled + o.Ruled, s.Rule + o.Rule,
	}
}

// Claim is one thing that the suite is to show.
type Claim struct {
	What    string
	Got, Of int
	Least   float64 // share of Of that Got must be; 0: none
	Most    float64 // or that it must not be more than; 0: none
}

// Holds reports whether it is shown.
func (c Claim) Holds() bool {
	return float64(c.Got) >= c.Least*float64(c.Of) && (c.Most == 0 || float64(c.Got) <= c.Most*float64(c.Of))
}

func (c Claim) String() string {
	if c.Of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d, %.0f%%", c.Got, c.Of, 100*float64(c.Got)/float64(c.Of))
}

// bound says what is asked of it.
func (c Claim) bound() string {
	switch {
	case c.Most > 0:
		return fmt.Sprintf("≤ %.0f%%", 100*c.Most)
	case c.Least == 1:
		return "all"
	case c.Least > 0:
		return fmt.Sprintf("≥ %.0f%%", 100*c.Least)
	}
	return "–"
}

// Shows lists what a set shows, always in the same order.
func (s Totals) Shows() []Claim {
	return []Claim{
		{"the first finding names the cause", s.First, s.Plants, 0.9, 0},
		{"one of the first three does", s.Three, s.Plants, 1, 0},
		{"the twin is faster", s.Faster, s.Measured, 1, 0},
		{"the twin's first finding is another, or claims next to nothing", s.Gone, s.Repaired, 1, 0},
		{"the diff names the cause", s.Named, s.Repaired, 1, 0},
		{"the gain is within 1.1 × the bound", s.Within, s.Measured, 0.9, 0},
		{"first findings on twins and healthy kernels that claim more than 10%", s.Claims, s.Calm, 0, 0.05},
		{"Nsight Compute's own first rule names the cause", s.Rule, s.Ruled, 0, 0},
	}
}

func (t *Table) add(r Row) {
	t.Rows = append(t.Rows, r)
	t.Sets[r.Set] = t.Sets[r.Set].Plus(of(r))
}

// All returns the totals of all sets.
func (t *Table) All() (all Totals) {
	for _, s := range t.Sets {
		all = all.Plus(s)
	}
	return all
}

// wrong reports whether a row is not what it should be, whoever is to blame.
func (r Row) wrong() bool {
	if r.Cause == "" {
		return r.Headroom > claimed
	}
	s := of(r)
	return s.First == 0 || s.Gone < s.Repaired || s.Named < s.Repaired || s.Within < s.Measured || s.Faster < s.Measured || s.Claims > 0
}

// String writes all rows, those that are wrong marked, and the totals.
func (t *Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-2s%-24s%-6s %-20s%-20s %6s %6s  %-24s%-28s %s\n", "", "plant", "size", "planted", "first finding", "gain", "bound", "twin", "ncu's first rule", "diff")
	for _, r := range t.Rows {
		mark := ""
		if r.wrong() {
			mark = "!"
		}
		fmt.Fprintf(&b, "%-2s%-24s%-6s %-20s%-20s %6.2f %6.2f  %-24s%-28s %s\n", mark, r.Face, r.Size, r.Cause, r.First, r.Gain, r.Bound, fmt.Sprintf("%s %.0f%%", r.Twin, 100*r.TwinHeadroom), r.Rule, r.Sentence)
	}
	for _, list := range []struct {
		says  string
		names []string
	}{{"not profiled or not timed", t.Missing}, {"answers differ from the twin's", t.Wrong}, {"changed after the recording, not scored", t.Pending}} {
		if len(list.names) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", list.says, strings.Join(list.names, " "))
		}
	}
	b.WriteString(t.Markdown())
	return b.String()
}

// Markdown writes what docs/performance.md has: all claims by set, then the causes.
func (t *Table) Markdown() string {
	var b strings.Builder
	sets := []Totals{t.Sets["training"], t.Sets["held-out"], t.All()}
	b.WriteString("| | training | held out | all, with healthy kernels | bound |\n| --- | --- | --- | --- | --- |\n")
	fmt.Fprintf(&b, "| plants: faces at two sizes | %d | %d | %d | |\n", sets[0].Plants, sets[1].Plants, sets[2].Plants)
	if len(t.Pending) > 0 {
		fmt.Fprintf(&b, "| faces that changed after the recording: not scored | %s | | | none |\n", strings.Join(t.Pending, ", "))
	}
	for i, c := range sets[2].Shows() {
		fmt.Fprintf(&b, "| %s |", c.What)
		for _, s := range sets {
			own := s.Shows()[i]
			text := own.String()
			if !own.Holds() {
				text = "**missed:** " + text
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		fmt.Fprintf(&b, " %s |\n", c.bound())
	}
	b.WriteString("\n| planted | plants | first | first three | twin faster | within the bound | ncu's first rule | where another finding is first |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	causes, others := map[string]Totals{}, map[string][]string{}
	for _, r := range t.Rows {
		if r.Cause == "" {
			continue
		}
		causes[r.Cause] = causes[r.Cause].Plus(of(r))
		if r.First != r.Cause {
			first := r.First
			if first == "" {
				first = "none"
			}
			others[r.Cause] = append(others[r.Cause], fmt.Sprintf("%s/%s: %s", r.Face, r.Size, first))
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		s := causes[cause]
		rule, within, faster := "–", "–", "–"
		if s.Ruled > 0 {
			rule = fmt.Sprintf("%d of %d", s.Rule, s.Ruled)
		}
		if s.Measured > 0 {
			within, faster = fmt.Sprintf("%d of %d", s.Within, s.Measured), fmt.Sprintf("%d of %d", s.Faster, s.Measured)
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %s | %s | %s |\n", cause, s.Plants, s.First, s.Three, faster, within, rule, strings.Join(others[cause], "; "))
	}
	return b.String()
}
