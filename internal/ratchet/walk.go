package ratchet

import (
	"fmt"
	"maps"
	"slices"

	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/unit"
)

// walk follows every name through the versions of a file. A finding stands until a later version
// corrects it: by continuing the last correct state, or by a move with a reason.
type walk struct {
	path     string
	findings []Finding
	keys     map[string]int // findings by subject, so that none is made twice
	chosen   []Event        // merges that took one side's entry and dropped a move of the other's
}

// state is what is known of a name at a version.
type state struct {
	item    item
	has     bool     // the version has the item
	story   []string // checksums of the last moves that were in order
	content string   // digest of the item that was in order
	open    []int    // findings that stand
}

// wholeFile is the name of findings about a whole version.
const wholeFile = ""

// all walks the versions and returns the findings that stand in the last.
func (w *walk) all(versions []version) map[int]bool {
	states := make([]map[string]state, len(versions))
	for i, v := range versions {
		var parents []map[string]state
		for _, p := range v.parents {
			parents = append(parents, states[p])
		}
		if len(v.parents) == 1 && v.content == versions[v.parents[0]].content {
			states[i] = parents[0]
			continue
		}
		states[i] = w.version(v, parents)
	}
	standing := map[int]bool{}
	for _, s := range states[len(states)-1] {
		for _, finding := range s.open {
			standing[finding] = true
		}
	}
	return standing
}

