package claim

import (
	"fmt"
	"math"
	"slices"

	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// baselines are the baselines of a device class, as two branches have them.
type baselines struct {
	base, head *ratchet.File
	err        error // of the base's
}

// baselinesOf reads the baselines of a class, once.
func (a *admission) baselinesOf(class string) baselines {
	if known, ok := a.baselines[class]; ok {
		return known
	}
	var b baselines
	if !a.First {
		b.base, b.err = ratchet.Open(a.Base.Dir).LoadBare(class)
	}
	if a.Head != nil {
		b.head, _ = ratchet.Open(a.Head.Dir).LoadBare(class) // without it nothing counts as accepted
	}
	a.baselines[class] = b
	return b
}

func entryOf(f *ratchet.File, row *result.Row) *ratchet.Entry {
	if f == nil {
		return nil
	}
	return f.Entry(row.Kernel, row.Config)
}

// sideOf returns the side of a role; nil: there is none.
func sideOf(row *result.Row, role result.Role) *result.Side {
	at := slices.IndexFunc(row.Sides, func(s *result.Side) bool { return s.Role == role })
	if at < 0 {
		return nil
	}
	return row.Sides[at]
}

// absent reports whether a version was not there to compare with.
func absent(s *result.Side) bool { return s.Row == nil || s.Row.Fault != nil }

// admitRow judges one row again, and replaces what it says of itself.
func (a *admission) admitRow(row *result.Row) {
	name := row.Name()
	no := func(what, claim, found string) { a.contradict(Contradiction{name, what, claim, found}) }
	before := len(a.found)
	if a.Base.Kernel(row.Kernel).Config(row.Config) == nil && a.Head.Kernel(row.Kernel).Config(row.Config) == nil {
		no("neither the base's pawl.yaml nor the change's has this row", "", "")
	}
	a.restate(row, no)
	changes := a.replay(row, no)
	c := a.evidence(row, changes, no)
	verdict, reasons := judge.Verdict(c)
	if verdict != row.Verdict {
		no("the report contradicts its own samples", wordOf(row.Verdict), wordOf(verdict))
	}
	row.Reasons = reasons
	if fails(verdict, reasons) || len(a.found) == before {
		row.Verdict = verdict
		return
	}
	row.Verdict, row.Reasons = result.Rejected, nil
	row.Fault = &result.Fault{Stage: "claim", Cause: result.CauseClaim, Message: "the report contradicts itself: " + a.found[before].String()}
}

// fails reports whether a verdict fails a check.
func fails(v result.Verdict, reasons []result.Reason) bool {
	switch v {
	case result.Regression:
		return !slices.Contains(reasons, result.Accepted)
	case result.Incorrect, result.Broken, result.Rejected:
		return true
	}
	return false
}

func wordOf(v result.Verdict) string {
	if v == "" {
		return "no verdict"
	}
	return shown(string(v))
}

// restate computes the statistics of a row and its sides from their samples.
func (a *admission) restate(row *result.Row, no func(what, claim, found string)) {
	timings := []*result.Timing{row.Timing}
	for _, side := range row.Sides {
		if side.Row != nil {
			timings = append(timings, side.Row.Timing)
		}
	}
	for _, t := range timings {
		if t == nil || len(t.Samples.Kept()) == 0 {
			continue
		}
		now := measure.StatsOf(t.Samples)
		if was := t.Stats; was.Count != now.Count || !near(was.Median/now.Median, 1) || !near(was.Low/now.Median, now.Low/now.Median) || !near(was.High/now.Median, now.High/now.Median) {
			no("the report contradicts its own samples", fmt.Sprintf("a median of %s from %d samples", unit.Duration(was.Median), was.Count), fmt.Sprintf("%s from %d", unit.Duration(now.Median), now.Count))
		}
		now.GFLOPS, now.GBps, now.RoofPct, now.Roof, now.CacheRoofPct, now.CacheRoof = t.Stats.GFLOPS, t.Stats.GBps, t.Stats.RoofPct, t.Stats.Roof, t.Stats.CacheRoofPct, t.Stats.CacheRoof
		t.Stats = now
	}
}

// rounding is how far a number may be off that was computed from the same samples, on another kind of
// processor.
const rounding = 1e-6

func near(a, b float64) bool { return math.Abs(a-b) <= rounding*(1+math.Abs(b)) }

func nearEach(a, b *float64) bool {
	return (a == nil) == (b == nil) && (a == nil || near(*a, *b))
}

// replay computes the row's changes again. Changes that cannot be computed are gone.
func (a *admission) replay(row *result.Row, no func(what, claim, found string)) map[result.Role]*result.Change {
	var changes map[result.Role]*result.Change
	if row.Play != nil {
		played, err := measure.Replay(row, measure.Default().HalfWidth)
		switch {
		case err != nil:
			no("the record of its turns is impossible: "+err.Error(), "", "")
		case row.Play.Floor < measure.DefaultFloor:
			no("its intervals are narrower than a duet can be", fmt.Sprint(row.Play.Floor), fmt.Sprintf("at least %g", measure.DefaultFloor))
		default:
			if changes = played.Changes; row.Fault == nil {
				checkComplete(row, played.Compared, no)
			}
		}
	}
	for _, side := range row.Sides {
		now, was := changes[side.Role], side.Change
		switch {
		case was == nil:
			delete(changes, side.Role)
			continue
		case row.Play == nil:
			no("the report does not say which samples were compared; it was written by an older pawl, or edited", "", "")
		case now == nil && changes != nil:
			no(fmt.Sprintf("it claims a change against the %s version, which did not play", side.Role), "", "")
		case now != nil && !sameChange(was, now):
			no(fmt.Sprintf("the report contradicts its own samples, against the %s version", side.Role), changeWords(was), changeWords(now))
		}
		if now != nil {
			now.Stopped = was.Stopped
		}
		side.Change = now
	}
	return changes
}

// checkComplete makes sure that every sample that counts was compared: slow turns could be left out.
func checkComplete(row *result.Row, compared map[result.Role]int, no func(what, claim, found string)) {
	for role, n := range compared {
		of := row
		if role != "" {
			of = sideOf(row, role).Row
		}
		if kept := len(of.Timing.Samples.Kept()); n != kept {
			no("not every sample that counts was compared", fmt.Sprintf("%d samples", n), fmt.Sprintf("%d", kept))
		}
	}
}

func sameChange(a, b *result.Change) bool {
	tails := (a.Tail == nil) == (b.Tail == nil)
	if tails && a.Tail != nil {
		tails = near(a.Tail.Change, b.Tail.Change) && near(a.Tail.P, b.Tail.P) && near(a.Tail.BeforeS/b.Tail.BeforeS, 1) && near(a.Tail.AfterS/b.Tail.AfterS, 1)
	}
	return tails && near(a.Median, b.Median) && near(a.Low, b.Low) && near(a.High, b.High) && near(a.Delta, b.Delta) && nearEach(a.Cycles, b.Cycles) &&
		a.Pairs == b.Pairs && len(a.Cells) == len(b.Cells) && a.Exact == b.Exact && a.Confirmed == b.Confirmed && a.Bistable == b.Bistable && a.Paired == b.Paired
}

func changeWords(c *result.Change) string {
	out := fmt.Sprintf("%s (%s to %s, %d pairs in %d cells", unit.Percent(c.Median), unit.Percent(c.Low), unit.Percent(c.High), c.Pairs, len(c.Cells))
	if c.Confirmed {
		out += ", confirmed"
	}
	return out + ")"
}

func gateWords(g result.Gate) string {
	return fmt.Sprintf("%s slower, %s faster", unit.PercentPlain(g.Regression), unit.PercentPlain(g.Improvement))
}

// evidence collects what the verdict on a row depends on, as check does.
func (a *admission) evidence(row *result.Row, changes map[result.Role]*result.Change, no func(what, claim, found string)) judge.Case {
	kernel := a.rules.Kernel(row.Kernel)
	draft := kernel == nil && a.Base.Kernel(row.Kernel) != nil
	found := a.baselinesOf(row.Class)
	if found.err != nil {
		no("the base's baseline of its device class cannot be read: "+found.err.Error(), "", "")
	}
	entry, branch, counts := entryOf(found.base, row), entryOf(found.head, row), entryOf(found.base, row)
	if counts == nil {
		counts = branch
	}
	base, best := sideOf(row, result.Base), sideOf(row, result.Best)
	c := judge.Case{Gate: a.gate(), Fault: row.Fault, Draft: draft, Base: opponent(row, base, changes), Best: opponent(row, best, changes)}
	isBest := counts != nil && row.Is(counts.Identity)
	switch {
	case best != nil && absent(best) && isBest:
		c.Best.Same = true
	case best == nil && base == nil && isBest:
		c.Best = &judge.Opponent{Same: true, Missing: true} // the commit is lost, and nobody need build it
	}
	if kernel != nil && base == nil {
		no("the base has this kernel, but the row has no base version", "", "")
	}
	if kernel == nil && base != nil {
		no("the row has a base version of a kernel that the base does not have", "", "")
	}
	if base != nil && base.Commit != a.BaseSHA && a.BaseSHA != "" {
		no("the base version is of another commit", shown(base.Commit), a.BaseSHA)
	}
	if entry != nil {
		switch {
		case best == nil && (base == nil || base.Known != entry.Commit) && !isBest && !draftNoted(row):
			no("the base's baseline has this row, but the report has no best-known version", "", "")
		case best != nil && best.Commit != entry.Commit:
			no("the best-known version is of another commit", shown(best.Commit), entry.Commit)
		}
	}
	for _, side := range row.Sides {
		if !absent(side) && side.Row.Identity == row.Identity && row.Identity != "" && side.Change != nil {
			no(fmt.Sprintf("the %s version is the same code, and was measured against it", side.Role), "", "")
		}
	}
	c.Fault, c.Incorrect = a.admits(row)
	row.Fault = c.Fault
	c.Accepted = accepted(row, branch, entry)
	return c
}

// draftNoted reports whether a row says that its best-known version is a draft in its commit.
func draftNoted(row *result.Row) bool {
	return slices.ContainsFunc(row.Warnings, func(w result.Warning) bool { return w.Code == "draft" })
}

// opponent returns the part of a verdict's evidence that comes from a side.
func opponent(row *result.Row, s *result.Side, changes map[result.Role]*result.Change) *judge.Opponent {
	if s == nil {
		return nil
	}
	o := &judge.Opponent{Missing: absent(s), Change: changes[s.Role]}
	if !o.Missing {
		o.Same = row.Identity != "" && s.Row.Identity == row.Identity
		o.Median = s.Row.Timing.Median()
	}
	return o
}

// admits returns what a report admits of its row: a fault, or wrong answers. Each of the places that
// say so counts.
func (a *admission) admits(row *result.Row) (fault *result.Fault, incorrect bool) {
	v := row.Verification
	if row.Fault != nil {
		return row.Fault, false
	}
	if v == nil {
		return nil, row.Verdict == result.Incorrect
	}
	caught := v.Integrity == result.Cheated
	if cheat := v.Convict(); cheat != nil {
		cheat.Stage = "verify"
		return cheat, false
	} else if caught {
		v.Integrity = result.Cheated
		return &result.Fault{Stage: "verify", Cause: result.CauseCheat, Message: "the report says that it was caught, and not at what"}, false
	}
	wrong := v.Failed > 0 || row.Verdict == result.Incorrect || slices.ContainsFunc(v.Cases, func(c *result.Case) bool {
		return c.Reason != "" || c.Fault != nil || slices.ContainsFunc(c.Outputs, func(o result.OutputError) bool { return o.Wrong > 0 })
	})
	return nil, wrong
}

// accepted reports whether the change's own baseline accepts a slowdown of this very code, for a
// reason, and the base does not have that accept.
func accepted(row *result.Row, branch, base *ratchet.Entry) bool {
	if branch == nil {
		return false
	}
	if _, since := branch.AcceptedSince(base); !since {
		return false
	}
	return row.Is(branch.Identity) || row.Build != nil && row.Build.Compiler != branch.Fingerprint.Compiler && slices.Contains(row.Reasons, result.Accepted)
}

// addMissing adds a failed row for everything that the base has and the report lacks.
func (a *admission) addMissing() {
	// A pattern may name what only the change has.
	patterns := slices.DeleteFunc(slices.Clone(a.Patterns), func(pattern string) bool {
		_, err := a.rules.Select([]string{pattern})
		return err != nil
	})
	if len(patterns) == 0 && len(a.Patterns) > 0 {
		return
	}
	wanted, _ := a.rules.Select(patterns)
	have := map[string]bool{}
	for _, row := range a.report.Rows {
		have[row.Name()] = true
	}
	for _, s := range spec.Without(wanted, patterns, spec.IsReference) {
		removed := a.Head != nil && a.Head.Kernel(s.Kernel.Name) == nil
		if removed && a.Trust != Claimed {
			continue // check says so, and so does Loosened
		}
		for _, config := range s.Configs {
			row := &result.Row{Kernel: s.Kernel.Name, Config: config.Name, Cell: s.Kernel.Cell, Verdict: result.Rejected}
			if have[row.Name()] {
				continue
			}
			what := "the base's pawl.yaml has this row, but the report does not"
			if removed {
				what = "this change removes the kernel; only a branch of the repository itself may"
			}
			row.Fault = &result.Fault{Stage: "claim", Cause: result.CauseClaim, Message: what}
			a.contradict(Contradiction{Row: row.Name(), What: what})
			a.report.Rows = append(a.report.Rows, row)
		}
	}
}

// finished returns a spec without its drafts, which judge nothing.
func finished(s *spec.Spec) *spec.Spec {
	out := *s
	out.Kernels = nil
	for _, k := range s.Kernels {
		if k.TODO.Line > 0 {
			continue
		}
		own := *k
		own.Configs = slices.DeleteFunc(slices.Clone(k.Configs), func(c *spec.Config) bool { return c.TODO.Line > 0 })
		out.Kernels = append(out.Kernels, &own)
	}
	return &out
}
