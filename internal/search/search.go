// Package search decides which point of a space to try next. A strategy is asked for points and told
// what came of them; it knows nothing of kernels, devices or clocks.
package search

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"

	"pawl/internal/space"
)

// Ground is what a search goes over: a space, or the points of a recorded run.
type Ground interface {
	Params() []space.Param
	Size() float64                        // number of points that satisfy the constraints; an estimate where nobody can count them
	Exact() bool                          // Size is no estimate
	Contains(space.Point) bool            // whether the point satisfies the constraints
	Sample(*rand.Rand) space.Point        // drawn uniformly, with replacement; nil: the space is empty
	All() iter.Seq[space.Point]           // all points, in the order of the params
	Neighbours(space.Point) []space.Point // points that differ in the value of one param
}

// Strategy chooses points. Every point that Ask returns is told of once, in any order, and Ask may be
// called again before that: several devices work at once.
type Strategy interface {
	// Ask returns up to n points that nobody has asked for before. None means that every point of the
	// ground was.
	Ask(n int) []space.Point
	// Tell says what came of a point, also of points that the strategy has not asked for: those of
	// earlier runs.
	Tell(space.Point, Outcome)
}

// Outcome is what came of a point.
type Outcome struct {
	Cost   float64 // to be made small: seconds, joules, or a mean of several; positive
	Failed bool    // it has no cost: it did not build, run or answer right
	Cut    bool    // it was given up early; its cost is at least Cost
}

// Options are the options of every strategy.
type Options struct {
	Seed   uint64
	Budget int           // how many points will be tried, as far as that is known; 0: it is not
	First  []space.Point // tried before all others: today's defaults, the best of earlier runs

	Settings *Settings // of auto and bayes; nil: DefaultSettings
}

// Default is the strategy that is best on recorded spaces.
const Default = "auto"

// strategies are all there are, the default first.
var strategies = []struct {
	name string
	make func(*book, Options) Strategy
}{
	{Default, newAuto},
	{"bayes", newBayes},
	{"evolve", newEvolve},
	{"random", newRandom},
	{"exhaustive", newExhaustive},
}

// Names returns the names of all strategies, the default first.
func Names() []string {
	names := make([]string, len(strategies))
	for i, s := range strategies {
		names[i] = s.name
	}
	return names
}

// Suited returns the name of the strategy for a ground and a budget of points: exhaustive where the budget
// covers all of them, for there is nothing to be clever about, and else the default.
func Suited(g Ground, budget int) string {
	if g.Exact() && g.Size() <= float64(budget) {
		return "exhaustive"
	}
	return Default
}

// New returns a strategy by its name.
func New(name string, g Ground, o Options) (Strategy, error) {
	for _, s := range strategies {
		if s.name == name {
			return s.make(newBook(g, o), o), nil
		}
	}
	return nil, fmt.Errorf("strategy %q is unknown: expected one of %s", name, strings.Join(Names(), ", "))
}
