package tune

import (
	"context"
	"math"
	"slices"
	"time"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/search"
	"pawl/internal/space"
	"pawl/internal/stat"
)

// Parts of the budget.
const (
	finalsShare = 0.2 // of the budget, for the duets at the end
	finalsLeast = 8 * time.Second
	finalsMost  = 3 * time.Minute
)

// finalsTime returns how much of the budget is kept for the finals.
func (t *tune) finalsTime() time.Duration {
	whole := time.Duration(finalsShare * float64(t.Budget))
	return max(min(max(whole, min(finalsLeast, t.Budget/2)), finalsMost), min(t.energyTime()+perDuet*time.Duration(len(t.configs)), t.Budget/2))
}

// search tries points until the budget, the points or the user's patience end. Today's defaults come
// first, alone: everything is measured against them.
func (t *tune) search(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, t.wakeAll)
	defer stop()
	t.startClock(cancel)
	defer t.stopClock()
	first := &station{tune: t, lane: t.lab}
	err := t.tryDefaults(ctx, first)
	first.close(context.WithoutCancel(ctx))
	if err != nil || ctx.Err() != nil {
		return err
	}
	if err := t.choose(ctx); err != nil {
		return err
	}
	err = t.lanes(ctx)
	cancel() // what is still being compiled has no device any more
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until, t.clock.ended = time.Now(), true // no compiler begins anything else
	t.wake.Broadcast()
	for t.building > 0 {
		t.wake.Wait()
	}
	return err
}

// graceTime is how long a trial that has begun may go on when the search ends.
const graceTime = 2 * time.Second

// choose makes the strategy, when today's defaults have been tried.
func (t *tune) choose(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	ground := t.ground(ctx)
	if t.Strategy == search.Default {
		t.tuning.Strategy = search.Suited(ground, t.affordable())
	}
	var err error
	t.strategy, err = search.New(t.tuning.Strategy, ground, search.Options{Seed: t.run.Seed, Budget: t.planned(), First: t.first()})
	if err == nil {
		t.retell()
	}
	return err
}

// affordable returns how many settings there is time for, if every one takes as long as today's defaults
// did.
func (t *tune) affordable() int {
	each := max(trialLeast, t.tuning.Trials[len(t.tuning.Trials)-1].DeviceS)
	n := int(time.Until(t.until).Seconds() / each)
	if t.Most > 0 {
		n = min(n, t.Most)
	}
	return n
}

// trialLeast is the least that a setting is expected to take, in seconds: compilers work, too.
const trialLeast = 0.1

// planned returns how many trials there will be, as far as that is known.
func (t *tune) planned() int {
	switch {
	case t.Most > 0:
		return t.Most
	case t.space.Exact() && t.space.Size() < 1e6:
		return int(min(t.space.Size(), 1000))
	}
	return 0
}

func (t *tune) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wake.Broadcast()
}

// over reports whether nothing more is tried. Its caller holds the lock.
func (t *tune) over(ctx context.Context) bool { return ctx.Err() != nil || t.isUp() }

// compile builds points until the search is over.
func (t *tune) compile(ctx context.Context) {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.building--
		t.wake.Broadcast()
	}()
	for {
		c := t.next(ctx)
		if c == nil {
			return
		}
		t.build(ctx, c)
	}
}

// next asks the strategy for a point, as soon as somebody should work on one; nil: the search is over.
func (t *tune) next(ctx context.Context) *candidate {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.over(ctx) && !t.exhausted && (t.Most == 0 || t.asked < t.Most) {
		if t.inFlight >= t.pace.ahead(t.tuning.Workers, t.Compilers) {
			t.wake.Wait()
			continue
		}
		points := t.strategy.Ask(1)
		if len(points) == 0 {
			t.exhausted = !t.over(ctx) // else it was looking for one
			t.wake.Broadcast()
			return nil
		}
		t.asked++
		t.inFlight++
		return t.candidate(t.kernel.At(points[0]))
	}
	return nil
}

// Compile times.
const (
	compileMost  = time.Minute // as long as nothing is known
	compileLeast = 10 * time.Second
	compileTimes = 5 // of the median
)

