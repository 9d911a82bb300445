package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"pawl/internal/judge"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/stat"
	"pawl/internal/verify"
)

// Finalists.
const (
	finalistsMost = 4
	finalistsNear = 1.3 // times the cost of the best: trials are measured briefly
	finalistsHope = 1.1 // times the cost of today's defaults, likewise: those were measured before any compiler worked
	perDuet       = 3 * time.Second
	duetTrials    = 2 // times as long as a trial

	// The winner is verified again before the budget ends, or shortly after. That takes longer than
	// verifying a trial did: answers are repeated, in a fresh cell.
	verifyAgainTimes = 3
	verifyAgainOpen  = 300 * time.Millisecond // for each config
	verifyGrace      = 4 * time.Second
)

// duetsTime returns about how long the duets of a finalist take, on all configs: longer on a machine
// where a trial has taken long.
func (t *tune) duetsTime() time.Duration {
	return t.energyTime() + max(perDuet*time.Duration(len(t.configs)), time.Duration(duetTrials*stat.Median(append([]float64{0}, t.pace.device...))*float64(time.Second)))
}

// verifyTime returns how long it will take to verify a winner again.
func (t *tune) verifyTime() time.Duration {
	sum := time.Duration(len(t.configs)) * verifyAgainOpen
	for _, seconds := range t.verifyS {
		sum += time.Duration(verifyAgainTimes * seconds * float64(time.Second))
	}
	return sum
}

// finalist is a setting that plays duets against today's defaults.
type finalist struct {
	*candidate
	trial   *result.Trial
	out     *result.Finalist
	matches []*match
	low     float64 // of the overall change
	high    float64
}

// match is a finalist's duet on one config.
type match struct {
	*measure.Match
	jobs    []*lab.Job // the finalist, today's defaults, and the search's best if it is another
	roles   []result.Role
	change  *result.Change
	joules  *result.Change // of energy, where both count
	toBest  *result.Change // against the search's best; nil: it is that
	verdict result.Verdict
	reasons []result.Reason
	fault   *result.Fault

	verified *result.Verification
}

// contenders returns the trials that may be better than today's defaults, the best first. Of settings
// that compile to the same it has the one that changes fewest params.
func (t *tune) contenders() []*result.Trial {
	var ok []*result.Trial
	seen := map[string]bool{t.defaults.identity: true}
	trials := slices.Clone(t.tuning.Trials)
	slices.SortStableFunc(trials, func(a, b *result.Trial) int { return t.changes(a) - t.changes(b) })
	for _, trial := range trials {
		if (trial.Status == result.TrialOK || trial.Status == result.TrialSame && !trial.Cut) && trial.Cost > 0 && (!t.defaultsWork || trial.Cost < finalistsHope) && len(trial.On) == len(t.configs) && !seen[trial.Identity] {
			seen[trial.Identity] = true
			ok = append(ok, trial)
		}
	}
	slices.SortStableFunc(ok, func(a, b *result.Trial) int { return cmp.Compare(a.Cost, b.Cost) })
	for i, trial := range ok {
		if trial.Cost > finalistsNear*ok[0].Cost {
			return ok[:i]
		}
	}
	return ok
}

// changes counts the params that a trial sets otherwise than today.
func (t *tune) changes(trial *result.Trial) int {
	n := 0
	for _, p := range t.tuning.Space.Params {
		if trial.Params[p.Name] != p.Default {
			n++
		}
	}
	return n
}

// hasFinalists reports whether there is something to play for, and time.
func (t *tune) hasFinalists(ctx context.Context) bool {
	return ctx.Err() == nil && t.deserted == nil && t.defaultsWork && len(t.contenders()) > 0
}

