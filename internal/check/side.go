package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/git"
	"pawl/internal/judge"
	"pawl/internal/lab"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// side is another version of a row's kernel, and what the stages have found out about it.
type side struct {
	role   result.Role
	commit string
	job    *lab.Job // nil: it is not available

	lost         bool   // if job is nil: whether it is lost for good
	otherProblem bool   // if job is nil: it is available, but solves another problem
	known        string // the commit that the baseline names, if the base is that version
	storedS      float64
	plays        bool
	fault        *result.Fault // why it has no number
	reasons      []string      // why it is left out
	timing       *result.Timing
	change       *result.Change
	notes        []result.Warning
}

// baseOf returns the base's version of a kernel; nil if the base has none: the kernel is new.
func (c *check) baseOf(name string, at *spec.Config) *side {
	k := c.base.kernel(name)
	if k == nil {
		return nil
	}
	return newSide(result.Base, c.base, k.Default(), at)
}

func newSide(role result.Role, v *version, variant spec.Variant, at *spec.Config) *side {
	job := lab.NewJob(v.tree.Folder, variant, at)
	job.Beside = true
	return &side{role: role, commit: v.sha, job: job}
}

// bestOf returns the best-known version, from the commit and with the params that the baseline
// names.
func (c *check) bestOf(ctx context.Context, entry *ratchet.Entry, name string, at *spec.Config) *side {
	if entry == nil {
		return nil
	}
	missing := func(format string, args ...any) *side {
		return &side{role: result.Best, commit: entry.Commit, lost: true, reasons: []string{fmt.Sprintf(format, args...)}}
	}
	v, err := c.at(ctx, entry.Commit)
	if err != nil {
		text := err.Error()
		if hint := hintOf(err); hint != "" {
			text += " (" + hint + ")"
		}
		o := missing("the best-known version cannot be rebuilt: %s", text)
		none, ok := errors.AsType[*git.NoCommitError](err)
		o.lost = ok && none.Gone()
		return o
	}
	k := v.kernel(name)
	if k == nil {
		return missing("the best-known version cannot be rebuilt from %s: %s", git.Short(entry.Commit), cmp.Or(v.why, "it has no kernel "+name))
	}
	variant := k.Default()
	for param, value := range entry.Params {
		if variant, err = variant.With(param, value); err != nil {
			line, _, _ := strings.Cut(err.Error(), "\n")
			return missing("the best-known version cannot be rebuilt from %s: %s", git.Short(entry.Commit), line)
		}
	}
	return newSide(result.Best, v, variant, at)
}

// missing reports whether a version cannot be built.
func (s *side) missing() bool { return s.job == nil || s.job.Record.Fault != nil }

// identity returns the identity of a version that was built, and "" for others.
func (s *side) identity() string {
	if s == nil || s.missing() {
		return ""
	}
	return s.job.Identity()
}

// is reports whether a version runs the same code as the candidate.
func (s *side) is(candidate *lab.Job) bool {
	return candidate.Identity() != "" && s.identity() == candidate.Identity()
}

// lostForGood reports whether a version is missing for good. A transient failure, such as a server
// that does not answer or a full disk, is no reason to forget a commit.
func (s *side) lostForGood() bool {
	if s.job == nil {
		return s.lost
	}
	return forGood(s.job.Record.Fault) || forGood(s.fault) // the latter may be of loading
}

// forGood reports whether a fault will be there next time, too.
func forGood(f *result.Fault) bool {
	return f != nil && (f.Cause == result.CauseSpec || f.Cause == result.CauseCompile || f.Cause == result.CauseNoEntry)
}

// absent reports whether there is nothing to compare with.
func (s *side) absent() bool { return s.job == nil || s.fault != nil }

// with returns the side with one more reason.
func (s *side) with(reason string) *side {
	more := *s
	more.reasons = append(slices.Clip(s.reasons), reason)
	return &more
}

// sides are the base's version and the best-known one; nil where there is none.
type sides struct{ base, best *side }

// all returns the sides that there are, the base first.
func (s sides) all() []*side {
	return slices.DeleteFunc([]*side{s.base, s.best}, func(one *side) bool { return one == nil })
}

// playing returns the sides that play, the base first.
func (s sides) playing() []*side {
	return slices.DeleteFunc(s.all(), func(one *side) bool { return !one.plays })
}

// each returns the sides after change was applied to each.
func (s sides) each(change func(*side) *side) sides {
	for _, one := range []**side{&s.base, &s.best} {
		if *one != nil {
			*one = change(*one)
		}
	}
	return s
}

// evidence returns the part of a verdict's evidence that comes from this side.
func (s *side) evidence(candidate *lab.Job) *judge.Opponent {
	if s == nil {
		return nil
	}
	e := &judge.Opponent{Missing: s.absent(), Change: s.change}
	if !e.Missing {
		e.Same, e.Median = s.is(candidate), s.timing.Median()
	}
	return e
}
