package measure

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// Code that may count its launches is verified once more when all are timed, however few of the
// earlier samples were kept.
func TestLastLook(t *testing.T) {
	t.Parallel()
	client := newWorker(t)
	for name, test := range map[string]struct {
		keep, sustain bool
		want          int
	}{
		"kept":      {keep: true, want: 1},
		"not asked": {},
		"sustained": {keep: true, sustain: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := quickly()
			opts.Keep, opts.Sustain = test.keep, test.sustain
			var kept []Kept
			opts.OnKept = func(found []Kept) { kept = found }
			instance := sized(spec.CellHost, 8)
			instance.Args[0].Role, instance.Args[0].Init = spec.RoleOut, spec.Init{}
			timings, _, errs := Turns(t.Context(), []Side{{Cell: loaded(t, client, puppet.Script{Micros: 10}), Instance: instance}}, opts, func(Progress) {})
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			last := 0
			for _, k := range kept {
				if k.Last {
					last++
				}
			}
			if last != test.want {
				t.Errorf("%d last looks, want %d: %+v", last, test.want, kept)
			}
			timed := timings[0].Stats.Count
			var after []int // samples that are timed and precede the last verification
			for _, d := range timings[0].Samples.Dropped {
				if d.Cause == "last look" {
					before := result.Samples{Seconds: timings[0].Samples.Seconds[:d.From], Dropped: timings[0].Samples.Dropped[:1]}
					after = append(after, len(before.Kept()))
				}
			}
			if len(after) != test.want || len(after) > 0 && after[0] != timed {
				t.Errorf("last looks after %v of %d timed samples: %+v", after, timed, timings[0].Samples.Dropped)
			}
		})
	}
}

// The kept sample of a request is among those that its cell will have taken.
func TestDrawn(t *testing.T) {
	for _, test := range []struct {
		perItem float64
		count   int
		most    int
	}{
		{0, 5, 5}, {0.001, 5, 5}, {0.06, 5, 4}, {0.15, 5, 1}, {2, 5, 1}, {0.15, 1, 1},
	} {
		s := &series{perItem: test.perItem}
		found := map[int]bool{}
		for range 300 {
			found[s.drawn(test.count, 0.25)] = true
		}
		for n := range test.most {
			if !found[n+1] {
				t.Errorf("%+v: sample %d is never kept", test, n+1)
			}
		}
		if len(found) != test.most {
			t.Errorf("%+v: keeps one of %v", test, found)
		}
	}
}

// The outputs of a duet's other sides are not judged.
func TestOnlyTheCandidateKeeps(t *testing.T) {
	stage := newStage(t, func(int, int) puppet.Script { return puppet.Script{Micros: 10} })
	m := newMatch(spec.CellHost, "a", 10_000, 10_000)
	for _, side := range m.Sides {
		side.Instance.Args[0].Role, side.Instance.Args[0].Init = spec.RoleOut, spec.Init{}
	}
	opts := DuetOptions{Options: quickly(), Floor: DefaultFloor}
	opts.Keep = true
	Play(t.Context(), []*Match{m}, stage, 0, opts, func(*Match, Progress) {})
	if err := m.Err(); err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, k := range m.Kept() {
		if k.Last {
			last++
		}
	}
	if last != 1 || len(m.series[1].draw.kept) > 0 {
		t.Errorf("%d last looks at the candidate; kept of the other: %+v", last, m.series[1].draw.kept)
	}
}

