package calibrate

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"pawl/internal/spec"
)

// trial is one kind of decision that the gate is tried with.
type trial struct {
	kernel int     // index of pawl's own kernel, in the order of the spec
	part   float64 // slowdown, as a fraction of the gate's regression
	behind bool    // both sides are behind the best-known version, which plays too
	wanted int     // number of decisions
}

// trials lists all trials, made for as long as there is time. Equal code has the most, because the
// claim about it is the strongest. Rows behind the best-known version may fail for a step of a
// tenth of the gate: equal code must not look like such a step. The second kernel, where there is
// one, shows whether memory-bound kernels are judged as well.
var trials = []trial{
	{0, 0, false, 220},
	{0, 1.0 / 3, false, 60},
	{0, 2.0 / 3, false, 140},
	{0, 1, false, 60},
	{0, 4.0 / 3, false, 150},
	{0, 5.0 / 3, false, 150},
	{0, 0, true, 220},
	{1, 0, false, 80},
	{1, 2.0 / 3, false, 40},
	{1, 4.0 / 3, false, 40},
	{1, 5.0 / 3, false, 40},
}

// behindBy is how far the trials behind the best-known version are behind it, as a fraction of the
// gate's regression.
const behindBy = 5.0 / 3

// mostSlower is the largest slowdown of a trial, as a fraction of the gate's regression.
const mostSlower = 5.0 / 3

// perSet returns how many decisions share a set of cells, as the configs of a check would. Fewer
// say more, since decisions of one set are alike; but each set costs the start of its cells, which
// is long where a driver is loaded.
func perSet(cell string) int {
	if cell == spec.CellCUDA {
		return 12
	}
	return 6
}

// firstSet is how many decisions share the first set: so that a slow machine has something to save
// soon.
const firstSet = 2

// together reports whether two trials can be decided in one set of cells.
func (t trial) together(o trial) bool { return t.kernel == o.kernel && t.behind == o.behind }

// nextSet chooses what to decide next. It takes the group of trials that is furthest from its
// wanted count, and in it the trials that are furthest, in an order that changes from set to set.
// made returns how many decisions of a trial there are.
func nextSet(trials []trial, made func(trial) int, count, number int) []trial {
	have := map[trial]int{}
	for _, t := range trials {
		have[t] = made(t)
	}
	share := func(t trial) float64 { return float64(have[t]) / float64(t.wanted) }
	done := func(of trial) float64 { // of all trials that can be decided together with this one
		made, wanted := 0, 0
		for _, t := range trials {
			if t.together(of) {
				made, wanted = made+min(have[t], t.wanted), wanted+t.wanted
			}
		}
		return float64(made) / float64(wanted)
	}
	if len(trials) == 0 {
		return nil
	}
	chosen := slices.MinFunc(trials, func(a, b trial) int { return cmp.Compare(done(a), done(b)) })
	candidates := slices.DeleteFunc(slices.Clone(trials), func(t trial) bool { return !t.together(chosen) })
	var out []trial
	for range count {
		left := slices.DeleteFunc(slices.Clone(candidates), func(t trial) bool { return have[t] >= t.wanted })
		if len(left) == 0 {
			break
		}
		next := slices.MinFunc(left, func(a, b trial) int { return cmp.Compare(share(a), share(b)) })
		have[next]++
		out = append(out, next)
	}
	// Neighbours in a cell should not be the same in every set.
	random := rand.New(rand.NewPCG(uint64(number), 1))
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
