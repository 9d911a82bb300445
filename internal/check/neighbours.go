package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/verify"
)

// besideSpan is how long the neighbours of one config are examined; one always is.
const besideSpan = 3 * time.Second

// ownFaults are those that a kernel alone can be the cause of.
var ownFaults = []result.Cause{
	result.CauseCrash, result.CauseExit, result.CauseLaunch, result.CauseOutput, result.CauseNoEffect, result.CauseOutOfBounds,
}

// shareNeighbours shares the neighbours of every kernel out among its rows: each row has one at
// least, and each variable grows in one of them.
func shareNeighbours(rows []*verified) {
	for _, group := range grouped(rows, func(v *verified) string { return v.candidate.Variant.Kernel.Name }) {
		done := map[string]bool{} // variables that grow
		for i, v := range group {
			v.exam.near = someNeighbours(v.candidate.Instance, done, len(group)-i-1)
		}
	}
}

// someNeighbours draws the neighbours of one config. Variables in done already grow at an earlier
// config; after is the number of configs that are still to come.
func someNeighbours(here *spec.Instance, done map[string]bool, after int) []*spec.Instance {
	near := verify.Neighbours(here)
	rand.Shuffle(len(near), func(i, j int) { near[i], near[j] = near[j], near[i] })
	fresh := slices.DeleteFunc(slices.Clone(near), func(next *spec.Instance) bool { return done[grown(here, next)] })
	if len(fresh) > 0 { // those that the later configs have no room for, and one at least
		near = fresh[:max(1, len(fresh)-after)]
	} else {
		near = near[:min(1, len(near))]
	}
	for _, next := range near {
		done[grown(here, next)] = true
	}
	return near
}

// grown returns the variable in which an instance is larger than another.
func grown(here, next *spec.Instance) string {
	for i, v := range here.Config.Vars {
		if v.Value != next.Config.Vars[i].Value {
			return v.Name
		}
	}
	return ""
}

// beside finds out whether the kernel is as right and as fast at the sizes next to its own. A size
// that it cannot run at all is not a finding: failed then says why. A forged answer is an error.
// The case is that of a size where the change is wrong or ends, and the base version is right.
func (c *check) beside(ctx context.Context, v *verified, room *examRoom, bench *verify.Bench) (broken *result.Case, failed, err error) {
	x := v.exam
	if len(x.near) == 0 {
		return nil, nil, nil
	}
	began := time.Now()
	seconds, err := bench.Quick(ctx)
	untried := "" // why the rest is not tried
	for i, next := range x.near {
		at := result.Neighbour{Size: size(v.candidate.Instance, next)}
		var found nearby
		switch {
		case err != nil:
			untried = cmp.Or(untried, "a launch before it failed")
		case i > 0 && time.Since(began) > besideSpan:
			untried = cmp.Or(untried, fmt.Sprintf("%v were over", besideSpan))
		}
		if at.Untried = untried; untried == "" {
			if found, err = c.besideAt(ctx, v, room, bench, next, seconds); err != nil && found.broken == nil {
				at.Untried = err.Error()
			} else {
				at.Untried = found.skipped
			}
			if found.isCliff() && err == nil {
				c.alignedAt(ctx, v, room, bench, next, seconds, &found, &at)
			}
		}
		v.verification.Neighbours = append(v.verification.Neighbours, at)
		if found.findings != nil || found.broken != nil {
			v.verification.Findings = append(v.verification.Findings, found.findings...)
			return found.broken, err, nil
		}
	}
	if fault, ok := errors.AsType[*result.Fault](err); ok && fault.Cause == result.CauseForged {
		return nil, nil, err
	}
	return nil, err, nil
}

// isCliff reports whether the size is right, and far slower.
func (n nearby) isCliff() bool {
	return len(n.findings) > 0 && n.findings[0].Exploit == verify.SpeedCliff
}

// alignedAt tries a size as aligned as the row's, after a neighbour was far slower. Where that is right
// and not far slower, the neighbour is slow for its alignment, and nothing is suspected.
func (c *check) alignedAt(ctx context.Context, v *verified, room *examRoom, here *verify.Bench, next *spec.Instance, seconds float64, found *nearby, at *result.Neighbour) {
	aligned := verify.Aligned(v.candidate.Instance, next)
	if aligned == nil {
		return
	}
	other, err := c.besideAt(ctx, v, room, here, aligned, seconds)
	switch {
	case err != nil || other.skipped != "" || other.broken != nil: // says nothing about the speed
	case len(other.findings) > 0:
		found.findings = other.findings
	default:
		at.Slower, at.Aligned, found.findings = found.factor, size(v.candidate.Instance, aligned), nil
	}
}

