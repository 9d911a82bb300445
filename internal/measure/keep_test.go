package measure

import (
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
)

// Code that may count its launches is looked at once more when all are timed, however
// few of the earlier samples were kept.
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
			var after []int // samples that are timed and precede a last look
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

// What is kept of a request is among the samples that its cell will have taken.
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

// Nobody judges what the others of a duet have answered.
func TestOnlyTheCandidateKeeps(t *testing.T) {
	stage := newStage(t, func(int, int) puppet.Script { return puppet.Script{Micros: 10} })
	m := newMatch(spec.CellHost, "a", 10_000, 10_000)
	for _, side := range m.Sides {
		side.Instance.Args[0].Role, side.Instance.Args[0].Init = spec.RoleOut, spec.Init{}
	}
	opts := DuetOptions{Options: quickly(), Floor: DefaultFloor}
	opts.Keep = true
	Play(t.Context(), []*Match{m}, stage, 0, opts, func(*Match, Progress) {})
	if _, err := m.Err(); err != nil {
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
