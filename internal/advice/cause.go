package advice

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pawl/internal/profile"
	"pawl/internal/unit"
)

// Cause says why one version of a kernel is slower than the other.
type Cause struct {
	Sentence string           `json:"sentence"`           // "it is slower: registers spill to local memory (LDL 0 → 24)"
	Finding  *Finding         `json:"finding,omitempty"`  // that only the slower version has, or that weighs more there
	Shared   bool             `json:"shared,omitempty"`   // both versions are at the limit of Finding, and the slower one has more work there
	Rests    []Pair           `json:"rests_on,omitempty"` // the facts that it rests on, before and after
	Static   []Pair           `json:"static,omitempty"`   // registers, spills, occupancy, shared memory
	Diff     *profile.Diff    `json:"diff,omitempty"`
	Code     *profile.MixDiff `json:"code,omitempty"`
	Build    []string         `json:"build,omitempty"` // flags and toolchains that differ
}

// Pair is a number before and after.
type Pair struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit,omitempty"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

func (p Pair) String() string {
	return p.Name + " " + strings.TrimSuffix(unit.Quantity(p.Before, p.Unit), suffix(p)) + " → " + unit.Quantity(p.After, p.Unit)
}

// suffix is the unit, where both sides share it and one is enough.
func suffix(p Pair) string {
	if p.Unit == "%" {
		return "%"
	}
	return ""
}

// Side is one version of a kernel: what is known of it, and how it was built.
type Side struct {
	Evidence
	Repeats  []*profile.Profile // of the same launch; Evidence.Profile is made of them
	Compiler string
	Flags    []string
}

// statics are compared whatever ncu says.
var statics = []string{"registers", "stack", "local_pct", "theoretical_pct", "occupancy_pct", "shared_static", "shared_dynamic"}

// waiting is the share of a core below which a thread waits, as host-waiting has it.
const waiting = 0.7

// counted are compared where a kernel runs on the CPU; they vary from run to run.
var counted = []string{"cpu_instructions", "cpu_cycles", "ipc", "cpu_branches", "branch_misses", "cache_references", "cache_misses", "llc_miss_bytes", "page_faults", "context_switches", "cores_used"}

// Explain compares two versions of a kernel. Slowdown is the measured time after over before; 0: what
// ncu timed counts.
func (c *Catalogue) Explain(before, after Side, slowdown float64) *Cause {
	cause := &Cause{}
	for _, side := range []*Side{&before, &after} {
		if len(side.Repeats) > 0 {
			side.Profile = profile.Mean(side.Repeats)
			side.Profile.Complete()
		}
	}
	if len(before.Repeats) > 0 && len(after.Repeats) > 0 {
		cause.Diff = profile.Compare(before.Repeats, after.Repeats)
		if slowdown == 0 {
			slowdown = cause.Diff.Slowdown
		}
		cause.Diff.Weigh(slowdown)
	}
	if before.Mix != nil && after.Mix != nil {
		cause.Code = profile.CompareMix(before.Mix, after.Mix)
	}
	cause.Build = builds(before, after)
	x, y := Gather(before.Evidence), Gather(after.Evidence)
	for _, fact := range statics {
		a, known := x[fact]
		b, both := y[fact]
		if known && both && a.Value != b.Value && (a.Unit != "%" || diffs(a.Value, b.Value)) {
			cause.Static = append(cause.Static, Pair{words(fact), a.Unit, a.Value, b.Value})
		}
	}
	for _, fact := range counted {
		a, known := x[fact]
		b, both := y[fact]
		if fact == "context_switches" && !matters(a.Value, b.Value, after.Seconds) {
			continue
		}
		if fact == "cores_used" && x["threads"].Value < 2 && math.Min(a.Value, b.Value) >= waiting {
			continue // of one thread that does not wait: 1.0 or 1.1, by how exactly it was timed
		}
		if least := math.Max(math.Abs(a.Value), math.Abs(b.Value)); known && both && math.Abs(a.Value-b.Value) > 0.1*least && least >= 1 {
			cause.Static = append(cause.Static, Pair{words(fact), a.Unit, a.Value, b.Value})
		}
	}
	slow, fast := y, x
	if slowdown > 0 && slowdown < 1 {
		slow, fast = x, y
	}
	if slowdown == 0 || !same(slowdown) {
		cause.Finding = c.only(slow, fast)
	}
	if cause.Finding != nil {
		cause.Rests = c.rests(cause.Finding.ID, x, y)
	} else if found, pair := c.more(x, y, slowdown); found != nil {
		cause.Finding, cause.Shared, cause.Rests = found, true, []Pair{pair}
	}
	cause.Sentence = cause.sentence(slowdown)
	return cause
}