// Some samples of both sides, anywhere in a turn, are on wholly new data. They are compared with
// turns that have none, and a kept output is judged by its own data.
func TestSamplesOnNewData(t *testing.T) {
	stage := newStage(t, func(_, side int) puppet.Script {
		if side == 0 {
			return puppet.Script{Micros: 10, Anew: 4}
		}
		return puppet.Script{Micros: 10}
	})
	m := newMatch(spec.CellHost, "a", 10_000, 10_000)
	for _, side := range m.Sides {
		side.Instance.Args[0].Role, side.Instance.Args[0].Init = spec.RoleOut, spec.Init{}
	}
	opts := DuetOptions{Options: quickly(), Floor: DefaultFloor}
	opts.Keep = true
	Play(t.Context(), []*Match{m}, stage, 0, opts, quiet)
	if err := m.Err(); err != nil {
		t.Fatal(err)
	}
	for side, timing := range m.Timings() {
		compared := 0
		for _, f := range timing.Samples.Fresh {
			long := timing.Samples.Seconds[f.At] > 30e-6
			dropped := slices.ContainsFunc(timing.Samples.Dropped, func(d result.Drop) bool { return f.At >= d.From && f.At < d.To })
			usual := f.UsualS > 5e-6 && f.UsualS < 20e-6
			if long != (side == 0) || dropped == usual || dropped && f.UsualS != 0 {
				t.Errorf("side %d: sample %+v of %g s, dropped: %t", side, f, timing.Samples.Seconds[f.At], dropped)
			}
			if usual {
				compared++
			}
		}
		if compared < 5 {
			t.Errorf("side %d: %d samples on new data", side, compared)
		}
	}
	pairs := map[int]int{}
	for side, timing := range m.Timings() {
		for _, f := range timing.Samples.Fresh {
			if f.Pair > 0 && pairs[f.Pair] == side {
				pairs[f.Pair]++
			}
		}
	}
	both := 0
	for _, sides := range pairs {
		both += sides / 2
	}
	if both < 5 {
		t.Errorf("%d pairs on the same new data", both)
	}
	batches := map[int]bool{}
	for _, k := range m.Kept() {
		if k.Steps < 1 {
			t.Errorf("kept after %d steps", k.Steps)
		}
		batches[k.Batch] = true
	}
	if len(batches) < 2 {
		t.Errorf("all that was kept is of one batch: %+v", m.Kept())
	}
	alone := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{Cache: "cold"}, nil)
	for range 50 {
		if x := alone.drawExtras(20); x != (extras{}) {
			t.Fatalf("outside of a match: %+v", x)
		}
	}
}

// The data of a series follows from the requests and their replies.
func TestDataOfASeries(t *testing.T) {
	s := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil)
	s.draw.requests = 1
	kept := []wire.Buffer{{Arg: 1}}
	for _, test := range []struct {
		count, keep, fresh int // fresh: that was reached
		batch, steps       int // of what was kept
		at, after          int // of the series
	}{
		{5, 2, 0, 0, 2, 0, 5},
		{5, 2, 3, 0, 7, 2, 3},
		{5, 3, 3, 3, 1, 3, 3},
		{4, 4, 2, 4, 3, 4, 3},
		{4, 1, 0, 4, 4, 4, 7},
	} {
		m := wire.Sample{Count: test.count, Keep: test.keep}
		s.freshen(&m)
		m.Fresh, m.FreshBatch = test.fresh, s.data
		s.keep(m, &wire.SampleReply{Samples: wire.Samples{Count: test.count, Fresh: test.fresh}, Kept: kept})
		got := s.draw.kept[len(s.draw.kept)-1]
		if got.Batch != test.batch || got.Steps != test.steps || s.stepping != test.at || s.steps != test.after {
			t.Errorf("%+v: kept %+v; the series is at %d, %d", test, got, s.stepping, s.steps)
		}
	}
}

// A flush that repeatedly has no effect is somebody's doing.
func TestFlushThatDoesNothing(t *testing.T) {
	for name, script := range map[string]puppet.Script{"works": {Micros: 10}, "does nothing": {Micros: 10, Warm: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stage := newStage(t, func(_, side int) puppet.Script {
				if side == 0 {
					return script
				}
				return puppet.Script{Micros: 10}
			})
			m := newMatch(spec.CellHost, "a", 10_000, 10_000)
			for _, side := range m.Sides {
				side.Instance.Args[0].Role, side.Instance.Args[0].Init = spec.RoleOut, spec.Init{}
			}
			opts := DuetOptions{Options: quickly(), Floor: 1} // for as long as it may
			opts.Keep, opts.Budget = true, 2*time.Second
			Play(t.Context(), []*Match{m}, stage, 0, opts, quiet)
			err := m.Err()
			side := SideOf(err)
			var fault *result.Fault
			if found := errors.As(err, &fault) && fault.Cause == result.CauseForged && side == 0; found != script.Warm {
				t.Errorf("side %d: %v", side, err)
			}
		})
	}
	s := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil)
	for try, flushed := range []float64{0.5, 0.5, 0.5, 0.5, 0.7, 0.5, 0.5, 0.5, 0.5, 0, 0.5} {
		batch := &wire.SampleReply{Samples: wire.Samples{FlushedS: flushed, ColdS: 1}}
		if flushed == 0 { // nothing was read
			batch.ColdS = 0
		}
		if err := s.probed(batch); (err != nil) != (try == 10) {
			t.Errorf("after %d: %v", try, err)
		}
	}
}