func (w *walk) version(v version, parents []map[string]state) map[string]state {
	before := map[string][]state{}
	for _, parent := range parents {
		for name, s := range parent {
			before[name] = append(before[name], s)
		}
	}
	after := map[string]state{}
	if v.file == nil {
		if len(before) == 0 && v.absent() {
			return after
		}
		var finding int
		if v.absent() {
			finding = w.found(Vanished, v, wholeFile, v.commit, "the file was removed, with all its entries",
				"git checkout "+restoreFrom(v)+" -- "+w.path+"; pawl baseline reset removes entries with a reason")
		} else {
			what, remedy := v.err.Error(), ""
			if problems := diag.Problems(v.err); problems != nil {
				what, remedy = problems[0].Error(), problems[0].Hint
			}
			finding = w.found(Unreadable, v, wholeFile, v.content, what, remedy)
		}
		for name, states := range before {
			s := inherit(states)
			s.has = false
			after[name] = s
		}
		after[wholeFile] = state{open: []int{finding}}
		return after
	}
	names := slices.Concat(v.file.allNames(), slices.Collect(maps.Keys(before)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == wholeFile {
			continue
		}
		now, has := v.file.item(name)
		if !has && len(before[name]) < len(parents) { // the side that was taken never had it
			w.choose(v, name)
			continue
		}
		after[name] = w.step(v, name, now, has, before[name])
	}
	return after
}

// restoreFrom names the version before v, as git checkout does.
func restoreFrom(v version) string {
	if v.commit == "" {
		return "HEAD"
	}
	return git.Short(v.commit) + "~1"
}

// inherit joins what several parents know of a name, for a version that says nothing itself.
func inherit(states []state) state {
	joined := states[0]
	for _, s := range states[1:] {
		if extends(s.story, joined.story) {
			joined.story, joined.content = s.story, s.content
		}
		joined.open = union(joined.open, s.open)
	}
	return joined
}

// step judges a version's item of a name by those of its parents.
func (w *walk) step(v version, name string, now item, has bool, before []state) state {
	if len(before) == 0 {
		before = []state{{}}
	}
	if s := same(now, has, before); s != nil {
		if slices.ContainsFunc(before, func(b state) bool { return len(b.story) > len(s.story) && extends(b.story, s.story) }) {
			w.choose(v, name)
		}
		return *s
	}
	wrong := inherit(before)
	wrong.item, wrong.has = now, has
	fail := func(kind Kind, about, what, remedy string) state {
		wrong.open = union(wrong.open, []int{w.found(kind, v, name, about, what, remedy)})
		return wrong
	}
	checkout := fmt.Sprintf("git checkout %s -- %s", restoreFrom(v), w.path)
	right := state{item: now, has: true, story: sums(now.moves), content: now.content}
	switch {
	case !has:
		return fail(Vanished, v.commit, "it was removed without a recorded reset", checkout+"; pawl baseline reset "+name+" --reason … removes it with a reason")
	case now.problem != "":
		return fail(Edited, now.content, "edited by hand: "+now.problem, checkout+" restores it; pawl baseline reset "+name+" --reason … discards it")
	}
	from, goesOn, sound := 0, false, false
	for _, b := range leading(before) {
		if extends(right.story, b.story) {
			from, goesOn, sound = max(from, len(b.story)), true, sound || len(b.open) == 0
		}
	}
	settled := reasoned(now.moves, before)
	restored := slices.ContainsFunc(before, func(b state) bool { return b.content == now.content })
	switch {
	case goesOn && from == len(right.story) && !restored:
		return fail(Edited, now.content, "edited: no recorded move led to it, and its checksums were adjusted", checkout+" restores it")
	case settled >= 0: // illegal does not check moves before that one
	case !goesOn:
		lost := slices.MaxFunc(before, func(a, b state) int { return len(a.story) - len(b.story) }).story
		what := "it does not continue from the previous entry: that entry's last move is missing"
		if extends(lost, right.story) {
			what = "it went back to an older entry without a recorded reason"
		}
		return fail(Rewritten, lost[len(lost)-1], what,
			checkout+", then pawl check --update-baseline; pawl baseline accept or reset "+name+" --reason … says why instead")
	}
	if kind, about, what := illegal(now.moves, from); kind != "" {
		remedy := fmt.Sprintf("pawl baseline accept %s --reason … says why; pawl baseline reset %s --reason … discards it", name, name)
		return fail(kind, about, what, remedy)
	}
	if settled < 0 && !restored && !sound {
		return wrong // it continues a state that is not in order
	}
	return right
}

// same finds a parent that had the same item: a merge may take either side. nil: there is none.
func same(now item, has bool, before []state) *state {
	var found *state
	for i, b := range before {
		equal := has && b.has && b.item.content == now.content || !has && !b.has && len(b.open) > 0
		if equal && (found == nil || len(b.open) < len(found.open)) {
			found = &before[i]
		}
	}
	return found
}

// choose records what a merge did to a name.
func (w *walk) choose(v version, name string) {
	w.chosen = append(w.chosen, Event{Name: name, Recorded: v.commit, Move: Move{
		By: ByMerge, Who: v.who, Time: v.time, Reason: "a merge took one side's entry and lost the last move of the other side",
	}})
}

// reasoned returns the index after the last move with a reason that no parent has; −1 if there is
// none.
func reasoned(moves []Move, before []state) int {
	known := map[string]bool{}
	for _, b := range before {
		for _, m := range b.item.moves {
			known[m.Sum] = true
		}
		for _, sum := range b.story {
			known[sum] = true
		}
	}
	for i, m := range slices.Backward(moves) {
		if (m.By == ByAccept || m.By == ByReset) && m.Reason != "" && !known[m.Sum] {
			return i + 1
		}
	}
	return -1
}

// illegal says what is wrong with the moves from an index on. A move with a reason justifies those
// before it.
func illegal(moves []Move, from int) (kind Kind, about, what string) {
	for i := len(moves) - 1; i >= from; i-- {
		m := moves[i]
		first := i == 0 || moves[i-1].By == ByReset
		switch {
		case m.By == ByAccept || m.By == ByReset:
			if m.Reason == "" {
				return Unreasoned, m.Sum, fmt.Sprintf("%s without a reason", m.By)
			}
			return kind, about, what
		case m.By == ByAnchor && m.Reason == "":
			return Unreasoned, m.Sum, fmt.Sprintf("%s without a reason", m.By)
		case m.By == ByAnchor && (m.From == nil || m.From.MedianMS != m.MedianMS):
			kind, about, what = Worse, m.Sum, "bound to a different commit, and its time changed too"
		case m.By == ByAnchor:
		case m.By != ByCheck:
			return Edited, m.Sum, fmt.Sprintf("moved by %q, which is not a command of pawl", m.By)
		case first:
		case m.Change == nil:
			kind, about, what = Worse, m.Sum, "moved by check, though no duet found it faster"
		case !(m.Change.Median < 0):
			kind, about, what = Worse, m.Sum, fmt.Sprintf("moved by check to a version that is %.1f%% slower", 100*m.Change.Median)
		case !(m.Change.Low <= m.Change.Median && m.Change.Median <= m.Change.High && m.Change.High < 0):
			kind, about, what = Worse, m.Sum, "moved by check to a version that its duet did not show to be faster"
		case m.strange():
			kind, about, what = Edited, m.Sum, fmt.Sprintf("moved by check from %s to %s, but its duet says %+.1f%%", unit.Duration(m.From.MedianMS/1e3), unit.Duration(m.MedianMS/1e3), 100*m.Change.Median)
		}
	}
	return kind, about, what
}

// strangeFactor is the largest plausible ratio between the medians of two runs of the same code,
// with a margin: a machine that was half as fast on one of the days explains no more.
const strangeFactor = 3

// strange reports whether a move's times contradict the change that its duet found.
func (m Move) strange() bool {
	told := (1 + m.Change.Median) * m.From.MedianMS
	return !(m.MedianMS <= strangeFactor*told && told <= strangeFactor*m.MedianMS)
}

// found records a finding once and returns its index.
func (w *walk) found(kind Kind, v version, name, about, what, remedy string) int {
	key := fmt.Sprintf("%s\n%s\n%s", kind, name, about)
	if at, ok := w.keys[key]; ok {
		return at
	}
	w.keys[key] = len(w.findings)
	w.findings = append(w.findings, Finding{Kind: kind, Commit: v.commit, Name: name, What: what, Remedy: remedy})
	return len(w.findings) - 1
}

func sums(moves []Move) []string {
	out := make([]string, len(moves))
	for i, m := range moves {
		out[i] = m.Sum
	}
	return out
}

// extends reports whether a list of moves begins with another.
func extends(story, start []string) bool {
	return len(story) >= len(start) && slices.Equal(story[:len(start)], start)
}

// leading returns the states that no other continues.
func leading(before []state) []state {
	return slices.DeleteFunc(slices.Clone(before), func(b state) bool {
		return slices.ContainsFunc(before, func(other state) bool { return len(other.story) > len(b.story) && extends(other.story, b.story) })
	})
}

func union(a, b []int) []int {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