// size names what is larger at a neighbour.
func size(here, next *spec.Instance) string {
	name := grown(here, next)
	value, _ := next.Config.Lookup(name)
	return name + "=" + value.String()
}

// nearby is what was found out at a neighbour.
type nearby struct {
	findings []result.Finding
	broken   *result.Case // the change is wrong or ends, and the base version is right
	skipped  string       // why nothing is known
	factor   float64      // how many times as long the same work takes
}

// besideAt examines one size next to that of here, where a launch takes the given seconds.
func (c *check) besideAt(ctx context.Context, v *verified, room *examRoom, here *verify.Bench, next *spec.Instance, seconds float64) (found nearby, err error) {
	x := v.exam
	instances := [3]*spec.Instance{next}
	for i, job := range []*lab.Job{x.Reference, x.Rival} {
		if job == nil {
			continue
		}
		if instances[i+1], err = nextTo(job, next); err != nil {
			return found, err
		}
	}
	bench, err := room.open.Bench(ctx, instances)
	if err != nil {
		return found, err
	}
	one := lab.NewCase("neighbour", next.Config, c.Duet.Seed, lab.VerifyBatch)
	if _, err := bench.Try(ctx, one, verify.Trial{}); err != nil || one.Skipped != "" {
		return nearby{skipped: one.Skipped}, err
	}
	if fault := one.Fault; fault != nil {
		if slices.Contains(ownFaults, fault.Cause) && c.baseIsRight(ctx, v, instances) {
			one.Fault, one.Reason = nil, verify.Broken(here.Candidate.Instance, next, fault.Message)
			return nearby{broken: one}, fault
		}
		return found, fault
	}
	if one.Reason != "" {
		if x.Oracle == nil || c.baseIsRight(ctx, v, instances) {
			one.Reason = verify.Broken(here.Candidate.Instance, next, one.Reason)
			return nearby{broken: one}, nil
		}
		if verify.Rounded(one) {
			return nearby{skipped: maybeRounding(one.Reason)}, nil
		}
		return nearby{findings: verify.Special(here.Candidate.Instance, next, one.Reason)}, nil
	}
	found.findings, found.factor, err = here.Cliff(ctx, bench, seconds, room.device.Alone)
	return found, err
}

// baseIsRight reports whether the base version answers a problem rightly. The instances are those of
// candidate, reference and rival.
func (c *check) baseIsRight(ctx context.Context, v *verified, instances [3]*spec.Instance) bool {
	if v.base == nil || v.base.missing() {
		return false
	}
	next := instances[0]
	in, err := nextTo(v.base.job, next)
	if err != nil || verify.Answers(in, next) != nil {
		return false
	}
	instances[0] = in
	examiner := c.lab.NewExaminer(v.exam.Exam, v.base.job, in.Footprint, c.Duet.Seed)
	defer func() { _ = examiner.Close(context.WithoutCancel(ctx)) }()
	bench, err := examiner.Bench(ctx, instances)
	if err != nil {
		return false
	}
	one := lab.NewCase("neighbour", in.Config, c.Duet.Seed, lab.VerifyBatch)
	found, err := bench.Try(ctx, one, verify.Trial{Fresh: true})
	return err == nil && len(found) == 0 && one.Reason == "" && one.Skipped == ""
}

// nextTo returns another implementation's instance at a size next to the candidate's. It uses the
// candidate's config or, where the implementation does not know its names, the size next to its own
// config's that is the same problem.
func nextTo(job *lab.Job, next *spec.Instance) (*spec.Instance, error) {
	in, err := job.Variant.At(next.Config)
	if err == nil {
		return in, nil
	}
	for _, near := range verify.Neighbours(job.Instance) {
		for _, in := range []*spec.Instance{near, verify.Aligned(job.Instance, near)} {
			if in != nil && verify.Answers(in, next) == nil {
				return in, nil
			}
		}
	}
	return nil, err
}

// maybeRounding says why a neighbour with a few slightly wrong elements accuses nobody. Reports shorten it: what
// it means comes before the numbers.
func maybeRounding(reason string) string {
	return "what is wrong there may be rounding, which a tolerance in pawl.yaml can allow (" + reason + ")"
}