// playFinals plays the best trials against today's defaults, until the budget ends.
func (t *tune) playFinals(ctx context.Context) {
	whole, done := context.WithDeadline(ctx, t.began.Add(t.Budget+verifyGrace))
	defer done()
	trials := t.contenders()
	left := time.Until(t.began.Add(t.Budget))
	left -= min(t.verifyTime(), left/2)
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	most := max(1, min(finalistsMost, int(left/t.duetsTime())))
	trials = t.withChampions(trials[:min(len(trials), most)])
	var all []*finalist
	for _, trial := range trials {
		f, err := t.finalist(ctx, trial, trials[0])
		if err != nil {
			continue // it was compiled before: the machine failed
		}
		all = append(all, f)
	}
	if t.Objective != Energy {
		left -= min(t.energyTime()*time.Duration(len(all)), left*2/3)
		timed, cancel := context.WithTimeout(ctx, left)
		opts := t.Duet
		opts.Budget = max(200*time.Millisecond, min(10*time.Second, left/time.Duration(3*max(1, len(all)*len(t.configs)))))
		t.playAll(timed, all, opts)
		cancel()
	}
	if t.Objective != Time {
		t.playEnergy(ctx, all)
	}
	if t.Objective == Both && !slices.ContainsFunc(all, (*finalist).hasEnergy) {
		t.report.Warnings = append(t.report.Warnings, result.Warning{
			Code: "energy", Message: "the budget ended before energy was compared in the finals: they were decided by time alone", Hint: "a longer --budget, or fewer configs",
		})
		t.byTime = true
	}
	for _, f := range all {
		f.sum(t)
	}
	slices.SortStableFunc(all, func(a, b *finalist) int { return cmp.Compare(a.out.Overall, b.out.Overall) })
	var winner *finalist
	for _, f := range all {
		t.tuning.Finalists = append(t.tuning.Finalists, f.out)
		if winner == nil && f.out.Fault == nil {
			if f.out.Fault = t.verifyAgain(whole, f); f.out.Fault == nil {
				winner = f
				continue
			}
		}
		f.out.Tied = winner != nil && f.out.Fault == nil && f.low <= winner.high && winner.low <= f.high
	}
	if winner != nil {
		t.rows(winner)
		t.sure = winner.high < 0
		t.pick(whole, all, winner)
	}
}

// finalist prepares a trial's duets. The artifacts are in the cache.
func (t *tune) finalist(ctx context.Context, trial, leader *result.Trial) (*finalist, error) {
	side := func(params map[string]string) (*candidate, error) {
		point, ok := t.pointOf(params)
		if !ok {
			return nil, fmt.Errorf("trial %d is not in the space", trial.N)
		}
		c := t.candidate(t.kernel.At(point))
		t.compiler.Build(ctx, c.jobs, compileMost)
		if fault := firstFault(c); fault != nil {
			return nil, fault
		}
		return c, nil
	}
	own, err := side(trial.Params)
	if err != nil {
		return nil, err
	}
	others := []map[string]string{t.defaults.variant.Params()}
	roles := []result.Role{"", result.Defaults}
	if trial != leader {
		others, roles = append(others, leader.Params), append(roles, result.Best)
	}
	f := &finalist{candidate: own, trial: trial, out: &result.Finalist{Trial: trial.N, Params: trial.Params, Changes: map[string]*result.Change{}, Energy: map[string]*result.Change{}}}
	for _, job := range own.jobs {
		f.matches = append(f.matches, &match{jobs: []*lab.Job{job}, roles: roles})
	}
	for _, params := range others {
		c, err := side(params)
		if err != nil {
			return nil, err
		}
		for i, job := range c.jobs {
			job.Beside = true
			f.matches[i].jobs = append(f.matches[i].jobs, job)
		}
	}
	return f, nil
}