// build compiles a candidate and hands it to the devices, unless that decides about it.
func (t *tune) build(ctx context.Context, c *candidate) {
	if !t.compiler.Fits(c.jobs) {
		t.record(c, &result.Trial{Status: result.TrialUnfit, Fault: firstFault(c)})
		return
	}
	t.mu.Lock()
	most := t.pace.compileMost()
	t.mu.Unlock()
	began := time.Now()
	late := t.compiler.Build(ctx, c.jobs, most)
	c.compileS = time.Since(began).Seconds()
	fault := firstFault(c)
	switch {
	case ctx.Err() != nil:
		t.drop()
		return
	case late:
		t.record(c, &result.Trial{Status: result.TrialCompileTimeout, Fault: &result.Fault{
			Stage: "build", Cause: result.CauseTimeout, Message: "the compiler was ended after " + most.Round(time.Second).String(),
		}})
		return
	case fault != nil:
		t.record(c, &result.Trial{Status: statusOf(fault), Fault: explained(fault, faultLog(c))})
		return
	}
	c.identify()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pace.compiled(c.compileS)
	same, known := t.claims[c.identity]
	switch {
	case !known:
		t.claims[c.identity] = &claim{}
		t.ready = append(t.ready, c)
	case same.trial != nil:
		t.settle(c, equalTo(same.trial))
	default:
		same.waiting = append(same.waiting, c)
	}
	t.wake.Broadcast()
}

func firstFault(c *candidate) *result.Fault {
	for _, job := range c.jobs {
		if job.Record.Fault != nil {
			return job.Record.Fault
		}
	}
	return nil
}

// faultLog returns what the tool printed whose failure firstFault returns.
func faultLog(c *candidate) string {
	for _, job := range c.jobs {
		if job.Record.Fault != nil {
			if made := job.Record.Build; made != nil {
				return made.Output
			}
		}
	}
	return ""
}

// equalTo returns the trial of a setting that compiles to what another one does.
func equalTo(one *result.Trial) *result.Trial {
	same := *one
	same.Same, same.DeviceS, same.Fault = one.N, 0, one.Fault
	if one.Status == result.TrialOK || one.Status == result.TrialCut {
		same.Status = result.TrialSame
	}
	return &same
}

// take waits for a candidate that was built; nil: there will be none.
func (t *tune) take(ctx context.Context) *candidate {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.over(ctx) {
		if len(t.ready) > 0 {
			c := t.ready[0]
			t.ready = t.ready[1:]
			return c
		}
		if t.inFlight == 0 && (t.exhausted || t.Most > 0 && t.asked >= t.Most) {
			return nil
		}
		t.wake.Wait()
	}
	return nil
}

// giveBack lets another worker try a candidate whose worker ended.
func (t *tune) giveBack(c *candidate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = append([]*candidate{c}, t.ready...)
	t.wake.Broadcast()
}

// drop forgets a candidate that the end of the search has interrupted.
func (t *tune) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight--
	t.dropped++
	t.wake.Broadcast()
}

// record takes what came of a candidate.
func (t *tune) record(c *candidate, trial *result.Trial) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(c, trial)
	if same := t.claims[c.identity]; same != nil && same.trial == nil {
		same.trial = trial
		for _, other := range same.waiting {
			t.settle(other, equalTo(trial))
		}
		same.waiting = nil
	}
	t.wake.Broadcast()
}

// settle numbers a trial, writes it down and tells the strategy. Its caller holds the lock.
func (t *tune) settle(c *candidate, trial *result.Trial) {
	trial.N, trial.Params, trial.AtS = len(t.tuning.Trials)+1, c.variant.Params(), time.Since(t.began).Seconds()+t.journal.before
	trial.CompileS, trial.Identity = c.compileS, c.identity
	t.inFlight--
	t.tuning.Trials = append(t.tuning.Trials, trial)
	if t.journal.write(trial); t.journal.broken != nil && !t.journal.said {
		t.journal.said = true
		t.run.Emit(run.Event{Kind: run.Note, Text: t.journal.lost().Message})
	}
	if trial.Status == result.TrialOK || trial.Status == result.TrialCut {
		t.pace.tried(trial.DeviceS)
	}
	if t.isBetter(trial) {
		t.best = trial
	}
	if t.strategy != nil { // it hears of today's defaults when it is made
		t.strategy.Tell(c.point, outcomeOf(trial))
	}
	t.run.Emit(t.event())
}

