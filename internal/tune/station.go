package tune

import (
	"context"
	"errors"
	"time"

	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/verify"
	"pawl/internal/worker"
)

// station tries candidates on one worker's device.
type station struct {
	*tune
	lane *lab.Lab
	n    int

	seat      *lab.Lease // cell of device code, in which candidates take each other's place; nil: it is not open
	last      *lab.Job   // that was loaded into it
	examiner  *lab.Examiner
	anchors   []float64 // by config: the median of today's defaults on this device
	anchorsAt time.Time
}

// anchorEvery is how long the median of today's defaults on a device is good for. Devices warm up,
// and others come to work beside them.
const anchorEvery = 45 * time.Second

// lostMost is how many workers may end while they have a candidate before it is given up.
const lostMost = 2

// work tries candidates until there are no more, or the worker cannot be replaced.
func (s *station) work(ctx context.Context) error {
	defer s.close(context.WithoutCancel(ctx))
	for {
		c := s.take(ctx)
		if c == nil {
			return nil
		}
		trial, err := s.try(ctx, c)
		switch {
		case ctx.Err() != nil:
			s.drop()
			return nil
		case err != nil && c.lost < lostMost: // it may not be to blame
			c.lost++
			s.giveBack(c)
			if s.mustLeave() {
				return err
			}
			s.close(ctx)
			continue
		case err != nil:
			s.close(ctx)
			trial = &result.Trial{Status: result.TrialLost, Fault: c.jobs[0].FaultOf("measure", err)}
		}
		trial.Worker = s.n
		s.record(c, trial)
		if err != nil && s.mustLeave() {
			return err
		}
	}
}

// mustLeave reports whether only the crew can start another worker in place of the one that was lost.
func (s *station) mustLeave() bool { return s.lane.Crewed() && s.lane.Lost() != nil }

// try measures one candidate; the error is the worker's end.
func (s *station) try(ctx context.Context, c *candidate) (*result.Trial, error) {
	if err := s.anchor(ctx, c); err != nil {
		return nil, err
	}
	began := time.Now()
	trial := &result.Trial{}
	lease, err := s.open(ctx, c)
	began = began.Add(s.goOn())
	if err == nil {
		trial.On, trial.Cut, err = s.onAll(ctx, c, lease)
		err = s.leave(ctx, c, lease, err)
	}
	trial.DeviceS = time.Since(began).Seconds()
	if lost, ok := errors.AsType[*worker.Lost](err); ok {
		return nil, lost
	}
	if err != nil {
		trial.Fault, trial.On, trial.Cut = c.jobs[0].FaultOf("measure", err), nil, false
		trial.Status = statusOf(trial.Fault)
		return trial, nil
	}
	s.judge(trial)
	return trial, nil
}

// judge gives a measured trial its cost.
func (s *station) judge(trial *result.Trial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scale == nil && !trial.Cut { // today's defaults, or, where those fail, the first that is right
		for _, on := range trial.On {
			s.scale = append(s.scale, on.MedianS)
			s.joules = append(s.joules, on.Joules)
		}
	}
	var costs []float64
	for i := range trial.On {
		on := &trial.On[i]
		scale := on.MedianS // whatever is measured before there is a scale counts as 1
		if s.scale != nil {
			scale = s.scale[i]
		}
		if s.anchors != nil {
			scale = s.anchors[i]
		}
		on.Ratio = s.costOf(*on, scale, s.scaleJ(i, on.Joules))
		costs = append(costs, on.Ratio)
	}
	trial.Status = result.TrialOK
	if trial.Cut {
		trial.Status = result.TrialCut
		for i := len(costs); i < len(s.configs) && s.best != nil; i++ {
			costs = append(costs, cutHope*s.relative(s.best, i)) // at least: some configs alone may look better than the best
		}
	}
	trial.Cost = s.combine(costs)
}

func (s *station) scaleJ(config int, own float64) float64 {
	if s.joules == nil || s.joules[config] == 0 {
		return max(own, 1e-12)
	}
	return s.joules[config]
}