// matters reports whether context switches explain a part of a time that is worth a line. Every other
// program of a machine causes some.
func matters(before, after, seconds float64) bool {
	return seconds <= 0 || math.Abs(after-before)*contextSwitch > worth*seconds
}

// diffs reports whether two percentages are worth a line.
func diffs(a, b float64) bool { return a-b >= 2 || b-a >= 2 }

// same reports whether two versions take equally long.
func same(slowdown float64) bool { return math.Abs(slowdown-1) < 0.005 }

// only returns the finding that explains the difference: the first that the faster version does not
// have, or that promises much less there. One that could not be judged there explains nothing.
func (c *Catalogue) only(slow, fast Facts) *Finding {
	there := c.Judge(fast)
	for _, found := range c.Judge(slow).Findings {
		if found.Settled && found.Bound <= 1 { // at a roof that less work does not lower
			continue
		}
		if slices.ContainsFunc(there.Unseen, func(u Unseen) bool { return u.ID == found.ID }) {
			continue
		}
		at := slices.IndexFunc(there.Findings, func(x Finding) bool { return x.ID == found.ID })
		if at < 0 || there.Findings[at].Headroom < found.Headroom/2 {
			return &found
		}
	}
	return nil
}

// more returns the limit that both versions are at, and how much of its work they have, where that differs about as
// much as the time.
func (c *Catalogue) more(before, after Facts, slowdown float64) (*Finding, Pair) {
	if slowdown <= 0 || same(slowdown) {
		return nil, Pair{}
	}
	there, here := c.Judge(before).Findings, c.Judge(after).Findings
	if len(there) == 0 || len(here) == 0 || there[0].ID != here[0].ID {
		return nil, Pair{}
	}
	for _, e := range c.entries {
		if e.ID != here[0].ID || e.Amount == "" {
			continue
		}
		a, known := before[e.Amount]
		b, both := after[e.Amount]
		if known && both && a.Value > 0 && b.Value > 0 && profile.Proportional(math.Log(b.Value/a.Value), slowdown, 2) {
			return &here[0], Pair{words(e.Amount), a.Unit, a.Value, b.Value}
		}
	}
	return nil, Pair{}
}

func builds(before, after Side) (differ []string) {
	if before.Compiler != "" && after.Compiler != "" && before.Compiler != after.Compiler {
		differ = append(differ, fmt.Sprintf("compiler: %s → %s", before.Compiler, after.Compiler))
	}
	for _, flag := range after.Flags {
		if !slices.Contains(before.Flags, flag) {
			differ = append(differ, "flag added: "+flag)
		}
	}
	for _, flag := range before.Flags {
		if !slices.Contains(after.Flags, flag) {
			differ = append(differ, "flag removed: "+flag)
		}
	}
	return differ
}

// sentence says it in one line: the cause where one is known, then the numbers that show it.
func (c *Cause) sentence(slowdown float64) string {
	parts := c.shown()
	direction := "it differs"
	switch {
	case same(slowdown):
		direction = "it takes as long"
	case slowdown > 1:
		direction = "it is slower"
	case slowdown > 0:
		direction = "it is faster"
	}
	switch {
	case c.Shared && slowdown < 1:
		return direction + ": less work at the same limit, " + c.Finding.ID + joined(parts)
	case c.Shared:
		return direction + ": more work at the same limit, " + c.Finding.ID + joined(parts)
	case c.Finding != nil && slowdown > 0 && slowdown < 1:
		return direction + ": no more " + c.Finding.ID + joined(parts)
	case c.Finding != nil:
		return direction + ": " + c.Finding.Title + joined(parts)
	case len(parts) > 0:
		return direction + ": " + strings.Join(parts, ", ")
	case same(slowdown):
		return direction + ", and no counter has moved"
	}
	return direction + ", and no counter shows why"
}