// playAll plays all duets: those of device code in the same cells, others in cells of each finalist's
// own.
func (t *tune) playAll(ctx context.Context, all []*finalist, opts measure.DuetOptions) {
	total := len(all) * len(t.configs)
	done := 0
	play := func(some []*finalist) {
		host := t.lab.NewHost()
		var duels []*lab.Duel
		for _, f := range some {
			for _, m := range f.matches {
				m.Match = host.Admit(m.jobs[0].Name()+" "+f.variant.Name(), m.jobs)
				duels = append(duels, &lab.Duel{Match: m.Match, Settle: func() result.Verdict {
					t.settleMatch(ctx, m, opts)
					verdict, _ := judge.Provisional(t.caseOf(m, m.change))
					return verdict
				}})
			}
		}
		lab.PlayOut(ctx, host, duels, opts, func(m *measure.Match, p measure.Progress) {
			t.run.Emit(run.Event{Kind: run.Measure, Row: m.Name, Done: min(done, total-1), Total: total, Samples: p.Samples, MedianS: p.Median, HalfWidth: p.HalfWidth})
		})
		done += len(duels)
	}
	if len(all) > 0 && all[0].variant.Kernel.DeviceCode() {
		play(all)
		return
	}
	for _, f := range all {
		play([]*finalist{f})
	}
}

// settleMatch takes what a match has found so far.
func (t *tune) settleMatch(ctx context.Context, m *match, opts measure.DuetOptions) {
	m.change, m.toBest = m.Change(1, m.roles, opts), nil
	if len(m.roles) > 2 {
		m.toBest = m.Change(2, m.roles, opts)
	}
	if err := m.Err(); err != nil && ctx.Err() == nil {
		m.fault = m.jobs[0].FaultOf("measure", err)
		if measure.SideOf(err) > 0 {
			m.change = nil
		}
	}
}

// caseOf returns what the verdict of a match depends on, given its change.
func (t *tune) caseOf(m *match, change *result.Change) judge.Case {
	c := judge.Case{Gate: t.run.Spec.Gate, Fault: m.fault}
	if m.Match == nil { // of energy, where a half microsecond is no bound
		c.Base = &judge.Opponent{Change: change, Median: math.MaxFloat32, Missing: change == nil}
	} else if timings := m.Timings(); change != nil && len(timings) > 1 {
		c.Base = &judge.Opponent{Change: change, Median: timings[1].Median()}
	}
	return c
}

// hasEnergy reports whether energy was compared on every config.
func (f *finalist) hasEnergy() bool {
	return !slices.ContainsFunc(f.matches, func(m *match) bool { return m.joules == nil })
}

// sum makes one change of those on all configs.
func (f *finalist) sum(t *tune) {
	var low, middle, high []float64
	for i, m := range f.matches {
		if m.fault != nil && m.fault.Cause != result.CauseInterrupted && f.out.Fault == nil {
			f.out.Fault = m.fault
		}
		c := m.change
		if t.Objective == Both && !t.byTime {
			c = bothOf(m.change, m.joules)
			f.out.Energy[t.configs[i].Name] = m.joules
		}
		if c == nil || m.fault != nil {
			if f.out.Fault == nil {
				f.out.Fault = &result.Fault{Stage: "measure", Cause: result.CauseInterrupted, Message: "the search ended before it had played on " + t.configs[i].Name}
			}
			continue
		}
		m.verdict, m.reasons = judge.Verdict(t.caseOf(m, c))
		f.out.Changes[t.configs[i].Name] = c
		low, middle, high = append(low, 1+c.Low), append(middle, 1+c.Median), append(high, 1+c.High)
	}
	f.out.Overall, f.low, f.high = math.Inf(1), math.Inf(1), math.Inf(1)
	if len(middle) == len(t.configs) {
		f.out.Overall, f.low, f.high = t.combine(middle)-1, t.combine(low)-1, t.combine(high)-1
	}
	if math.IsInf(f.out.Overall, 0) {
		f.out.Overall = 0
	}
}