// onAll verifies and measures a candidate on one config after the other.
func (s *station) onAll(ctx context.Context, c *candidate, lease *lab.Lease) (on []result.TrialConfig, cut bool, err error) {
	var costs []float64
	for i, job := range c.jobs {
		began := time.Now()
		if err := s.verify(ctx, i, job, lease, 0); err != nil {
			return nil, false, err
		}
		scale := s.scaleOf(i)
		opts := s.Measure
		opts.Cut, opts.Warm = s.cutSeconds(costs, scale), true
		timing, err := s.measure(ctx, job, lease, opts)
		s.busy(time.Since(began), timing)
		if err != nil {
			return nil, false, err
		}
		st := timing.Stats
		one := result.TrialConfig{Config: job.Config.Name, MedianS: st.Median, Low: st.Low, High: st.High, Samples: st.Count}
		if timing.Stopped == "cut" {
			return append(on, one), true, nil
		}
		if s.Objective != Time {
			if one.Joules, err = s.energy(ctx, job, lease); err != nil {
				return nil, false, err
			}
		}
		on = append(on, one)
		if scale == 0 {
			scale = one.MedianS
		}
		costs = append(costs, s.costOf(one, scale, s.scaleJ(i, one.Joules)))
	}
	if s.leads(costs) {
		for i, job := range c.jobs {
			if err := s.verify(ctx, i, job, lease, leaderLooks); err != nil {
				return nil, false, err
			}
		}
	}
	return on, false, nil
}

// leaderLooks is how many timed samples of a trial are verified that would be the best: others are given
// up because they are slower than it, which must not be for one that is wrong when it is timed.
const leaderLooks = 3

// leads reports whether a trial of these costs would be better than today's defaults and all others.
func (s *station) leads(costs []float64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.best != nil && s.combine(costs) < s.best.Cost
}