// shown returns the numbers of the sentence: those that the finding rests on, then how it was built and the work that
// changed as much as the time, then how the code differs, what its resources say and the other counters that moved most.
// Numbers that do not show where the time went stand last: a count of instructions in the code says nothing of how
// often they run.
func (c *Cause) shown() (parts []string) {
	const most, least = 4, 2
	said := map[string]bool{}
	add := func(p Pair) {
		if text := p.String(); !said[p.Name] && len(parts) < most {
			said[p.Name] = true
			parts = append(parts, text)
		}
	}
	for _, p := range c.Rests[:min(least, len(c.Rests))] {
		add(p)
	}
	parts = append(parts, c.Build[:min(least, len(c.Build))]...)
	var moves []profile.Move
	if c.Diff != nil && len(c.Rests) == 0 {
		moves = c.Diff.Moves
	}
	for i, m := range moves {
		if m.Shows && i < least {
			add(Pair{m.Words, m.Unit, m.Before, m.After})
		}
	}
	if c.Code != nil && len(c.Code.Sentences) > 0 {
		parts = append(parts, c.Code.Sentences[0])
	}
	for _, p := range c.Static {
		add(p)
	}
	for _, m := range moves {
		add(Pair{m.Words, m.Unit, m.Before, m.After})
	}
	return parts
}

func joined(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// rests returns the facts that a finding's evidence names and that differ between the versions.
func (c *Catalogue) rests(id string, before, after Facts) (pairs []Pair) {
	for _, e := range c.entries {
		if e.ID != id {
			continue
		}
		for _, m := range placeholder.FindAllStringSubmatch(e.Evidence, -1) {
			if m[1] == "fault_cost_pct" {
				continue // an order of magnitude, made of the number of faults
			}
			a, known := before[m[1]]
			b, both := after[m[1]]
			if known && both && math.Abs(b.Value-a.Value) > 0.1*math.Max(math.Abs(a.Value), math.Abs(b.Value)) {
				pairs = append(pairs, Pair{words(m[1]), a.Unit, a.Value, b.Value})
			}
		}
		return pairs
	}
	return nil
}

// words returns what people call a fact.
func words(fact string) string {
	if text, _ := profile.Metric(fact).Describe(); text != fact {
		return text
	}
	if text, found := factWords[fact]; found {
		return text
	}
	return strings.ReplaceAll(strings.TrimSuffix(fact, "_pct"), "_", " ")
}

var factWords = map[string]string{
	"stack": "stack per thread", "code_local": "accesses to local memory in the code", "memory_stalls": "waits for memory", "shared_stalls": "waits for shared memory", "moved_ratio": "bytes moved per byte declared", "f64_share": "operations in f64", "math_pct": "arithmetic",
	"seconds": "time", "wall": "time from launch to launch", "tail": "empty part of the waves", "ffma_share": "multiply-adds", "roof_pct": "of the roof",
	"cpu_cycles": "cycles", "cpu_instructions": "instructions", "cpu_branches": "branches", "cpu_seconds": "processor time", "counted_seconds": "time while counted", "ipc": "instructions a cycle",
	"branch_miss_pct": "branches predicted wrongly", "cache_miss_pct": "misses of the last cache", "cache_mpki": "misses of the last cache per 1,000 instructions", "llc_miss_bytes": "bytes that miss the last cache", "llc_miss_rate": "rate of the bytes that miss the last cache",
	"l1d_miss_pct": "loads that miss L1", "l1d_mpki": "misses of L1 per 1,000 instructions", "cores_used": "cores in use", "flops_per_inst": "operations for each instruction",
}
