package trial

import (
	"context"

	"pawl/internal/formula"
)

// Shrink looks for a smaller trial that still fails: fewer runs, plainer inputs, smaller sizes of
// the variables in free, each in turn until none can be made smaller. It calls fails at most budget
// times, and returns the best trial so far when these are used up or ctx ends. It never returns a
// trial that it did not see fail (t itself is assumed to).
//
// fails should require the same kind of failure as the first, and not call an unresolvable trial a
// failure.
func Shrink(ctx context.Context, t Trial, free []string, fails func(Trial) bool, budget int) Trial {
	s := &shrinker{best: t, ended: func() bool { return ctx.Err() != nil }, fails: fails, budget: budget, asked: map[string]bool{key(t): true}}
	for before := ""; before != key(s.best) && s.open(); {
		before = key(s.best)
		s.plainer()
		for _, name := range free {
			s.smaller(name)
		}
	}
	return s.best
}

type shrinker struct {
	best   Trial
	fails  func(Trial) bool
	ended  func() bool // nothing more is to be tried
	budget int
	asked  map[string]bool
}

func (s *shrinker) open() bool { return s.budget > 0 && !s.ended() }

// try makes a trial the best one if it fails.
func (s *shrinker) try(t Trial) bool {
	if name := key(t); !s.asked[name] && s.open() {
		s.asked[name] = true
		s.budget--
		if s.fails(t) {
			s.best = t
			return true
		}
	}
	return false
}

func key(t Trial) string {
	if t.Repeats > 1 {
		return t.Name() + " repeated"
	}
	return t.Name()
}

// plainer tries one run instead of several, and inputs that are easier to think about.
func (s *shrinker) plainer() {
	if s.best.Repeats > 1 {
		t := s.best
		t.Repeats = 1
		s.try(t)
	}
	for _, fill := range []string{"equal", ""} {
		if s.best.Fill == fill || s.best.Fill == "equal" {
			continue
		}
		t := s.best
		t.Fill, t.Exact = fill, false
		s.try(t)
	}
}

// smaller lowers one variable: to 1, else by halves and ever smaller steps down to
// one.
func (s *shrinker) smaller(name string) {
	n, ok := s.best.integer(name)
	if !ok || n <= 1 || s.try(s.best.With(name, formula.Int(1))) {
		return
	}
	for step := n / 2; step > 0 && s.open(); {
		if n-step >= 1 && s.try(s.best.With(name, formula.Int(n-step))) {
			n -= step
			step = min(step, n/2)
			continue
		}
		step /= 2
	}
}