// scaleOf returns what a cost of 1 is on a config, in seconds; 0: it is not known yet.
func (s *station) scaleOf(config int) float64 {
	if s.anchors != nil {
		return s.anchors[config]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scale == nil {
		return 0
	}
	return s.scale[config]
}

func (s *station) measure(ctx context.Context, job *lab.Job, lease *lab.Lease, opts measure.Options) (*result.Timing, error) {
	side := measure.Side{Cell: lease.Cell, Instance: job.Instance, Symbols: job.Artifact.Symbols}
	timings, _, errs := measure.Turns(ctx, []measure.Side{side}, opts, func(measure.Progress) {})
	if errs[0] == nil && timings[0].Stats.Median <= 0 {
		errs[0] = result.Faultf(result.CauseInternal, "no sample was taken")
	}
	return timings[0], errs[0]
}

// energy measures the energy of a launch.
func (s *station) energy(ctx context.Context, job *lab.Job, lease *lab.Lease) (float64, error) {
	opts := s.Measure
	opts.Warm = true
	joules, err := measure.SideJoules(ctx, []measure.Side{{Cell: lease.Cell, Instance: job.Instance, Symbols: job.Artifact.Symbols}}, opts, 1)
	if err != nil {
		return 0, err
	}
	return max(joules[0][0], 1e-15), nil
}

// busy adds to the time that devices work for candidates.
func (s *station) busy(wall time.Duration, timing *result.Timing) {
	launches := 0.0
	if timing != nil {
		for _, seconds := range timing.Samples.Seconds {
			launches += seconds * float64(max(1, timing.Repeat))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tuning.DeviceBusyS += wall.Seconds()
	s.tuning.LaunchBusyS += launches
}

// verified notes how long verifying has taken, for the end of the search.
func (s *station) verified(config int, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.verifyS == nil {
		s.verifyS = make([]float64, len(s.configs))
	}
	s.verifyS[config] = max(s.verifyS[config], time.Since(began).Seconds())
}

// verify compares a candidate's answers on a config with the right ones, and then those of so many timed
// samples.
func (s *station) verify(ctx context.Context, config int, job *lab.Job, lease *lab.Lease, looks int) error {
	defer s.verified(config, time.Now())
	exam := s.exams[config]
	if s.examiner == nil {
		s.examiner = s.lane.NewExaminer(exam, nil, s.lane.Largest, s.run.Seed)
	}
	s.examiner.Borrow(job, lease)
	defer s.examiner.Return()
	bench, err := s.examiner.Bench(ctx, exam.Instances(job.Instance))
	if err != nil {
		return err
	}
	one := lab.NewCase("config", job.Config, s.run.Seed, lab.VerifyBatch)
	_, err = bench.Try(ctx, one, verify.Trial{})
	switch {
	case err != nil:
		s.shut(ctx)
		return err
	case one.Fault != nil:
		return one.Fault
	case one.Skipped != "":
		return result.Faultf(result.CauseMemory, "%s", one.Skipped)
	case one.Reason != "":
		return &result.Fault{Stage: "verify", Cause: result.CauseWrong, Message: one.Reason}
	case looks == 0:
		return nil
	}
	found := &result.Verification{}
	found.Findings, err = bench.Inspect(ctx, verify.Inspection{
		Looks: looks, Cache: s.Measure.Cache, After: func(*result.Case) {},
		Case: func() *result.Case { return lab.NewCase(result.TimedLane, job.Config, s.run.Seed, 0) },
	})
	if err != nil {
		s.shut(ctx)
		return err
	}
	if cheat := found.Convict(); cheat != nil {
		return cheat
	}
	return nil
}

// shut closes the cells of the oracle.
func (s *station) shut(ctx context.Context) {
	if s.examiner != nil {
		_ = s.examiner.Close(context.WithoutCancel(ctx))
		s.examiner = nil
	}
}

// loadMost is how long loading a candidate may take: a first context on a GPU takes longer than launches.
const loadMost = 30 * time.Second

// open loads a candidate: device code into the cell that the one before it had, since it cannot
// reach the process that launches it; everything else into a fresh one.
func (s *station) open(ctx context.Context, c *candidate) (*lab.Lease, error) {
	purpose := lab.Purpose{Memory: s.lane.MemoryFor(c.jobs), Deadline: loadMost}
	shared := c.variant.Kernel.DeviceCode()
	if !shared && c.variant.Kernel.Cell == spec.CellPython {
		leases, errs := s.lane.LeaseAll(ctx, c.jobs[:1])
		return leases[0], errs[0]
	}
	if shared && s.seat != nil {
		purpose.Beside = s.seat
	}
	lease, err := s.lane.Lease(ctx, c.jobs[0], purpose)
	if err != nil {
		if shared && s.seat != nil {
			err = s.seat.Close(context.WithoutCancel(ctx), s.last, err)
			s.seat = nil
		}
		return nil, err
	}
	if shared && s.seat == nil {
		s.seat = lease
	}
	s.last = c.jobs[0]
	return lease, nil
}

// leave ends a candidate's use of its cell. It returns the error that matters.
func (s *station) leave(ctx context.Context, c *candidate, lease *lab.Lease, err error) error {
	switch {
	case !c.variant.Kernel.DeviceCode():
		return s.lane.Return(context.WithoutCancel(ctx), lease, c.jobs[0], err)
	case err == nil, statusOf(c.jobs[0].FaultOf("measure", err)) == result.TrialWrong && !ended(err):
		return err // the cell is as good as before
	}
	err = s.seat.Close(context.WithoutCancel(ctx), s.last, err)
	s.seat = nil
	return err
}

// ended reports whether an error has ended the cell.
func ended(err error) bool {
	failed, ok := errors.AsType[*worker.Failed](err)
	return ok && failed.CellEnded
}

// anchor measures today's defaults on the station's device, where that is due, so that trials of other
// devices and other moments have one scale. The candidate that comes next needs none if it is the
// defaults themselves.
func (s *station) anchor(ctx context.Context, next *candidate) error {
	s.mu.Lock()
	known := s.scale != nil && s.defaultsWork
	s.mu.Unlock()
	if !known || next == s.defaults || time.Since(s.anchorsAt) < anchorEvery {
		return nil
	}
	began := time.Now()
	lease, err := s.open(ctx, s.defaults)
	var found []float64
	if err == nil {
		for _, job := range s.defaults.jobs {
			var timing *result.Timing
			if timing, err = s.measure(ctx, job, lease, s.Measure); err != nil {
				break
			}
			found = append(found, timing.Stats.Median)
		}
		err = s.leave(ctx, s.defaults, lease, err)
	}
	if lost, ok := errors.AsType[*worker.Lost](err); ok {
		return lost
	}
	if err == nil {
		s.anchors = found
	}
	s.anchorsAt = began // defaults that fail once are not tried again for every candidate
	return nil
}

// close ends the station's cells.
func (s *station) close(ctx context.Context) {
	s.shut(ctx)
	if s.seat != nil {
		_ = s.seat.Close(ctx, s.last, nil)
		s.seat = nil
	}
	s.lane.Release(ctx)
}
