package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"pawl/internal/git"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/lab"
)

// bestOf is the best-known version, from the commit and with the params that the
// baseline names.
func (c *check) bestOf(ctx context.Context, entry *ratchet.Entry, name string, at *spec.Config) *opponent {
	if entry == nil {
		return nil
	}
	missing := func(format string, args ...any) *opponent {
		return &opponent{gone: true, side: &result.Side{Role: result.Best, Commit: entry.Commit, Reason: []string{fmt.Sprintf(format, args...)}}}
	}
	v, err := c.at(ctx, entry.Commit)
	if err != nil {
		text := err.Error()
		if hint := hintOf(err); hint != "" {
			text += " (" + hint + ")"
		}
		o := missing("the best-known version cannot be rebuilt: %s", text)
		var none *git.NoCommitError
		o.gone = errors.As(err, &none) && none.Gone()
		return o
	}
	k := kernel(v.spec, name)
	if k == nil {
		why := v.why
		if why == "" {
			why = "it has no kernel " + name
		}
		return missing("the best-known version cannot be rebuilt from %s: %s", git.Short(entry.Commit), why)
	}
	variant := k.Default()
	for param, value := range entry.Params {
		with, err := variant.With(param, value)
		if err != nil {
			return missing("the best-known version cannot be rebuilt from %s: %s", git.Short(entry.Commit), firstLine(err))
		}
		variant = with
	}
	return newOpponent(result.Best, v, variant, at)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// bestIsBase tells whether the base is the best-known version: by the baseline's
// own word where that version cannot be rebuilt, as after a squash merge, whose
// commit nobody has.
func (k *contest) bestIsBase() bool {
	if k.base == nil || k.best == nil || k.base.job == nil || k.base.job.Row.Identity == "" {
		return false
	}
	identity := k.base.job.Row.Identity
	if k.best.missing() {
		return k.entry.Identity == identity
	}
	return k.best.job.Row.Identity == identity
}

// missing tells whether a version cannot be had.
func (o *opponent) missing() bool { return o.job == nil || o.job.Row.Fault != nil }

func unchanged(o *opponent, row *result.Row) bool {
	return o != nil && o.job != nil && o.job.Row.Fault == nil && o.job.Row.Identity == row.Identity && row.Identity != ""
}

// lost tells whether a version is missing for good. What may pass, as a server that
// does not answer or a full disk, is no reason to forget a commit.
func (o *opponent) lost() bool {
	if o.job == nil {
		return o.gone
	}
	fault := o.job.Row.Fault
	return fault != nil && (fault.Cause == result.CauseSpec || fault.Cause == result.CauseCompile || fault.Cause == result.CauseNoEntry)
}

// buildOwn builds what the branch's own entries name, for rows that are other code:
// another compiler may have made that of the same sources.
func (c *check) buildOwn(ctx context.Context) {
	var jobs []*lab.Job
	for _, k := range c.contests {
		switch {
		case k.mine == nil || k.former != nil && k.former.Commit == k.mine.Commit: // the base knows it
		case k.row.Identity == "" || k.mine.Identity == k.row.Identity:
		case k.mine == k.entry:
			k.own = k.best
		default:
			if k.own = c.bestOf(ctx, k.mine, k.row.Kernel, k.at); k.own.job != nil {
				jobs = append(jobs, k.own.job)
			}
		}
	}
	if len(jobs) > 0 {
		_ = c.lab.Build(ctx, jobs) // the error is for the worker, which is there
	}
}

// isMine tells whether the row is the version that the branch's own entry names. Another
// compiler makes other code of it, so that its commit, built here, says so too.
func (k *contest) isMine() bool {
	switch {
	case k.mine == nil || k.row.Identity == "":
		return false
	case k.mine.Identity == k.row.Identity:
		return true
	}
	return unchanged(k.own, k.row) && k.solves(k.mine)
}

// solves tells whether an entry is of the row's problem: its config may have had other
// values then.
func (k *contest) solves(e *ratchet.Entry) bool { return maps.Equal(e.Vars, k.row.Vars) }
