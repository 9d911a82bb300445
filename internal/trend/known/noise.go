package known

import (
	"math"
	"math/rand/v2"
	"testing"

	"pawl/internal/stat"
	"pawl/internal/stat/rounds"
)

// Noise is a series of unchanged code, of standard deviation 1.
type Noise struct {
	Name string
	Draw func(n int, r *rand.Rand) []float64
}

// Noises returns real and simulated noises.
func Noises(t testing.TB) []Noise {
	out := []Noise{
		{"normal", Autoregression(0)},
		{"heavy tails (t, 3 degrees)", each(student)},
		{"lognormal, CV 53%", each(func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64() / 2) })},
		{"a tenth 20 times off", each(spiked)},
		{"AR(1), 0.3", Autoregression(0.3)},
		{"AR(1), 0.6", Autoregression(0.6)},
		{"AR(1), 0.9", Autoregression(0.9)},
		{"two speeds, half, dwell 1", TwoSpeeds(0.5, 1)},
		{"two speeds, a fifth, dwell 1", TwoSpeeds(0.2, 1)},
		{"two speeds, half, dwell 5", TwoSpeeds(0.5, 5)},
		{"two speeds, a fifth, dwell 5", TwoSpeeds(0.2, 5)},
		{"two speeds, half, dwell 20", TwoSpeeds(0.5, 20)},
		{"two speeds, half, dwell 50", TwoSpeeds(0.5, 50)},
		{"spread swells and ebbs", waves},
		{"spread jumps by 6", jumps},
		{"every point its own spread", each(func(r *rand.Rand) float64 { return r.NormFloat64() * (0.2 + 2*r.Float64()) })},
		{"rounded to 2 standard deviations", each(func(r *rand.Rand) float64 { return math.Round(r.NormFloat64() / 2) })},
	}
	return append(out, RealNoises(t)...)
}

// RealNoises returns the rounds of an H200, drawn in blocks of ten neighbours: medians of
// separate runs of the same code, and of duets.
func RealNoises(t testing.TB) []Noise {
	r := rounds.Read(t)
	var out []Noise
	for _, s := range []struct {
		name   string
		series []rounds.Series
	}{{"H200, attention, small", r.Small}, {"H200, attention, large", r.Big}, {"H200, copy", r.CopyA}} {
		var medians []float64
		for _, x := range s.series {
			medians = append(medians, math.Log(stat.Median(x.MS)))
		}
		out = append(out, Noise{s.name, blocks(medians)})
	}
	for _, s := range []struct {
		name  string
		duets []rounds.Duet
	}{{"H200, duets, attention", r.SameBig}, {"H200, duets, copy", r.Copy}} {
		var medians []float64
		for _, cell := range rounds.LogRatios(s.duets) {
			medians = append(medians, stat.Median(cell))
		}
		out = append(out, Noise{s.name, blocks(medians)})
	}
	return out
}

// Autoregression returns noise in which each point keeps a share of the one before.
func Autoregression(phi float64) func(int, *rand.Rand) []float64 {
	return func(n int, r *rand.Rand) []float64 {
		out := make([]float64, n)
		x := r.NormFloat64()
		for i := range out {
			out[i] = x
			x = phi*x + math.Sqrt(1-phi*phi)*r.NormFloat64()
		}
		return out
	}
}

// TwoSpeeds returns noise of a machine with two speeds, six standard deviations of either apart, of which the
// slower one has a share of the time; another is drawn every dwell points, on average.
func TwoSpeeds(share, dwell float64) func(int, *rand.Rand) []float64 {
	const apart = 6
	std := math.Sqrt(1 + apart*apart*share*(1-share))
	return func(n int, r *rand.Rand) []float64 {
		out := make([]float64, n)
		slow := 0.0
		for i := range out {
			if i == 0 || r.Float64() < 1/dwell {
				slow = 0
				if r.Float64() < share {
					slow = apart
				}
			}
			out[i] = (slow + r.NormFloat64()) / std
		}
		return out
	}
}

func waves(n int, r *rand.Rand) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64() * math.Exp(1.2*math.Sin(float64(i)/60)) / 1.6
	}
	return out
}

func jumps(n int, r *rand.Rand) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64() / 3.5
		if i/100%3 == 1 {
			out[i] *= 6
		}
	}
	return out
}

func student(r *rand.Rand) float64 {
	a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
	return r.NormFloat64() / math.Sqrt(a*a+b*b+c*c)
}

func spiked(r *rand.Rand) float64 {
	x := r.NormFloat64()
	if r.Float64() < 0.1 {
		x += 20
	}
	return x / 6
}

func each(draw func(*rand.Rand) float64) func(int, *rand.Rand) []float64 {
	return func(n int, r *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = draw(r)
		}
		return out
	}
}

// blocks draws stretches of ten neighbours.
func blocks(values []float64) func(int, *rand.Rand) []float64 {
	const length = 10
	mean, std := stat.Mean(values), stat.Std(values)
	return func(n int, r *rand.Rand) []float64 {
		var out []float64
		for len(out) < n {
			at := r.IntN(len(values) - length + 1)
			for _, v := range values[at : at+length] {
				out = append(out, (v-mean)/std)
			}
		}
		return out[:n]
	}
}
