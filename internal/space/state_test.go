package space

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Paths that share a node by the values of parts of constraints, and by params beside them.
func TestStates(t *testing.T) {
	params := []Param{upTo("A", 7), upTo("B", 7), upTo("C", 7), upTo("D", 7), upTo("E", 3)}
	for _, constraint := range []string{
		"(A + B) * C + (A + B) * D <= 60 - E", "A + B + C + D == 14 and (A + B) % E == 0", "max(A, B) * C < D * 3 + E", "A * B % C == D // E", "A // (B - C) + D > E",
	} {
		s := mustNew(t, ways["states"], params, constraint)
		if want := len(bruteForce(t, params, []string{constraint})); s.Size() != float64(want) {
			t.Errorf("%s: %v points, want %d", constraint, s.Size(), want)
		}
	}
}

// Of as many equally likely values, the draws come to about so many different ones.
func TestDistinct(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, values := range []int{1, 10, 100, 1000} {
		seen := map[int]bool{}
		for range probes {
			seen[r.IntN(values)] = true
		}
		if got := distinct(len(seen), probes); got < 1.4*float64(values) || got > 3*float64(values) {
			t.Errorf("%d seen of %d values: %.1f, want about twice as many as there are", len(seen), values, got)
		}
	}
	if got := distinct(probes, probes); !math.IsInf(got, 1) {
		t.Errorf("every draw another value: %v, want infinity", got)
	}
}
