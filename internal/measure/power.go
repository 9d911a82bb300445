package measure

import (
	"math"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// The power and level of a test: an effect is seen in 95 of 100 cases where it exists, and in at
// most 5 of 100 where it does not.
const (
	seen   = 0.95
	unseen = 0.05
	most   = 1_000_000
)

// CellNoise returns the scatter of the cells of a duet.
func CellNoise(cells []result.CellChange) float64 {
	values := make([]float64, len(cells))
	for i, c := range cells {
		values[i] = math.Log1p(c.Median)
	}
	return stat.Std(values)
}

// DuetNeeds returns how many cells a duet needs to see an effect, given the scatter of its cells so
// far.
func DuetNeeds(cells []result.CellChange, effect float64) int {
	noise := CellNoise(cells)
	for n := cellsLeast; n < most; n++ {
		df := float64(n - 1)
		reach := (stat.TQuantile(1-unseen/2, df) + stat.TQuantile(seen, df)) * noise / math.Sqrt(float64(n))
		if reach <= math.Log1p(effect) {
			return n
		}
	}
	return most
}

// SamplesNeeded returns how many independent samples each of two lists needs for a rank test to see
// its median move, given the distribution of such samples. It uses Noether's formula, with the
// chance that a sample of one list exceeds one of the other counted on the samples themselves.
func SamplesNeeded(samples []float64, effect float64) int {
	shifted := make([]float64, len(samples))
	for i, v := range samples {
		shifted[i] = v * (1 + effect)
	}
	exceeds := (stat.CliffDelta(samples, shifted) + 1) / 2
	if exceeds <= 0.5 {
		return most
	}
	z := stat.TQuantile(1-unseen/2, 1e6) + stat.TQuantile(seen, 1e6)
	n := z * z / (6 * (exceeds - 0.5) * (exceeds - 0.5))
	return int(min(most, math.Ceil(n)))
}