// bothOf makes one change of those of time and energy: their geometric mean, and that of the ends of their intervals.
func bothOf(seconds, joules *result.Change) *result.Change {
	if seconds == nil || joules == nil {
		return nil
	}
	mean := func(a, b float64) float64 { return math.Sqrt((1+a)*(1+b)) - 1 }
	return &result.Change{
		Median: mean(seconds.Median, joules.Median), Low: mean(seconds.Low, joules.Low), High: mean(seconds.High, joules.High),
		Paired: true, Pairs: min(seconds.Pairs, joules.Pairs), Delta: (seconds.Delta + joules.Delta) / 2,
		Exact: seconds.Exact && joules.Exact, Confirmed: seconds.Confirmed && joules.Confirmed, Stopped: seconds.Stopped,
	}
}

// verifyAgain verifies a finalist as a check does, on every config; nil: its answers are right.
func (t *tune) verifyAgain(ctx context.Context, f *finalist) *result.Fault {
	for i, job := range f.jobs {
		t.run.Emit(run.Event{Kind: run.Verify, Row: job.Name(), Done: i, Total: len(f.jobs)})
		found := &result.Verification{Integrity: result.Clean, Seed: t.run.Seed, Oracle: t.exams[i].Answers.String()}
		if found.Oracle == "" {
			found.Oracle = "today's defaults"
		}
		one := lab.NewCase("config", job.Config, t.run.Seed, lab.VerifyBatch)
		found.Cases = append(found.Cases, one)
		examiner := t.lab.NewExaminer(t.exams[i], job, job.Instance.Footprint, t.run.Seed)
		bench, err := examiner.Bench(ctx, t.exams[i].Instances(job.Instance))
		if err == nil {
			trial := verify.Trial{Fresh: true, Repeats: 2}
			if !t.kernel.Deterministic {
				trial.Repeats = 1
			}
			found.Findings, err = bench.Try(ctx, one, trial)
		}
		if err == nil && one.Fault == nil && one.Reason == "" && one.Skipped == "" {
			err = t.verifyTimed(ctx, f.matches[i], found, bench)
		}
		if closing := examiner.Close(context.WithoutCancel(ctx)); err == nil {
			err = closing
		}
		switch {
		case err != nil:
		case one.Fault != nil:
			err = one.Fault
		case one.Skipped != "":
			err = result.Faultf(result.CauseMemory, "%s", one.Skipped)
		}
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return &result.Fault{Stage: "verify", Cause: result.CauseInterrupted, Message: "the budget ended before its answers were verified again"}
		}
		if err != nil {
			return job.FaultOf("verify", err)
		}
		if cheat := found.Convict(); cheat != nil {
			return job.FaultOf("verify", cheat)
		}
		for _, one := range found.Cases {
			if one.Reason != "" {
				found.Failed++
				return &result.Fault{Stage: "verify", Cause: result.CauseWrong, Message: one.Reason}
			}
			if one.Skipped == "" {
				found.Passed++
			}
		}
		f.matches[i].verified = found
	}
	return nil
}

// rows gives the report the winner on every config, with today's defaults as its other side.
func (t *tune) rows(f *finalist) {
	for _, m := range f.matches {
		job := m.jobs[0]
		row := job.Row()
		if m.Match == nil {
			row.Verification, row.Verdict, row.Reasons = m.verified, m.verdict, m.reasons
			row.Sides = []*result.Side{{Role: result.Defaults, Row: m.jobs[1].Row(), Change: m.change}}
			t.report.Rows = append(t.report.Rows, row)
			continue
		}
		timings := m.Timings()
		row.Timing, row.Verification, row.Play = job.Timed(timings[0]), m.verified, m.Record(m.roles, t.Duet.Floor)
		row.Verdict, row.Reasons = m.verdict, m.reasons
		row.Warnings = append(row.Warnings, t.lab.Doubts(job, row.Timing, t.run.Spec.Gate.CV)...)
		for side := 1; side < len(m.jobs); side++ {
			other := m.jobs[side].Row()
			other.Timing = m.jobs[side].Timed(timings[side])
			change := m.change
			if side == 2 {
				change = m.toBest
			}
			row.Sides = append(row.Sides, &result.Side{Role: m.roles[side], Row: other, Change: change})
		}
		t.report.Rows = append(t.report.Rows, row)
	}
}
