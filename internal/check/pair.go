package check

import (
	"fmt"
	"strings"

	"pawl/internal/git"
	"pawl/internal/result"
	"pawl/internal/lab"
)

// jobs are all versions that must be built to know who plays.
func (k *contest) jobs() []*lab.Job {
	out := []*lab.Job{k.candidate}
	for _, o := range []*opponent{k.base, k.best} {
		if o != nil && o.job != nil {
			out = append(out, o.job)
		}
	}
	return out
}

// unavailable says why a version cannot be measured, with the compiler's own words:
// its row is shown nowhere else.
func unavailable(role result.Role, row *result.Row) string {
	why := fmt.Sprintf("the %s version cannot be had: %s", role, row.Fault.Message)
	if words := firstError(row.Build); words != "" {
		why += ": " + words
	}
	return why
}

// firstError is the line of a compiler's output that names an error, else its first;
// "" where there is none.
func firstError(b *result.Build) string {
	if b == nil {
		return ""
	}
	first := ""
	for line := range strings.Lines(b.Output) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "error") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	return first
}

// pair decides, once identities are known, who plays. What is to be the first
// baseline of its name is measured also when it is unchanged.
func (k *contest) pair(first bool) {
	k.same = k.best != nil && k.best.missing() && k.row.Identity != "" && k.entry.Identity == k.row.Identity
	k.gone = k.same && k.best.lost()
	if k.bestIsBase() {
		k.base.side.Known, k.best = k.entry.Commit, nil
	}
	if k.gone && k.base != nil {
		k.best = nil
	}
	for _, o := range []*opponent{k.base, k.best} {
		if o != nil && !(k.gone && o == k.best) { // nobody need build it: here it is
			k.row.Sides = append(k.row.Sides, o.side)
		}
	}
	for _, o := range []*opponent{k.base, k.best} {
		if o == nil || o.job == nil {
			continue
		}
		if fault := o.job.Row.Fault; fault != nil {
			o.side.Reason = append(o.side.Reason, unavailable(o.side.Role, o.job.Row))
		} else if o.job.Row.Identity != k.row.Identity {
			k.playing = append(k.playing, o)
		}
	}
	if k.row.Fault != nil {
		k.playing = nil
		k.row.Plan = "nothing: it cannot be built"
		return
	}
	k.findAccepted()
	if unchanged(k.base, k.row) || k.base == nil && (k.same || unchanged(k.best, k.row)) {
		k.playing, k.alone = nil, first
		if k.row.Verdict, k.row.Plan = result.Unchanged, "nothing: unchanged"; first {
			k.row.Plan = "measure alone: unchanged, and the first baseline"
		}
		return
	}
	var against []string
	for _, o := range k.playing {
		against = append(against, fmt.Sprintf("%s %s", o.side.Role, git.Short(o.side.Commit)))
	}
	k.alone = len(against) == 0
	if k.row.Plan = "measure alone"; !k.alone {
		k.row.Plan = "play against " + strings.Join(against, " and ")
	}
}

// findAccepted looks whether a slowdown of this row is meant: the branch has a reasoned
// accept of it that the base does not know.
func (k *contest) findAccepted() {
	if k.mine == nil {
		return
	}
	move, ok := k.mine.AcceptedSince(k.former)
	if !ok {
		return
	}
	if k.accepted = k.isMine(); k.accepted {
		k.row.Warnings = append(k.row.Warnings, result.Warning{
			Code: "accepted", Message: fmt.Sprintf("accepted by %s: %s", orSomebody(move.Who), move.Reason),
		})
		return
	}
	if then, now := k.mine.Fingerprint.Compiler, compiler(k.row); k.own != nil && k.own.missing() && then != now {
		k.row.Warnings = append(k.row.Warnings, result.Warning{
			Code:    "accept",
			Message: fmt.Sprintf("accepted by %s for a build by %s; this one is by %s, and commit %s cannot be rebuilt to compare", orSomebody(move.Who), then, now, git.Short(k.mine.Commit)),
			Hint:    "pawl baseline accept --reason, on a machine with this compiler",
		})
	}
}

func orSomebody(who string) string {
	if who == "" {
		return "somebody"
	}
	return who
}

func compiler(row *result.Row) string {
	if row.Build == nil {
		return ""
	}
	return row.Build.Compiler
}