// isBetter reports whether a trial is the best so far.
func (t *tune) isBetter(trial *result.Trial) bool {
	return trial.Cost > 0 && !trial.Cut && (trial.Status == result.TrialOK || trial.Status == result.TrialSame) && len(trial.On) == len(t.configs) &&
		(t.best == nil || trial.Cost < t.best.Cost)
}

// outcomeOf returns what the strategy is told of a trial.
func outcomeOf(trial *result.Trial) search.Outcome {
	return search.Outcome{Cost: trial.Cost, Failed: trial.Cost == 0, Cut: trial.Cut}
}

// event says how far the search is. Its caller holds the lock.
func (t *tune) event() run.Event {
	trials := t.tuning.Trials
	state := &run.Search{Failed: map[string]int{}, LeftS: max(0, time.Until(t.began.Add(t.Budget)).Seconds())}
	for _, trial := range trials {
		if trial.Cost == 0 {
			state.Failed[string(trial.Status)]++
		}
	}
	if wall := time.Since(t.began).Seconds() * float64(max(1, t.tuning.Workers)); wall > 0 {
		state.Busy = t.tuning.DeviceBusyS / wall
	}
	event := run.Event{Kind: run.Tune, Row: t.kernel.Name, Done: len(trials), Search: state}
	if t.space.Exact() {
		event.Total = int(min(t.space.Size(), math.MaxInt32))
	}
	if t.Most > 0 {
		event.Total = t.Most
	}
	if t.best != nil {
		state.Gain, state.Params = 1-t.best.Cost, t.kernelSetting(t.best)
		if event.MedianS = t.best.Seconds(len(t.configs)); t.Objective == Energy {
			event.MedianS, state.Unit = t.best.Joules(len(t.configs)), "J"
		}
	}
	return event
}

// kernelSetting names a trial's setting as pawl.yaml orders it.
func (t *tune) kernelSetting(trial *result.Trial) string {
	text := ""
	for _, p := range t.kernel.Params {
		if text != "" {
			text += " "
		}
		text += p.Name + "=" + trial.Params[p.Name]
	}
	return text
}

// pace knows how long compilers and devices take.
type pace struct{ compile, device []float64 }

func (p *pace) compiled(seconds float64) { p.compile = lastFew(append(p.compile, seconds)) }
func (p *pace) tried(seconds float64)    { p.device = lastFew(append(p.device, seconds)) }

// lastFew keeps the newest of a list.
func lastFew(list []float64) []float64 { return list[max(0, len(list)-50):] }

// ahead returns how many points may be on their way: enough that no device waits for a compiler, and
// no more, since a strategy chooses better when it knows more.
func (p *pace) ahead(workers, compilers int) int {
	if len(p.compile) < 3 || len(p.device) < 3 {
		return workers + compilers
	}
	share := stat.Median(p.compile) / max(1e-3, stat.Median(p.device))
	return workers + min(compilers, 1+int(math.Ceil(share*float64(workers))))
}

// compileMost returns how long a compiler may take.
func (p *pace) compileMost() time.Duration {
	if len(p.compile) < 5 {
		return compileMost
	}
	usual := time.Duration(compileTimes * stat.Median(p.compile) * float64(time.Second))
	return min(compileMost, max(compileLeast, usual))
}

// first returns the points that are tried before the strategy chooses: the best of what was known
// before.
func (t *tune) first() []space.Point {
	var points []space.Point
	for _, p := range t.journal.hints {
		if !slices.ContainsFunc(points, func(other space.Point) bool { return slices.Equal(p, other) }) {
			points = append(points, p)
		}
	}
	return points
}
