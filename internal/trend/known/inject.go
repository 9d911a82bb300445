package known

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Set is a kind of series.
type Set struct {
	Name   string
	Series []Series
}

const (
	length  = 200
	perSet  = 18   // series: each noise twice
	percent = 0.02 // standard deviation of the noise, as a logarithm
	room    = 15   // points between changes, and before the first and after the last
)

// Injected returns noise with changes put in, the same for the same seed. Every set has each noise
// in turn.
func Injected(t testing.TB, seed uint64) []Set {
	noises := []Noise{
		{"normal", Autoregression(0)},
		{"AR(1), 0.3", Autoregression(0.3)},
		{"heavy tails", each(student)},
		{"spread swells and ebbs", waves},
	}
	noises = append(noises, RealNoises(t)...)
	kinds := []struct {
		name string
		put  func(v []float64, r *rand.Rand) []int
	}{
		{"steps of 2 to 6 σ", func(v []float64, r *rand.Rand) []int { return steps(v, r, 2, 6, 1) }},
		{"steps of 1 to 2 σ", func(v []float64, r *rand.Rand) []int { return steps(v, r, 1, 2, 1) }},
		{"ramps over 4 to 9 points", func(v []float64, r *rand.Rand) []int { return steps(v, r, 3, 6, 4+r.IntN(6)) }},
		{"steps and outliers", func(v []float64, r *rand.Rand) []int {
			truth := steps(v, r, 2, 6, 1)
			spikes(v, r)
			return truth
		}},
		{"steps and two speeds", func(v []float64, r *rand.Rand) []int {
			flips(v, r)
			return steps(v, r, 4, 8, 1)
		}},
		{"two speeds and outliers, no change", func(v []float64, r *rand.Rand) []int {
			flips(v, r)
			spikes(v, r)
			return nil
		}},
		{"a slow rise of 3 σ, no change", func(v []float64, r *rand.Rand) []int {
			for i := range v {
				v[i] += 3 * float64(i) / float64(len(v))
			}
			return nil
		}},
	}
	var out []Set
	for k, kind := range kinds {
		set := Set{Name: kind.name}
		for i := range perSet {
			r := rand.New(rand.NewPCG(seed, uint64(k*perSet+i)))
			noise := noises[i%len(noises)]
			values := noise.Draw(length, r)
			truth := kind.put(values, r)
			for j := range values {
				values[j] *= percent
			}
			set.Series = append(set.Series, Series{Name: fmt.Sprintf("%s, %s, %d", kind.name, noise.Name, i), Values: values, Truth: truth})
		}
		out = append(out, set)
	}
	return out
}

// steps moves the level one to four times, up or down, each time over so many points. The truth is the middle.
func steps(v []float64, r *rand.Rand, least, most float64, over int) (truth []int) {
	count := 1 + r.IntN(4)
	for range count {
		at := room + r.IntN(len(v)-2*room)
		free := true
		for _, other := range truth {
			free = free && max(at-other, other-at) >= room
		}
		if !free {
			continue
		}
		size := least + (most-least)*r.Float64()
		if r.IntN(2) == 0 {
			size = -size
		}
		truth = append(truth, at)
		for i := range v {
			v[i] += size * min(1, max(0, float64(i-at+over/2+1)/float64(over)))
		}
	}
	return truth
}

// spikes moves one point of thirty far off.
func spikes(v []float64, r *rand.Rand) {
	for i := range v {
		if r.IntN(30) == 0 {
			v[i] += 8 + 12*r.Float64()
		}
	}
}

// flips adds a second speed, 5 σ apart, that a third of the runs meet, two in a row on average.
func flips(v []float64, r *rand.Rand) {
	slow := false
	for i := range v {
		if r.IntN(2) == 0 {
			slow = r.IntN(3) == 0
		}
		if slow {
			v[i] += 5
		}
	}
}
